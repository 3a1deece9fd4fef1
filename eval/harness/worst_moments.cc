#include "eval/harness/worst_moments.hh"

#include <algorithm>
#include <utility>

namespace cress::harness {
namespace {

Duration stood(const ShownMoment& moment) { return moment.until - moment.shown; }
Duration age(const ShownMoment& moment) { return moment.shown - moment.captured; }

}  // namespace

const char* name_of(MomentKind kind) {
  switch (kind) {
    case MomentKind::kFreeze:
      return "freeze";
    case MomentKind::kDelay:
      return "delay";
    case MomentKind::kQuality:
      break;
  }
  return "quality";
}

void WorstMoments::judge(TimePoint until) {
  if (!on_screen_ || !window_.contains(on_screen_->shown)) {
    return;
  }
  on_screen_->until = std::min(until, window_.to);
  if (!longest_ || stood(*on_screen_) > stood(*longest_)) {
    longest_ = on_screen_;
  }
  if (!oldest_ || age(*on_screen_) > age(*oldest_)) {
    oldest_ = on_screen_;
  }
  if (!least_alike_ || on_screen_->ssim < least_alike_->ssim) {
    least_alike_ = on_screen_;
  }
}

void WorstMoments::note(ShownMoment moment) {
  judge(moment.shown);
  on_screen_ = std::move(moment);
}

std::vector<WorstMoment> WorstMoments::finish() {
  judge(window_.to);
  on_screen_.reset();
  std::vector<WorstMoment> worst;
  const auto add = [&](MomentKind kind, std::optional<ShownMoment>& moment) {
    if (moment) {
      worst.push_back({kind, std::move(*moment)});
      moment.reset();
    }
  };
  add(MomentKind::kFreeze, longest_);
  add(MomentKind::kDelay, oldest_);
  add(MomentKind::kQuality, least_alike_);
  return worst;
}

}  // namespace cress::harness
