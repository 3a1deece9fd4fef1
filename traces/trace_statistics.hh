#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/sim/trace.hh"

namespace cress::traces {

/// A silence longer than this is an outage: ten ticks of Sprout without a single delivery.
inline constexpr Duration kOutageMin = 200ms;
/// Sprout's Figure 2 starts its power law at 20 ms: the shortest stall that the link model
/// generates, and where the tail fit starts. `stall_share` below counts only those over 60 ms.
inline constexpr Duration kStallMin = 20ms;

/// Times between successive opportunities in whole milliseconds, one per opportunity. The first one
/// counts from the trace's start, which coincides with the last one of the previous repetition.
std::vector<int64_t> interarrivals_ms(const sim::DeliveryTrace& trace);

/// Opportunities in each whole window of the trace; a partial last window is left out. `window`:
/// whole milliseconds, > 0.
std::vector<int64_t> opportunities_per_window(const sim::DeliveryTrace& trace, Duration window);

/// The smallest value such that the share `q` (0..1) of the values is at most that (nearest rank).
/// `values` must not be empty.
int64_t quantile(std::vector<int64_t> values, double q);

/// Statistics of a link: the numbers to which the link model is fitted. A spread is the standard
/// deviation of ln(rate) over windows with at least one opportunity.
struct TraceStatistics {
  size_t opportunities = 0;
  Duration length{};
  DataRate mean_rate;
  double spread_1s = 0;
  double spread_200ms = 0;
  /// Lag at which the autocorrelation of ln(1 s rate) first falls below 1/e; a silent second counts
  /// as half an opportunity. At most a quarter of the trace; 0 if the rate never changes.
  Duration correlation_time{};
  /// 99.9 % of the windows of 200 ms carried at most this.
  DataRate rate_max;

  size_t outages = 0;
  double outage_share = 0;  ///< of time, in silences over kOutageMin
  Duration outage_mean{};
  Duration outage_longest{};
  /// Share of the outages that began at most twelve opportunities after the end of another one: the
  /// link was not yet back, although some opportunities passed; and their mean number.
  double outage_repeat_share = 0;
  double slipped_mean = 1;
  /// Share of time in silences of more than 60 and at most 200 ms.
  double stall_share = 0;

  /// Variance / mean of the counts per 20 ms inside 200 ms, so that slow variation of the rate is
  /// excluded: 1 for Poisson arrivals, less for a regular clock, more for bursts.
  double dispersion_20ms = 0;
  /// Share of opportunities in the same millisecond as the one before.
  double same_millisecond_share = 0;
  /// k of the density t^-k of interarrival times of kStallMin and more: the maximum-likelihood
  /// estimate for whole numbers by Clauset, Shalizi and Newman (SIAM Review 51:4, 2009, eq. 3.7).
  /// Sprout reports 3.27 (Figure 2). 0 if there are fewer than 20 such times.
  double tail_exponent = 0;
};

/// Linear in the trace's length.
TraceStatistics statistics(const sim::DeliveryTrace& trace);

}  // namespace cress::traces
