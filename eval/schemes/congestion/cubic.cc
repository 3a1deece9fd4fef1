#include "eval/schemes/congestion/cubic.hh"

#include <algorithm>
#include <cmath>

#include "eval/schemes/congestion/reno.hh"

namespace cress::schemes {
namespace {

constexpr double kWindowMin = 2.0;  // segments, after a loss
// HyStart is inactive below it: a short train carries no information (Ha and Rhee 2008; RFC 9406
// leaves it out).
constexpr double kHyStartWindowMin = 16.0;
// Acknowledgements closer than this belong to one train.
constexpr Duration kTrainGapMax = 2ms;
constexpr int kRoundSamplesMin = 8;       // N_RTT_SAMPLE, RFC 9406 §4.3
constexpr Duration kDelayRiseMin = 4ms;   // MIN_RTT_THRESH
constexpr Duration kDelayRiseMax = 16ms;  // MAX_RTT_THRESH
constexpr double kCautiousGrowth = 0.25;  // 1 / CSS_GROWTH_DIVISOR
constexpr int kCautiousRounds = 5;        // CSS_ROUNDS

Duration delay_rise(Duration base) { return std::clamp(base / 8, kDelayRiseMin, kDelayRiseMax); }

void lower(std::optional<Duration>& least, Duration value) {
  least = least ? std::min(*least, value) : value;
}

}  // namespace

double cube_root(double value) {
  if (value <= 0) {
    return 0;
  }
  int exponent = 0;
  std::frexp(value, &exponent);
  // Within a factor of two of the root, where Newton's step converges from either side.
  double root = std::ldexp(1.0, exponent / 3);
  for (int i = 0; i < 8; ++i) {
    root = (2.0 * root + value / (root * root)) / 3.0;
  }
  return root;
}

CubicCurve CubicCurve::from(double window, double maximum) {
  if (window >= maximum) {
    return {.maximum = window, .inflection = 0};
  }
  return {.maximum = maximum, .inflection = cube_root((maximum - window) / kCubicC)};
}

double CubicCurve::at(double seconds) const {
  const double t = seconds - inflection;
  return kCubicC * t * t * t + maximum;
}

void SlowStartWatch::reset() { *this = SlowStartWatch{kind_}; }

void SlowStartWatch::start_round(const AckEvent& ack) {
  round_open_ = true;
  round_start_ = ack.now;
  last_ack_ = ack.now;
  round_end_ = ack.sent;
  samples_ = 0;
  least_last_round_ = least_this_round_;
  least_this_round_.reset();
}

SlowStartWatch::Verdict SlowStartWatch::on_ack(const AckEvent& ack, double window) {
  if (kind_ == SlowStartExit::kAtLoss) {
    return {};
  }
  const bool new_round = !round_open_ || ack.acknowledged > round_end_;
  if (new_round) {
    if (cautious_since_ && ++cautious_rounds_ > kCautiousRounds) {
      return {.leave = true};
    }
    start_round(ack);
  }
  if (ack.round_trip) {
    lower(least_ever_, *ack.round_trip);
    lower(least_this_round_, *ack.round_trip);
    ++samples_;
  }
  return kind_ == SlowStartExit::kHyStart ? hystart(ack, window) : hystart_plus_plus(ack, window);
}

SlowStartWatch::Verdict SlowStartWatch::hystart(const AckEvent& ack, double window) {
  if (window < kHyStartWindowMin || !least_ever_) {
    return {};
  }
  if (ack.now - last_ack_ <= kTrainGapMax) {
    last_ack_ = ack.now;
    // A train that lasts half the least round trip: the window fills the path one way.
    if (ack.now - round_start_ > *least_ever_ / 2) {
      return {.leave = true};
    }
  }
  const bool risen = samples_ >= kRoundSamplesMin && least_this_round_ &&
                     *least_this_round_ > *least_ever_ + delay_rise(*least_ever_);
  return {.leave = risen};
}

SlowStartWatch::Verdict SlowStartWatch::hystart_plus_plus(const AckEvent& /*ack*/,
                                                          double /*window*/) {
  const bool known = samples_ >= kRoundSamplesMin && least_this_round_ && least_last_round_;
  if (!cautious_since_) {
    if (known && *least_this_round_ >= *least_last_round_ + delay_rise(*least_last_round_)) {
      cautious_since_ = *least_this_round_;
      cautious_rounds_ = 0;
    }
  } else if (samples_ >= kRoundSamplesMin && least_this_round_ < *cautious_since_) {
    cautious_since_.reset();  // it was jitter: resumes slow start
  }
  return {.leave = false, .growth = cautious_since_ ? kCautiousGrowth : 1.0};
}

void Cubic::on_ack(const AckEvent& ack) {
  if (ack.round_trip) {
    lower(least_round_trip_, *ack.round_trip);
  }
  if (ack.in_recovery) {
    return;
  }
  double acked =
      static_cast<double>(ack.delivered.bytes()) / static_cast<double>(kTcpPayloadMax.bytes());
  const bool growing = may_grow(ack, window(), in_slow_start());
  if (in_slow_start()) {
    const SlowStartWatch::Verdict verdict = watch_.on_ack(ack, state_.window);
    if (verdict.leave) {
      state_.threshold = state_.window;
    } else if (growing) {
      const double step = std::min(acked * verdict.growth, state_.threshold - state_.window);
      state_.window += step;
      acked -= step / verdict.growth;
    }
  }
  if (growing && !in_slow_start() && acked > 0) {
    avoid_congestion(ack, acked);
  }
}

void Cubic::avoid_congestion(const AckEvent& ack, double acked) {
  if (!epoch_) {
    epoch_ = Epoch{.start = ack.now,
                   .curve = CubicCurve::from(state_.window, state_.maximum),
                   .friendly = state_.window,
                   .prior = before_loss_.window};
  }
  const double elapsed = to_seconds(ack.now - epoch_->start);
  const double ahead = to_seconds(least_round_trip_.value_or(Duration::zero()));
  const double target =
      std::clamp(epoch_->curve.at(elapsed + ahead), state_.window, 1.5 * state_.window);
  const double reno_alpha = 3.0 * (1.0 - kCubicBeta) / (1.0 + kCubicBeta);
  epoch_->friendly +=
      (epoch_->friendly >= epoch_->prior ? 1.0 : reno_alpha) * acked / state_.window;
  if (epoch_->curve.at(elapsed) < epoch_->friendly) {
    state_.window = std::max(state_.window, epoch_->friendly);
  } else {
    state_.window += (target - state_.window) / state_.window * acked;
  }
}

void Cubic::reduce() {
  before_loss_ = state_;
  // Fast convergence: a flow whose window shrinks from loss to loss yields sooner.
  state_.maximum =
      state_.window < state_.maximum ? state_.window * (1.0 + kCubicBeta) / 2.0 : state_.window;
  state_.threshold = std::max(state_.window * kCubicBeta, kWindowMin);
  epoch_.reset();
  watch_.reset();
}

void Cubic::on_loss(TimePoint /*now*/) {
  reduce();
  state_.window = state_.threshold;
}

void Cubic::on_timeout(TimePoint /*now*/, bool repeated) {
  if (!repeated) {
    reduce();
  }
  state_.window = 1.0;
  epoch_.reset();
}

void Cubic::on_spurious_loss(TimePoint /*now*/) {
  state_.window = std::max(state_.window, before_loss_.window);
  state_.threshold = std::max(state_.threshold, before_loss_.threshold);
  state_.maximum = before_loss_.maximum;
  epoch_.reset();
}

DataSize Cubic::window() const {
  return kTcpPayloadMax * static_cast<int64_t>(std::floor(state_.window));
}

}  // namespace cress::schemes
