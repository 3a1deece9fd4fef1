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

/// The movies of a run: what each viewer saw and heard, and the film of two viewers side by side.
namespace cress::eval {

inline constexpr const char* kFilmName = report::kFilmName;

/// Every name under which a run may leave a movie in `folder`.
std::vector<std::filesystem::path> watchable_files(const std::filesystem::path& folder);
/// Removes them, so that none of an earlier command remains: they would not match the new results.
/// Anything that is not a regular file is kept. A line on `err` names what was removed.
void remove_watchable_files(const std::filesystem::path& folder, std::ostream& err);

/// The video of one direction's viewer, at the camera's size, with audio, from the run's first
/// moment to its last: FOLDER/SCHEME-DIRECTION.webm, or .y4m without audio. Errors: the constructor
/// throws as MovieWriter does, before any work is done; later errors are kept until `finish`,
/// because a movie that cannot be written is no reason to stop a run. Threads: the run's; one
/// owner.
class ViewerMovie {
 public:
  /// `direction`: "forward" or "reverse", with video in `spec`. `ending`: "webm" or "y4m".
  ViewerMovie(const harness::RunSpec& spec, const std::string& direction,
              const std::filesystem::path& folder, const std::string& ending);

  const std::string& direction() const { return direction_; }
  void show(const schemes::ShownFrame& frame);
  void play(const app::PlayedAudio& sound);
  /// Completes the file, or throws the first error. Call once, last.
  void finish();

 private:
  /// Executes `act` unless there was an error before.
  void attempt(const std::function<void(media::MovieWriter&)>& act);

  std::string direction_;
  Duration length_;
  Duration tick_;
  bool with_sound_;
  Duration last_shown_{};
  std::unique_ptr<media::MovieWriter> movie_;
  FirstError error_;
};

/// A run to be filmed: calls `show` for each picture of the forward direction and runs to its end.
struct FilmedRun {
  std::string name;
  film::ProducedFeed::Make make;
};

struct RunFilmOptions {
  std::filesystem::path path;
  std::string title;
  Duration length{};  ///< the runs'
};

/// Executes one run or two, each in a thread of its own, together with the film of them at `path`;
/// a single run is displayed next to `video` itself. Few pictures are in memory at any time. A path
/// that cannot be written throws before the runs begin. Later errors do not stop the runs: each is
/// run to its end, then the first error is thrown.
void film_runs(const RunFilmOptions& options, media::VideoSource& video,
               std::vector<FilmedRun> runs);

}  // namespace cress::eval
