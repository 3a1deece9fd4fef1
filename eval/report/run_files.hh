#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/base/result.hh"

/// The output files of a run (docs/guide/cress-eval.md): results.json, timeline.csv and, with
/// video, frames.csv. The parsers are total: any bytes give a value or one error that names the
/// line. Threads: pure functions; load_run reads files.
namespace cress::report {

/// Larger files are refused, so that a wrong path cannot fill the memory.
inline constexpr size_t kRunFileBytesMax = size_t{1} << 30;
inline constexpr size_t kResultsMax = 100'000;
inline constexpr size_t kSeriesMax = 10'000;
inline constexpr size_t kRowsMax = 20'000'000;
inline constexpr size_t kColumnsMax = 256;
inline constexpr int kJsonDepthMax = 16;

struct ParseError {
  size_t line = 0;  ///< counted from 1; 0 if no particular line is wrong
  std::string what;
  friend bool operator==(const ParseError&, const ParseError&) = default;
};

/// Scheme, link and direction: identifies a line in a chart, a row of the table.
struct SeriesKey {
  std::string scheme;
  std::string link;
  std::string direction;
  friend auto operator<=>(const SeriesKey&, const SeriesKey&) = default;
};

/// One object of results.json.
struct RunResult {
  SeriesKey key;
  std::string seed;  ///< as written; empty if not given
  double window_from_s = 0.0;
  double window_to_s = 0.0;
  /// The known measures by their key, whose suffix is the unit (`delay95_ms`); null ones are
  /// absent.
  std::map<std::string, double, std::less<>> numbers;
  /// All other members of the object, as JSON text, in the file's order of keys (sorted).
  std::vector<std::pair<std::string, std::string>> others;

  std::optional<double> number(std::string_view name) const;
  bool has_video() const { return number("frame_delay_p95_ms").has_value(); }
};

/// One row of timeline.csv: a bin of 100 ms that starts at time_s. Empty cells have no value.
struct TimelinePoint {
  double time_s = 0.0;
  std::optional<double> capacity_kbps{};
  std::optional<double> throughput_kbps{};
  std::optional<double> delay_ms{};
  std::optional<double> window_bytes{};
  std::optional<double> forecast_kbps{};
};
struct Timeline {
  SeriesKey key;
  std::vector<TimelinePoint> points;  ///< by time
};

/// One row of frames.csv: a captured frame. Events that did not happen have no value.
struct FramePoint {
  double frame = 0.0;
  double capture_s = 0.0;
  std::optional<double> display_s{};
  std::optional<double> delay_ms{};
  std::optional<double> size_bytes{};
  std::optional<double> budget_bytes{};
  std::optional<double> quantizer{};
  std::optional<double> key_frame{};  ///< 1 for a key frame
  std::optional<double> ssim_db{};
  std::optional<double> psnr_db{};
};
struct FrameLog {
  SeriesKey key;
  std::vector<FramePoint> points;  ///< by capture time
};

/// One object of worst.json: a displayed picture, in one respect the worst of its run.
struct WorstMoment {
  SeriesKey key{};
  std::string kind;  ///< "freeze", "delay" or "quality"
  double frame = 0.0;
  double captured_s = 0.0;
  double shown_s = 0.0;
  double until_s = 0.0;  ///< when the next one was displayed
  double ssim_db = 0.0;
  std::string picture;  ///< a file in the folder of worst.json: a name, no path
  std::string image;    ///< its bytes, a WebP file; empty if it is missing
};
inline constexpr size_t kImageBytesMax = size_t{1} << 18;

Result<std::vector<RunResult>, ParseError> parse_results(std::string_view json);
/// Without images.
Result<std::vector<WorstMoment>, ParseError> parse_worst(std::string_view json);
/// Both CSV parsers: a header line names the columns, in any order; further columns are allowed and
/// ignored; fields may be quoted (RFC 4180) within a line; CR LF and blank lines are accepted. Rows
/// of one series are kept together, in the order in which the series first appear.
Result<std::vector<Timeline>, ParseError> parse_timeline(std::string_view csv);
Result<std::vector<FrameLog>, ParseError> parse_frames(std::string_view csv);

struct Run {
  std::vector<RunResult> results;  ///< at least one
  std::vector<Timeline> timelines;
  std::vector<FrameLog> frames;  ///< empty without video
  std::vector<WorstMoment> worst{};
  bool has_film = false;  ///< kFilmName is in the same folder
  /// The movies of viewers in the same folder: SCHEME-DIRECTION.webm or .y4m.
  std::vector<std::string> movies{};
};
inline constexpr const char* kFilmName = "film.webm";
/// Throws std::runtime_error "FILE:LINE: what" if results.json or timeline.csv is missing or any of
/// the files is broken; worst.json and its pictures may be missing; frames.csv may be missing if no
/// result has video, and both CSV files if every result has options (a sweep's).
Run load_run(const std::filesystem::path& run_dir);

}  // namespace cress::report
