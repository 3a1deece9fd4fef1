#include "eval/schemes/webrtc/gcc_rate_control.hh"

#include <algorithm>
#include <cmath>

#include "transport/base/check.hh"

namespace cress::schemes {
namespace {

// §5.5: the response time is a round trip plus the time for detection.
constexpr Duration kDetectionTime = 100ms;
// §5.5: frames per second and packet size that the additive step assumes.
constexpr double kModelFrameRate = 30;
constexpr double kModelPacketBits = 1200 * 8;
// §5.5: the share of a packet that a response time adds, and the minimum step.
constexpr double kAdditiveShare = 0.5;
constexpr double kAdditiveBitsMin = 1000;
// §5.5: the smoothing of the rate at over-use, and the meaning of "close".
constexpr double kPeakSmoothing = 0.95;
constexpr double kPeakDeviations = 3;
// Differs from the draft §5.5: after a single decrease the deviation would be 0. Bounds of the
// variance relative to the mean (kbit/s), as in libwebrtc.
constexpr double kPeakVarianceMin = 0.4;
constexpr double kPeakVarianceMax = 2.5;
// Differs from the draft §5.5: an empty link could not start. As in libwebrtc.
constexpr DataRate kIncomingCapExtra = DataRate::kilobits_per_second(10);
// Differs from the draft §5.5, where every over-use lowers: the effect of a decrease is visible
// only a round trip later. Bounds as in libwebrtc.
constexpr Duration kDecreaseGapMin = 10ms;
constexpr Duration kDecreaseGapMax = 200ms;
// The multiplicative increase of one update counts no more than this (§5.5).
constexpr double kIncreaseSecondsMax = 1.0;
// The peer's clock and ours are unrelated; larger values are invalid.
constexpr size_t kArrivalsMax = 20'000;
// The number of groups by which the gradient is scaled; see GccEstimator::scaled_gradient.
constexpr int64_t kScaleGroupsMax = 60;

}  // namespace

void GccIncomingRate::handle_arrival(TimePoint arrived, DataSize size) {
  if (!arrivals_.empty() && arrived < arrivals_.back().at) {
    arrived = arrivals_.back().at;  // reordered: counts as just now
  }
  first_ = first_.value_or(arrived);
  arrivals_.push_back({arrived, size});
  sum_ += size;
  while (arrivals_.size() > kArrivalsMax || arrivals_.front().at <= arrived - kWindow) {
    sum_ -= arrivals_.front().size;
    arrivals_.pop_front();
  }
}

std::optional<DataRate> GccIncomingRate::rate() const {
  if (arrivals_.empty() || arrivals_.back().at - *first_ < kWindow / 2) {
    return std::nullopt;
  }
  return DataRate::from(sum_, std::min(kWindow, arrivals_.back().at - *first_));
}

GccDelayControl::GccDelayControl(const GccDelayControlOptions& options)
    : options_(options), estimate_(options.start) {
  check(options.floor > DataRate{} && options.floor <= options.start &&
            options.start <= options.ceiling,
        "GccDelayControlOptions: floor <= start <= ceiling");
  check(options.increase_per_second > 1 && options.decrease > 0 && options.decrease < 1 &&
            options.incoming_cap > 1,
        "GccDelayControlOptions: factors out of range");
}

void GccDelayControl::set_estimate(DataRate estimate) {
  estimate_ = std::clamp(estimate, options_.floor, options_.ceiling);
}

void GccDelayControl::change_state(TimePoint now, GccUsage usage) {
  switch (usage) {
    case GccUsage::kOveruse:
      state_ = State::kDecrease;
      return;
    case GccUsage::kUnderuse:
      state_ = State::kHold;
      return;
    case GccUsage::kNormal:
      if (state_ == State::kHold) {
        state_ = State::kIncrease;
        last_change_ = now;  // time in Hold does not count as time to increase
      } else if (state_ == State::kDecrease) {
        state_ = State::kHold;
      }
      return;
  }
}

DataRate GccDelayControl::update(TimePoint now, GccUsage usage, std::optional<DataRate> incoming,
                                 Duration round_trip) {
  change_state(now, usage);
  if (state_ == State::kIncrease) {
    increase(now, incoming, round_trip);
  } else if (state_ == State::kDecrease) {
    decrease(now, incoming, round_trip);
  }
  return estimate_;
}

double GccDelayControl::peak_deviation_kbps() const {
  return std::sqrt(peak_variance_ * *peak_kbps_);
}

void GccDelayControl::increase(TimePoint now, std::optional<DataRate> incoming,
                               Duration round_trip) {
  if (peak_kbps_ && incoming &&
      incoming->kilobits_per_second() > *peak_kbps_ + kPeakDeviations * peak_deviation_kbps()) {
    peak_kbps_.reset();  // the link carries more than before: its limit must be found again
  }
  const Duration elapsed = now - last_change_.value_or(now);
  last_change_ = now;
  const auto bits = static_cast<double>(estimate_.bits_per_second());
  double wanted = bits;
  if (peak_kbps_) {
    const double frame_bits = bits / kModelFrameRate;
    const double packet_bits = frame_bits / std::ceil(frame_bits / kModelPacketBits);
    const double responses =
        std::min(1.0, to_seconds(elapsed) / to_seconds(kDetectionTime + round_trip));
    wanted += std::max(kAdditiveBitsMin, kAdditiveShare * responses * packet_bits);
  } else {
    wanted *=
        std::pow(options_.increase_per_second, std::min(to_seconds(elapsed), kIncreaseSecondsMax));
  }
  DataRate next = DataRate::bits_per_second(std::llround(wanted));
  if (incoming) {
    // The cap stops a rise; it does not lower a rate that the link has carried before.
    next =
        std::min(next, std::max(estimate_, *incoming * options_.incoming_cap + kIncomingCapExtra));
  }
  set_estimate(next);
}

void GccDelayControl::learn_peak(DataRate incoming) {
  const double kbps = incoming.kilobits_per_second();
  if (peak_kbps_ && kbps < *peak_kbps_ - kPeakDeviations * peak_deviation_kbps()) {
    peak_kbps_.reset();
  }
  if (!peak_kbps_) {
    peak_kbps_ = kbps;
    return;
  }
  const double error = *peak_kbps_ - kbps;
  *peak_kbps_ = kPeakSmoothing * *peak_kbps_ + (1 - kPeakSmoothing) * kbps;
  peak_variance_ = std::clamp(kPeakSmoothing * peak_variance_ +
                                  (1 - kPeakSmoothing) * error * error / std::max(*peak_kbps_, 1.0),
                              kPeakVarianceMin, kPeakVarianceMax);
}

void GccDelayControl::decrease(TimePoint now, std::optional<DataRate> incoming,
                               Duration round_trip) {
  const Duration gap = std::clamp(round_trip, kDecreaseGapMin, kDecreaseGapMax);
  if (last_decrease_ && now - *last_decrease_ < gap) {
    return;
  }
  last_decrease_ = now;
  last_change_ = now;
  const DataRate carried = incoming.value_or(estimate_);
  learn_peak(carried);
  // The arriving rate may be above the estimate (a queue that drains): no reason to raise it.
  set_estimate(std::min(estimate_, carried * options_.decrease));
}

GccLossControl::GccLossControl(DataRate start, const GccLossControlOptions& options)
    : options_(options), estimate_(start) {
  check(options.low >= 0 && options.low <= options.high && options.high <= 1 &&
            options.increase > 1 && options.packets_min > 0,
        "GccLossControlOptions out of range");
}

void GccLossControl::handle_feedback(TimePoint now, int64_t lost, int64_t packets, DataRate limit) {
  report_started_ = report_started_.value_or(now);
  lost_ += lost;
  packets_ += packets;
  if (packets_ < options_.packets_min || now - *report_started_ < options_.interval) {
    return;
  }
  loss_ = static_cast<double>(lost_) / static_cast<double>(packets_);
  if (loss_ < options_.low) {
    estimate_ = std::max(estimate_, std::min(estimate_ * options_.increase, limit));
  } else if (loss_ > options_.high) {
    // If the delay-based rate is the lower one, that is the rate at which the packets were lost.
    estimate_ = std::min(estimate_, limit) * (1 - 0.5 * loss_);
  }
  lost_ = 0;
  packets_ = 0;
  report_started_ = now;
}

GccEstimator::GccEstimator(const GccEstimatorOptions& options)
    : options_(options),
      kalman_(options.kalman),
      trendline_(options.trendline),
      detector_(options.detector),
      delay_(options.delay),
      loss_(options.delay.start, options.loss) {
  check(options.silence_patience > Duration{} && options.silence_interval > Duration{} &&
            options.silence_factor > 0 && options.silence_factor < 1,
        "GccEstimatorOptions: silence out of range");
}

double GccEstimator::scaled_gradient(const GccGroupVariation& variation) {
  // Differs from the draft §5.4, which compares m(i) itself: a queue that grows by 12.5 ms every
  // group would be seconds long before it is detected. libwebrtc compares with the growth over this
  // many groups; the draft's thresholds are meant for that.
  const auto scaled = [](double gradient, int64_t groups) {
    return gradient * static_cast<double>(std::min(groups, kScaleGroupsMax));
  };
  if (options_.filter == GccEstimatorOptions::Filter::kTrendline) {
    trendline_.handle_variation(variation);
    return scaled(trendline_.gradient(), trendline_.groups());
  }
  kalman_.handle_variation(variation);
  return scaled(kalman_.gradient_ms(), kalman_.groups());
}

void GccEstimator::handle_feedback(TimePoint now, std::span<const GccPacketResult> packets,
                                   Duration round_trip) {
  silence_due_ = kNever;
  round_trip_ = round_trip;
  int64_t lost = 0;
  bool overused = false;
  for (const GccPacketResult& packet : packets) {
    if (!packet.arrived) {
      ++lost;
      continue;
    }
    incoming_.handle_arrival(*packet.arrived, packet.size);
    if (const auto variation = groups_.handle_packet({packet.sent, *packet.arrived})) {
      detector_.handle_gradient(variation->arrived, scaled_gradient(*variation));
      overused = overused || detector_.usage() == GccUsage::kOveruse;
    }
  }
  // One feedback may cover many groups: an over-use among them counts, even if it is over.
  delay_.update(now, overused ? GccUsage::kOveruse : detector_.usage(), incoming_.rate(),
                round_trip);
  loss_.handle_feedback(now, lost, std::ssize(packets), delay_.estimate());
}

void GccEstimator::handle_sent(TimePoint now) {
  if (silence_due_ == kNever) {
    silence_due_ = now + options_.silence_patience;
  }
}

void GccEstimator::handle_timeout(TimePoint now) {
  if (now < silence_due_) {
    return;
  }
  silence_due_ = now + options_.silence_interval;
  delay_.set_estimate(std::min(delay_.estimate(), target()) * options_.silence_factor);
}

void GccEstimator::handle_probe(DataRate measured) {
  delay_.set_estimate(std::max(delay_.estimate(), measured));
  if (loss_.loss() < options_.loss.low) {
    loss_.set_estimate(std::max(loss_.estimate(), delay_.estimate()));
  }
}

DataRate GccEstimator::target() const {
  return std::clamp(std::min(delay_.estimate(), loss_.estimate()), options_.delay.floor,
                    options_.delay.ceiling);
}

}  // namespace cress::schemes
