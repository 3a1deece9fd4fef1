#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "eval/report/run_files.hh"

/// Shortens long series for drawing without hiding problems: the largest delays are kept. Threads:
/// pure functions.
namespace cress::report {

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

}  // namespace cress::report
