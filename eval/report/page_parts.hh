#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/report/interval.hh"
#include "eval/report/run_files.hh"

/// What the page is made of: words and short series, every number from the run's files alone.
/// Threads: pure functions.
namespace cress::report {

struct Headline {
  /// One sentence: which scheme is ahead, both delays, and the picture quality. Says so if Cress is
  /// behind.
  std::string lead;
  std::vector<std::string> lines;  ///< further sentences: the other axis, the other schemes
};

/// The scheme in the centre of the page: `cress` if it ran, otherwise the first in the file.
std::string hero_scheme(std::span<const RunResult> results);

/// Compares the hero with every other scheme over the links, directions and seeds that both ran;
/// over several, medians are compared and the text says so. Frame delay if there is video,
/// otherwise packet delay. Schemes are ordered by delay, the closest first. `results` is not empty.
Headline headline(std::span<const RunResult> results);

/// "143 ms", "2.31 s", "42.4 s", "310 s".
std::string in_words_ms(double milliseconds);
/// "612 kbit/s", "1.81 Mbit/s".
std::string in_words_kbps(double kilobits_per_second);

/// Points a line may have on the page.
inline constexpr size_t kPointsMax = 1500;

/// Consecutive points in equal groups, at most `points_max` of them: each group has its first time,
/// the mean of its rates and windows, and its largest delay. Short series are returned unchanged.
std::vector<TimelinePoint> thinned(std::span<const TimelinePoint> points,
                                   size_t points_max = kPointsMax);

/// Frames in equal groups by order of capture: of each group the largest delay, the mean SSIM and
/// PSNR (of the displayed ones), and size, budget, quantizer, number and time of the frame that
/// exceeded its budget most (or, without budgets, of the largest).
std::vector<FramePoint> thinned(std::span<const FramePoint> points, size_t points_max = kPointsMax);

struct AgePoint {
  double time_s = 0.0;
  double age_ms_max = 0.0;
  friend bool operator==(const AgePoint&, const AgePoint&) = default;
};
/// The age of the displayed picture: t - max{capture of frames displayed by t}, from the run's
/// start (0 s, as if a frame had been captured then) to the last time in the log; the maximum in
/// each of at most `points_max` equal bins, none shorter than 50 ms.
std::vector<AgePoint> picture_age(std::span<const FramePoint> frames,
                                  size_t points_max = kPointsMax);

/// How well the encoded frames fit their budgets (docs/method.md), over all frames that have both.
struct FrameFit {
  size_t frames = 0;       ///< captured
  size_t skipped = 0;      ///< without a size
  size_t with_budget = 0;  ///< with a size and a budget
  double over_share = 0.0;
  double ratio_p95 = 0.0;  ///< size / budget
};
FrameFit frame_fit(std::span<const FramePoint> frames);

struct WorstWords {
  std::string title;  ///< "This picture stood for 4.21 s"
  std::string text;   ///< when, and the state of link and sender at that time
};

/// `timeline` and `frames` are those of the moment's series; null if missing.
WorstWords worst_words(const WorstMoment& moment, const Timeline* timeline, const FrameLog* frames);

/// The picture for an <img>: "data:image/webp;base64,...".
std::string data_url(const WorstMoment& moment);

/// The results of one scheme over one link, direction and set of options, with any seed.
struct SeedGroup {
  SeriesKey key;
  std::string options;  ///< as JSON text; empty for results without
  std::vector<const RunResult*>
      results;  ///< owned by the caller, one per seed, in the file's order

  /// The values of a measure, from the results that have it.
  std::vector<double> values(std::string_view measure) const;
};

/// In the order in which the results first mention them.
std::vector<SeedGroup> seed_groups(std::span<const RunResult> results);

/// The options of a result, as JSON text; empty if it has none.
std::string options_of(const RunResult& result);

/// The options that differ between groups, per group: "loss 0.05, queue codel"; empty if all are
/// equal.
std::vector<std::string> telling_options(std::span<const SeedGroup> groups);

}  // namespace cress::report
