#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/base/time.hh"

namespace cress::media {

/// All sound inside Cress: 48 kHz, one channel, signed 16 bit, in frames of 20 ms.
inline constexpr int64_t kAudioSampleRate = 48'000;
inline constexpr Duration kAudioFrameLength = 20ms;
inline constexpr size_t kAudioFrameSamples = 960;
static_assert(kAudioFrameLength * kAudioSampleRate == kAudioFrameSamples * Duration{1s});

using AudioFrame = std::array<int16_t, kAudioFrameSamples>;

/// How long `samples` samples last; rounded to the nanosecond towards zero.
constexpr Duration audio_duration(int64_t samples) {
  return Duration{samples * 62'500 / 3};  // 1e9 / 48'000 = 62'500 / 3
}
/// How many whole samples fit in `duration` (|duration| up to a day), rounded towards zero.
constexpr int64_t audio_samples(Duration duration) { return duration.count() * 3 / 62'500; }

/// An endless source of sound that can be asked for the same frame again: a clip in a loop, or a
/// synthetic voice.
/// Threads: none inside; one owner.
class AudioSource {
 public:
  virtual ~AudioSource() = default;
  /// Frame number `index`, counted from 0 without end. Same index, same frame.
  virtual AudioFrame frame(uint64_t index) = 0;
  /// What it is, for reports: "asterisk_en.flac", "synthetic voice, seed 1".
  virtual std::string description() const = 0;
};

}  // namespace cress::media
