#include "media/rate/resolution_ladder.hh"

#include <algorithm>
#include <cmath>

#include "transport/base/check.hh"

namespace cress::media {
namespace {

// With exponential forgetting at rate 1 / time, a state that holds without interruption fills this
// much of them within `time` (1 - 1/e).
constexpr double kFull = 0.63;

double forgotten(Duration elapsed, Duration time) {
  return std::exp(-to_seconds(elapsed) / to_seconds(time));
}

}  // namespace

ResolutionLadder::ResolutionLadder(const ResolutionLadderOptions& options)
    : options_(options), dwell_up_(options.dwell_min) {
  check(options.need_quantizer > options.ease_quantizer && options.need_time > Duration{0} &&
            options.ease_time > Duration{0} && options.dwell_max >= options.dwell_min,
        "ResolutionLadder: options out of range");
}

void ResolutionLadder::handle_frame(TimePoint now, bool skipped, int quantizer,
                                    double need_weight) {
  if (!started_) {
    started_ = true;
    last_frame_ = last_step_ = now;
  }
  check(now >= last_frame_, "ResolutionLadder: time went back");
  const Duration elapsed = now - last_frame_;
  last_frame_ = now;
  const bool in_need = skipped || quantizer >= options_.need_quantizer;
  const bool at_ease = !skipped && quantizer <= options_.ease_quantizer;
  const double need_kept =
      std::pow(forgotten(elapsed, options_.need_time), in_need ? need_weight : 1);
  const double ease_kept = forgotten(elapsed, options_.ease_time);
  need_ = need_ * need_kept + (in_need ? 1 - need_kept : 0);
  ease_ = ease_ * ease_kept + (at_ease ? 1 - ease_kept : 0);
  const Duration since_step = now - last_step_;
  int wanted = rung_;
  // At the start no key frame was spent yet: the first step down need not wait.
  const bool may_step_down = since_step >= options_.dwell_min || (rung_ == 0 && !last_step_up_);
  if (need_ >= kFull && may_step_down && rung_ + 1 < kResolutionRungs) {
    wanted = rung_ + 1;
  } else if (ease_ >= kFull && !in_need && since_step >= dwell_up_ && rung_ > 0) {
    wanted = rung_ - 1;
  } else if ((wanted_ > rung_ && need_ >= kFull / 2) || (wanted_ < rung_ && ease_ >= kFull / 2)) {
    wanted = wanted_;  // only slightly less than before: the step stays wanted until it is made
  }
  if (wanted != wanted_) {
    wanted_ = wanted;
    wanted_since_ = now;
  }
}

void ResolutionLadder::handle_refusal() {
  wanted_ = rung_;
  need_ = 0;
  ease_ = 0;
}

void ResolutionLadder::handle_step(TimePoint now) {
  check(wanted_ != rung_, "ResolutionLadder: no step was wanted");
  const bool up = wanted_ < rung_;
  if (!up && last_step_up_ && now - last_step_ < options_.relapse_time) {
    dwell_up_ = std::min(2 * dwell_up_, options_.dwell_max);
  } else if (!up) {
    dwell_up_ = options_.dwell_min;
  }
  rung_ = wanted_;
  last_step_ = now;
  last_step_up_ = up;
  need_ = 0;
  ease_ = 0;
}

}  // namespace cress::media
