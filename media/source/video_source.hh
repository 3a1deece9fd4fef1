#pragma once

#include <cstdint>
#include <string>

#include "media/frame/picture.hh"
#include "transport/base/time.hh"

namespace cress::media {

struct FrameRate {
  int64_t numerator = 30;
  int64_t denominator = 1;
  /// Time of frame `index` after the first: exact, no drift.
  Duration time_of(uint64_t index) const {
    return Duration{static_cast<int64_t>(static_cast<__int128>(index) * 1'000'000'000 *
                                         denominator / numerator)};
  }
  friend bool operator==(FrameRate, FrameRate) = default;
};

/// An endless source of pictures that can return the same one again: a clip in a loop, or a
/// synthetic camera. The scorer reads the original of each displayed frame.
class VideoSource {
 public:
  virtual ~VideoSource() = default;
  virtual int width() const = 0;
  virtual int height() const = 0;
  virtual FrameRate frame_rate() const = 0;
  /// Picture number `index`, counted from 0 without end. The same index gives the same picture.
  virtual PicturePtr picture(uint64_t index) = 0;
  /// A description for reports: "gesture_man_640x480_30.mp4", "synthetic camera, seed 1".
  virtual std::string description() const = 0;
};

}  // namespace cress::media
