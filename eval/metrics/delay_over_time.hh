#pragma once

#include <optional>
#include <span>
#include <vector>

#include "eval/metrics/window.hh"
#include "transport/base/time.hh"
#include "transport/sim/trace.hh"

/// How old the newest thing that has arrived is (Sprout, NSDI '13, §5.1; docs/method.md):
///   d(t) = t - max{sent time of what arrived by t}.
/// d rises with slope 1 and falls at arrivals. Its quantiles are over time, not over packets, and
/// are computed on the function itself, without sampling. The same function serves packets (sent,
/// arrived) and frames (captured, displayed).
/// Before the first arrival d counts from the run's start (as if something sent at kTimeZero had
/// been there): a sender that waits, or a link that carries nothing, pays for it.
/// Threads: pure functions.
namespace cress::metrics {

/// One packet or frame. Any order is fine; packets that never arrived are simply not listed.
struct Arrival {
  TimePoint sent{};
  TimePoint arrived{};
  friend bool operator==(const Arrival&, const Arrival&) = default;
};

/// A stretch [from, to) in which nothing newer arrived: d goes from `low` to low + (to - from).
struct DelaySegment {
  TimePoint from{};
  TimePoint to{};
  Duration low{};

  Duration high() const { return low + (to - from); }
  friend bool operator==(const DelaySegment&, const DelaySegment&) = default;
};

/// d over the window, in order of time, without holes. Empty only where nothing arrived before the
/// window's end: there is no delay to speak of. O(n log n); O(n) when sorted by arrival already.
std::vector<DelaySegment> delay_segments(std::span<const Arrival> arrivals, Window window);

/// The smallest delay that d does not exceed for a share `q` (0..1) of the time that the segments
/// cover; exact to the nanosecond. nullopt for no segments. O(n).
std::optional<Duration> delay_quantile(std::span<const DelaySegment> segments, double q);
/// The same in one step.
std::optional<Duration> delay_quantile(std::span<const Arrival> arrivals, Window window, double q);

/// The largest d in each bin of the window (the last bin may be shorter): what a timeline shows.
/// `bin` > 0. Empty where delay_segments is.
std::vector<Duration> delay_peaks(std::span<const DelaySegment> segments, Window window,
                                  Duration bin);

/// What a sender that knows the link would reach: one packet per delivery opportunity, sent just in
/// time to leave with it, arriving `propagation` later. Lists the arrivals in the window and the
/// last ones before it, so that d is known from the window's start.
std::vector<Arrival> omniscient_arrivals(const sim::DeliveryTrace& trace, Duration propagation,
                                         Window window);

}  // namespace cress::metrics
