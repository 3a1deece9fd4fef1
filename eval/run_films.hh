#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "eval/film/feed.hh"
#include "eval/first_error.hh"
#include "eval/harness/run.hh"
#include "eval/report/run_files.hh"
#include "media/gst/gst_movie_writer.hh"
#include "media/source/video_source.hh"

/// What a run leaves behind to be looked at: what each viewer saw and heard, and the film of two
/// viewers beside each other.
namespace cress::eval {

inline constexpr const char* kFilmName = report::kFilmName;

/// Every name under which a run may leave something to be looked at in `folder`.
std::vector<std::filesystem::path> watchable_files(const std::filesystem::path& folder);
/// Removes them, so that none stays of an earlier command: they would not match the new results.
/// What is no regular file is left alone.
void remove_watchable_files(const std::filesystem::path& folder);

/// What one direction's viewer saw, at the camera's size, and heard, from the run's first moment to
/// its last: FOLDER/SCHEME-DIRECTION.webm, or .y4m without sound.
/// Errors: the constructor throws as MovieWriter does, before any work is done; what fails later is
/// kept until `finish`, because a movie that cannot be written is no reason to stop a run.
/// Threads: the run's; one owner.
class ViewerMovie {
 public:
  /// `direction`: "forward" or "reverse", with pictures in `spec`. `ending`: "webm" or "y4m".
  ViewerMovie(const harness::RunSpec& spec, const std::string& direction,
              const std::filesystem::path& folder, const std::string& ending);

  const std::string& direction() const { return direction_; }
  void show(const schemes::ShownFrame& frame);
  void play(const app::PlayedAudio& sound);
  /// The file is there, or the first error is thrown. Call once, last.
  void finish();

 private:
  /// Unless something failed before.
  void attempt(const std::function<void(media::MovieWriter&)>& act);

  std::string direction_;
  Duration length_;
  Duration tick_;
  bool with_sound_;
  Duration last_shown_{};
  std::unique_ptr<media::MovieWriter> movie_;
  FirstError error_;
};

/// A run to be filmed: tells `show` of each picture of the forward direction and runs to its end.
struct FilmedRun {
  std::string name;
  film::ProducedFeed::Make make;
};

struct RunFilmOptions {
  std::filesystem::path path;
  std::string title;
  Duration length{};  ///< the runs'
};

/// Does one run or two, each in a thread of its own, side by side with the film of them at `path`;
/// one run is shown beside `video` itself. Few pictures are in memory at any time.
/// A path that cannot be written is thrown before the runs begin. What fails later does not stop
/// them: each is run to its end, then the first error is thrown.
void film_runs(const RunFilmOptions& options, media::VideoSource& video,
               std::vector<FilmedRun> runs);

}  // namespace cress::eval
