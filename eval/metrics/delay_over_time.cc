#include "eval/metrics/delay_over_time.hh"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "transport/base/check.hh"

namespace cress::metrics {

namespace {

bool arrives_before(const Arrival& a, const Arrival& b) { return a.arrived < b.arrived; }

std::vector<DelaySegment> segments_of_sorted(std::span<const Arrival> arrivals, Window window) {
  std::vector<DelaySegment> segments;
  if (arrivals.empty() || arrivals.front().arrived >= window.to) {
    return segments;
  }
  TimePoint newest = kTimeZero;
  TimePoint from = window.from;
  for (const Arrival& arrival : arrivals) {
    if (arrival.arrived >= window.to) {
      break;
    }
    if (arrival.sent <= newest) {
      continue;  // late or repeated: it made nothing newer available
    }
    if (arrival.arrived > from) {
      segments.push_back({.from = from, .to = arrival.arrived, .low = from - newest});
      from = arrival.arrived;
    }
    newest = arrival.sent;
  }
  segments.push_back({.from = from, .to = window.to, .low = from - newest});
  return segments;
}

/// Time during which d <= level.
int64_t time_at_or_below(std::span<const DelaySegment> segments, int64_t level) {
  int64_t total = 0;
  for (const DelaySegment& segment : segments) {
    const int64_t length = (segment.to - segment.from).count();
    total += std::clamp<int64_t>(level - segment.low.count(), 0, length);
  }
  return total;
}

}  // namespace

std::vector<DelaySegment> delay_segments(std::span<const Arrival> arrivals, Window window) {
  check(window.from < window.to, "delay_segments: empty window");
  if (std::is_sorted(arrivals.begin(), arrivals.end(), arrives_before)) {
    return segments_of_sorted(arrivals, window);
  }
  std::vector<Arrival> sorted(arrivals.begin(), arrivals.end());
  std::sort(sorted.begin(), sorted.end(), arrives_before);
  return segments_of_sorted(sorted, window);
}

std::optional<Duration> delay_quantile(std::span<const DelaySegment> segments, double q) {
  check(q >= 0.0 && q <= 1.0, "delay_quantile: q outside 0..1");
  if (segments.empty()) {
    return std::nullopt;
  }
  int64_t total = 0;
  int64_t low = INT64_MAX;   // d is never below it
  int64_t high = INT64_MIN;  // nor above this
  for (const DelaySegment& segment : segments) {
    total += (segment.to - segment.from).count();
    low = std::min(low, segment.low.count());
    high = std::max(high, segment.high().count());
  }
  const auto wanted =
      std::min(total, static_cast<int64_t>(std::ceil(q * static_cast<double>(total))));
  // time_at_or_below never decreases as the level rises and reaches `total` at `high`: bisection
  // finds the smallest level in at most 63 passes over the segments, about 35 for delays of some
  // seconds.
  while (low < high) {
    const int64_t middle = std::midpoint(low, high);
    if (time_at_or_below(segments, middle) >= wanted) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return Duration{low};
}

std::optional<Duration> delay_quantile(std::span<const Arrival> arrivals, Window window, double q) {
  return delay_quantile(delay_segments(arrivals, window), q);
}

std::vector<Duration> delay_peaks(std::span<const DelaySegment> segments, Window window,
                                  Duration bin) {
  check(bin > Duration::zero(), "delay_peaks: bin must be positive");
  std::vector<Duration> peaks;
  auto segment = segments.begin();
  for (TimePoint from = window.from; from < window.to && !segments.empty(); from += bin) {
    const TimePoint to = std::min(from + bin, window.to);
    Duration peak = Duration::min();
    while (segment != segments.end() && segment->from < to) {
      peak = std::max(peak, segment->low + (std::min(segment->to, to) - segment->from));
      if (segment->to > to) {
        break;  // continues in the next bin
      }
      ++segment;
    }
    peaks.push_back(peak);
  }
  return peaks;
}

std::vector<Arrival> omniscient_arrivals(const sim::DeliveryTrace& trace, Duration propagation,
                                         Window window) {
  check(window.from < window.to, "omniscient_arrivals: empty window");
  std::vector<Arrival> arrivals;
  const Duration period = trace.period();
  // Two periods earlier at least one opportunity has arrived, unless the run starts in between.
  const Duration early = window.from - kTimeZero - propagation;
  const int64_t first_round = std::max<int64_t>(early / period - 2, 0);
  for (int64_t round = first_round;; ++round) {
    for (const sim::DeliveryOpportunity& opportunity : trace.opportunities) {
      const TimePoint sent = kTimeZero + period * round + opportunity.at;
      const Arrival arrival{.sent = sent, .arrived = sent + propagation};
      if (arrival.arrived >= window.to) {
        return arrivals;
      }
      if (arrival.arrived <= window.from) {
        arrivals.clear();  // a newer one arrived before the window's start
      }
      arrivals.push_back(arrival);
    }
  }
}

}  // namespace cress::metrics
