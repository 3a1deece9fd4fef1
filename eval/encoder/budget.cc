#include "eval/encoder/budget.hh"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <stdexcept>

#include "traces/links.hh"
#include "transport/base/rng.hh"
#include "transport/base/text.hh"
#include "transport/base/text_file.hh"

namespace cress::encoder_bench {
namespace {

constexpr const char* kForms =
    "none, constant:600, step:300,1500,5s, walk:150,2500, trace:FILE, link:NAME or csv:FILE; "
    "window: before any";
constexpr std::string_view kWindow = "window:";
constexpr int64_t kBudgetBytesMax = 1 << 30;

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw std::invalid_argument("--budget " + text + ": " + why);
}

std::string quoted(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  out.append(1, '"').append(text).append(1, '"');
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

DataRate rate_of(const std::string& text, std::string_view number) {
  const auto kbps = parse_number<int64_t>(number);
  if (!kbps || *kbps < 1 || *kbps > kBudgetKbpsMax) {
    refuse(text,
           quoted(number) + " is not a rate of 1 to " + std::to_string(kBudgetKbpsMax) + " kbit/s");
  }
  return DataRate::kilobits_per_second(*kbps);
}

Duration interval(const BudgetContext& context, uint64_t frame) {
  return context.frame_rate.time_of(frame + 1) - context.frame_rate.time_of(frame);
}

template <class RateAt>
FrameBudgets from_rates(const BudgetContext& context, RateAt rate_at) {
  FrameBudgets budgets;
  budgets.reserve(context.frames);
  for (uint64_t i = 0; i < context.frames; ++i) {
    budgets.push_back(rate_at(i) * interval(context, i));
  }
  return budgets;
}

FrameBudgets step_budgets(const std::string& text, std::string_view values,
                          const BudgetContext& context) {
  std::vector<std::string_view> parts = split(values, ',');
  Duration length = kStepLength;
  if (parts.back().ends_with('s')) {
    const auto seconds = parse_number<double>(parts.back().substr(0, parts.back().size() - 1));
    if (!seconds || !(*seconds >= 0.001 && *seconds <= 1e6)) {
      refuse(text, quoted(parts.back()) + " is not a time, as in 5s");
    }
    length = from_seconds(*seconds);
    parts.pop_back();
  }
  if (parts.empty()) {
    refuse(text, "no rates, as in step:300,1500,5s");
  }
  std::vector<DataRate> rates;
  rates.reserve(parts.size());
  for (const std::string_view part : parts) {
    rates.push_back(rate_of(text, part));
  }
  return from_rates(context, [&](uint64_t frame) {
    const auto step = static_cast<size_t>(context.frame_rate.time_of(frame) / length);
    return rates[step % rates.size()];
  });
}

FrameBudgets walk_budgets(const std::string& text, std::string_view values,
                          const BudgetContext& context) {
  const std::vector<std::string_view> parts = split(values, ',');
  if (parts.size() < 2 || parts.size() > 3) {
    refuse(text, "not LOW,HIGH, as in walk:150,2500");
  }
  const double low = std::log(rate_of(text, parts[0]).kilobits_per_second());
  const double high = std::log(rate_of(text, parts[1]).kilobits_per_second());
  const auto sigma = parts.size() == 3 ? parse_number<double>(parts[2]) : std::optional{kWalkSigma};
  if (!(low < high)) {
    refuse(text, "the lower rate comes first");
  }
  if (!sigma || !(*sigma >= 0 && *sigma <= 100)) {
    refuse(text, quoted(parts[2]) + " is not a spread of 0 to 100 per root second");
  }
  Rng rng{context.seed};
  double at = (low + high) / 2;
  return from_rates(context, [&](uint64_t frame) {
    const auto rate = DataRate::bits_per_second(std::llround(1000 * std::exp(at)));
    at += *sigma * std::sqrt(to_seconds(interval(context, frame))) * rng.normal();
    // Reflected as often as needed: folded into a period of two widths.
    const double width = high - low;
    double folded = std::fmod(at - low, 2 * width);
    folded = folded < 0 ? folded + 2 * width : folded;
    at = low + (folded <= width ? folded : 2 * width - folded);
    return rate;
  });
}

FrameBudgets link_budgets(std::string_view name, const BudgetContext& context) {
  const bool up = name.ends_with(".up");
  for (const std::string_view ending : {".up", ".down"}) {
    if (name.ends_with(ending)) {
      name.remove_suffix(ending.size());
    }
  }
  const traces::NamedLink link = traces::resolve_link(name, context.data);
  return trace_budgets(up ? link.up : link.down, context);
}

FrameBudgets csv_budgets(const std::string& path, const BudgetContext& context) {
  constexpr DataSize kFileMax{256 << 20};
  const auto rows = parse_budget_csv(load_text(path, kFileMax));
  if (!rows) {
    const BudgetTableError& error = rows.error();
    throw std::runtime_error(path + (error.line > 0 ? ":" + std::to_string(error.line) : "") +
                             ": " + error.what);
  }
  FrameBudgets budgets;
  for (uint64_t i = 0; i < context.frames; ++i) {
    budgets.push_back((*rows)[i % rows->size()]);
  }
  return budgets;
}

}  // namespace

FrameBudgets trace_budgets(const sim::DeliveryTrace& trace, const BudgetContext& context) {
  FrameBudgets budgets;
  budgets.reserve(context.frames);
  for (uint64_t i = 0; i < context.frames; ++i) {
    const TimePoint now = kTimeZero + context.frame_rate.time_of(i);
    const DataSize window = trace.capacity(now, now + kBudgetLookAhead);
    const auto share = static_cast<__int128>(window.bytes()) * interval(context, i).count() /
                       kBudgetLookAhead.count();
    budgets.push_back(DataSize{static_cast<int64_t>(std::min<__int128>(share, kBudgetBytesMax))});
  }
  return budgets;
}

bool is_window_budget(std::string_view text) { return text.starts_with(kWindow); }

FrameBudgets make_budgets(const std::string& text, const BudgetContext& context) {
  if (is_window_budget(text)) {
    const std::string form = text.substr(kWindow.size());
    if (is_window_budget(form)) {
      refuse(text, "one window is enough");
    }
    return make_budgets(form, context);
  }
  if (text == "none") {
    return {};
  }
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const std::string value = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (value.empty()) {
    refuse(text, std::string{"not one of "} + kForms);
  }
  if (kind == "constant") {
    const DataRate rate = rate_of(text, value);
    return from_rates(context, [&](uint64_t) { return rate; });
  }
  if (kind == "step") {
    return step_budgets(text, value, context);
  }
  if (kind == "walk") {
    return walk_budgets(text, value, context);
  }
  if (kind == "trace") {
    return trace_budgets(sim::load_trace(value), context);
  }
  if (kind == "link") {
    return link_budgets(value, context);
  }
  if (kind == "csv") {
    return csv_budgets(value, context);
  }
  refuse(text, std::string{"not one of "} + kForms);
}

Result<FrameBudgets, BudgetTableError> parse_budget_csv(std::string_view text) {
  FrameBudgets budgets;
  size_t column = 0;
  size_t line_number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    const std::vector<std::string_view> cells = split(line, ',');
    if (line_number == 1 && !parse_number<int64_t>(trimmed(cells.front()))) {
      const auto named = std::ranges::find(cells, std::string_view{"budget_bytes"}, trimmed);
      column = named == cells.end() ? 0 : static_cast<size_t>(named - cells.begin());
      continue;
    }
    if (line.empty()) {
      continue;
    }
    if (column >= cells.size()) {
      return BudgetTableError{"a row too short", line_number};
    }
    const std::string_view cell = trimmed(cells[column]);
    const auto bytes = cell.empty() ? std::optional<int64_t>{0} : parse_number<int64_t>(cell);
    if (!bytes || *bytes < 0 || *bytes > kBudgetBytesMax) {
      return BudgetTableError{"not a whole number of bytes, 0 to 2^30", line_number};
    }
    if (budgets.size() == kBudgetRowsMax) {
      return BudgetTableError{"more than " + std::to_string(kBudgetRowsMax) + " rows", line_number};
    }
    budgets.push_back(DataSize{*bytes});
  }
  if (budgets.empty()) {
    return BudgetTableError{"no row holds a budget; write one number of bytes a line", 0};
  }
  return budgets;
}

}  // namespace cress::encoder_bench
