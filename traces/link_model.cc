#include "traces/link_model.hh"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string_view>

#include "transport/base/check.hh"
#include "transport/base/rng.hh"

namespace cress::traces {
namespace {

using std::chrono::milliseconds;

// The rate is redrawn once a Sprout tick; inside one it is constant.
constexpr int64_t kRateStepMs = 20;
// A quarter of an hour of link time takes about ten milliseconds.
constexpr int64_t kProgressStepMs = 900'000;
// Of the mean rate that rate_max allows, the share that a varying rate may use: at 1 there is no
// room left to vary.
constexpr double kMeanOfMaxLimit = 0.98;
constexpr double kShapeMin = 0.01;
constexpr double kShapeMax = 50;

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// E[min(median·e^(spread·Z), max)] for a standard normal Z.
double mean_of_capped(double median, double spread, double max) {
  if (spread < 1e-6) {
    return std::min(median, max);
  }
  const double d = std::log(max / median) / spread;
  return median * std::exp(spread * spread / 2) * normal_cdf(d - spread) + max * normal_cdf(-d);
}

/// The median whose capped mean is `mean` (< max).
double median_for_mean(double mean, double spread, double max) {
  double low = std::log(mean) - 50;
  double high = std::log(max) + 50;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (mean_of_capped(std::exp(middle), spread, max) < mean ? low : high) = middle;
  }
  return std::exp((low + high) / 2);
}

/// A truncated power law, in milliseconds: density ~ t^-(shape + 1) on [min, max].
struct CutPareto {
  double min_ms = 1;
  double max_ms = 2;
  double shape = 1;

  double mean_ms() const {
    const double norm = 1 - std::pow(min_ms / max_ms, shape);
    if (std::abs(shape - 1) < 1e-9) {
      return min_ms * std::log(max_ms / min_ms) / norm;
    }
    return shape * min_ms / (shape - 1) * (1 - std::pow(min_ms / max_ms, shape - 1)) / norm;
  }
  double draw_ms(Rng& rng) const {
    const double norm = 1 - std::pow(min_ms / max_ms, shape);
    return min_ms * std::pow(1 - rng.uniform() * norm, -1 / shape);
  }
};

/// 1, 2, ... with the given mean (>= 1).
int64_t geometric(double mean, Rng& rng) {
  if (mean <= 1) {
    return 1;
  }
  return 1 + static_cast<int64_t>(std::log(1 - rng.uniform()) / std::log(1 - 1 / mean));
}

/// The shape that gives `mean_ms`, or the nearest one there is.
CutPareto cut_pareto_with_mean(double min_ms, double max_ms, double mean_ms) {
  double low = kShapeMin;
  double high = kShapeMax;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (CutPareto{min_ms, max_ms, middle}.mean_ms() > mean_ms ? low : high) = middle;
  }
  return {min_ms, max_ms, (low + high) / 2};
}

/// What the link must carry on average while it is up, in bits per second.
double mean_bps_when_up(const LinkModelParameters& p) {
  // The first opportunities that pass between outages are in addition to what an up link carries.
  const double slipped_bps = p.outage_share / to_seconds(p.outage_mean) * p.outage_repeat *
                             static_cast<double>(sim::kOpportunitySize.bits());
  return (static_cast<double>(p.mean_rate.bits_per_second()) - slipped_bps) /
         ((1 - p.outage_share) * (1 - p.stall_share));
}

/// The logarithm of the rate above its median, stepped every kRateStepMs.
class WanderingRate {
 public:
  WanderingRate(const LinkModelParameters& p, Rng rng)
      : slow_(p.slow_spread, p.slow_time), fast_(p.fast_spread, p.fast_time), rng_(rng) {
    const double spread = std::hypot(p.slow_spread, p.fast_spread);
    max_ = static_cast<double>(p.rate_max.bits_per_second());
    const double mean_when_up = mean_bps_when_up(p);
    median_ = median_for_mean(mean_when_up, spread, max_);
    slow_.start(rng_);
    fast_.start(rng_);
  }

  /// Opportunities per millisecond in the next step.
  double step() {
    slow_.step(rng_);
    fast_.step(rng_);
    const double bps = std::min(median_ * std::exp(slow_.value + fast_.value), max_);
    return bps / static_cast<double>(sim::kOpportunitySize.bits()) / 1e3;
  }

 private:
  /// An Ornstein-Uhlenbeck process sampled exactly (AR(1) with the matching coefficient).
  struct MeanReverting {
    MeanReverting(double spread_wanted, Duration time)
        : spread(spread_wanted),
          keep(std::exp(-static_cast<double>(kRateStepMs) / to_milliseconds(time))),
          kick(spread_wanted * std::sqrt(1 - keep * keep)) {}
    void start(Rng& rng) { value = spread * rng.normal(); }
    void step(Rng& rng) { value = keep * value + kick * rng.normal(); }
    double spread;
    double keep;
    double kick;
    double value = 0;
  };

  MeanReverting slow_;
  MeanReverting fast_;
  Rng rng_;
  double median_ = 0;
  double max_ = 0;
};

/// Outages and stalls as one alternating process: up for an exponential time, then silent for a
/// power-law one.
class Silences {
 public:
  Silences(const LinkModelParameters& p, Rng rng)
      : outage_(cut_pareto_with_mean(to_milliseconds(kOutageMin), to_milliseconds(p.outage_max),
                                     to_milliseconds(p.outage_mean))),
        stall_{to_milliseconds(kStallMin), to_milliseconds(kOutageMin), p.stall_tail_exponent - 1},
        repeat_(p.outage_repeat),
        slipped_mean_(p.slipped_mean),
        rng_(rng) {
    // Up time is what neither takes: stalls have their share of the time outside outages.
    const double up_share = (1 - p.outage_share) * (1 - p.stall_share);
    const double stall_share = (1 - p.outage_share) * p.stall_share;
    outages_per_up_ms_ = p.outage_share / outage_.mean_ms() * (1 - p.outage_repeat) / up_share;
    stalls_per_up_ms_ = stall_share / stall_.mean_ms() / up_share;
    // Starts in the middle of an outage as often as the link is in one, so that the first second is
    // like any other.
    in_outage_ = rng_.chance(p.outage_share);
    silent_ms_ = in_outage_ ? outage_.draw_ms(rng_) : 0;
    draw_up_time();
  }

  enum class State { kUp, kSilent, kOneSlipsThrough };
  // A silence is counted from one opportunity to the next, as a trace shows it: one of its
  // milliseconds is that of an opportunity.

  /// The state of the next millisecond, after `left_before` opportunities in this one. Fractions of
  /// a millisecond are carried over, so that no time is lost to rounding.
  State step(int64_t left_before) {
    if (slipping_ > 0) {
      slipping_ -= left_before;
      if (slipping_ > 0 && --slipping_ms_ > 0) {
        return State::kUp;
      }
      slipping_ = 0;
      silent_ms_ += outage_.draw_ms(rng_) - 1;
    }
    if (silent_ms_ >= 1) {
      silent_ms_ -= 1;
      return State::kSilent;
    }
    if (in_outage_) {
      in_outage_ = rng_.chance(repeat_);
      if (in_outage_) {
        slipping_ = geometric(slipped_mean_, rng_);
        slipping_ms_ = kSlippingMsMax;
        return State::kOneSlipsThrough;
      }
    }
    up_ms_ -= 1;
    if (up_ms_ < 0) {
      const double all = outages_per_up_ms_ + stalls_per_up_ms_;
      in_outage_ = rng_.chance(outages_per_up_ms_ / all);
      silent_ms_ += (in_outage_ ? outage_.draw_ms(rng_) : stall_.draw_ms(rng_)) - 1;
      draw_up_time();
    }
    return State::kUp;
  }

 private:
  void draw_up_time() {
    const double all = outages_per_up_ms_ + stalls_per_up_ms_;
    up_ms_ = all > 0 ? rng_.exponential(1 / all) : INFINITY;
  }

  CutPareto outage_;
  CutPareto stall_;
  // A slow link that lets a few opportunities pass may take this long for it, no longer.
  static constexpr int64_t kSlippingMsMax = 1000;
  double repeat_;
  double slipped_mean_;
  int64_t slipping_ = 0;
  int64_t slipping_ms_ = 0;
  Rng rng_;
  bool in_outage_ = false;
  double outages_per_up_ms_ = 0;
  double stalls_per_up_ms_ = 0;
  double silent_ms_ = 0;
  double up_ms_ = 0;
};

/// Turns work done by the link (in opportunities) into bursts: a renewal process in the link's own
/// time, gaps log-normal with mean burst_mean.
class Bursts {
 public:
  Bursts(const LinkModelParameters& p, Rng rng)
      : burst_mean_(p.burst_mean),
        gap_spread_(std::sqrt(std::log1p(p.gap_variation * p.gap_variation))),
        rng_(rng) {
    // Anywhere in the first gap: the trace does not start with a delivery.
    until_next_ = gap() * rng_.uniform();
  }

  /// Opportunities that leave while the link does `work`.
  int64_t step(double work) {
    int64_t leaving = 0;
    until_next_ -= work;
    while (until_next_ <= 0) {
      leaving += geometric(burst_mean_, rng_);
      until_next_ += gap();
    }
    return leaving;
  }

 private:
  double gap() {
    // Never exactly zero, so that the loop above ends.
    const double relative = std::exp(gap_spread_ * rng_.normal() - gap_spread_ * gap_spread_ / 2);
    return burst_mean_ * std::max(relative, 1e-6);
  }

  double burst_mean_;
  double gap_spread_;
  Rng rng_;
  double until_next_ = 0;
};

}  // namespace

std::optional<std::string> problem_with(const LinkModelParameters& p) {
  const auto within = [](double value, double low, double high) {
    return value >= low && value <= high;  // false for NaN
  };
  const auto ms = [](Duration d) { return to_milliseconds(d); };
  const double mean_when_up = mean_bps_when_up(p);
  struct Rule {
    bool holds;
    std::string_view says;
  };
  const std::array rules{
      Rule{within(p.mean_rate.kilobits_per_second(), 1, 1e6), "mean rate: 1 kbit/s to 1 Gbit/s"},
      Rule{within(p.rate_max.kilobits_per_second(), 1, 1e6), "maximum rate: 1 kbit/s to 1 Gbit/s"},
      Rule{within(p.slow_spread, 0, 3), "slow spread: 0 to 3"},
      Rule{within(p.fast_spread, 0, 3), "fast spread: 0 to 3"},
      Rule{within(ms(p.slow_time), 20, 3.6e6), "slow time: 20 ms to an hour"},
      Rule{within(ms(p.fast_time), 20, 3.6e6), "fast time: 20 ms to an hour"},
      Rule{within(p.outage_share, 0, 0.9), "outage share: 0 to 0.9"},
      Rule{within(p.stall_share, 0, 0.9), "stall share: 0 to 0.9"},
      Rule{within(ms(p.outage_max), ms(kOutageMin) + 1, 3.6e6),
           "longest outage: 201 ms to an hour"},
      Rule{p.outage_mean >= kOutageMin && p.outage_mean <= p.outage_max,
           "mean outage: 200 ms to the longest outage"},
      Rule{within(p.outage_repeat, 0, 0.95), "outage repeat: 0 to 0.95"},
      Rule{within(p.slipped_mean, 1, 50), "slipped mean: 1 to 50 opportunities"},
      Rule{within(p.stall_tail_exponent, 1.01, 20), "stall tail exponent: 1.01 to 20"},
      Rule{within(p.gap_variation, 0, 5), "gap variation: 0 to 5"},
      Rule{within(p.burst_mean, 1, 50), "mean burst: 1 to 50 opportunities"},
      Rule{mean_when_up <=
               kMeanOfMaxLimit * static_cast<double>(p.rate_max.bits_per_second()) * (1 + 1e-9),
           "maximum rate: too low to reach the mean rate between the silences"},
      Rule{mean_when_up > 0, "mean rate: less than what slips through between outages"},
  };
  for (const Rule& rule : rules) {
    if (!rule.holds) {
      return std::string{rule.says};
    }
  }
  return std::nullopt;
}

sim::DeliveryTrace generate(const LinkModelParameters& parameters, Duration length, uint64_t seed,
                            const Progress& progress) {
  check(!problem_with(parameters), "generate: parameters out of range");
  check(length >= 1ms && length <= sim::kTraceLengthMax && length % 1ms == Duration::zero(),
        "generate: a length of whole milliseconds up to kTraceLengthMax");
  const Rng root{seed};
  WanderingRate rate{parameters, root.fork(1)};
  Silences silences{parameters, root.fork(2)};
  Bursts bursts{parameters, root.fork(3)};

  sim::DeliveryTrace trace;
  trace.opportunities.reserve(std::min<size_t>(
      sim::kTraceLinesMax, static_cast<size_t>((parameters.mean_rate * length).bytes() * 5 / 4 /
                                               sim::kOpportunitySize.bytes()) +
                               16));
  const int64_t length_ms = length / 1ms;
  double work_per_ms = 0;
  int64_t leaving = 0;
  for (int64_t ms = 0; ms < length_ms; ++ms) {
    if (progress && ms % kProgressStepMs == 0) {
      progress(static_cast<double>(ms) / static_cast<double>(length_ms));
    }
    if (ms % kRateStepMs == 0) {
      work_per_ms = rate.step();
    }
    const Silences::State state = silences.step(leaving);
    leaving = 0;
    if (state == Silences::State::kSilent) {
      continue;
    }
    leaving = state == Silences::State::kOneSlipsThrough ? 1 : bursts.step(work_per_ms);
    if (trace.opportunities.size() + static_cast<size_t>(leaving) >= sim::kTraceLinesMax) {
      throw std::runtime_error("the trace would have more than " +
                               std::to_string(sim::kTraceLinesMax) +
                               " lines; ask for a shorter one or a lower rate");
    }
    trace.opportunities.insert(trace.opportunities.end(), static_cast<size_t>(leaving),
                               {milliseconds{ms}});
  }
  trace.opportunities.push_back({length});
  return trace;
}

}  // namespace cress::traces
