#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>

namespace cress::media {

/// Writes RIFF/WAVE: 48 kHz, one channel, 16 bit, as it comes. Errors: std::runtime_error "PATH:
/// what" when the file cannot be written, or would pass the format's 4 GiB (12 hours). Threads:
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
