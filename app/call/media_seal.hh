#pragma once

#include <cstddef>
#include <vector>

#include "media/frame/encoded_frame.hh"
#include "media/source/audio_source.hh"
#include "transport/base/units.hh"

namespace cress::app {

/// Transforms encoded media between the encoder and the session. In a call of two there is none:
/// the session's records protect everything. In a room each frame and each audio message is
/// encrypted for the members, and each message names its sender. Threads: none inside; that of its
/// CallSender.
class MediaSeal {
 public:
  MediaSeal() = default;
  MediaSeal(const MediaSeal&) = delete;
  MediaSeal& operator=(const MediaSeal&) = delete;
  virtual ~MediaSeal() = default;

  /// The most bytes that seal_frame adds to a frame.
  virtual DataSize frame_growth() const = 0;
  /// Replaces the encoded bytes by the encrypted ones.
  virtual void seal_frame(media::EncodedFrame& frame) = 0;
  /// An audio message as it is sent, including its header; `samples`: the audio in it.
  virtual std::vector<std::byte> seal_sound(std::vector<std::byte> message,
                                            const media::AudioFrame& samples) = 0;
  /// The bytes before each fragment.
  virtual const std::vector<std::byte>& fragment_head() const = 0;
};

}  // namespace cress::app
