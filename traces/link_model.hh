#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "traces/trace_statistics.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/sim/trace.hh"

namespace cress::traces {

/// One direction of a cellular (or Wi-Fi) link as a random process. Source: the description of such
/// links in Sprout (NSDI '13, §2 and Figure 2), as a generative model:
/// - a varying rate: its logarithm is the sum of two mean-reverting (Ornstein-Uhlenbeck) processes,
///   a slow one (cells, hills, other users) and a fast one (fading), clipped at rate_max. The
///   spread is therefore stationary, while that of Sprout's own Brownian model grows without bound;
/// - silences: outages (sticky: once in, the time to leave is heavy-tailed, and often a few
///   opportunities pass and the outage continues) and the shorter stalls that cause Figure 2's
///   power law. While silent nothing leaves the link;
/// - bursts: when the link is up, bursts of opportunities in the same millisecond (LTE schedules
///   several packets at once), with irregular gaps between them.
struct LinkModelParameters {
  DataRate mean_rate;  ///< over all time, including silences; > 0
  DataRate
      rate_max;  ///< the rate never exceeds it; if it is above mean_rate there is room for silences

  double slow_spread = 0;  ///< standard deviation of ln(rate) of the slow part
  Duration slow_time = 5s;
  double fast_spread = 0;  ///< the same of the fast part
  Duration fast_time = 500ms;

  double outage_share = 0;  ///< of all time
  /// Outages last from kOutageMin to outage_max (Pareto); outage_mean lies between the two.
  Duration outage_mean = 500ms;
  Duration outage_max = 10s;
  /// Probability that an outage is interrupted by a few opportunities only, slipped_mean of them on
  /// average (geometric, >= 1), before the next outage begins.
  double outage_repeat = 0;
  double slipped_mean = 1;
  double stall_share = 0;  ///< of the time that is not outage
  /// Stalls last from kStallMin to kOutageMin with a density t^-k; k > 1.
  double stall_tail_exponent = 3.27;

  double gap_variation = 1;  ///< standard deviation / mean of gaps between bursts
  double burst_mean = 1;     ///< opportunities in a burst (geometric), >= 1

  friend bool operator==(const LinkModelParameters&, const LinkModelParameters&) = default;
};

/// The error in the parameters, in one sentence that names the field; nullopt if `generate` accepts
/// them.
std::optional<std::string> problem_with(const LinkModelParameters& parameters);

/// Called from time to time with the share of the work done, 0..1.
using Progress = std::function<void(double)>;

/// A trace of exactly `length` (whole milliseconds in 1 ms..kTraceLengthMax), its opportunities on
/// whole milliseconds; the last one is at `length`, so that it repeats with that period. The same
/// parameters, length and seed give the same trace. Throws std::runtime_error if the trace would
/// have more than kTraceLinesMax lines.
sim::DeliveryTrace generate(const LinkModelParameters& parameters, Duration length, uint64_t seed,
                            const Progress& progress = {});

/// Parameters whose traces resemble `trace`, by the method of simulated moments: the model is run
/// for 30 min to 4 h of link time, its statistics are compared with those of `trace`, and each
/// parameter is corrected by the moment that it governs. Of 16 such rounds the best result is
/// kept. Deterministic (its random numbers have a fixed seed). Takes about a second for a fast
/// link. Needs at least two opportunities; a longer trace gives a better fit.
LinkModelParameters fit(const sim::DeliveryTrace& trace, const Progress& progress = {});

}  // namespace cress::traces
