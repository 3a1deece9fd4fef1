#include "eval/run_films.hh"

#include <algorithm>
#include <ostream>
#include <system_error>
#include <utility>

#include "eval/film/film.hh"
#include "eval/first_error.hh"
#include "eval/schemes/registry.hh"
#include "transport/base/check.hh"

namespace cress::eval {
namespace {

std::string movie_name(std::string_view scheme, std::string_view direction,
                       std::string_view ending) {
  return std::string{scheme} + "-" + std::string{direction} + "." + std::string{ending};
}

/// The clip's own rate, so that no picture is left out or displayed twice as long as its neighbour;
/// a slow camera is filmed faster, because the ages change between its pictures.
media::FrameRate film_rate(media::FrameRate clip) {
  constexpr int64_t kSlowest = 24;
  constexpr int64_t kFastest = 60;
  const bool usual = clip.numerator >= kSlowest * clip.denominator &&
                     clip.numerator <= kFastest * clip.denominator;
  return usual ? clip : media::FrameRate{};
}

film::FilmOptions film_options(const RunFilmOptions& options, const media::VideoSource& video,
                               size_t panes) {
  // A clip of an extreme shape gets black borders.
  constexpr int kHeightMin = 360;
  constexpr int kHeightMax = 1080;
  film::FilmOptions made;
  made.height = std::clamp(film::fitting_height(panes, video.width(), video.height(), made.width),
                           kHeightMin, kHeightMax);
  made.frame_rate = film_rate(video.frame_rate());
  made.length = options.length;
  made.title = options.title;
  return made;
}

}  // namespace

std::vector<std::filesystem::path> watchable_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files{folder / kFilmName};
  for (const schemes::SchemeInfo& info : schemes::schemes()) {
    for (const char* direction : {"forward", "reverse"}) {
      for (const char* ending : {"webm", "y4m"}) {
        files.push_back(folder / movie_name(info.name, direction, ending));
      }
    }
  }
  return files;
}

void remove_watchable_files(const std::filesystem::path& folder, std::ostream& err) {
  std::string removed;
  for (const std::filesystem::path& file : watchable_files(folder)) {
    std::error_code trouble;  // a file that stays is reported when it cannot be replaced
    if (std::filesystem::symlink_status(file, trouble).type() ==
        std::filesystem::file_type::regular) {
      if (std::filesystem::remove(file, trouble)) {
        removed.append(removed.empty() ? "" : ", ").append(file.string());
      }
    }
  }
  if (!removed.empty()) {
    err << "cress-eval: removed movies of an earlier run: " << removed << "\n";
  }
}

ViewerMovie::ViewerMovie(const harness::RunSpec& spec, const std::string& direction,
                         const std::filesystem::path& folder, const std::string& ending)
    : direction_(direction), length_(spec.duration) {
  const bool forward = direction == "forward";
  const auto& video = forward ? spec.forward_video : spec.reverse_video;
  const auto& sound = forward ? spec.forward_sound : spec.reverse_sound;
  check(video != nullptr, "ViewerMovie: a direction without pictures");
  with_sound_ = sound != nullptr && ending != "y4m";
  tick_ = video->frame_rate().time_of(1);
  movie_ =
      std::make_unique<media::MovieWriter>(folder / movie_name(spec.scheme, direction, ending),
                                           media::MovieOptions{.width = video->width(),
                                                               .height = video->height(),
                                                               .frame_rate = video->frame_rate(),
                                                               .with_sound = with_sound_});
}

void ViewerMovie::attempt(const std::function<void(media::MovieWriter&)>& act) {
  if (movie_ == nullptr) {
    return;
  }
  error_.attempt([&] { act(*movie_); });
  if (error_) {
    movie_.reset();  // with the part of a file that exists
  }
}

void ViewerMovie::show(const schemes::ShownFrame& frame) {
  // Two pictures displayed in quick succession may change places because of their decoding times.
  last_shown_ = std::max(last_shown_, Duration{frame.shown - kTimeZero});
  if (last_shown_ + tick_ > length_) {
    return;  // after the run's end, or so shortly before that the movie would become longer
  }
  attempt([&](media::MovieWriter& movie) { movie.add_picture(last_shown_, *frame.picture); });
}

void ViewerMovie::play(const app::PlayedAudio& sound) {
  const Duration at = sound.played - kTimeZero;
  if (with_sound_ && at >= Duration{} && at + media::kAudioFrameLength <= length_) {
    attempt([&](media::MovieWriter& movie) { movie.add_sound(at, sound.samples); });
  }
}

void ViewerMovie::finish() {
  attempt([this](media::MovieWriter& movie) { movie.finish(length_); });
  movie_.reset();
  error_.rethrow();
}

void film_runs(const RunFilmOptions& options, media::VideoSource& video,
               std::vector<FilmedRun> runs) {
  check(!runs.empty() && runs.size() <= 2, "film_runs: one run or two");
  const film::FilmOptions made = film_options(options, video, 2);
  media::MovieWriter movie{
      options.path, {.width = made.width, .height = made.height, .frame_rate = made.frame_rate}};
  std::vector<film::Pane> panes;
  std::vector<film::ProducedFeed*> feeds;  // owned by the film
  for (FilmedRun& run : runs) {
    auto feed = std::make_unique<film::ProducedFeed>(std::move(run.make));
    feeds.push_back(feed.get());
    panes.push_back({std::move(run.name), std::move(feed)});
  }
  if (panes.size() == 1) {
    panes.push_back(
        {"original", std::make_unique<film::OriginalFeed>(video, kTimeZero + options.length)});
  }
  film::Film film{made, std::move(panes)};
  FirstError error;
  error.attempt([&] { film::write_film(film, movie); });
  for (film::ProducedFeed* feed : feeds) {
    error.attempt([feed] { feed->finish(); });
  }
  error.rethrow();
}

}  // namespace cress::eval
