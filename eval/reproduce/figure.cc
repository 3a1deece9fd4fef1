#include "eval/reproduce/figure.hh"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "transport/base/check.hh"
#include "transport/base/text.hh"

namespace cress::reproduce {
namespace {

/// Characters on a terminal, where each of ours is one column wide.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string padded(const std::string& text, size_t width, bool left) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return left ? text + space : space + text;
}

void append_row(std::string& text, const std::vector<std::string>& cells,
                const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    line.append(i == 0 ? "" : "  ").append(padded(cells[i], widths[i], i == 0));
  }
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + "\n";
}

std::vector<std::string> texts_of(const std::vector<Cell>& row) {
  std::vector<std::string> texts;
  texts.reserve(row.size());
  for (const Cell& cell : row) {
    texts.push_back(cell.text);
  }
  return texts;
}

}  // namespace

Cell words(std::string text) { return {.text = std::move(text)}; }

Cell number(double value, int decimals) {
  // "-0.0" would be read as a negative number.
  const double shown = std::abs(value) < 0.5 * std::pow(10.0, -decimals) ? 0 : value;
  return {.text = fmt::format("{:.{}f}", shown, decimals), .value = value};
}

Cell number(std::optional<double> value, int decimals) {
  return value ? number(*value, decimals) : words("–");
}

std::string figure_text(const Figure& figure) {
  std::vector<size_t> widths;
  widths.reserve(figure.table.columns.size());
  for (const std::string& column : figure.table.columns) {
    widths.push_back(width_of(column));
  }
  for (const auto& row : figure.table.rows) {
    check(row.size() == widths.size(), "figure: a row is as long as the columns");
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row[i].text));
    }
  }
  std::string text = figure.name + ": " + figure.title + "\n";
  append_row(text, figure.table.columns, widths);
  for (const auto& row : figure.table.rows) {
    append_row(text, texts_of(row), widths);
  }
  text += figure.verdict + "\n";
  for (const std::string& note : figure.notes) {
    text += "note: " + note + "\n";
  }
  return text + "published: " + figure.source + "\n";
}

std::string figure_csv(const Figure& figure) {
  std::string text;
  const auto append = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) {
      text.append(i == 0 ? "" : ",").append(csv_field(cells[i]));
    }
    text += "\n";
  };
  append(figure.table.columns);
  for (const auto& row : figure.table.rows) {
    append(texts_of(row));
  }
  return text;
}

std::string figure_json(const Figure& figure) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& row : figure.table.rows) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (size_t i = 0; i < row.size(); ++i) {
      auto& field = object[figure.table.columns[i]];
      if (row[i].value) {
        field = *row[i].value;
      } else if (row[i].text != "–") {
        field = row[i].text;
      }
    }
    rows.push_back(std::move(object));
  }
  const nlohmann::ordered_json json = {{"name", figure.name},        {"title", figure.title},
                                       {"published", figure.source}, {"verdict", figure.verdict},
                                       {"notes", figure.notes},      {"rows", std::move(rows)}};
  return json.dump(2) + "\n";
}

std::string order_verdict(std::string_view quantity, std::span<const Ranked> ranked, int decimals) {
  struct Inversion {
    Ranked less, more;  // as published
    double distance = 0;
  };
  std::vector<Inversion> inversions;
  size_t pairs = 0;
  for (const Ranked& a : ranked) {
    for (const Ranked& b : ranked) {
      if (a.published < b.published) {
        ++pairs;
        if (a.here > b.here) {
          inversions.push_back({a, b, a.here - b.here});
        }
      }
    }
  }
  if (inversions.empty()) {
    return fmt::format("The published order of {} holds for all {} pairs.", quantity, pairs);
  }
  std::ranges::stable_sort(inversions, std::ranges::greater{}, &Inversion::distance);
  std::string line = fmt::format("The published order of {} holds for {} of {} pairs; not for",
                                 quantity, pairs - inversions.size(), pairs);
  constexpr size_t kTold = 4;
  for (size_t i = 0; i < std::min(kTold, inversions.size()); ++i) {
    const auto& [less, more, distance] = inversions[i];
    line += fmt::format("{} {} before {} (there {:.{}f} and {:.{}f}, here {:.{}f} and {:.{}f})",
                        i == 0 ? "" : ",", less.name, more.name, less.published, decimals,
                        more.published, decimals, less.here, decimals, more.here, decimals);
  }
  return line + (inversions.size() > kTold ? ", and others." : ".");
}

}  // namespace cress::reproduce
