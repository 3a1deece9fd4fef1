#include "eval/encoder/chart.hh"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "transport/base/markup.hh"

namespace cress::encoder_bench {
namespace {

constexpr double kLeft = 58;
constexpr double kRight = 14;
constexpr double kTop = 10;
constexpr double kBottom = 42;
constexpr size_t kColours = 8;
constexpr std::array<std::string_view, 4> kDashes{"", "7 3", "2 3", "9 3 2 3"};

template <class... Arguments>
void add(std::string& svg, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::format_to(std::back_inserter(svg), format, std::forward<Arguments>(arguments)...);
}

double place(const ChartAxis& axis, double value) {
  const double clamped = std::clamp(value, axis.low, axis.high);
  return axis.logarithmic ? std::log(clamped / axis.low) / std::log(axis.high / axis.low)
                          : (clamped - axis.low) / (axis.high - axis.low);
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

std::vector<double> ticks(const ChartAxis& axis, int parts) {
  std::vector<double> values;
  if (!axis.logarithmic) {
    const double step = nice_step(axis.high - axis.low, parts);
    const auto first = static_cast<int64_t>(std::ceil(axis.low / step - 1e-9));
    const auto last = static_cast<int64_t>(std::floor(axis.high / step + 1e-9));
    for (int64_t i = first; i <= last; ++i) {
      values.push_back(static_cast<double>(i) * step);
    }
    return values;
  }
  const bool many = std::log10(axis.high / axis.low) > 2.5;
  const auto first = static_cast<int>(std::floor(std::log10(axis.low)));
  const auto last = static_cast<int>(std::ceil(std::log10(axis.high)));
  for (int decade = first; decade <= last; ++decade) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10.0, decade);
      if (value >= axis.low * (1 - 1e-9) && value <= axis.high * (1 + 1e-9) &&
          (factor == 1 || !many)) {
        values.push_back(value);
      }
    }
  }
  return values;
}

std::string label(double value) {
  value = std::abs(value) < 1e-9 ? 0 : value;
  return std::abs(value) >= 1000 ? fmt::format("{:.6g}k", value / 1000)
                                 : fmt::format("{:.6g}", value);
}

/// A chart's rectangle.
struct Panel {
  const Chart& chart;
  double width;
  double height;
  double x(double value) const { return kLeft + place(chart.x, value) * width; }
  double y(double value) const { return kTop + height - place(chart.y, value) * height; }
};

void draw_axes(std::string& svg, const Panel& p) {
  for (const double tick : ticks(p.chart.y, 5)) {
    add(svg, "<path class=\"grid\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>", kLeft, p.y(tick), p.width);
    add(svg, "<text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        kLeft - 7, p.y(tick) + 4, label(tick));
  }
  for (const double tick : ticks(p.chart.x, std::max(3, static_cast<int>(p.width / 90)))) {
    add(svg, "<path class=\"grid\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>", p.x(tick), kTop, p.height);
    add(svg, "<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        p.x(tick), kTop + p.height + 16, label(tick));
  }
  add(svg, "<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
      kLeft + p.width / 2, kTop + p.height + 35, escaped_text(p.chart.x.title));
  const double middle = kTop + p.height / 2;
  add(svg,
      "<text class=\"tick\" text-anchor=\"middle\" transform=\"rotate(-90 12 {:.1f})\" x=\"12\" "
      "y=\"{:.1f}\">{}</text>\n",
      middle, middle, escaped_text(p.chart.y.title));
}

void draw_area(std::string& svg, const Panel& p) {
  const std::vector<ChartPoint>& points = p.chart.area;
  if (points.empty()) {
    return;
  }
  const double bottom = kTop + p.height;
  std::string path;
  add(path, "M{:.1f} {:.1f}", p.x(points.front().x), bottom);
  double y = bottom;
  for (const ChartPoint& point : points) {  // as steps: each holds until the next
    add(path, "L{:.1f} {:.1f}", p.x(point.x), y);
    y = point.y && (!p.chart.y.logarithmic || *point.y > 0) ? p.y(*point.y) : bottom;
    add(path, "V{:.1f}", y);
  }
  add(svg, "<path class=\"area\" d=\"{}V{:.1f}Z\"/>\n", path, bottom);
}

std::string stroke(size_t colour) {
  const std::string_view dash = kDashes[colour / kColours % kDashes.size()];
  return fmt::format("style=\"stroke:var(--scheme-{})\"{}", colour % kColours,
                     dash.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash));
}

void draw_line(std::string& svg, const Panel& p, const ChartLine& line) {
  std::string path;
  std::string dots;
  bool pen_down = false;
  for (size_t i = 0; i < line.points.size(); ++i) {
    const ChartPoint& point = line.points[i];
    if (!point.y) {
      pen_down = false;
      continue;
    }
    const double x = p.x(point.x);
    const double y = p.y(*point.y);
    add(path, "{}{:.1f} {:.1f}", pen_down ? "L" : "M", x, y);
    const bool alone = !pen_down && (i + 1 == line.points.size() || !line.points[i + 1].y);
    if (alone || line.markers) {
      add(dots, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" style=\"fill:var(--scheme-{})\"/>", x,
          y, line.markers ? "3.5" : "1.2", line.colour % kColours);
    }
    pen_down = true;
  }
  add(svg, "<path class=\"line\" {} d=\"{}\"/>{}\n", stroke(line.colour), path, dots);
}

/// What a label may not cover: another one, or a point.
struct Box {
  double left = 0;
  double right = 0;
  double top = 0;
  double bottom = 0;

  bool meets(const Box& other) const {
    return other.left < right && left < other.right && other.top < bottom && top < other.bottom;
  }
};

constexpr double kCharacter = 7.2;  // at a height of 12 pixels, for the wide characters too
constexpr double kLineHeight = 12;
constexpr double kPointRoom = 5;
// From here on a thin line connects a label with its point.
constexpr double kFarFromPoint = 1.5 * kLineHeight;

struct LabelPlace {
  Box box;
  bool before = false;  ///< left of its point
};

/// Next to its point, right or left, or a line or more above or below, where nothing else is.
LabelPlace free_place(const Panel& p, double x, double y, double length,
                      std::span<const Box> taken) {
  LabelPlace first;
  for (const double shift : {0, -1, 1, -2, 2, -3, 3, -4, 4, 5, 6}) {
    for (const bool before : {false, true}) {
      const double from = before ? x - 6 - length : x + 6;
      const double bottom = y + 6 + shift * kLineHeight;
      const LabelPlace place{{from, from + length, bottom - kLineHeight, bottom}, before};
      const bool inside = place.box.left >= kLeft && place.box.right <= kLeft + p.width + kRight &&
                          place.box.top >= kTop - kLineHeight && bottom <= kTop + p.height;
      if (inside &&
          std::ranges::none_of(taken, [&](const Box& other) { return place.box.meets(other); })) {
        return place;
      }
      first = shift == 0 && before == (x + length > kLeft + p.width) ? place : first;
    }
  }
  return first;
}

void draw_labels(std::string& svg, const Panel& p) {
  std::vector<const ChartLine*> named;
  std::vector<Box> taken;
  for (const ChartLine& line : p.chart.lines) {
    if (!line.label.empty() && !line.points.empty() && line.points.back().y) {
      named.push_back(&line);
      const double x = p.x(line.points.back().x);
      const double y = p.y(*line.points.back().y);
      taken.push_back({x - kPointRoom, x + kPointRoom, y - kPointRoom, y + kPointRoom});
    }
  }
  for (const ChartLine* line : named) {
    const double x = p.x(line->points.back().x);
    const double y = p.y(*line->points.back().y);
    const double length = kCharacter * static_cast<double>(line->label.size());
    const auto [box, before] = free_place(p, x, y, length, taken);
    taken.push_back(box);
    const double middle = (box.top + box.bottom) / 2;
    if (std::abs(middle - y) > kFarFromPoint) {
      add(svg,
          "<path style=\"stroke:var(--scheme-{});stroke-width:0.8\" "
          "d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n",
          line->colour % kColours, x, y, before ? box.right + 2 : box.left - 2, middle);
    }
    add(svg,
        "<text class=\"tick\" style=\"fill:var(--scheme-{})\" text-anchor=\"{}\" x=\"{:.1f}\" "
        "y=\"{:.1f}\">{}</text>\n",
        line->colour % kColours, before ? "end" : "start", before ? box.right : box.left,
        box.bottom - 2, escaped_text(line->label));
  }
}

}  // namespace

std::string escaped_text(const std::string& text) {
  return escaped_attribute(printable_ascii(text));
}

std::string chart_svg(const Chart& chart, int width, int height) {
  const Panel panel{
      .chart = chart, .width = width - kLeft - kRight, .height = height - kTop - kBottom};
  std::string svg;
  add(svg, "<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\">\n", width, height);
  draw_area(svg, panel);
  draw_axes(svg, panel);
  if (chart.mark_x) {
    add(svg, "<path class=\"mark\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>\n", panel.x(*chart.mark_x), kTop,
        panel.height);
  }
  for (const ChartLine& line : chart.lines) {
    draw_line(svg, panel, line);
  }
  draw_labels(svg, panel);
  return svg + "</svg>\n";
}

std::string_view chart_style() {
  return R"(.chart { display: block; width: 100%; height: auto; overflow: visible; }
.chart .grid { stroke: var(--grid); stroke-width: 1; }
.chart .tick { fill: var(--soft); font-size: 12px; }
.chart .area { fill: var(--capacity); }
.chart .mark { stroke: var(--warn); stroke-width: 1.5; stroke-dasharray: 5 4; }
.line { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
.line.sample { stroke-width: 4; }
)";
}

std::string swatch_svg(size_t colour) {
  return fmt::format(
      "<svg class=\"swatch\" viewBox=\"0 0 26 12\" aria-hidden=\"true\"><path class=\"line "
      "sample\" {} d=\"M1 6H25\"/></svg>",
      stroke(colour));
}

ChartAxis axis_around(std::string title, const std::vector<double>& values, bool logarithmic) {
  ChartAxis axis{.title = std::move(title), .low = 1, .high = 10, .logarithmic = logarithmic};
  bool first = true;
  for (const double value : values) {
    if (!std::isfinite(value) || (logarithmic && value <= 0)) {
      continue;
    }
    axis.low = first ? value : std::min(axis.low, value);
    axis.high = first ? value : std::max(axis.high, value);
    first = false;
  }
  if (logarithmic) {
    axis.low *= 0.85;
    axis.high *= 1.15;
    return axis;
  }
  const double range = std::max(axis.high - axis.low, 1e-3 * std::max(1.0, std::abs(axis.high)));
  const double step = nice_step(range, 5);
  axis.low = std::floor(axis.low / step - 1e-9) * step;
  axis.high = std::ceil(axis.high / step + 1e-9) * step;
  return axis;
}

}  // namespace cress::encoder_bench
