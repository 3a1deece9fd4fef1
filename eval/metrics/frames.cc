#include "eval/metrics/frames.hh"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "eval/metrics/delay_over_time.hh"
#include "eval/metrics/picture_quality.hh"
#include "transport/base/check.hh"

namespace cress::metrics {

namespace {

/// webrtc-stats: what a freeze adds to the mean gap at least, and by which factor at least.
constexpr Duration kFreezeExtra = 150ms;
constexpr int64_t kFreezeFactor = 3;

/// The part of [from, to) inside the window; zero where there is none.
Duration overlap(TimePoint from, TimePoint to, Window window) {
  return std::max(std::min(to, window.to) - std::max(from, window.from), Duration::zero());
}

std::vector<ShownFrame> by_display(std::span<const ShownFrame> frames) {
  std::vector<ShownFrame> sorted(frames.begin(), frames.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const ShownFrame& a, const ShownFrame& b) {
    return a.displayed < b.displayed;
  });
  return sorted;
}

}  // namespace

std::optional<Duration> frame_delay_quantile(std::span<const ShownFrame> frames, Window window,
                                             double q) {
  std::vector<Arrival> arrivals;
  arrivals.reserve(frames.size());
  for (const ShownFrame& frame : frames) {
    arrivals.push_back({.sent = frame.captured, .arrived = frame.displayed});
  }
  return delay_quantile(arrivals, window, q);
}

Freezes freezes(std::span<const ShownFrame> frames, Window window) {
  check(window.from < window.to, "freezes: empty window");
  std::vector<TimePoint> shown;
  shown.reserve(frames.size());
  for (const ShownFrame& frame : frames) {
    shown.push_back(frame.displayed);
  }
  std::sort(shown.begin(), shown.end());
  const auto first = std::lower_bound(shown.begin(), shown.end(), window.from);
  const auto last = std::lower_bound(first, shown.end(), window.to);
  if (last - first < 2) {
    return {.count = 1, .frozen = window.length()};
  }
  const Duration mean_gap = (*(last - 1) - *first) / (last - first - 1);
  const Duration longest_normal = std::max(kFreezeFactor * mean_gap, mean_gap + kFreezeExtra);

  Freezes result;
  const auto count_gap = [&](TimePoint from, TimePoint to) {
    if (to - from > longest_normal) {
      ++result.count;
      result.frozen += overlap(from, to, window);
    }
  };
  count_gap(first == shown.begin() ? std::min(kTimeZero, window.from) : *(first - 1), *first);
  for (auto frame = first; frame + 1 != last; ++frame) {
    count_gap(*frame, *(frame + 1));
  }
  count_gap(*(last - 1), last == shown.end() ? window.to : *last);
  return result;
}

std::optional<MeanQuality> mean_quality(std::span<const ShownFrame> frames, Window window) {
  check(window.from < window.to, "mean_quality: empty window");
  const std::vector<ShownFrame> shown = by_display(frames);
  MeanQuality mean;
  double ssim_seconds = 0.0;
  double psnr_db_seconds = 0.0;
  for (size_t i = 0; i < shown.size(); ++i) {
    const TimePoint until = i + 1 < shown.size() ? shown[i + 1].displayed : window.to;
    const Duration on_screen = overlap(shown[i].displayed, until, window);
    mean.on_screen += on_screen;
    ssim_seconds += shown[i].ssim * to_seconds(on_screen);
    psnr_db_seconds += shown[i].psnr_db * to_seconds(on_screen);
  }
  if (mean.on_screen == Duration::zero()) {
    return std::nullopt;
  }
  mean.ssim = ssim_seconds / to_seconds(mean.on_screen);
  mean.ssim_db = ssim_to_db(mean.ssim);
  mean.psnr_db = psnr_db_seconds / to_seconds(mean.on_screen);
  return mean;
}

}  // namespace cress::metrics
