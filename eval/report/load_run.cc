#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "eval/report/run_files.hh"

namespace cress::report {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error) {
    throw std::runtime_error(path.string() + ": " + error.message());
  }
  if (size > kRunFileBytesMax) {
    throw std::runtime_error(path.string() + ": too large for a run's file");
  }
  std::string text(static_cast<size_t>(size), '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file) {
    throw std::runtime_error(path.string() + ": cannot be read");
  }
  return text;
}

template <class T>
T value_or_throw(Result<T, ParseError> result, const std::filesystem::path& path) {
  if (!result) {
    const ParseError& error = result.error();
    throw std::runtime_error(path.string() +
                             (error.line > 0 ? ":" + std::to_string(error.line) : "") + ": " +
                             error.what);
  }
  return std::move(result).value();
}

/// Names only: a report says where they are and never reads them.
void find_movies(const std::filesystem::path& run_dir, Run& run) {
  std::error_code unreadable;  // counts as not there
  run.has_film = std::filesystem::is_regular_file(run_dir / kFilmName, unreadable);
  for (const RunResult& result : run.results) {
    for (const char* ending : {".webm", ".y4m"}) {
      const std::string name = result.key.scheme + "-" + result.key.direction + ending;
      // A name that is a path is none that a run writes.
      if (name.find('/') == std::string::npos &&
          std::find(run.movies.begin(), run.movies.end(), name) == run.movies.end() &&
          std::filesystem::is_regular_file(run_dir / name, unreadable)) {
        run.movies.push_back(name);
      }
    }
  }
}

/// With the pictures that are there and are pictures.
void load_worst(const std::filesystem::path& run_dir, Run& run) {
  const std::filesystem::path worst = run_dir / "worst.json";
  if (!std::filesystem::exists(worst)) {
    return;
  }
  run.worst = value_or_throw(parse_worst(read_file(worst)), worst);
  for (WorstMoment& moment : run.worst) {
    const std::filesystem::path picture = run_dir / moment.picture;
    std::error_code unreadable;  // counts as not there
    if (std::filesystem::is_regular_file(picture, unreadable) &&
        std::filesystem::file_size(picture, unreadable) <= kImageBytesMax) {
      moment.image = read_file(picture);
    }
    if (moment.image.size() < 12 || !moment.image.starts_with("RIFF") ||
        moment.image.substr(8, 4) != "WEBP") {
      moment.image.clear();
    }
  }
}

}  // namespace

Run load_run(const std::filesystem::path& run_dir) {
  Run run;
  const std::filesystem::path results = run_dir / "results.json";
  const std::filesystem::path timeline = run_dir / "timeline.csv";
  const std::filesystem::path frames = run_dir / "frames.csv";
  run.results = value_or_throw(parse_results(read_file(results)), results);
  // A sweep's results say their options, and it keeps nothing else of its many runs.
  const bool is_sweep = std::ranges::all_of(run.results, [](const RunResult& result) {
    return std::ranges::any_of(result.others,
                               [](const auto& other) { return other.first == "options"; });
  });
  if (!is_sweep || std::filesystem::exists(timeline)) {
    run.timelines = value_or_throw(parse_timeline(read_file(timeline)), timeline);
  }
  const bool video = std::ranges::any_of(run.results, &RunResult::has_video);
  if ((video && !is_sweep) || std::filesystem::exists(frames)) {
    run.frames = value_or_throw(parse_frames(read_file(frames)), frames);
  }
  load_worst(run_dir, run);
  find_movies(run_dir, run);
  return run;
}

}  // namespace cress::report
