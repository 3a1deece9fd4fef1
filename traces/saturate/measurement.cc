#include "traces/saturate/measurement.hh"

#include <algorithm>

#include "traces/saturate/window.hh"
#include "transport/base/check.hh"

namespace cress::traces {
namespace {

struct Interval {
  TimePoint from{};
  TimePoint to{};
};

/// When a packet was certainly waiting at the bottleneck, one interval a packet, by their starts.
std::vector<Interval> busy_intervals(std::span<const SaturateArrival> arrivals, Duration fastest) {
  std::vector<Interval> busy;
  busy.reserve(arrivals.size());
  for (const SaturateArrival& arrival : arrivals) {
    const Duration waited = arrival.arrived - arrival.sent - fastest;
    if (waited >= DirectionMeasurement::kWaitMin) {
      busy.push_back({arrival.arrived - waited, arrival.arrived});
    }
  }
  std::ranges::sort(busy, {}, &Interval::from);
  return busy;
}

void find_unsaturated(const std::vector<Interval>& busy, const MeasuredWindow& window,
                      DirectionMeasurement& result) {
  TimePoint covered = window.from;
  Duration missing{};
  const auto hole = [&](TimePoint until) {
    if (until - covered >= DirectionMeasurement::kStretchMin) {
      result.unsaturated.push_back({covered - window.from, until - window.from});
      missing += until - covered;
    }
  };
  for (const Interval& interval : busy) {
    if (interval.from >= window.to) {
      break;
    }
    hole(interval.from);
    covered = std::max(covered, interval.to);
  }
  hole(window.to);
  result.saturated_share = 1 - to_seconds(missing) / to_seconds(result.length);
}

void count_packets(std::span<const SaturateArrival> inside, DirectionMeasurement& result) {
  uint64_t lowest = inside.front().sequence;
  uint64_t highest = lowest;
  for (const SaturateArrival& arrival : inside) {
    result.delivered += arrival.size;
    result.reordered += arrival.sequence < highest ? 1 : 0;
    lowest = std::min(lowest, arrival.sequence);
    highest = std::max(highest, arrival.sequence);
  }
  result.arrived = inside.size();
  const uint64_t sent = highest - lowest + 1;
  result.lost = sent > result.arrived ? sent - result.arrived : 0;
}

void fill_trace(std::span<const SaturateArrival> inside, TimePoint from,
                DirectionMeasurement& result) {
  DataSize together;
  for (const SaturateArrival& arrival : inside) {
    together += arrival.size;
    const auto at = std::chrono::floor<std::chrono::milliseconds>(arrival.arrived - from);
    for (; together >= sim::kOpportunitySize; together -= sim::kOpportunitySize) {
      result.trace.opportunities.push_back({at});
    }
  }
}

void measure_delays(std::span<const SaturateArrival> inside, const MeasuredWindow& window,
                    Duration fastest, DirectionMeasurement& result) {
  TimePoint last = window.from;
  Duration over{};
  std::vector<Duration> waits;
  waits.reserve(inside.size());
  for (const SaturateArrival& arrival : inside) {
    const Duration waited = arrival.arrived - arrival.sent - fastest;
    waits.push_back(waited);
    result.longest_gap = std::max(result.longest_gap, arrival.arrived - last);
    if (waited + window.round_trip > SaturatingWindow::kDelayMin) {
      over += arrival.arrived - last;
    }
    last = arrival.arrived;
  }
  result.longest_gap = std::max(result.longest_gap, window.to - last);
  result.over_delay_share = to_seconds(over) / to_seconds(result.length);
  const auto quantile = [&waits](size_t percent) {
    const auto at = waits.begin() + static_cast<std::ptrdiff_t>((waits.size() - 1) * percent / 100);
    std::ranges::nth_element(waits, at);
    return *at;
  };
  result.delay_p50 = quantile(50);
  result.delay_p95 = quantile(95);
}

}  // namespace

DirectionMeasurement measure_direction(std::span<const SaturateArrival> arrivals,
                                       const MeasuredWindow& window) {
  check(window.from <= window.to, "a measured window that ends before it begins");
  DirectionMeasurement result;
  result.length = window.to - window.from;
  if (result.length == Duration{}) {
    return result;
  }
  result.longest_gap = result.length;
  const auto first = std::ranges::lower_bound(arrivals, window.from, {}, &SaturateArrival::arrived);
  const auto last = std::ranges::lower_bound(arrivals, window.to, {}, &SaturateArrival::arrived);
  Duration fastest = Duration::max();
  for (const SaturateArrival& arrival : arrivals) {
    fastest = std::min(fastest, arrival.arrived - arrival.sent);
  }
  find_unsaturated(arrivals.empty() ? std::vector<Interval>{} : busy_intervals(arrivals, fastest),
                   window, result);
  const std::span inside{first, last};
  if (inside.empty()) {
    return result;
  }
  result.longest_gap = {};
  count_packets(inside, result);
  fill_trace(inside, window.from, result);
  measure_delays(inside, window, fastest, result);
  return result;
}

}  // namespace cress::traces
