#pragma once

#include <cstddef>
#include <vector>

#include "media/frame/encoded_frame.hh"
#include "media/source/audio_source.hh"
#include "transport/base/units.hh"

namespace cress::app {

/// What happens to coded media between the coder and the session. In a call of two there is none:
/// the session's records protect everything. In a room each frame and each sound is sealed for the
/// members, and each message tells whose it is. Threads: none inside; that of its CallSender.
class MediaSeal {
 public:
  MediaSeal() = default;
  MediaSeal(const MediaSeal&) = delete;
  MediaSeal& operator=(const MediaSeal&) = delete;
  virtual ~MediaSeal() = default;

  /// What seal_frame adds to a frame at most.
  virtual DataSize frame_growth() const = 0;
  /// Puts the sealed bytes in the place of the coded ones.
  virtual void seal_frame(media::EncodedFrame& frame) = 0;
  /// A sound message as it travels, its head included; `samples`: what it tells of.
  virtual std::vector<std::byte> seal_sound(std::vector<std::byte> message,
                                            const media::AudioFrame& samples) = 0;
  /// What stands before each fragment.
  virtual const std::vector<std::byte>& fragment_head() const = 0;
};

}  // namespace cress::app
