#include "eval/metrics/motion.hh"

#include <algorithm>
#include <vector>

#include "transport/base/check.hh"

namespace cress::metrics {
namespace {

// webrtc-stats, freezeCount.
constexpr size_t kMeanOfGaps = 30;
constexpr Duration kW3cExtra = 150ms;
constexpr int64_t kW3cFactor = 3;

std::vector<TimePoint> display_times(std::span<const ShownFrame> frames) {
  std::vector<TimePoint> times;
  times.reserve(frames.size());
  for (const ShownFrame& frame : frames) {
    times.push_back(frame.displayed);
  }
  std::ranges::sort(times);
  return times;
}

/// The ends of all gaps that touch the window, outermost first and last: the run's start or a frame
/// before the window, the frames in it, and a frame after it or its end.
std::vector<TimePoint> gap_ends(std::span<const ShownFrame> frames, Window window) {
  const std::vector<TimePoint> times = display_times(frames);
  const auto first = std::ranges::lower_bound(times, window.from);
  const auto last = std::ranges::lower_bound(times, window.to);
  std::vector<TimePoint> ends;
  ends.push_back(first == times.begin() ? std::min(kTimeZero, window.from) : *(first - 1));
  ends.insert(ends.end(), first, last);
  ends.push_back(last == times.end() ? window.to : *last);
  return ends;
}

}  // namespace

Freezes freezes_w3c(std::span<const ShownFrame> frames, Window window) {
  check(window.from < window.to, "freezes_w3c: empty window");
  const std::vector<TimePoint> times = display_times(frames);
  Freezes result;
  for (size_t i = 2; i < times.size(); ++i) {
    const size_t gaps = std::min(kMeanOfGaps, i - 1);
    const Duration mean = (times[i - 1] - times[i - 1 - gaps]) / static_cast<int64_t>(gaps);
    const Duration gap = times[i] - times[i - 1];
    if (window.contains(times[i]) && gap >= std::max(kW3cFactor * mean, mean + kW3cExtra)) {
      ++result.count;
      result.frozen += gap;
    }
  }
  return result;
}

int64_t gaps_over(std::span<const ShownFrame> frames, Window window, Duration longest) {
  check(window.from < window.to, "gaps_over: empty window");
  const std::vector<TimePoint> ends = gap_ends(frames, window);
  int64_t count = 0;
  for (size_t i = 1; i < ends.size(); ++i) {
    count += ends[i] - ends[i - 1] > longest ? 1 : 0;
  }
  return count;
}

double harmonic_fps(std::span<const ShownFrame> frames, Window window) {
  check(window.from < window.to, "harmonic_fps: empty window");
  const std::vector<TimePoint> ends = gap_ends(frames, window);
  double squares = 0;
  for (size_t i = 1; i < ends.size(); ++i) {
    const Duration gap = std::min(ends[i], window.to) - std::max(ends[i - 1], window.from);
    squares += to_seconds(gap) * to_seconds(gap);
  }
  return to_seconds(window.length()) / squares;
}

}  // namespace cress::metrics
