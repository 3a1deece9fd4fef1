#include "traces/trace_plot.hh"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <vector>

#include "traces/trace_statistics.hh"
#include "transport/base/markup.hh"

namespace cress::traces {
namespace {

// All in the SVG's own units, which are CSS pixels.
constexpr int kWidth = 960;
constexpr int kHeight = 860;
constexpr const char* kInk = "#1f2933";
constexpr const char* kFaintInk = "#627080";
constexpr const char* kGrid = "#e4e8ec";
constexpr const char* kBlue = "#2463a8";
constexpr const char* kLightBlue = "#a9c8e8";
constexpr const char* kOrange = "#d9651a";

/// printf into the document: fixed decimals, independent of a stream's locale.
__attribute__((format(printf, 2, 3))) void add(std::string& svg, const char* format, ...) {
  std::array<char, 1024> line{};
  va_list arguments;
  va_start(arguments, format);
  // The analyzer does not see what va_start did.
  // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized)
  const int length = std::vsnprintf(line.data(), line.size(), format, arguments);
  va_end(arguments);
  svg.append(line.data(), std::min(line.size() - 1, static_cast<size_t>(std::max(length, 0))));
}

// Only ASCII, so that the cut leaves no half a character.
std::string escaped_title(std::string_view text) {
  constexpr size_t kTitleMax = 80;
  return escaped_markup(printable_ascii(std::string{text.substr(0, kTitleMax)}));
}

/// A rectangle on the page and the values its edges stand for, linear or (in decades) logarithmic.
struct Panel {
  double left = 90;
  double top;
  double width = kWidth - 90 - 30;
  double height;
  double x_low = 0, x_high = 1, y_low = 0, y_high = 1;

  double x(double value) const { return left + (value - x_low) / (x_high - x_low) * width; }
  double y(double value) const {
    return top + height - (value - y_low) / (y_high - y_low) * height;
  }
};

enum class Anchor { kStart, kMiddle, kEnd };

void text(std::string& svg, double x, double y, Anchor anchor, int size, const char* colour,
          const std::string& content) {
  constexpr std::array kAnchors{"start", "middle", "end"};
  add(svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\" fill=\"%s\">", x, y,
      kAnchors[static_cast<size_t>(anchor)], size, colour);
  svg += content + "</text>\n";
}

void horizontal_grid(std::string& svg, const Panel& p, double value, const std::string& label) {
  add(svg, "<path d=\"M%.1f %.1fh%.1f\" stroke=\"%s\"/>\n", p.left, p.y(value), p.width, kGrid);
  text(svg, p.left - 8, p.y(value) + 4, Anchor::kEnd, 12, kInk, label);
}

void vertical_grid(std::string& svg, const Panel& p, double value, const std::string& label) {
  add(svg, "<path d=\"M%.1f %.1fv%.1f\" stroke=\"%s\"/>\n", p.x(value), p.top, p.height, kGrid);
  text(svg, p.x(value), p.top + p.height + 18, Anchor::kMiddle, 12, kInk, label);
}

void frame(std::string& svg, const Panel& p, const std::string& heading, const std::string& x_title,
           const std::string& y_title) {
  add(svg,
      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" stroke=\"%s\"/>\n",
      p.left, p.top, p.width, p.height, kFaintInk);
  text(svg, p.left, p.top - 10, Anchor::kStart, 14, kInk,
       "<tspan font-weight=\"600\">" + heading + "</tspan>");
  text(svg, p.left + p.width / 2, p.top + p.height + 40, Anchor::kMiddle, 13, kInk, x_title);
  const double middle = p.top + p.height / 2;
  add(svg, "<g transform=\"rotate(-90 24 %.1f)\">", middle);
  text(svg, 24, middle, Anchor::kMiddle, 13, kInk, y_title);
  svg += "</g>\n";
}

std::string number(double value, const char* format) {
  std::array<char, 64> out{};
  std::snprintf(out.data(), out.size(), format, value);
  return out.data();
}

/// One bar of the logarithmic histogram: whole milliseconds [from_ms, to_ms).
struct Bin {
  int64_t from_ms = 1;
  int64_t to_ms = 2;
  int64_t count = 0;
  double middle_ms() const {
    return std::sqrt(static_cast<double>(from_ms) * static_cast<double>(to_ms - 1));
  }
};

/// Ten bins a decade, but none narrower than a millisecond. `gaps`: > 0 and sorted.
std::vector<Bin> logarithmic_bins(const std::vector<int64_t>& gaps) {
  std::vector<Bin> bins;
  const double step = std::pow(10.0, 0.1);
  for (size_t i = 0; i < gaps.size();) {
    Bin bin;
    bin.from_ms = bins.empty() ? 1 : bins.back().to_ms;
    bin.to_ms = std::max(bin.from_ms + 1,
                         static_cast<int64_t>(std::ceil(static_cast<double>(bin.from_ms) * step)));
    for (; i < gaps.size() && gaps[i] < bin.to_ms; ++i) {
      ++bin.count;
    }
    bins.push_back(bin);
  }
  return bins;
}

std::string power_of_ten(int exponent) {
  if (exponent >= 0 && exponent <= 4) {
    return number(std::pow(10.0, exponent), "%.0f");
  }
  if (exponent >= -3 && exponent < 0) {
    return number(std::pow(10.0, exponent), exponent == -1   ? "%.1f"
                                            : exponent == -2 ? "%.2f"
                                                             : "%.3f");
  }
  return "10<tspan dy=\"-5\" font-size=\"9\">" + std::to_string(exponent) + "</tspan>";
}

/// The law t^-k through the mass of the gaps from kStallMin on.
void draw_tail(std::string& svg, const Panel& p, const std::vector<int64_t>& gaps, size_t all,
               double exponent) {
  const double from_ms = to_milliseconds(kStallMin);
  const auto first = std::lower_bound(gaps.begin(), gaps.end(), static_cast<int64_t>(from_ms));
  const double share = static_cast<double>(gaps.end() - first) / static_cast<double>(all);
  // Density share·(k−1)/t0·(t/t0)^−k with t0 the lower edge of the first whole millisecond.
  const double edge_ms = from_ms - 0.5;
  const auto percent = [&](double t) {
    return std::log10(100 * share * (exponent - 1) / edge_ms * std::pow(t / edge_ms, -exponent));
  };
  const double to_log =
      std::min(p.x_high, std::log10(from_ms) + (percent(from_ms) - p.y_low) / exponent);
  const double to_ms = std::pow(10.0, to_log);
  add(svg,
      "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"7 "
      "5\"/>\n",
      p.x(std::log10(from_ms)), p.y(percent(from_ms)), p.x(to_log), p.y(percent(to_ms)), kOrange);
  const double label_log = std::log10(from_ms) + 0.35 * (to_log - std::log10(from_ms));
  const double label_ms = std::pow(10.0, label_log);
  text(svg, p.x(label_log) + 18, p.y(percent(label_ms)) - 14, Anchor::kStart, 14, kOrange,
       "t<tspan dy=\"-5\" font-size=\"11\">−" + number(exponent, "%.2f") + "</tspan>");
}

void draw_interarrivals(std::string& svg, const sim::DeliveryTrace& trace,
                        const TraceStatistics& measured) {
  std::vector<int64_t> gaps = interarrivals_ms(trace);
  const size_t all = gaps.size();
  std::erase(gaps, 0);
  std::ranges::sort(gaps);
  const std::vector<Bin> bins = logarithmic_bins(gaps);
  const auto percent_per_ms = [&](const Bin& bin) {
    return 100 * static_cast<double>(bin.count) / static_cast<double>(bin.to_ms - bin.from_ms) /
           static_cast<double>(all);
  };
  double lowest = 1;
  for (const Bin& bin : bins) {
    lowest = bin.count > 0 ? std::min(lowest, percent_per_ms(bin)) : lowest;
  }
  Panel p{.top = 110, .height = 330, .x_low = 0, .y_high = 2};
  p.x_high = std::max(2.0, std::ceil(std::log10(static_cast<double>(gaps.back()) + 1)));
  p.y_low = std::floor(std::log10(lowest));
  for (int decade = 0; decade <= static_cast<int>(p.x_high); ++decade) {
    vertical_grid(svg, p, decade, power_of_ten(decade));
  }
  for (int decade = static_cast<int>(p.y_low); decade <= static_cast<int>(p.y_high); ++decade) {
    horizontal_grid(svg, p, decade, power_of_ten(decade));
  }
  frame(svg, p, "Interarrival times", "time between opportunities (ms)",
        "share of interarrivals (% per ms)");
  for (const Bin& bin : bins) {
    if (bin.count > 0) {
      add(svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n",
          p.x(std::log10(bin.middle_ms())), p.y(std::log10(percent_per_ms(bin))), kBlue);
    }
  }
  if (measured.tail_exponent > 0) {
    draw_tail(svg, p, gaps, all, measured.tail_exponent);
  }
  text(svg, p.left + p.width - 12, p.top + 24, Anchor::kEnd, 12, kFaintInk,
       number(100 * measured.same_millisecond_share, "%.1f") +
           " % come in the same millisecond as the one before (not drawn)");
}

/// The smallest of 1, 2, 5 times a power of ten that divides `range` into at most `parts`.
double nice_step(double range, int parts) {
  const double raw = range / parts;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw * (1 - 1e-9)) {
      return factor * power;
    }
  }
  return 10 * power;
}

/// Per pixel column the range of the 200 ms rates, and over it their mean over some pixels.
void draw_rate_curve(std::string& svg, const Panel& p, const std::vector<double>& rates) {
  const size_t columns = std::min(rates.size(), static_cast<size_t>(p.width));
  const auto edge = [&](size_t column) { return column * rates.size() / columns; };
  std::string band;
  std::string back;
  for (size_t column = 0; column < columns; ++column) {
    const auto from = rates.begin() + static_cast<std::ptrdiff_t>(edge(column));
    const auto to = rates.begin() + static_cast<std::ptrdiff_t>(edge(column + 1));
    const auto [low, high] = std::minmax_element(from, to);
    const double x0 = p.left + p.width * static_cast<double>(column) / static_cast<double>(columns);
    const double x1 =
        p.left + p.width * static_cast<double>(column + 1) / static_cast<double>(columns);
    add(band, "%s%.1f %.1fH%.1f", column == 0 ? "M" : "L", x0, p.y(*high), x1);
    std::string piece;
    add(piece, "L%.1f %.1fH%.1f", x1, p.y(columns == rates.size() ? 0 : *low), x0);
    back.insert(0, piece);
  }
  svg += "<path d=\"" + band + back + "Z\" fill=\"" + kLightBlue + "\"/>\n";

  const size_t window = std::max<size_t>(5, rates.size() / 200);
  std::string mean;
  for (size_t i = 0; i + window <= rates.size(); i += window) {
    double sum = 0;
    for (size_t j = i; j < i + window; ++j) {
      sum += rates[j];
    }
    const double at = (static_cast<double>(i) + static_cast<double>(window) / 2) * 0.2;
    add(mean, "%s%.1f %.1f", mean.empty() ? "M" : "L", p.x(at),
        p.y(sum / static_cast<double>(window)));
  }
  svg += "<path d=\"" + mean + "\" fill=\"none\" stroke=\"" + kBlue + "\" stroke-width=\"1.5\"/>\n";
  text(svg, p.left + p.width - 12, p.top - 10, Anchor::kEnd, 12, kFaintInk,
       "light: each 200 ms; line: mean over " + number(static_cast<double>(window) * 0.2, "%.1f") +
           " s");
}

void draw_rate(std::string& svg, const sim::DeliveryTrace& trace) {
  std::vector<double> rates;
  for (const int64_t count : opportunities_per_window(trace, 200ms)) {
    rates.push_back(static_cast<double>(count * sim::kOpportunitySize.bits()) / 0.2 / 1e6);
  }
  Panel p{.top = 540, .height = 250};
  p.x_high = to_seconds(trace.period());
  const double highest = rates.empty() ? 0 : *std::ranges::max_element(rates);
  const double y_step = nice_step(std::max(highest, 0.01), 5);
  p.y_high = y_step * std::max(1.0, std::ceil(highest / y_step - 1e-9));
  for (int i = 0; i * y_step <= p.y_high + y_step / 2; ++i) {
    horizontal_grid(svg, p, i * y_step, number(i * y_step, "%.4g"));
  }
  const double x_step = nice_step(p.x_high, 10);
  for (int i = 0; i * x_step <= p.x_high * (1 + 1e-9); ++i) {
    vertical_grid(svg, p, i * x_step, number(i * x_step, "%.6g"));
  }
  if (!rates.empty()) {
    draw_rate_curve(svg, p, rates);
  }
  frame(svg, p, "Rate over time", "time (s)", "rate (Mbit/s)");
}

}  // namespace

std::string plot_svg(const sim::DeliveryTrace& trace, std::string_view title) {
  const TraceStatistics measured = statistics(trace);
  std::string svg;
  add(svg,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
      "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n"
      "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
      kWidth, kHeight, kWidth, kHeight, kWidth, kHeight);
  text(svg, 90, 40, Anchor::kStart, 20, kInk,
       "<tspan font-weight=\"600\">" + escaped_title(title) + "</tspan>");
  text(svg, 90, 64, Anchor::kStart, 13, kFaintInk,
       "mean " + number(measured.mean_rate.kilobits_per_second() / 1e3, "%.2f") + " Mbit/s over " +
           number(to_seconds(measured.length), "%.0f") + " s; silent over 200 ms for " +
           number(100 * measured.outage_share, "%.1f") + " % of the time");
  draw_interarrivals(svg, trace, measured);
  draw_rate(svg, trace);
  return svg + "</svg>\n";
}

}  // namespace cress::traces
