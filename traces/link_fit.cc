#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "traces/link_model.hh"
#include "transport/base/check.hh"

namespace cress::traces {
namespace {

constexpr int kRounds = 16;
// As much link time as gives this many opportunities, within bounds: a slow link needs longer for
// equally certain statistics. Half an hour contains a correlation time of ten seconds two hundred
// times.
constexpr double kSimulatedOpportunities = 1e6;
constexpr Duration kSimulatedMin = 30min;
constexpr Duration kSimulatedMax = 4h;
constexpr uint64_t kFitSeed = 0x5EED0FF17;
// Each round corrects this share of the difference: the moments depend on each other, and a full
// step oscillates.
constexpr double kStep = 0.6;

LinkModelParameters first_guess(const TraceStatistics& target) {
  LinkModelParameters p;
  p.mean_rate = target.mean_rate;
  p.slow_spread = std::clamp(target.spread_1s, 0.0, 2.0);
  p.fast_spread = 0.2;
  p.slow_time = std::clamp<Duration>(target.correlation_time, 500ms, 120s);
  p.outage_share = std::min(target.outage_share, 0.8);
  if (target.outages > 0) {
    p.outage_mean = std::clamp<Duration>(target.outage_mean, kOutageMin + 1ms, 1h - 1ms);
    p.outage_max = std::clamp<Duration>(target.outage_longest, p.outage_mean + 1ms, 1h);
  }
  p.outage_repeat = std::min(target.outage_repeat_share, 0.8);
  p.slipped_mean = target.slipped_mean;
  p.stall_share = std::min(target.stall_share / 2, 0.5);
  if (target.tail_exponent > 0) {
    p.stall_tail_exponent = std::clamp(target.tail_exponent, 1.5, 6.0);
  }
  p.burst_mean = std::clamp(1 / (1 - target.same_millisecond_share), 1.0, 10.0);
  p.gap_variation = std::clamp(std::sqrt(target.dispersion_20ms), 0.1, 3.0);
  return p;
}

/// The parameters clamped into the range that `generate` accepts, rate_max last: it must leave the
/// mean room between the silences.
LinkModelParameters in_range(LinkModelParameters p, const TraceStatistics& target) {
  p.mean_rate = std::clamp(p.mean_rate, DataRate::kilobits_per_second(1),
                           DataRate::kilobits_per_second(300'000));
  p.outage_mean = std::clamp<Duration>(p.outage_mean, kOutageMin, p.outage_max);
  const double needed = 1.05 / ((1 - p.outage_share) * (1 - p.stall_share));
  p.rate_max =
      std::clamp(std::max(target.rate_max, p.mean_rate * needed), DataRate::kilobits_per_second(1),
                 DataRate::kilobits_per_second(1'000'000));
  return p;
}

double move(double value, double missing, double low, double high) {
  return std::clamp(value + kStep * missing, low, high);
}

/// `p` corrected by the difference between its simulated statistics `got` and `target`. Shares are
/// corrected by differences, because a varying rate creates outages of its own; lengths by ratios.
LinkModelParameters corrected(LinkModelParameters p, const TraceStatistics& target,
                              const TraceStatistics& got) {
  const auto square = [](double x) { return x * x; };
  const auto ratio = [](double wanted, double had) {
    return std::clamp(std::pow(wanted / std::max(had, 1e-9), kStep), 0.5, 2.0);
  };
  const double slow = square(target.spread_1s) - square(got.spread_1s);
  const double both = square(target.spread_200ms) - square(got.spread_200ms);
  p.slow_spread = std::sqrt(move(square(p.slow_spread), slow, 0, square(2.5)));
  p.fast_spread = std::sqrt(move(square(p.fast_spread), both - slow, 0, square(1.5)));
  if (target.correlation_time > 0s && got.correlation_time > 0s) {
    const double factor =
        ratio(to_seconds(target.correlation_time), to_seconds(got.correlation_time));
    // Outages cut the correlation short; past twice the target a slower rate only blurs the mean.
    const double slowest_s = std::clamp(2 * to_seconds(target.correlation_time), 1.0, 120.0);
    p.slow_time = from_seconds(std::clamp(to_seconds(p.slow_time) * factor, 0.5, slowest_s));
  }
  p.outage_share = move(p.outage_share, target.outage_share - got.outage_share, 0, 0.8);
  if (target.outages > 0 && got.outages > 0) {
    const double factor = ratio(to_seconds(target.outage_mean), to_seconds(got.outage_mean));
    p.outage_mean = from_seconds(to_seconds(p.outage_mean) * factor);
  }
  p.outage_repeat =
      move(p.outage_repeat, target.outage_repeat_share - got.outage_repeat_share, 0, 0.9);
  p.stall_share = move(p.stall_share, target.stall_share - got.stall_share, 0, 0.6);
  p.burst_mean = std::clamp(p.burst_mean * ratio(1 / (1 - target.same_millisecond_share),
                                                 1 / (1 - got.same_millisecond_share)),
                            1.0, 20.0);
  const double missing = (target.dispersion_20ms - got.dispersion_20ms) / p.burst_mean;
  p.gap_variation = std::sqrt(move(square(p.gap_variation), missing, 0.0025, 16));
  return in_range(p, target);
}

/// The distance between the two: relative errors, shares by their difference in tenths.
double unlikeness(const TraceStatistics& target, const TraceStatistics& got) {
  const auto relative = [](double wanted, double had) {
    return wanted > 0 ? (had - wanted) / wanted : 0;
  };
  const std::array misses{
      // What matters most to a call has the largest weight.
      3 * relative(target.spread_1s, got.spread_1s),
      20 * (got.outage_share - target.outage_share),
      relative(target.spread_200ms, got.spread_200ms),
      relative(to_seconds(target.correlation_time), to_seconds(got.correlation_time)),
      10 * (got.stall_share - target.stall_share),
      got.outage_repeat_share - target.outage_repeat_share,
      relative(target.dispersion_20ms, got.dispersion_20ms),
      2 * (got.same_millisecond_share - target.same_millisecond_share),
      target.outages > 0 ? relative(to_seconds(target.outage_mean), to_seconds(got.outage_mean))
                         : 0.0,
  };
  double sum = 0;
  for (const double miss : misses) {
    sum += miss * miss;
  }
  return sum;
}

}  // namespace

LinkModelParameters fit(const sim::DeliveryTrace& trace, const Progress& progress) {
  check(trace.opportunities.size() >= 2, "fit: a trace of at least two opportunities");
  const TraceStatistics target = statistics(trace);
  const double opportunities_per_s = static_cast<double>(target.mean_rate.bits_per_second()) /
                                     static_cast<double>(sim::kOpportunitySize.bits());
  const Duration simulated = std::chrono::floor<std::chrono::milliseconds>(std::clamp<Duration>(
      from_seconds(kSimulatedOpportunities / std::max(opportunities_per_s, 1.0)), kSimulatedMin,
      kSimulatedMax));
  LinkModelParameters parameters = in_range(first_guess(target), target);
  LinkModelParameters best = parameters;
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    const TraceStatistics got = statistics(generate(parameters, simulated, kFitSeed));
    const double miss = unlikeness(target, got);
    if (miss < least) {
      least = miss;
      best = parameters;
    }
    parameters = corrected(parameters, target, got);
    if (progress) {
      progress(static_cast<double>(round + 1) / kRounds);
    }
  }
  return best;
}

}  // namespace cress::traces
