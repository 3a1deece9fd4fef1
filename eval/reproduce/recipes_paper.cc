#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "eval/metrics/delay_over_time.hh"
#include "eval/metrics/rates.hh"
#include "eval/reproduce/paper.hh"
#include "eval/reproduce/recipe_tools.hh"
#include "eval/schemes/shared_link.hh"

/// Figures and tables of the Sprout paper that need runs.
namespace cress::reproduce {
namespace {

constexpr std::array<const char*, 5> kConfidences{"sprout", "sprout-75", "sprout-50", "sprout-25",
                                                  "sprout-5"};

std::string section(std::string_view part) {
  return std::string{paper::kSprout} + ", " + std::string{part};
}

std::vector<Cell> result_row(const std::string& scheme, const harness::DirectionResult& result) {
  return {words(scheme),
          number(result.throughput_kbps, 0),
          number(result.goodput_kbps, 0),
          number(result.utilization, 3),
          number(delay95_ms(result), 0),
          number(self_inflicted_ms(result), 0)};
}

const std::vector<std::string> kResultColumns{"scheme",         "throughput kbit/s",
                                              "goodput kbit/s", "utilization",
                                              "delay95 ms",     "self-inflicted ms"};

/// The part of a timeline in Figure 1, in points of half a second.
struct Stretch {
  double from_s = 0;
  double to_s = 0;
};
constexpr Duration kStretchMax = 60s;
constexpr int kBinsPerPoint = 5;

template <class Value>
std::vector<encoder_bench::ChartPoint> points_of(const std::vector<harness::TimelineRow>& rows,
                                                 Stretch stretch, Value value_of) {
  std::vector<encoder_bench::ChartPoint> points;
  const auto step = static_cast<size_t>(kBinsPerPoint);
  for (size_t i = 0; i + step <= rows.size(); i += step) {
    const double at = to_seconds(rows[i].time);
    if (at >= stretch.from_s && at < stretch.to_s) {
      points.push_back({at - stretch.from_s, value_of(std::span{rows}.subspan(i, step))});
    }
  }
  return points;
}

using Bins = std::span<const harness::TimelineRow>;

double mean_of(Bins bins, double harness::TimelineRow::*field) {
  double sum = 0;
  for (const harness::TimelineRow& row : bins) {
    sum += row.*field;
  }
  return sum / static_cast<double>(bins.size());
}

std::optional<double> largest_delay(Bins bins) {
  std::optional<double> largest;
  for (const harness::TimelineRow& row : bins) {
    largest = row.delay_ms ? std::max(largest.value_or(0), *row.delay_ms) : largest;
  }
  return largest;
}

std::vector<double> values_of(const encoder_bench::Chart& chart, double where_none) {
  std::vector<double> values;
  for (const auto& line : chart.lines) {
    for (const auto& point : line.points) {
      values.push_back(point.y.value_or(where_none));
    }
  }
  return values;
}

/// Axes around all that the panel draws.
void fit_axes(Panel& panel, double length_s, std::string y_title, bool logarithmic) {
  std::vector<double> values = values_of(panel.chart, logarithmic ? 100 : 0);
  for (const auto& point : panel.chart.area) {
    values.push_back(point.y.value_or(0));
  }
  panel.chart.x = {.title = "time, s", .low = 0, .high = length_s};
  panel.chart.y = logarithmic ? encoder_bench::axis_around(std::move(y_title), values, true)
                              : axis_from_zero(std::move(y_title), values);
}

}  // namespace

void want_fig1(const Lab& lab, RunBook& book) {
  for (const char* scheme : {"skype-like", "sprout", "cress"}) {
    book.want(request_of(lab, scheme, kVerizonDown), true);
  }
}

Figure figure_fig1(const Lab& lab, const RunBook& book) {
  const LabLink& link = lab.links.at(kVerizonDown);
  const Stretch stretch{to_seconds(link.skip),
                        to_seconds(std::min(link.skip + kStretchMax, link.duration))};
  const double length_s = stretch.to_s - stretch.from_s;
  Figure figure{.name = "fig1",
                .title = "Skype-like and Sprout over time, " + link.name,
                .source = section("Figure 1 (drawn, no table)"),
                .notes = lab.notes,
                .table = {.columns = kResultColumns}};
  Panel rates{.title = "Throughput (grey: what the link could carry)"};
  Panel delays{.title = "Largest delay of each half second"};
  for (const std::string scheme : {"skype-like", "sprout", "cress"}) {
    const RunRequest request = request_of(lab, scheme, kVerizonDown);
    const auto& rows = book.timeline(request);
    figure.table.rows.push_back(result_row(scheme, book.result(request)));
    figure.keys.push_back({scheme, colour_of(scheme)});
    const auto rate = [](Bins bins) {
      return std::optional{mean_of(bins, &harness::TimelineRow::throughput_kbps)};
    };
    const auto capacity = [](Bins bins) {
      return std::optional{mean_of(bins, &harness::TimelineRow::capacity_kbps)};
    };
    rates.chart.area = points_of(rows, stretch, capacity);
    rates.chart.lines.push_back(
        {.colour = colour_of(scheme), .points = points_of(rows, stretch, rate)});
    delays.chart.lines.push_back(
        {.colour = colour_of(scheme), .points = points_of(rows, stretch, largest_delay)});
  }
  fit_axes(rates, length_s, "kbit/s", false);
  fit_axes(delays, length_s, "ms", true);
  figure.panels = {std::move(rates), std::move(delays)};
  const double skype = delay95_ms(book.result(request_of(lab, "skype-like", kVerizonDown)));
  const double sprout = delay95_ms(book.result(request_of(lab, "sprout", kVerizonDown)));
  figure.verdict = fmt::format(
      "{}: 95 % of the time Sprout's delay is under {:.0f} ms (it aims at {:.0f}), Skype-like's "
      "under {:.0f} ms.",
      sprout < skype ? "As published, Sprout's delay is the smaller"
                     : "Against what is published, Sprout's delay is not the smaller",
      sprout, paper::kDelayAimMs, skype);
  return figure;
}

void want_fig7(const Lab& lab, RunBook& book) {
  for (const std::string& scheme : compared_schemes()) {
    want_everywhere(book, request_of(lab, scheme));
  }
}

Figure figure_fig7(const Lab& lab, const RunBook& book) {
  const std::vector<std::string> schemes = compared_schemes();
  Figure figure{.name = "fig7",
                .title = "throughput against self-inflicted delay, each link and direction",
                .source = section("Figure 7 (drawn, no table)"),
                .notes = lab.notes,
                .table = {.columns = kResultColumns},
                .keys = keys_of(schemes)};
  figure.table.columns.insert(figure.table.columns.begin(), "link");
  int least_delay = 0;
  int dominated = 0;
  for (size_t i = 0; i < kPaperLinks; ++i) {
    const harness::DirectionResult& sprout = book.result(request_of(lab, "sprout", i));
    bool is_least = true;
    bool is_dominated = false;
    std::vector<Mark> marks;
    for (const std::string& scheme : schemes) {
      const harness::DirectionResult& result = book.result(request_of(lab, scheme, i));
      std::vector<Cell> row = result_row(scheme, result);
      row.insert(row.begin(), words(lab.links[i].name));
      figure.table.rows.push_back(std::move(row));
      marks.push_back(
          {scheme, self_inflicted_ms(result), result.throughput_kbps, colour_of(scheme)});
      const bool is_quicker = self_inflicted_ms(result) < self_inflicted_ms(sprout);
      if (scheme != "cress") {  // the paper did not know it
        is_least = is_least && !is_quicker;
        is_dominated =
            is_dominated || (is_quicker && result.throughput_kbps > sprout.throughput_kbps);
      }
    }
    least_delay += is_least ? 1 : 0;
    dominated += is_dominated ? 1 : 0;
    figure.panels.push_back(
        scatter(lab.links[i].name, "self-inflicted delay, ms", "throughput, kbit/s", marks));
  }
  figure.verdict = fmt::format(
      "Of the paper's schemes Sprout has the least delay on {} of {} links; another one has both "
      "less delay and more throughput on {}.",
      least_delay, kPaperLinks, dominated);
  return figure;
}

Figure figure_fig8(const Lab& lab, const RunBook& book) {
  const std::vector<std::string> schemes = compared_schemes();
  Figure figure{.name = "fig8",
                .title = "mean utilization against mean self-inflicted delay, eight links",
                .source = section("Figure 8; delays: §1"),
                .notes = lab.notes,
                .table = {.columns = {"scheme", "utilization", "throughput kbit/s",
                                      "goodput kbit/s", "self-inflicted ms", "published ms"}},
                .keys = keys_of(schemes)};
  std::vector<Mark> marks;
  std::vector<Ranked> ranked;
  for (const std::string& scheme : schemes) {
    const Means means = means_of(book, request_of(lab, scheme));
    std::optional<double> published;
    for (const paper::Mean& mean : paper::kMeans) {
      published = mean.scheme == scheme ? std::optional{1000 * mean.delay_s} : published;
    }
    if (scheme == "sprout-ewma") {
      published = 1000 * paper::kEwmaMeans.front().delay_s;
    }
    figure.table.rows.push_back({words(scheme), number(means.utilization, 3),
                                 number(means.throughput_kbps, 0), number(means.goodput_kbps, 0),
                                 number(means.self_inflicted_ms, 0), number(published, 0)});
    if (published) {
      ranked.push_back({scheme, *published, means.self_inflicted_ms});
    }
    marks.push_back({scheme, means.self_inflicted_ms, means.utilization, colour_of(scheme)});
  }
  figure.panels.push_back(
      scatter("Eight links", "mean self-inflicted delay, ms", "mean utilization", marks));
  figure.verdict = order_verdict("mean self-inflicted delay (ms)", ranked, 0);
  return figure;
}

void want_fig9(const Lab& lab, RunBook& book) {
  for (const char* scheme : kConfidences) {
    want_everywhere(book, request_of(lab, scheme));
  }
  want_everywhere(book, request_of(lab, "sprout-ewma"));
}

Figure figure_fig9(const Lab& lab, const RunBook& book) {
  Figure figure{.name = "fig9",
                .title = "Sprout by the confidence of its forecast",
                .source = section("§5.5, Figure 9: T-Mobile UMTS uplink (drawn, no table)"),
                .notes = lab.notes,
                .table = {.columns = {"link", "scheme", "throughput kbit/s", "goodput kbit/s",
                                      "utilization", "self-inflicted ms"}}};
  std::vector<std::string> schemes{kConfidences.begin(), kConfidences.end()};
  schemes.emplace_back("sprout-ewma");
  figure.keys = keys_of(schemes);
  std::vector<Mark> one;
  std::vector<Mark> all;
  std::vector<Ranked> rates;
  std::vector<Ranked> delays;
  for (size_t i = 0; i < schemes.size(); ++i) {
    const std::string& scheme = schemes[i];
    const harness::DirectionResult& result = book.result(request_of(lab, scheme, kTMobileUp));
    const Means means = means_of(book, request_of(lab, scheme));
    const Means its{result.throughput_kbps, result.goodput_kbps, result.utilization,
                    self_inflicted_ms(result)};
    const std::pair<std::string, Means> both[] = {{lab.links[kTMobileUp].name, its},
                                                  {"mean of eight", means}};
    for (const auto& [link, numbers] : both) {
      figure.table.rows.push_back(means_row(scheme, numbers));
      figure.table.rows.back().insert(figure.table.rows.back().begin(), words(link));
    }
    one.push_back({scheme, self_inflicted_ms(result), result.throughput_kbps, colour_of(scheme)});
    all.push_back({scheme, means.self_inflicted_ms, means.utilization, colour_of(scheme)});
    if (i < kConfidences.size()) {  // less confidence: more throughput, more delay
      rates.push_back({scheme, static_cast<double>(i), result.throughput_kbps});
      delays.push_back({scheme, static_cast<double>(i), self_inflicted_ms(result)});
    }
  }
  figure.panels = {
      scatter(lab.links[kTMobileUp].name, "self-inflicted delay, ms", "throughput, kbit/s", one),
      scatter("Mean of eight links", "mean self-inflicted delay, ms", "mean utilization", all)};
  figure.verdict = order_verdict("throughput by less confidence", rates, 0) + " " +
                   order_verdict("delay by less confidence", delays, 0);
  return figure;
}

namespace {

/// One of the introduction's tables: every scheme compared with `first`.
void add_means(const Lab& lab, const RunBook& book, std::span<const paper::Mean> published,
               Figure& figure) {
  const Means base = means_of(book, request_of(lab, std::string{published.front().scheme}));
  std::vector<std::pair<std::string, const paper::Mean*>> rows;
  for (const paper::Mean& mean : published) {
    rows.emplace_back(mean.scheme, &mean);
  }
  rows.emplace_back("cress", nullptr);
  for (const auto& [scheme, mean] : rows) {
    std::vector<Cell> row{words(std::string{published.front().printed}), words(scheme)};
    const Means here = means_of(book, request_of(lab, scheme));
    const auto theirs = [&](double paper::Mean::*field) {
      return mean == nullptr ? std::nullopt : std::optional{mean->*field};
    };
    row.push_back(number(here.throughput_kbps, 0));
    row.push_back(number(here.goodput_kbps, 0));
    row.push_back(number(theirs(&paper::Mean::speedup), 2));
    row.push_back(number(base.throughput_kbps / here.throughput_kbps, 2));
    row.push_back(number(theirs(&paper::Mean::delay_s), 2));
    row.push_back(number(here.self_inflicted_ms / 1000, 2));
    row.push_back(number(theirs(&paper::Mean::over), 2));
    row.push_back(number(here.self_inflicted_ms / base.self_inflicted_ms, 2));
    figure.table.rows.push_back(std::move(row));
  }
}

}  // namespace

Figure figure_intro(const Lab& lab, const RunBook& book) {
  Figure figure{
      .name = "intro",
      .title = "both tables of the introduction, means over eight links",
      .source = section("§1 (its own drives over the same four networks)"),
      .notes = lab.notes,
      .table = {.columns = {"table of", "scheme", "throughput kbit/s", "goodput kbit/s",
                            "speedup, published", "speedup, here", "delay s, published",
                            "delay s, here", "over its delay, published", "over its delay, here"}}};
  add_means(lab, book, paper::kMeans, figure);
  add_means(lab, book, paper::kEwmaMeans, figure);
  std::vector<Ranked> delays;
  std::vector<Ranked> speeds;
  std::vector<Mark> marks;
  const double sprout = means_of(book, request_of(lab, "sprout")).throughput_kbps;
  for (const paper::Mean& mean : paper::kMeans) {
    const std::string scheme{mean.scheme};
    const Means here = means_of(book, request_of(lab, scheme));
    delays.push_back({scheme, mean.delay_s, here.self_inflicted_ms / 1000});
    speeds.push_back({scheme, mean.speedup, sprout / here.throughput_kbps});
    marks.push_back({scheme, 1000 * mean.delay_s, here.self_inflicted_ms, colour_of(scheme)});
    figure.keys.push_back({scheme, colour_of(scheme)});
  }
  figure.notes.emplace_back(
      "Speedup: the first scheme's mean throughput over this one's. Delay: mean self-inflicted "
      "delay.");
  Panel panel = scatter("Mean self-inflicted delay", "published, ms", "here, ms", marks);
  panel.chart.y = encoder_bench::axis_around("here, ms", values_of(panel.chart, 0), true);
  figure.panels.push_back(std::move(panel));
  figure.verdict =
      order_verdict("delay (s)", delays, 2) + " " + order_verdict("speedup", speeds, 2);
  return figure;
}

void want_loss(const Lab& lab, RunBook& book) {
  for (const paper::Loss& loss : paper::kLosses) {
    for (const char* scheme : {"sprout", "cress"}) {
      RunRequest request = request_of(lab, scheme, loss.down ? kVerizonDown : kVerizonUp);
      request.loss = loss.share;
      book.want(request);
    }
  }
}

Figure figure_loss(const Lab& lab, const RunBook& book) {
  Figure figure{
      .name = "loss",
      .title = "Sprout under random loss each way, Verizon LTE",
      .source = section("§5.6 (its own drive)"),
      .notes = lab.notes,
      .table = {.columns = {"link", "loss %", "scheme", "throughput kbit/s", "goodput kbit/s",
                            "published kbit/s", "self-inflicted ms", "published ms"}}};
  std::string wrong;
  double before = 0;
  for (const char* scheme : {"sprout", "cress"}) {
    const bool is_sprout = scheme == std::string_view{"sprout"};
    figure.keys.push_back({scheme, colour_of(scheme)});
    for (const bool down : {true, false}) {
      encoder_bench::ChartLine line{.colour = colour_of(scheme), .markers = true};
      for (const paper::Loss& loss : paper::kLosses) {
        if (loss.down != down) {
          continue;
        }
        RunRequest request = request_of(lab, scheme, down ? kVerizonDown : kVerizonUp);
        request.loss = loss.share;
        const harness::DirectionResult& result = book.result(request);
        const auto theirs = [&](double value) {
          return is_sprout ? std::optional{value} : std::nullopt;
        };
        figure.table.rows.push_back(
            {words(lab.links[request.link].name), number(100 * loss.share, 0), words(scheme),
             number(result.throughput_kbps, 0), number(result.goodput_kbps, 0),
             number(theirs(loss.throughput_kbps), 0), number(self_inflicted_ms(result), 0),
             number(theirs(loss.delay_ms), 0)});
        line.points.push_back({100 * loss.share, result.throughput_kbps});
        if (is_sprout && loss.share > 0 && result.throughput_kbps >= before) {
          wrong = lab.links[request.link].name;
        }
        before = result.throughput_kbps;
      }
      line.label = down ? "down" : "up";
      if (figure.panels.empty()) {
        figure.panels.push_back({.title = "Throughput under loss"});
      }
      figure.panels.front().chart.lines.push_back(std::move(line));
    }
  }
  encoder_bench::Chart& chart = figure.panels.front().chart;
  chart.x = {.title = "packets lost, %", .low = 0, .high = 11};
  chart.y = axis_from_zero("kbit/s", values_of(chart, 0));
  figure.verdict =
      wrong.empty()
          ? "As published, Sprout's throughput falls with loss in both directions and "
            "it goes on working at 10 %."
          : "Not as published: Sprout's throughput does not fall with loss on " + wrong + ".";
  return figure;
}

namespace {

/// The results of a call and a bulk transfer on one link.
struct Shares {
  double bulk_kbps = 0;
  double call_kbps = 0;
  double call_delay95_s = 0;
};

Shares shares_of(const LabLink& link, std::optional<tunnel::ControlKind> tunnel, uint64_t seed) {
  const schemes::SchemeContext context;
  const schemes::SharedArrivals arrivals =
      schemes::run_shared_link({.down = link.link.down,
                                .up = link.link.up,
                                .length = link.duration,
                                .call = schemes::make_flow("skype-like", context, seed),
                                .bulk = schemes::make_flow("cubic", context, seed),
                                .tunnel = tunnel});
  const metrics::Window window{kTimeZero + link.skip, kTimeZero + link.duration};
  const auto rate_kbps = [&](std::span<const schemes::CarriedDatagram> of) {
    std::vector<metrics::Delivery> deliveries;
    deliveries.reserve(of.size());
    for (const schemes::CarriedDatagram& datagram : of) {
      deliveries.push_back({datagram.arrived, datagram.size});
    }
    return metrics::throughput(deliveries, window).kilobits_per_second();
  };
  std::vector<metrics::Arrival> call;
  call.reserve(arrivals.call.size());
  for (const schemes::CarriedDatagram& datagram : arrivals.call) {
    call.push_back({datagram.sent, datagram.arrived});
  }
  const auto delay = metrics::delay_quantile(call, window, 0.95);
  return {rate_kbps(arrivals.bulk), rate_kbps(arrivals.call),
          to_seconds(delay.value_or(window.length()))};
}

}  // namespace

Figure figure_tunnel(const Lab& lab, const RunBook& /*book*/) {
  Figure figure{.name = "tunnel",
                .title = "Cubic and Skype on the Verizon LTE downlink, through SproutTunnel",
                .source = section("§5.7 (its own drive, the real Skype)"),
                .notes = lab.notes,
                .table = {.columns = {"what", "direct, published", "direct, here",
                                      "tunnel, published", "tunnel, here", "Cress tunnel, here"}}};
  const LabLink& link = lab.links.at(kVerizonDown);
  const Shares direct = shares_of(link, std::nullopt, lab.seed);
  const Shares sprout = shares_of(link, tunnel::ControlKind::kSprout, lab.seed);
  const Shares cress = shares_of(link, tunnel::ControlKind::kCress, lab.seed);
  constexpr std::array kFields{&Shares::bulk_kbps, &Shares::call_kbps, &Shares::call_delay95_s};
  static_assert(kFields.size() == paper::kTunnel.size());
  size_t as_published = 0;
  for (size_t i = 0; i < kFields.size(); ++i) {
    const paper::Tunnel& row = paper::kTunnel.at(i);
    const auto field = kFields.at(i);
    const int decimals = row.direct < 10 ? 2 : 0;
    figure.table.rows.push_back({words(std::string{row.what}), number(row.direct, decimals),
                                 number(direct.*field, decimals), number(row.tunnelled, decimals),
                                 number(sprout.*field, decimals), number(cress.*field, decimals)});
    as_published += (row.tunnelled > row.direct) == (sprout.*field > direct.*field) ? 1 : 0;
    const size_t colour = colour_of(i == 0 ? "cubic" : "skype-like");
    Panel panel{.title = std::string{row.what}};
    const std::vector<double> ys{row.direct, row.tunnelled, direct.*field, sprout.*field};
    panel.chart.lines = {{.colour = colour,
                          .points = {{1, row.direct}, {2, row.tunnelled}},
                          .markers = true,
                          .label = "published"},
                         {.colour = colour_of("cress"),
                          .points = {{1, direct.*field}, {2, sprout.*field}},
                          .markers = true,
                          .label = "here"}};
    panel.chart.x = {.title = "1: direct, 2: through the tunnel", .low = 0.8, .high = 2.4};
    panel.chart.y = axis_from_zero("", ys);
    figure.panels.push_back(std::move(panel));
  }
  figure.notes.emplace_back(
      "Skype here is skype-like without pictures. Delay is from program to program, the tunnel's "
      "own queues included.");
  figure.verdict = fmt::format(
      "{} of {} rows change by the tunnel as published; the call's delay falls to {:.0f} %, "
      "there to {:.0f} %.",
      as_published, kFields.size(), 100 * sprout.call_delay95_s / direct.call_delay95_s,
      100 * paper::kTunnel.back().tunnelled / paper::kTunnel.back().direct);
  return figure;
}

}  // namespace cress::reproduce
