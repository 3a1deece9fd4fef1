#pragma once

#include <span>

#include "media/source/audio_source.hh"

namespace cress::media {

/// Nothing is quieter: what stands for the logarithm of zero.
inline constexpr double kSilenceDbfs = -100;

/// How loud 20 ms are, in dB below full scale. A sine of full scale has a peak of 0 and an rms of
/// -3.
struct SoundLevel {
  double peak_dbfs = kSilenceDbfs;
  double rms_dbfs = kSilenceDbfs;
};

/// Pure. `samples`: not empty.
SoundLevel level_of(std::span<const int16_t> samples);

}  // namespace cress::media
