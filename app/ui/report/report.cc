#include "app/ui/report/report.hh"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <vector>

#include "app/ui/model/format.hh"
#include "transport/base/markup.hh"
#include "transport/base/text_file.hh"

namespace cress::ui {
namespace {

namespace fs = std::filesystem;

// Folders of one second; more than anybody makes.
constexpr int kFoldersMax = 100;

double kbps(DataRate rate) { return rate.kilobits_per_second(); }

struct Column {
  const char* name;
  const char* words;  // the panel's
  const char* color;  // of its line
  double (*value)(const LinkSample&);
};
constexpr std::array kColumns{
    Column{"forecast_kbps", "Forecast", "#2f7d4f",
           [](const LinkSample& s) { return kbps(s.forecast); }},
    Column{"sent_kbps", "Sent", "#b35c00", [](const LinkSample& s) { return kbps(s.sent); }},
    Column{"window_bytes", "Limit", "#5a4fcf",
           [](const LinkSample& s) { return static_cast<double>(s.window.bytes()); }},
    Column{"one_way_delay_ms", "One way", "#2f7d4f",
           [](const LinkSample& s) { return to_milliseconds(s.one_way_delay); }},
    Column{"frame_delay_ms", "Frame", "#b35c00",
           [](const LinkSample& s) { return to_milliseconds(s.frame_delay); }},
    Column{"loss", "Worse direction", "#5a4fcf", [](const LinkSample& s) { return s.loss; }}};

/// As the panel has them: which columns, the least end of their axis, and a value of it in words.
struct Graph {
  const char* title;
  std::vector<size_t> columns;
  double at_least;
  std::function<std::string(double)> words;
};
std::vector<Graph> graphs() {
  return {{"Uplink",
           {1, 0},
           100,
           [](double value) {
             return format_rate(DataRate::bits_per_second(std::llround(value * 1000)));
           }},
          {"Data in transit",
           {2},
           5000,
           [](double value) { return format_size(DataSize{std::llround(value)}); }},
          {"Delay from them",
           {4, 3},
           200,
           [](double value) {
             return format_delay(std::chrono::microseconds{std::llround(value * 1000)});
           }},
          {"Loss", {5}, 0.1, [](double value) { return format_share(value); }}};
}

double seconds_of(const Report& report, const LinkSample& sample) {
  return to_seconds(sample.at - report.began);
}

constexpr double kWidth = 880;
constexpr double kHeight = 130;

/// Of as many samples as there are half points; of several at one place the highest and the lowest.
std::string line_of(const Report& report, const Column& column, double end) {
  const double from = seconds_of(report, report.samples.front());
  const double span = std::max(1.0, seconds_of(report, report.samples.back()) - from);
  const auto x_of = [&](const LinkSample& s) {
    return (seconds_of(report, s) - from) / span * kWidth;
  };
  const auto y_of = [&](double value) { return kHeight - std::min(value / end, 1.0) * kHeight; };
  std::string points;
  for (auto at = report.samples.begin(); at != report.samples.end();) {
    const double x = x_of(*at);
    double low = column.value(*at);
    double high = low;
    for (++at; at != report.samples.end() && x_of(*at) < x + 0.5; ++at) {
      low = std::min(low, column.value(*at));
      high = std::max(high, column.value(*at));
    }
    points += fmt::format("{:.1f},{:.1f} ", x, y_of(low));
    if (high > low) {
      points += fmt::format("{:.1f},{:.1f} ", x, y_of(high));
    }
  }
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n",
                     points, column.color);
}

std::string svg_of(const Report& report, const Graph& graph) {
  double end = graph.at_least;
  for (const LinkSample& sample : report.samples) {
    for (const size_t column : graph.columns) {
      end = std::max(end, kColumns.at(column).value(sample));
    }
  }
  std::string out = fmt::format(
      "<h2>{}</h2>\n<svg viewBox=\"-2 -2 {} {}\" role=\"img\" aria-label=\"{}\">\n"
      "<rect width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#bbb\"/>\n",
      graph.title, kWidth + 4, kHeight + 4, graph.title, kWidth, kHeight);
  std::string legend = "from 0 to " + graph.words(end);
  for (const size_t i : graph.columns) {
    const Column& column = kColumns.at(i);
    if (!report.samples.empty()) {
      out += line_of(report, column, end);
    }
    legend += fmt::format("; <b style=\"color:{}\">{}</b>", column.color, column.words);
  }
  return out + "</svg>\n<p>" + legend + "</p>\n";
}

std::string title_of(const Report& report) {
  return report.room.empty() ? "Call" : "Room " + report.room;
}

}  // namespace

std::string report_csv(const Report& report) {
  std::string out = "at_s";
  for (const Column& column : kColumns) {
    out += std::string{","} + column.name;
  }
  out += '\n';
  for (const LinkSample& sample : report.samples) {
    out += fmt::format("{:.3f}", seconds_of(report, sample));
    for (const Column& column : kColumns) {
      out += fmt::format(",{:.6g}", column.value(sample));
    }
    out += '\n';
  }
  return out;
}

std::string report_json(const Report& report) {
  const LinkHealth& h = report.health;
  nlohmann::ordered_json out{
      {"version", 1},
      {"what", report.room.empty() ? "call" : "room"},
      {"room", report.room},
      {"made_at", report.made_at},
      {"people", report.people},
      {"path", report.path},
      {"status", report.status},
      {"length_s", report.samples.empty() ? 0.0 : seconds_of(report, report.samples.back())},
      {"samples", report.samples.size()},
      {"now",
       {{"sent_kbps", kbps(h.sent)},
        {"received_kbps", kbps(h.received)},
        {"uplink_forecast_kbps", kbps(h.uplink_forecast)},
        {"downlink_forecast_kbps", kbps(h.downlink_forecast)},
        {"window_bytes", h.window.bytes()},
        {"one_way_delay_ms", to_milliseconds(h.one_way_delay)},
        {"frame_delay_ms", to_milliseconds(h.frame_delay)},
        {"loss_up", h.loss_up},
        {"loss_down", h.loss_down},
        {"late_pictures", h.late_pictures}}}};
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string report_html(const Report& report) {
  const std::string title = escaped_attribute(title_of(report));
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n<title>{0}</title>\n"
      "<style>body{{font:16px/1.4 sans-serif;max-width:920px;margin:2em auto;padding:0 1em;"
      "color:#1b1f1d;background:#fff}}h2{{font-size:1em;margin:1.4em 0 .3em}}"
      "p{{margin:.2em 0}}svg{{width:100%}}</style>\n<h1>{0}</h1>\n<p>{1}</p>\n",
      title, escaped_attribute(report.made_at));
  out += fmt::format("<p>{} people. {}{}</p>\n", report.people, escaped_attribute(report.path),
                     report.path.empty() ? "" : ".");
  out += "<p>" + escaped_attribute(report.status) + "</p>\n";
  if (!report.samples.empty()) {
    const Duration from = report.samples.front().at - report.began;
    const Duration to = report.samples.back().at - report.began;
    out += "<p>From " + format_clock(from) + " to " + format_clock(to) + " of the call.</p>\n";
  }
  for (const Graph& graph : graphs()) {
    out += svg_of(report, graph);
  }
  return out + "<p>All values are in link.csv, the last ones in summary.json.</p>\n</html>\n";
}

fs::path write_report(const Report& report, const fs::path& parent) {
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) {
    throw std::runtime_error(parent.string() + ": " + error.message());
  }
  std::string name = report.made_at.empty() ? "report" : report.made_at;
  std::ranges::replace(name, ' ', '_');
  std::ranges::replace(name, ':', '-');
  for (int number = 1; number <= kFoldersMax; ++number) {
    fs::path folder = parent / (number == 1 ? name : name + "-" + std::to_string(number));
    if (fs::create_directory(folder, error)) {
      save_text(report_csv(report), folder / "link.csv");
      save_text(report_json(report), folder / "summary.json");
      save_text(report_html(report), folder / "report.html");
      return folder;
    }
    if (error) {
      throw std::runtime_error(folder.string() + ": " + error.message());
    }
  }
  throw std::runtime_error((parent / name).string() + ": too many reports of this second");
}

}  // namespace cress::ui
