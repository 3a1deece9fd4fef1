#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cress::encoder_bench {

/// A line of text escaped for HTML and SVG; bytes that are not printable ASCII become '?'.
std::string escaped_text(const std::string& text);

struct ChartPoint {
  double x = 0;
  std::optional<double> y{};  ///< none: the line is broken here
};

struct ChartLine {
  size_t colour = 0;  ///< of the page's eight; more get dashes
  std::vector<ChartPoint> points{};
  bool markers = false;
  std::string label{};  ///< next to its last point, if a legend would not be enough
};

struct ChartAxis {
  std::string title{};
  double low = 0;
  double high = 1;
  bool logarithmic = false;  ///< requires 0 < low
};

/// One panel. Values beyond an axis are drawn at its edge.
struct Chart {
  ChartAxis x{};
  ChartAxis y{};
  std::vector<ChartPoint> area{};  ///< filled down to the bottom: what may be used
  std::vector<ChartLine> lines{};
  std::optional<double> mark_x{};  ///< a dashed line there
};

/// An SVG element of that many CSS pixels, for a page with the report's style: its colours are the
/// page's variables, so it follows the page's light or dark mode. The same chart gives the same
/// bytes.
std::string chart_svg(const Chart& chart, int width, int height);

/// The style of a page or picture with charts, in addition to the report's colours.
std::string_view chart_style();

/// A short sample of a line's colour and dashes, for legends.
std::string swatch_svg(size_t colour);

/// The axis from the smallest to the largest of `values`, rounded outwards to whole ticks.
ChartAxis axis_around(std::string title, const std::vector<double>& values, bool logarithmic);

}  // namespace cress::encoder_bench
