#pragma once

#include <optional>
#include <span>
#include <vector>

#include "eval/metrics/window.hh"
#include "transport/base/time.hh"
#include "transport/sim/trace.hh"

/// The age of the newest item that has arrived (Sprout, NSDI '13, §5.1; docs/method.md):
///   d(t) = t - max{sent time of the items that arrived by t}.
/// d rises with slope 1 and drops at arrivals. Its quantiles are over time, not over packets, and
/// are computed on the function itself, without sampling. The same function serves packets (sent,
/// arrived) and frames (captured, displayed). Before the first arrival d counts from the run's
/// start (as if an item sent at kTimeZero had arrived), so that a sender that waits, or a link that
/// carries nothing, is charged for it. Threads: pure functions.
namespace cress::metrics {

/// One packet or frame. In any order; packets that never arrived are not listed.
struct Arrival {
  TimePoint sent{};
  TimePoint arrived{};
  friend bool operator==(const Arrival&, const Arrival&) = default;
};

/// An interval [from, to) in which nothing newer arrived: d rises from `low` to low + (to - from).
struct DelaySegment {
  TimePoint from{};
  TimePoint to{};
  Duration low{};

  Duration high() const { return low + (to - from); }
  friend bool operator==(const DelaySegment&, const DelaySegment&) = default;
};

/// d over the window, in order of time, without gaps. Empty only if nothing arrived before the
/// window's end: the delay is then undefined. O(n log n); O(n) if already sorted by arrival.
std::vector<DelaySegment> delay_segments(std::span<const Arrival> arrivals, Window window);

/// The smallest delay that d does not exceed for a share `q` (0..1) of the time that the segments
/// cover; exact to the nanosecond. nullopt for no segments. O(n).
std::optional<Duration> delay_quantile(std::span<const DelaySegment> segments, double q);
/// The same in one step.
std::optional<Duration> delay_quantile(std::span<const Arrival> arrivals, Window window, double q);

/// The maximum of d in each bin of the window (the last bin may be shorter): the values of a
/// timeline. `bin` > 0. Empty if delay_segments is.
std::vector<Duration> delay_peaks(std::span<const DelaySegment> segments, Window window,
                                  Duration bin);

/// The result of a sender that knows the link: one packet per delivery opportunity, sent just in
/// time to leave with it, arriving `propagation` later. Lists the arrivals in the window and the
/// last ones before it, so that d is known from the window's start.
std::vector<Arrival> omniscient_arrivals(const sim::DeliveryTrace& trace, Duration propagation,
                                         Window window);

}  // namespace cress::metrics
