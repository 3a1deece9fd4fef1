#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "media/frame/picture.hh"
#include "media/source/audio_source.hh"
#include "media/source/video_source.hh"
#include "transport/base/time.hh"

namespace cress::media {

struct MovieOptions {
  /// Pictures of another size are scaled to this one; 1..kPictureSideMax.
  int width = 640;
  int height = 360;
  /// For a .y4m: exact. For the others, whose pictures keep their own times: the encoder's expected
  /// rate.
  FrameRate frame_rate{};
  /// Only in a .webm.
  bool with_sound = false;
};

/// Writes what a viewer saw and heard, with its times. The path's ending selects the format:
/// - .webm: VP8 and Opus through GStreamer, at a quality whose own artefacts are invisible next to
///   those of a call. Times are kept to the millisecond. The bytes may differ from run to run.
/// - .ivf: the same video, without audio and without an index.
/// - .y4m: uncompressed, one picture for each tick of the frame rate: the newest one by then. Equal
///   calls give equal bytes.
///
/// Until the first picture the movie is black. The file is complete at `finish` and then replaces
/// an older one; until then the data is in PATH.part, which is deleted if `finish` is never
/// reached. An existing path that is not a regular file is written directly. Needs a GstRuntime for
/// a .webm and an .ivf. Errors: std::runtime_error "PATH: what", from any call; disk errors may be
/// reported some calls later. Threads: GStreamer's own inside, at most four pictures ahead; one
/// owner.
class MovieWriter {
 public:
  explicit MovieWriter(const std::filesystem::path& path, const MovieOptions& options = {});
  ~MovieWriter();

  /// `picture` is on screen from `at` on, until the next one. `at`: >= 0 and not before the last
  /// one's.
  void add_picture(Duration at, const Picture& picture);
  /// `frame` is heard from `at` (>= 0) on. Gaps become silence; audio that overlaps what is already
  /// written is left out. Half a frame of jitter is evened out. Audio that arrives over
  /// kSoundLagMax after the pictures of its time is lost, because the file cannot wait.
  void add_sound(Duration at, const AudioFrame& frame);
  /// The last picture stays on screen until `until`, or for one tick. Writes everything and
  /// completes the file. Call once, last.
  void finish(std::optional<Duration> until = std::nullopt);

  static constexpr Duration kSoundLagMax = 5s;

  /// The behaviour of one file format; in the .cc.
  class Format;

 private:
  void show_pending(Duration until);
  void remove_part() const;

  std::filesystem::path path_;
  std::filesystem::path part_;  // == path_ if that is written directly
  MovieOptions options_;
  std::unique_ptr<Format> format_;
  Picture pending_;  // on screen since pending_at_
  Duration pending_at_{};
};

}  // namespace cress::media
