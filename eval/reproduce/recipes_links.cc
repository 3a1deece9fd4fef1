#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "eval/reproduce/calibration.hh"
#include "eval/reproduce/paper.hh"
#include "eval/reproduce/recipe_tools.hh"
#include "eval/schemes/registry.hh"
#include "traces/trace_statistics.hh"
#include "transport/control/cress/cress_control.hh"

/// Figures computed from the links themselves, without a run.
namespace cress::reproduce {
namespace {

constexpr int64_t kTailFromMs = 20;

constexpr double kMillion = 1e6;

/// Of a million interarrivals, the number per millisecond, in bins that grow by a fifth.
std::vector<encoder_bench::ChartPoint> density(const std::vector<int64_t>& interarrivals) {
  constexpr double kGrowth = 1.2;
  std::vector<encoder_bench::ChartPoint> points;
  const int64_t longest = *std::ranges::max_element(interarrivals);
  for (int64_t from = 1; from <= longest;) {
    const int64_t to =
        std::max(from + 1, static_cast<int64_t>(std::ceil(static_cast<double>(from) * kGrowth)));
    const auto count = std::ranges::count_if(
        interarrivals, [&](int64_t value) { return value >= from && value < to; });
    if (count > 0) {
      points.push_back({std::sqrt(static_cast<double>(from) * static_cast<double>(to - 1)),
                        kMillion * static_cast<double>(count) / static_cast<double>(to - from) /
                            static_cast<double>(interarrivals.size())});
    }
    from = to;
  }
  return points;
}

double share_from(const std::vector<int64_t>& interarrivals, int64_t from_ms) {
  return static_cast<double>(std::ranges::count_if(
             interarrivals, [&](int64_t value) { return value >= from_ms; })) /
         static_cast<double>(interarrivals.size());
}

/// The density t^-exponent that holds `share` from kTailFromMs on, down to `lowest`.
std::vector<encoder_bench::ChartPoint> power_law(double exponent, double share, double lowest) {
  // Whole milliseconds: the minimum is half of one less (Clauset et al., eq. 3.7).
  const double least = static_cast<double>(kTailFromMs) - 0.5;
  const double at_least = kMillion * share * (exponent - 1) / least;
  const auto first = static_cast<double>(kTailFromMs);
  return {{first, at_least * std::pow(first / least, -exponent)},
          {least * std::pow(at_least / lowest, 1 / exponent), lowest}};
}

/// Axes from all lines, both logarithmic.
void fit_log_axes(Panel& panel, std::string x_title, std::string y_title) {
  std::vector<double> xs;
  std::vector<double> ys;
  for (const auto& line : panel.chart.lines) {
    for (const auto& point : line.points) {
      xs.push_back(point.x);
      ys.push_back(point.y.value_or(0));
    }
  }
  panel.chart.x = encoder_bench::axis_around(std::move(x_title), xs, true);
  panel.chart.y = encoder_bench::axis_around(std::move(y_title), ys, true);
}

double normal_share_below(double quantile) { return 0.5 * std::erfc(-quantile / std::sqrt(2.0)); }

struct Forecasts {
  std::string scheme;
  double nominal;  ///< share of forecasts that may fall short
  std::vector<Calibration> links{};
};

double short_share(const Calibration& calibration, size_t horizon) {
  return static_cast<double>(calibration.shortfalls[horizon]) /
         static_cast<double>(std::max<int64_t>(1, calibration.forecasts));
}

Calibration sum_of(const std::vector<Calibration>& links) {
  Calibration all = links.front();
  for (size_t i = 1; i < links.size(); ++i) {
    all.forecasts += links[i].forecasts;
    for (size_t h = 0; h < all.shortfalls.size(); ++h) {
      all.shortfalls[h] += links[i].shortfalls[h];
      all.forecast[h] += links[i].forecast[h];
      all.delivered[h] += links[i].delivered[h];
    }
  }
  return all;
}

std::vector<Forecasts> forecasts_of(const Lab& lab) {
  const schemes::SchemeContext context;
  Forecasts sprout{.scheme = "sprout", .nominal = control::kForecastQuantile};
  Forecasts cress{.scheme = "cress",
                  .nominal = normal_share_below(control::CressControl::Options{}.caution_normal)};
  for (size_t i = 0; i < kPaperLinks; ++i) {
    const LabLink& link = lab.links[i];
    sprout.links.push_back(calibrate_sprout(*link.link.down, link.duration, link.skip,
                                            context.dynamics(), context.table()));
    cress.links.push_back(calibrate_cress(*link.link.down, link.duration, link.skip));
  }
  return {std::move(sprout), std::move(cress)};
}

}  // namespace

Figure figure_fig2(const Lab& lab, const RunBook& /*book*/) {
  Figure figure{.name = "fig2",
                .title = "times between deliveries of a saturated link, with a power law's tail",
                .source = std::string{paper::kSprout} +
                          ", Figure 2: Verizon LTE downlink, a phone that stood still",
                .notes = lab.notes,
                .table = {.columns = {"link", "deliveries", "within 20 ms %", "published %",
                                      "tail exponent", "published", "longest ms"}}};
  for (size_t i = 0; i < kPaperLinks; ++i) {
    const sim::DeliveryTrace& trace = *lab.links[i].link.down;
    const std::vector<int64_t> interarrivals = traces::interarrivals_ms(trace);
    const double exponent = traces::statistics(trace).tail_exponent;
    const double tail = share_from(interarrivals, kTailFromMs);
    const auto longest = static_cast<double>(*std::ranges::max_element(interarrivals));
    const auto theirs = [&](double value) {
      return i == kVerizonDown ? std::optional{value} : std::nullopt;
    };
    figure.table.rows.push_back(
        {words(lab.links[i].name), number(static_cast<double>(interarrivals.size()), 0),
         number(100 * (1 - tail), 2), number(theirs(100 * paper::kShareWithin20Ms), 2),
         number(exponent, 2), number(theirs(paper::kTailExponent), 2), number(longest, 0)});
    Panel panel{.title = fmt::format("{}: t^-{:.2f}", lab.links[i].name, exponent)};
    auto points = density(interarrivals);
    const double lowest = *std::ranges::min_element(points, {}, &encoder_bench::ChartPoint::y)->y;
    panel.chart.lines.push_back({.colour = 0, .points = std::move(points), .markers = true});
    if (exponent > 1) {
      panel.chart.lines.push_back({.colour = 1, .points = power_law(exponent, tail, lowest)});
    }
    fit_log_axes(panel, "interarrival, ms", "of a million, in each ms");
    figure.panels.push_back(std::move(panel));
    if (i == kVerizonDown) {
      figure.verdict = fmt::format(
          "As published, a power law has the tail; on {} it falls with {:.2f} ({:.2f} there), and "
          "{:.2f} % of deliveries come within 20 ms of the one before ({:.2f} % there): this link "
          "was recorded on the move.",
          lab.links[i].name, exponent, paper::kTailExponent, 100 * (1 - tail),
          100 * paper::kShareWithin20Ms);
    }
  }
  figure.keys = {{"measured", 0}, {"fitted from 20 ms on", 1}};
  figure.notes.emplace_back(
      "Deliveries in the same millisecond as the one before have no place on a logarithmic axis.");
  return figure;
}

Figure figure_forecast(const Lab& lab, const RunBook& /*book*/) {
  Figure figure{.name = "forecast",
                .title = "deliveries that fall short of the forecast, saturated links",
                .source = std::string{paper::kSprout} + ", §3.3: 5 % (no measurement)",
                .notes = lab.notes,
                .table = {.columns = {"scheme", "within ms", "nominal %", "short %", "least link %",
                                      "most link %", "forecast of delivered %"}}};
  Panel panel{.title = "All eight links (dashed: nominal)"};
  std::vector<double> ys;
  for (const Forecasts& forecasts : forecasts_of(lab)) {
    const Calibration all = sum_of(forecasts.links);
    encoder_bench::ChartLine line{.colour = colour_of(forecasts.scheme), .markers = true};
    double low = 1;
    double high = 0;
    for (size_t h = 0; h < all.shortfalls.size(); ++h) {
      const double within_ms = to_milliseconds(control::kTickLength) * static_cast<double>(h + 1);
      const auto [least, most] = std::ranges::minmax(
          forecasts.links, {}, [&](const Calibration& link) { return short_share(link, h); });
      const double share = short_share(all, h);
      low = std::min(low, share);
      high = std::max(high, share);
      figure.table.rows.push_back(
          {words(forecasts.scheme), number(within_ms, 0), number(100 * forecasts.nominal, 1),
           number(100 * share, 2), number(100 * short_share(least, h), 2),
           number(100 * short_share(most, h), 2),
           number(100 * all.forecast[h] / std::max(1.0, all.delivered[h]), 1)});
      line.points.push_back({within_ms, 100 * share});
      ys.push_back(100 * share);
    }
    // Eight colours on, a line has dashes.
    const double end_ms = to_milliseconds(control::kTickLength) * control::kForecastTicks;
    panel.chart.lines.push_back(std::move(line));
    panel.chart.lines.push_back(
        {.colour = colour_of(forecasts.scheme) + 8,
         .points = {{0, 100 * forecasts.nominal}, {end_ms, 100 * forecasts.nominal}}});
    ys.push_back(100 * forecasts.nominal);
    figure.keys.push_back({forecasts.scheme, colour_of(forecasts.scheme)});
    figure.keys.push_back({forecasts.scheme + ", nominal", colour_of(forecasts.scheme) + 8});
    figure.verdict += fmt::format(
        "{}{} falls short {:.1f} to {:.1f} % of the time by horizon, nominally {:.1f} %: {}.",
        figure.verdict.empty() ? "" : " ", forecasts.scheme, 100 * low, 100 * high,
        100 * forecasts.nominal,
        high <= forecasts.nominal  ? "more careful than it says"
        : low >= forecasts.nominal ? "less careful than it says"
                                   : "about as careful as it says");
  }
  panel.chart.x = {.title = "within, ms", .low = 0, .high = 170};
  panel.chart.y = axis_from_zero("short, %", ys);
  figure.panels.push_back(std::move(panel));
  return figure;
}

}  // namespace cress::reproduce
