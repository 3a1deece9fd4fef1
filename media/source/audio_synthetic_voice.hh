#pragma once

#include <cstdint>
#include <string>

#include "media/source/audio_clip.hh"
#include "media/source/audio_source.hh"

namespace cress::media {

struct SyntheticVoiceOptions {
  /// Another seed gives another pitch, other syllables, other pauses.
  uint64_t seed = 1;
  /// Length of the loop; 1..60 s.
  Duration loop = 12s;
};

/// A voice that needs no recording: phrases of voiced syllables (glottal pulses whose pitch falls
/// towards the phrase's end, through three formants that glide from vowel to vowel) with hissed
/// consonants between, and pauses with faint room noise. It costs a speech coder about as much as a
/// real voice: it speaks for about three fifths of the time. A frame depends only on the options
/// and its index. Threads: none inside; one owner.
class SyntheticVoice final : public AudioSource {
 public:
  explicit SyntheticVoice(const SyntheticVoiceOptions& options = {});

  AudioFrame frame(uint64_t index) override { return clip_.frame(index); }
  std::string description() const override { return clip_.description(); }

 private:
  AudioClip clip_;
};

}  // namespace cress::media
