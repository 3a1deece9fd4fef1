#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "transport/base/result.hh"
#include "transport/base/units.hh"

namespace cress::media {

/// RIFF/WAVE with plain samples: 16 bit, one or two channels, 8 to 192 kHz; the ordinary header or
/// the extensible one.
// The analyzer does not follow std::variant: it takes a value moved out of a Result for unset.
// NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign)
struct WavSound {
  int64_t sample_rate = 0;
  int channels = 1;
  /// Interleaved; the same number of samples for each channel.
  std::vector<int16_t> samples;
  friend bool operator==(const WavSound&, const WavSound&) = default;
};

enum class WavError {
  kNotWav,       ///< not RIFF with WAVE in it
  kTruncated,    ///< ends before the audio data begins
  kBadFormat,    ///< a contradictory format chunk
  kUnsupported,  ///< not 16 bit PCM, more than two channels, or a rate out of range
  kNoSound,      ///< no samples
};
/// One clear sentence: what is wrong and what to do.
const char* describe(WavError error);

inline constexpr DataSize kWavFileMax{512 << 20};

/// Total: any bytes give audio or one error. Unknown chunks are skipped. A data chunk that claims
/// more than there is (a recording that was cut off, or one streamed through a pipe) gives what is
/// there.
Result<WavSound, WavError> parse_wav(std::span<const std::byte> file);
/// The mean of all channels, sample by sample.
std::vector<int16_t> to_mono(const WavSound& sound);
/// Throws std::runtime_error "PATH: what; what to do". At most kWavFileMax.
WavSound load_wav(const std::filesystem::path& path);

/// Writes 48 kHz, one channel, 16 bit, as the samples arrive. Errors: std::runtime_error "PATH:
/// what" if the file cannot be written, or would exceed the format's 4 GiB (12 hours). Threads:
/// none inside; one owner.
class WavWriter {
 public:
  explicit WavWriter(const std::filesystem::path& path);
  void write(std::span<const int16_t> samples);
  /// Completes the header, flushes and closes; throws if anything was lost. Without it the file's
  /// header says 0 bytes of audio.
  void finish();

 private:
  void put_header();

  std::filesystem::path path_;
  std::ofstream file_;
  uint64_t samples_ = 0;
};

}  // namespace cress::media
