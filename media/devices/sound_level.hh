#pragma once

#include <span>

#include "media/source/audio_source.hh"

namespace cress::media {

/// The lowest level: stands for the logarithm of zero.
inline constexpr double kSilenceDbfs = -100;

/// Loudness of 20 ms, in dBFS (0: full scale). A sine of full scale has a peak of 0, an rms of -3.
struct SoundLevel {
  double peak_dbfs = kSilenceDbfs;
  double rms_dbfs = kSilenceDbfs;
};

/// Pure. `samples`: not empty.
SoundLevel level_of(std::span<const int16_t> samples);

}  // namespace cress::media
