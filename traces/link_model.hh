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

/// One direction of a cellular (or Wi-Fi) link as a random process. Source: the picture of such
/// links in Sprout (NSDI '13, §2 and Figure 2), made generative:
/// - a rate that wanders: its logarithm is the sum of two mean-reverting (Ornstein-Uhlenbeck)
///   processes, a slow one (cells, hills, other users) and a fast one (fading), cut off at
///   rate_max. The spread is therefore stationary, where Sprout's own Brownian model runs away;
/// - silences: outages (sticky: once in, the time to leave is heavy-tailed, and often a few
///   opportunities slip through and the outage goes on) and the shorter stalls that make Figure 2's
///   power law. While silent nothing leaves the link;
/// - bursts: when the link is up, bursts of opportunities in the same millisecond (LTE schedules
///   several packets at once), with irregular gaps between them.
struct LinkModelParameters {
  DataRate mean_rate;  ///< over all time, silences included; > 0
  DataRate rate_max;   ///< the rate never exceeds it; more than mean_rate leaves room for silences

  double slow_spread = 0;  ///< standard deviation of ln(rate) of the slow part
  Duration slow_time = 5s;
  double fast_spread = 0;  ///< the same of the fast part
  Duration fast_time = 500ms;

  double outage_share = 0;  ///< of all time
  /// Outages last from kOutageMin to outage_max (Pareto); outage_mean lies between the two.
  Duration outage_mean = 500ms;
  Duration outage_max = 10s;
  /// Chance that an outage ends for a few opportunities only, slipped_mean of them on average
  /// (geometric, >= 1), and the next outage begins.
  double outage_repeat = 0;
  double slipped_mean = 1;
  double stall_share = 0;  ///< of the time that is not outage
  /// Stalls last from kStallMin to kOutageMin with a density t^-k; k > 1.
  double stall_tail_exponent = 3.27;

  double gap_variation = 1;  ///< standard deviation / mean of gaps between bursts
  double burst_mean = 1;     ///< opportunities in a burst (geometric), >= 1

  friend bool operator==(const LinkModelParameters&, const LinkModelParameters&) = default;
};

/// What is wrong with the parameters, in one sentence that names the field; nothing when
/// `generate` accepts them.
std::optional<std::string> problem_with(const LinkModelParameters& parameters);

/// Told now and then the share of the work done, 0..1.
using Progress = std::function<void(double)>;

/// A trace of exactly `length` (whole milliseconds in 1 ms..kTraceLengthMax), its opportunities on
/// whole milliseconds; the last one is at `length`, so that it repeats with that period.
/// The same parameters, length and seed give the same trace.
/// Throws std::runtime_error when the trace would have more than kTraceLinesMax lines.
sim::DeliveryTrace generate(const LinkModelParameters& parameters, Duration length, uint64_t seed,
                            const Progress& progress = {});

/// Parameters whose traces look like `trace`: the method of simulated moments. Its statistics are
/// the target; the model is run for hours of link time, its own statistics compared, each
/// parameter corrected by the one moment it governs, a dozen times over, and the best kept.
/// Deterministic (its random numbers have a fixed seed). Takes a second or so for a fast link.
/// Needs at least two opportunities; the longer the trace, the more it says.
LinkModelParameters fit(const sim::DeliveryTrace& trace, const Progress& progress = {});

}  // namespace cress::traces
