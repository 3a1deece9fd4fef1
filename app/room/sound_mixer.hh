#pragma once

#include <array>
#include <cstdint>

#include "media/source/audio_source.hh"

namespace cress::room {

/// Many voices to one loudspeaker: their sum, turned down while it would be too loud and up again
/// within about a third of a second, so that no sample is cut off. One voice alone comes out as it
/// went in, but for the moment after a too loud one. Call add() for each voice, then take().
/// Threads: none inside; one owner.
class SoundMixer {
 public:
  void add(const media::AudioFrame& voice);
  /// The sum of what was added since the last take(); silence of nothing.
  media::AudioFrame take();
  /// What the last frame was multiplied with at its end, 0..1.
  double gain() const { return gain_; }

 private:
  std::array<int32_t, media::kAudioFrameSamples> sum_{};
  double gain_ = 1;
};

}  // namespace cress::room
