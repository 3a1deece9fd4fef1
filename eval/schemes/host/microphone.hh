#pragma once

#include <memory>
#include <utility>

#include "media/source/audio_source.hh"
#include "transport/base/time.hh"

namespace cress::schemes {

/// An audio source as a microphone: from `start` on, a frame is available every 20 ms, when its
/// last sample is complete. Threads: none inside; one owner.
class Microphone {
 public:
  /// Without a source nothing is captured.
  Microphone(TimePoint start, std::shared_ptr<media::AudioSource> source)
      : start_(start), source_(std::move(source)) {}

  TimePoint next_capture() const {
    return source_ ? start_ + static_cast<int64_t>(next_ + 1) * media::kAudioFrameLength : kNever;
  }
  media::AudioFrame take() { return source_->frame(next_++); }

 private:
  TimePoint start_;
  std::shared_ptr<media::AudioSource> source_;
  uint64_t next_ = 0;
};

}  // namespace cress::schemes
