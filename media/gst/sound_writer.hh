#pragma once

#include <cstdint>
#include <filesystem>

#include "media/source/audio_source.hh"
#include "media/source/wav.hh"
#include "transport/base/time.hh"

namespace cress::media {

/// Writes what a listener heard, with its times, as a .wav: the audio of a MovieWriter whose file
/// format has no audio. The file is complete at `finish` and then replaces an older one; until then
/// the data is in PATH.part, which is deleted if `finish` is never reached. An existing path that
/// is not a regular file is written directly. Errors: std::runtime_error "PATH: what", from any
/// call. Threads: none inside; one owner.
class SoundWriter {
 public:
  explicit SoundWriter(const std::filesystem::path& path);
  ~SoundWriter();
  SoundWriter(const SoundWriter&) = delete;
  SoundWriter& operator=(const SoundWriter&) = delete;

  /// `frame` is heard from `at` (>= 0) on. Gaps become silence; audio that overlaps what is already
  /// written is left out. Half a frame of jitter is evened out.
  void add_sound(Duration at, const AudioFrame& frame);
  /// Adds silence until `until`, if that is later than the end of the audio. Call once, last.
  void finish(Duration until = {});

 private:
  void fill(int64_t until);

  std::filesystem::path path_;
  std::filesystem::path part_;  // == path_ if that is written directly
  WavWriter writer_;
  int64_t samples_ = 0;
  bool finished_ = false;
};

}  // namespace cress::media
