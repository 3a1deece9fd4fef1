#include "eval/schemes/like/like_controller.hh"

#include <algorithm>
#include <utility>

#include "transport/base/check.hh"

namespace cress::schemes {
namespace {

// A larger gap cannot be lost datagrams: at 1.5 Mbit/s it would take minutes. The far end has
// restarted, or is faulty.
constexpr uint32_t kSequenceLeapMax = 1U << 15U;

}  // namespace

LikeOptions LikeOptions::skype_2017() {
  LikeOptions options;
  options.start = DataRate::kilobits_per_second(50);
  options.raise_factor = 1.01;
  options.ceiling = DataRate::kilobits_per_second(105);
  return options;
}

LikeOptions LikeOptions::hangouts_2017() {
  LikeOptions options;
  options.start = DataRate::kilobits_per_second(80);
  options.raise_factor = 1.02;
  options.ceiling = DataRate::kilobits_per_second(220);
  return options;
}

LikeOptions LikeOptions::facetime_2017() {
  LikeOptions options;
  options.start = DataRate::kilobits_per_second(115);
  options.raise_factor = 1.055;
  options.ceiling = DataRate::kilobits_per_second(840);
  options.delay_tolerated = 50ms;
  options.patience = 2000ms;
  options.lower_factor = 0.55;
  options.hold = 5600ms;
  options.reports_silence = false;
  return options;
}

LikeController::LikeController(TimePoint start, const LikeOptions& options)
    : options_(options), target_(options.start), next_raise_(start + options.raise_interval) {
  check(options.floor >= DataRate::kilobits_per_second(1) && options.floor <= options.start &&
            options.start <= options.ceiling,
        "LikeOptions: floor <= start <= ceiling");
  check(options.raise_factor >= 1 && options.lower_factor > 0 && options.lower_factor <= 1,
        "LikeOptions: factors out of range");
  check(options.half_size_below <= options.full_size_above,
        "LikeOptions: half_size_below <= full_size_above");
  check(options.raise_interval > Duration{} && options.patience > Duration{} &&
            options.hold > Duration{},
        "LikeOptions: durations out of range");
}

void LikeController::handle_feedback(TimePoint now, const RateFeedback& feedback) {
  const bool trouble =
      feedback.loss > options_.loss_tolerated || feedback.queueing_delay > options_.delay_tolerated;
  if (!trouble) {
    trouble_since_.reset();
    heard_good_ = true;
    return;
  }
  if (!trouble_since_) {
    trouble_since_ = now;
    received_sum_ = {};
    reports_ = 0;
  }
  heard_good_ = false;
  // Clamped one by one, so that no report can outweigh the others.
  received_sum_ = received_sum_ + std::min(feedback.received, options_.ceiling);
  ++reports_;
  if (now - *trouble_since_ < options_.patience) {
    return;
  }
  const DataRate received = received_sum_ * (1.0 / static_cast<double>(reports_));
  target_ = std::clamp(received * options_.lower_factor, options_.floor, target_);
  next_raise_ = now + options_.hold;
  trouble_since_.reset();  // the patience restarts
}

void LikeController::handle_timeout(TimePoint now) {
  if (now < next_raise_) {
    return;
  }
  if (std::exchange(heard_good_, false)) {
    target_ = std::min(target_ * options_.raise_factor, options_.ceiling);
  }
  next_raise_ = now + options_.raise_interval;
}

void ArrivalBooks::handle_arrival(uint32_t sequence, Duration transit, DataSize size) {
  // Arithmetic modulo 2^32: a number up to half the circle ahead is newer, the rest are older.
  const uint32_t ahead = sequence - newest_;
  if (!heard_ || (ahead < 1U << 31U && ahead > kSequenceLeapMax)) {
    newest_ = sequence;
    expected_ += 1;
  } else if (ahead < 1U << 31U) {
    newest_ = sequence;
    expected_ += ahead;
  }
  least_transit_ = heard_ ? std::min(least_transit_, transit) : transit;
  newest_transit_ = transit;
  heard_ = true;
  ++received_;
  size_ += size;
}

std::optional<RateFeedback> ArrivalBooks::take_feedback(Duration interval) {
  if (!heard_) {
    return std::nullopt;
  }
  RateFeedback feedback;
  if (expected_ > 0) {
    feedback.loss =
        std::max(0.0, 1 - static_cast<double>(received_) / static_cast<double>(expected_));
  }
  feedback.queueing_delay = std::min(newest_transit_ - least_transit_, kQueueingDelayMax);
  feedback.received = DataRate::from(size_, interval);
  expected_ = 0;
  received_ = 0;
  size_ = {};
  return feedback;
}

}  // namespace cress::schemes
