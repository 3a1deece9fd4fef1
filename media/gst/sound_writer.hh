#pragma once

#include <cstdint>
#include <filesystem>

#include "media/source/audio_source.hh"
#include "media/source/wav.hh"
#include "transport/base/time.hh"

namespace cress::media {

/// Writes what a listener heard, when he heard it, as a .wav: the sound's half of a MovieWriter
/// whose pictures go into a file that holds none. The file appears whole at `finish`, in place of
/// an older one; before, there is a sibling PATH.part, which goes if `finish` is never reached. A
/// path that is there but no regular file is written directly.
/// Errors: std::runtime_error "PATH: what", from any call. Threads: none inside; one owner.
class SoundWriter {
 public:
  explicit SoundWriter(const std::filesystem::path& path);
  ~SoundWriter();
  SoundWriter(const SoundWriter&) = delete;
  SoundWriter& operator=(const SoundWriter&) = delete;

  /// `frame` is heard from `at` (>= 0) on. Gaps become silence; what overlaps sound already written
  /// is left out. Half a frame of jitter is evened out.
  void add_sound(Duration at, const AudioFrame& frame);
  /// Silence until `until`, if that is later than the last sound. Call once, last.
  void finish(Duration until = {});

 private:
  void fill(int64_t until);

  std::filesystem::path path_;
  std::filesystem::path part_;  // == path_ when that is written directly
  WavWriter writer_;
  int64_t samples_ = 0;
  bool finished_ = false;
};

}  // namespace cress::media
