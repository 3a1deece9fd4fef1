#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/base/time.hh"

namespace cress::media {

/// The format of all audio inside Cress: 48 kHz, one channel, signed 16 bit, in frames of 20 ms.
inline constexpr int64_t kAudioSampleRate = 48'000;
inline constexpr Duration kAudioFrameLength = 20ms;
inline constexpr size_t kAudioFrameSamples = 960;
static_assert(kAudioFrameLength * kAudioSampleRate == kAudioFrameSamples * Duration{1s});

using AudioFrame = std::array<int16_t, kAudioFrameSamples>;

/// The duration of `samples` samples; rounded to the nanosecond towards zero.
constexpr Duration audio_duration(int64_t samples) {
  return Duration{samples * 62'500 / 3};  // 1e9 / 48'000 = 62'500 / 3
}
/// The number of whole samples in `duration` (|duration| up to a day), rounded towards zero.
constexpr int64_t audio_samples(Duration duration) { return duration.count() * 3 / 62'500; }

/// An endless source of audio that can return the same frame again: a clip in a loop, or a
/// synthetic voice. Threads: none inside; one owner.
class AudioSource {
 public:
  virtual ~AudioSource() = default;
  /// Frame number `index`, counted from 0 without end. The same index gives the same frame.
  virtual AudioFrame frame(uint64_t index) = 0;
  /// A description for reports: "asterisk_en.flac", "synthetic voice, seed 1".
  virtual std::string description() const = 0;
};

}  // namespace cress::media
