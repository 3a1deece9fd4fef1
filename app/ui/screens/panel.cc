#include <cmath>
#include <string>
#include <vector>

#include "app/ui/kit/icons.hh"
#include "app/ui/kit/widgets.hh"
#include "app/ui/model/format.hh"
#include "app/ui/screens/screens.hh"

namespace cress::ui {
namespace {

struct Series {
  const char* name;
  Color color;
  double (*value)(const LinkSample&);
  std::string now;
};

struct Graph {
  const char* title;
  std::vector<Series> series;
  double at_least;               // of the axis
  std::string (*label)(double);  // of the axis' end
};

double forecast_of(const LinkSample& s) { return s.forecast.kilobits_per_second(); }
double sent_of(const LinkSample& s) { return s.sent.kilobits_per_second(); }
double window_of(const LinkSample& s) { return static_cast<double>(s.window.bytes()); }
double one_way_of(const LinkSample& s) { return to_milliseconds(s.one_way_delay); }
double frame_of(const LinkSample& s) { return to_milliseconds(s.frame_delay); }
double loss_of(const LinkSample& s) { return s.loss; }

std::string rate_label(double kbps) {
  return format_rate(DataRate::bits_per_second(static_cast<int64_t>(kbps * 1000)));
}
std::string size_label(double bytes) { return format_size(DataSize{static_cast<int64_t>(bytes)}); }
std::string delay_label(double ms) { return format_delay(from_seconds(ms / 1000)); }
std::string share_label(double share) { return format_share(share); }

// Samples are closer than pixels: for each column of two points the mean is drawn, or if they
// differ much the lowest and the highest, so that no peak is lost.
class Columns {
 public:
  Columns(const Rect& plot, double end) : plot_(plot), end_(end) {}

  void add(double share, double value) {
    const float x = plot_.x + static_cast<float>(share) * plot_.width;
    const auto column = static_cast<int>(std::floor((x - plot_.x) / kColumn));
    if (count_ > 0 && column != column_) {
      flush();
    }
    low_ = count_ == 0 ? value : std::min(low_, value);
    high_ = count_ == 0 ? value : std::max(high_, value);
    first_ = count_ == 0 ? value : first_;
    last_ = value;
    sum_ += value;
    x_sum_ += x;
    ++count_;
    column_ = column;
  }
  const std::vector<Point>& finish() {
    if (count_ > 0) {
      flush();
    }
    return line_;
  }

 private:
  static constexpr float kColumn = 2;
  static constexpr float kMuch = 4;

  float place(double value) const {
    return plot_.bottom() - static_cast<float>(std::clamp(value / end_, 0.0, 1.0)) * plot_.height;
  }
  void flush() {
    const auto n = static_cast<float>(count_);
    const float x = x_sum_ / n;
    if (place(low_) - place(high_) > kMuch) {
      const bool rises = last_ >= first_;
      line_.push_back({x - 0.5F, place(rises ? low_ : high_)});
      line_.push_back({x + 0.5F, place(rises ? high_ : low_)});
    } else {
      line_.push_back({x, place(sum_ / n)});
    }
    count_ = 0;
    sum_ = 0;
    x_sum_ = 0;
  }

  Rect plot_;
  double end_;
  std::vector<Point> line_;
  int column_ = 0;
  int count_ = 0;
  double low_ = 0;
  double high_ = 0;
  double first_ = 0;
  double last_ = 0;
  double sum_ = 0;
  float x_sum_ = 0;
};

void draw_series(Ui& ui, const Rect& plot, const Series& series, double end) {
  Columns columns{plot, end};
  for (const LinkSample& sample : ui.view.history) {
    const double age = to_seconds(ui.now - sample.at);
    columns.add(1 - age / to_seconds(kHistorySpan), series.value(sample));
  }
  const std::vector<Point>& line = columns.finish();
  if (line.size() >= 2) {
    ui.canvas.push_clip(plot.inset(0, -2));
    ui.canvas.polyline(line, series.color, 1.75F);
    ui.canvas.pop_clip();
  }
}

void draw_graph(Ui& ui, Rect box, const Graph& graph) {
  double highest = 0;
  for (const LinkSample& sample : ui.view.history) {
    for (const Series& series : graph.series) {
      highest = std::max(highest, series.value(sample));
    }
  }
  const double end = axis_end(highest, graph.at_least);
  Rect head = box.cut_top(18);
  ui.canvas.text(head, Font::kSmall, ui.theme.text_muted, graph.title);
  ui.canvas.text(head, Font::kSmall, ui.theme.text_muted, graph.label(end), Align::kRight);
  Rect legend = box.cut_bottom(20);
  box.cut_top(2);
  for (const float share : {0.0F, 0.5F, 1.0F}) {
    const float y = std::round(box.y + share * box.height) + 0.5F;
    ui.canvas.line({box.x, y}, {box.right(), y},
                   mix(ui.theme.surface, ui.theme.border, share == 1 ? 1.0F : 0.5F));
  }
  for (const Series& series : graph.series) {
    draw_series(ui, box, series, end);
  }
  for (const Series& series : graph.series) {
    const std::string words = std::string(series.name) + " " + series.now;
    ui.canvas.fill_circle({legend.x + 4, legend.center().y}, 4, series.color);
    legend.cut_left(14);
    const float width = ui.canvas.text_width(Font::kSmall, words);
    ui.canvas.text(legend, Font::kSmall, ui.theme.text, words);
    legend.cut_left(width + 16);
  }
}

std::vector<Graph> graphs_of(const Ui& ui) {
  const LinkHealth& h = ui.view.health;
  const Theme& t = ui.theme;
  return {
      {"Uplink",
       {{"Sent", t.second_line, sent_of, format_rate(h.sent)},
        {"Forecast", t.forecast_line, forecast_of, format_rate(h.uplink_forecast)}},
       100,
       rate_label},
      {"Data in transit",
       {{"Limit", t.third_line, window_of, format_size(h.window)}},
       5000,
       size_label},
      {"Delay from them",
       {{"Frame", t.second_line, frame_of, format_delay(h.frame_delay)},
        {"One way", t.forecast_line, one_way_of, format_delay(h.one_way_delay)}},
       200,
       delay_label},
      {"Loss",
       {{"Worse direction", t.third_line, loss_of, format_share(std::max(h.loss_up, h.loss_down))}},
       0.1,
       share_label},
  };
}

void draw_numbers(Ui& ui, Rect box) {
  const LinkHealth& h = ui.view.health;
  const float half = box.width / 2;
  const auto number = [&](Rect cell, const char* name, const std::string& value) {
    ui.canvas.text(cell.cut_top(16), Font::kSmall, ui.theme.text_muted, name);
    ui.canvas.text(cell.cut_top(20), Font::kStrong, ui.theme.text, value);
  };
  number({box.x, box.y, half, 36}, "Received", format_rate(h.received));
  number({box.x, box.y + 42, half, 36}, "Lost from you", format_share(h.loss_up));
  const Rect right{box.x + half, box.y, half, 36};
  const Rect below{box.x + half, box.y + 42, half, 36};
  if (const auto& room = ui.view.room) {
    // A relay does not report its forecast of the link to here.
    number(right, "Your video at most", format_rate(room->video_wanted.value_or(DataRate{})));
    number(below, "In the room", std::to_string(room->others.size() + 1));
  } else {
    number(right, "They can send", format_rate(h.downlink_forecast));
    number(below, "Lost from them", format_share(h.loss_down));
  }
}

}  // namespace

double axis_end(double highest, double at_least) {
  const double wanted = std::max(highest, at_least);
  const double power = std::pow(10, std::floor(std::log10(wanted)));
  for (const double step : {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0}) {
    if (step * power >= wanted * (1 - 1e-9)) {
      return step * power;
    }
  }
  return 10 * power;
}

void draw_panel(Ui& ui, const Rect& box) {
  auto [head, inside, closes] =
      side_panel(ui, box, "Live", "panel-close", "Close the panel", "Close the panel (P)");
  if (closes) {
    toggle_panel(ui.state);
  }
  head.cut_right(4);
  const Rect save = head.cut_right(32);
  if (icon_button(ui, around(save.center(), 32, 32), "save-report", "Save what I see",
                  "Save what I see, as a report (R)", Icon::kSave)) {
    ui.ask(SaveReport{});
  }
  head.cut_right(8);
  ui.canvas.text(head, Font::kSmall, ui.theme.text_muted, ui.view.path, Align::kRight);
  const StatusLine& status = ui.view.status;
  const std::string words = status.text.empty() ? "Measuring the link…" : status.text;
  ui.canvas.fill_circle({inside.x + 5, inside.y + 9}, 5, tone_color(ui.theme, status.tone));
  // Always room for two lines: what is below must not jump.
  ui.canvas.paragraph({inside.x + 20, inside.y, inside.width - 20, 40}, Font::kBody, ui.theme.text,
                      words);
  inside.cut_top(48);
  const bool roomy = inside.height >= 420;
  if (roomy) {
    draw_numbers(ui, inside.cut_bottom(80));
    inside.cut_bottom(14);
  }
  std::vector<Graph> graphs = graphs_of(ui);
  constexpr float kBetween = 10;
  if (inside.height < 300) {
    // Two readable ones instead of four unreadable ones.
    graphs = {graphs[0], graphs[2]};
  }
  const auto count = static_cast<float>(graphs.size());
  const float height = std::min(150.0F, (inside.height - kBetween * (count - 1)) / count);
  for (const Graph& graph : graphs) {
    draw_graph(ui, inside.cut_top(height), graph);
    inside.cut_top(kBetween);
  }
}

}  // namespace cress::ui
