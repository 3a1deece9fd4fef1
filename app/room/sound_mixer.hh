#pragma once

#include <array>
#include <cstdint>

#include "media/source/audio_source.hh"

namespace cress::room {

/// Mixes many voices for one loudspeaker: their sum, attenuated while it would be too loud and
/// raised again within about a third of a second, so that no sample is clipped. A single voice is
/// unchanged, except for the moment after a too loud one. Call add() for each voice, then take().
/// Threads: none inside; one owner.
class SoundMixer {
 public:
  void add(const media::AudioFrame& voice);
  /// The sum of the frames added since the last take(); silence if none.
  media::AudioFrame take();
  /// The gain at the end of the last frame, 0..1.
  double gain() const { return gain_; }

 private:
  std::array<int32_t, media::kAudioFrameSamples> sum_{};
  double gain_ = 1;
};

}  // namespace cress::room
