#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "eval/encoder/chart.hh"
#include "eval/encoder/outputs.hh"
#include "eval/metrics/picture_quality.hh"
#include "eval/report/embedded.hh"
#include "transport/base/check.hh"

namespace cress::encoder_bench {
namespace {

using Cells = std::vector<const CellOutput*>;

constexpr int kWide = 1180;
constexpr int kHalf = 580;
constexpr size_t kPointsMax = 800;

constexpr const char* kStyle = R"(
.scroll { margin-bottom: 18px; }
.keys { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 10px 0 16px; font-size: 0.92rem; }
.keys span { display: inline-flex; align-items: center; gap: 8px; }
.keys i { width: 26px; height: 12px; background: var(--capacity); }
details.cell-group > summary { font-size: 1.15rem; margin: 22px 0 10px; overflow-wrap: anywhere; }
)";

template <class... Arguments>
void add(std::string& html, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::format_to(std::back_inserter(html), format, std::forward<Arguments>(arguments)...);
}

/// Encoders in the order of the cells: a name's position determines its colour everywhere.
class Colours {
 public:
  explicit Colours(const std::vector<CellOutput>& cells) {
    for (const CellOutput& cell : cells) {
      add(cell.spec.encoder_label());
    }
    for (const CellOutput& cell : cells) {
      add(cell.spec.encoder);  // a curve of several quantizers
    }
  }
  size_t of(const std::string& name) const {
    return static_cast<size_t>(std::ranges::find(names_, name) - names_.begin());
  }

 private:
  void add(const std::string& name) {
    if (of(name) == names_.size()) {
      names_.push_back(name);
    }
  }
  std::vector<std::string> names_;
};

std::string number(std::optional<double> value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "&#8211;";
}

bool together(const CellSpec& a, const CellSpec& b) {
  return a.video == b.video && a.width == b.width && a.height == b.height &&
         a.cpu_used == b.cpu_used;
}

template <class Same>
std::vector<Cells> groups(const std::vector<CellOutput>& cells, Same same) {
  std::vector<Cells> result;
  for (const CellOutput& cell : cells) {
    const auto group = std::ranges::find_if(
        result, [&](const Cells& other) { return same(other.front()->spec, cell.spec); });
    if (group == result.end()) {
      result.push_back({&cell});
    } else {
      group->push_back(&cell);
    }
  }
  return result;
}

/// A picture's value over time; for a long clip the means of equal intervals.
using ValueOf = std::function<std::optional<double>(const FrameRow&)>;
std::vector<ChartPoint> over_time(const CellOutput& cell, const ValueOf& value) {
  const size_t stretch = (cell.frames.size() + kPointsMax - 1) / kPointsMax;
  std::vector<ChartPoint> points;
  for (size_t i = 0; i < cell.frames.size(); i += stretch) {
    double sum = 0;
    int count = 0;
    for (size_t j = i; j < std::min(i + stretch, cell.frames.size()); ++j) {
      const auto one = value(cell.frames[j]);
      sum += one.value_or(0);
      count += one ? 1 : 0;
    }
    points.push_back({to_seconds(cell.frame_rate.time_of(i)),
                      count == 0 ? std::nullopt : std::optional{sum / count}});
  }
  return points;
}

std::optional<double> size_of(const FrameRow& row) {
  return row.coded() ? std::optional{static_cast<double>(row.size_bytes)} : std::nullopt;
}
std::optional<double> budget_of(const FrameRow& row) {
  return row.budget_bytes ? std::optional{static_cast<double>(*row.budget_bytes)} : std::nullopt;
}
std::optional<double> quantizer_of(const FrameRow& row) {
  return row.coded() ? std::optional{static_cast<double>(row.quantizer)} : std::nullopt;
}

std::vector<double> values_of(const Chart& chart) {
  std::vector<double> values;
  const auto take = [&](const std::vector<ChartPoint>& points) {
    for (const ChartPoint& point : points) {
      if (point.y && *point.y > 0) {
        values.push_back(*point.y);
      }
    }
  };
  take(chart.area);
  for (const ChartLine& line : chart.lines) {
    take(line.points);
  }
  return values;
}

void figure(std::string& html, const char* shape, const std::string& title, const std::string& note,
            const Chart& chart) {
  const bool wide = std::string_view{shape} == "full";
  add(html, "<figure class=\"{}\"><figcaption><strong>{}</strong><span>{}</span></figcaption>",
      shape, escaped_text(title), escaped_text(note));
  html += chart_svg(chart, wide ? kWide : kHalf, 300) + "</figure>\n";
}

Chart time_chart(const Cells& cells, const Colours& colours, const char* y_title, bool logarithmic,
                 const ValueOf& value) {
  Chart chart;
  for (const CellOutput* cell : cells) {
    chart.lines.push_back({.colour = colours.of(cell->spec.encoder_label()),
                           .points = over_time(*cell, value),
                           .markers = false});
  }
  const CellOutput& first = *cells.front();
  chart.x = {.title = "time (s)",
             .low = 0,
             .high = to_seconds(first.frame_rate.time_of(first.frames.size())),
             .logarithmic = false};
  chart.y = axis_around(y_title, values_of(chart), logarithmic);
  return chart;
}

/// The share of encoded frames whose size / budget is at most x.
Chart fit_chart(const Cells& cells, const Colours& colours) {
  constexpr double kRatioMax = 2;
  Chart chart;
  chart.x = {.title = "size / budget", .low = 0, .high = kRatioMax, .logarithmic = false};
  chart.y = {.title = "frames up to there (%)", .low = 0, .high = 100, .logarithmic = false};
  chart.mark_x = 1;
  for (const CellOutput* cell : cells) {
    std::vector<double> ratios;
    for (size_t i = cell->spec.skip; i < cell->frames.size(); ++i) {
      const FrameRow& row = cell->frames[i];
      if (row.coded() && row.budget_bytes.value_or(0) > 0) {
        ratios.push_back(static_cast<double>(row.size_bytes) /
                         static_cast<double>(*row.budget_bytes));
      }
    }
    std::ranges::sort(ratios);
    ChartLine line{.colour = colours.of(cell->spec.encoder_label())};
    constexpr int kSteps = 200;
    for (int i = 0; i <= kSteps && !ratios.empty(); ++i) {
      const double ratio = kRatioMax * i / kSteps;
      const auto below = std::ranges::upper_bound(ratios, ratio) - ratios.begin();
      line.points.push_back(
          {ratio, 100 * static_cast<double>(below) / static_cast<double>(ratios.size())});
    }
    chart.lines.push_back(std::move(line));
  }
  return chart;
}

void table(std::string& html, const Cells& cells, const Colours& colours, bool budgets) {
  html += "<div class=\"scroll\"><table><thead><tr><th>Encoder</th>";
  html += budgets ? "<th>Budget</th>" : "";
  for (const auto& [name, unit] : {std::pair{"Over budget", "% of frames"},
                                   {"Fit 50 %", "size / budget"},
                                   {"Fit 95 %", "size / budget"},
                                   {"Fit 99 %", "size / budget"},
                                   {"Fit max", "size / budget"},
                                   {"Budget used", "%"},
                                   {"Skipped", "%"},
                                   {"PSNR held", "dB"},
                                   {"SSIM held", "dB"},
                                   {"PSNR shown", "dB"},
                                   {"Rate", "kbit/s"},
                                   {"Attempts", "a frame"},
                                   {"Smaller", "%"}}) {
    add(html, "<th>{}<small>{}</small></th>", name, unit);
  }
  html += "</tr></thead><tbody>\n";
  for (const CellOutput* cell : cells) {
    const CellResult& r = cell->result;
    const std::string name = cell->spec.encoder_label();
    const auto fit = [&](double FrameFit::*member, double scale) {
      return r.fit ? std::optional{scale * ((*r.fit).*member)} : std::nullopt;
    };
    add(html, "<tr><th>{}{}</th>", swatch_svg(colours.of(name)), escaped_text(name));
    if (budgets) {
      add(html, "<td>{}</td>", escaped_text(cell->spec.budget));
    }
    for (const auto& [value, decimals] :
         {std::pair{fit(&FrameFit::over_share, 100), 1},
          {fit(&FrameFit::p50, 1), 2},
          {fit(&FrameFit::p95, 1), 2},
          {fit(&FrameFit::p99, 1), 2},
          {fit(&FrameFit::max, 1), 2},
          {r.use_total ? std::optional{100 * *r.use_total} : std::nullopt, 0},
          {std::optional{100 * static_cast<double>(r.skipped) / static_cast<double>(r.frames)}, 1},
          {std::optional{r.psnr_held_db}, 2},
          {std::optional{r.ssim_held_db}, 2},
          {r.psnr_db, 2},
          {std::optional{r.bitrate_kbps}, 0},
          {r.attempts_mean, 2},
          {std::optional{100 * r.scaled_share}, 0}}) {
      add(html, "<td>{}</td>", number(value, decimals));
    }
    html += "</tr>\n";
  }
  html += "</tbody></table></div>\n";
}

void keys(std::string& html, const std::vector<std::string>& names, const Colours& colours,
          bool budget) {
  html += "<p class=\"keys\">";
  for (const std::string& name : names) {
    add(html, "<span>{}{}</span>", swatch_svg(colours.of(name)), escaped_text(name));
  }
  html += budget ? "<span><i></i>budget</span></p>\n" : "</p>\n";
}

void group_section(std::string& html, const Cells& cells, const Colours& colours, bool open) {
  const CellOutput& first = *cells.front();
  const CellSpec& spec = first.spec;
  add(html,
      "<details class=\"cell-group\"{}><summary>{}, {}x{}, cpu_used {}, budget {}</summary>\n",
      open ? " open" : "", escaped_text(spec.video), spec.width, spec.height, spec.cpu_used,
      escaped_text(spec.budget));
  table(html, cells, colours, false);
  std::vector<std::string> names;
  for (const CellOutput* cell : cells) {
    names.push_back(cell->spec.encoder_label());
  }
  const bool budget = first.result.budget_kbps.has_value();
  keys(html, names, colours, budget);
  html += "<div class=\"charts\">\n";
  Chart sizes = time_chart(cells, colours, "bytes a frame", true, size_of);
  if (budget) {
    sizes.area = over_time(first, budget_of);
    sizes.y = axis_around("bytes a frame", values_of(sizes), true);
  }
  const size_t stretch = (first.frames.size() + kPointsMax - 1) / kPointsMax;
  const std::string means =
      stretch > 1 ? fmt::format(" Means of {} pictures each.", stretch) : std::string{};
  figure(html, "full", "Frame size",
         (budget ? "Grey is what a frame may cost; above it is over budget. Gaps are skipped "
                   "pictures."
                 : "Nobody asked what a frame costs.") +
             means,
         sizes);
  if (budget) {
    figure(html, "half", "Frame fit",
           "How many frames are at most so large; all that is right of the dashed line is over "
           "budget.",
           fit_chart(cells, colours));
  }
  Chart quantizers = time_chart(cells, colours, "quantizer", false, quantizer_of);
  quantizers.y = {.title = "quantizer", .low = 0, .high = 63, .logarithmic = false};
  figure(html, "half", "Quantizer", "0 is finest, 63 coarsest." + means, quantizers);
  figure(
      html, "full", "What the viewer sees",
      "PSNR of the newest shown frame against the picture of that time, skipped ones too." + means,
      time_chart(cells, colours, "PSNR (dB)", false,
                 [](const FrameRow& row) { return std::optional{row.psnr_held_db}; }));
  html += "</div></details>\n";
}

Chart curve_chart(const Cells& scene, const Colours& colours, const char* title,
                  double CellResult::*quality) {
  Chart chart;
  std::vector<double> rates;
  std::vector<double> qualities;
  std::vector<std::string> seen;
  for (const CellOutput* cell : scene) {
    const std::string& encoder = cell->spec.encoder;
    if (std::ranges::find(seen, encoder) == seen.end()) {
      seen.push_back(encoder);
      chart.lines.push_back({.colour = colours.of(encoder), .markers = true});
    }
    rates.push_back(cell->result.bitrate_kbps);
    qualities.push_back(cell->result.*quality);
    const auto line = std::ranges::find(seen, encoder) - seen.begin();
    chart.lines[static_cast<size_t>(line)].points.push_back({rates.back(), qualities.back()});
  }
  for (ChartLine& line : chart.lines) {
    std::ranges::sort(line.points, {}, &ChartPoint::x);
  }
  chart.x = axis_around("kbit/s", rates, true);
  chart.y = axis_around(title, qualities, false);
  return chart;
}

void curve_section(std::string& html, const Cells& scene, const Colours& colours,
                   const std::vector<BdRate>& bd) {
  const CellSpec& spec = scene.front()->spec;
  add(html, "<h2>Rate and quality <small>{}, {}x{}, cpu_used {}</small></h2>\n",
      escaped_text(spec.video), spec.width, spec.height, spec.cpu_used);
  std::vector<std::string> names;
  for (const CellOutput* cell : scene) {
    if (std::ranges::find(names, cell->spec.encoder) == names.end()) {
      names.push_back(cell->spec.encoder);
    }
  }
  keys(html, names, colours, false);
  html += "<div class=\"charts\">\n";
  const std::string note = "Held: a skipped picture counts with what is on the screen meanwhile.";
  figure(html, "half", "PSNR", note,
         curve_chart(scene, colours, "PSNR held (dB)", &CellResult::psnr_held_db));
  figure(html, "half", "SSIM", note,
         curve_chart(scene, colours, "SSIM held (dB)", &CellResult::ssim_held_db));
  html += "</div>\n";
  for (const BdRate& rate : bd) {
    if (rate.video == spec.video && rate.width == spec.width && rate.height == spec.height &&
        rate.cpu_used == spec.cpu_used) {
      const auto percent = [](std::optional<double> value) {
        return value ? fmt::format("{:+.1f} %", *value) : std::string{"no common quality"};
      };
      add(html, "<p>BD-rate of <strong>{}</strong> against {}: {} by PSNR, {} by SSIM.</p>\n",
          escaped_text(rate.encoder), escaped_text(rate.anchor), percent(rate.psnr_percent),
          percent(rate.ssim_percent));
    }
  }
  table(html, scene, colours, true);
}

/// "Frames over their budget: cbr 28.7 %, cress 6.0 %": means over the cells.
std::string lead(const std::vector<CellOutput>& cells) {
  std::vector<std::string> names;
  std::string text;
  for (const CellOutput& cell : cells) {
    const std::string name = cell.spec.encoder_label();
    if (std::ranges::find(names, name) != names.end()) {
      continue;
    }
    names.push_back(name);
    double sum = 0;
    int count = 0;
    for (const CellOutput& other : cells) {
      if (other.spec.encoder_label() == name && other.result.fit) {
        sum += other.result.fit->over_share;
        ++count;
      }
    }
    if (count > 0) {
      text += fmt::format("{}{} {:.1f} %", text.empty() ? "Frames over their budget: " : ", ",
                          escaped_text(name), 100 * sum / count);
    }
  }
  return text.empty() ? "Encoders without a budget" : text;
}

}  // namespace

std::string report_page(const std::vector<CellOutput>& cells, bool curves,
                        const std::vector<BdRate>& bd) {
  check(!cells.empty(), "report_page: no cells");
  const Colours colours{cells};
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<title>Cress encoder report</title>\n<style>\n";
  html += report::embedded(report::cress_report_page_css, report::cress_report_page_css_end);
  add(html,
      "{}{}</style>\n</head>\n<body>\n<header class=\"top\">\n<p class=\"brand\">Cress encoder "
      "report</p>\n<h1>{}</h1>\n</header>\n<main>\n",
      chart_style(), kStyle, lead(cells));
  if (curves) {
    for (const Cells& scene : groups(cells, together)) {
      curve_section(html, scene, colours, bd);
    }
    html += "<h2>Frame by frame</h2>\n";
  }
  bool open = !curves;
  for (const Cells& group : groups(cells, [](const CellSpec& a, const CellSpec& b) {
         return together(a, b) && a.budget == b.budget;
       })) {
    group_section(html, group, colours, open);
    open = open && cells.size() <= 12;
  }
  add(html,
      "</main>\n<footer><p>Made by cress-eval {}. Pictures: {} a cell, the first {} not scored; "
      "seed {}.</p></footer>\n</body>\n</html>\n",
      CRESS_VERSION, cells.front().spec.frames, cells.front().spec.skip, cells.front().spec.seed);
  return html;
}

}  // namespace cress::encoder_bench
