#include "media/playout/av_sync.hh"

#include <algorithm>

#include "transport/base/check.hh"

namespace cress::media {

AvHold av_hold(Duration sound, Duration picture, const AvSyncOptions& options) {
  check(options.sound_hold_max >= Duration{} && options.picture_hold_max >= Duration{},
        "av_hold: bounds out of range");
  const Duration sound_ahead = picture - sound;
  return {
      .sound = std::clamp(sound_ahead - kSoundAheadMax, Duration{}, options.sound_hold_max),
      .picture = std::clamp(-sound_ahead - kSoundBehindMax, Duration{}, options.picture_hold_max)};
}

void AvSync::Average::add(Duration value) {
  count_ = std::min(count_ + 1, kFrames);
  value_ += (value - value_) / count_;
}

AvHold AvSync::hold() const {
  if (!sound_.has_value() || !picture_.has_value()) {
    return {};
  }
  return av_hold(sound_.value(), picture_.value(), options_);
}

}  // namespace cress::media
