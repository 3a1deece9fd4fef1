#include <algorithm>
#include <cmath>

#include "eval/report/page_parts.hh"
#include "transport/base/check.hh"

namespace cress::report {

namespace {

/// Mean of the existing values.
class Mean {
 public:
  void add(std::optional<double> value) {
    if (value) {
      sum_ += *value;
      ++count_;
    }
  }
  std::optional<double> value() const {
    return count_ > 0 ? std::optional(sum_ / static_cast<double>(count_)) : std::nullopt;
  }

 private:
  double sum_ = 0.0;
  size_t count_ = 0;
};

void raise(std::optional<double>& largest, std::optional<double> value) {
  if (value && (!largest || *value > *largest)) {
    largest = value;
  }
}

size_t group_size(size_t points, size_t points_max) {
  check(points_max > 0, "thinned: no points allowed");
  return std::max<size_t>((points + points_max - 1) / points_max, 1);
}

TimelinePoint merged(std::span<const TimelinePoint> group) {
  Mean capacity;
  Mean throughput;
  Mean window;
  Mean forecast;
  TimelinePoint result{.time_s = group.front().time_s};
  for (const TimelinePoint& point : group) {
    capacity.add(point.capacity_kbps);
    throughput.add(point.throughput_kbps);
    window.add(point.window_bytes);
    forecast.add(point.forecast_kbps);
    raise(result.delay_ms, point.delay_ms);
  }
  result.capacity_kbps = capacity.value();
  result.throughput_kbps = throughput.value();
  result.window_bytes = window.value();
  result.forecast_kbps = forecast.value();
  return result;
}

std::optional<double> fit_ratio(const FramePoint& frame) {
  if (!frame.size_bytes || !frame.budget_bytes || *frame.budget_bytes <= 0.0) {
    return std::nullopt;
  }
  return *frame.size_bytes / *frame.budget_bytes;
}

/// Orders by overshoot, then by size; a frame without either comes first.
bool fits_better(const FramePoint& a, const FramePoint& b) {
  const double ratio_a = fit_ratio(a).value_or(-1.0);
  const double ratio_b = fit_ratio(b).value_or(-1.0);
  return ratio_a != ratio_b ? ratio_a < ratio_b
                            : a.size_bytes.value_or(-1.0) < b.size_bytes.value_or(-1.0);
}

FramePoint merged(std::span<const FramePoint> group) {
  FramePoint result = *std::max_element(group.begin(), group.end(), fits_better);
  Mean ssim;
  Mean psnr;
  result.delay_ms.reset();
  for (const FramePoint& frame : group) {
    ssim.add(frame.ssim_db);
    psnr.add(frame.psnr_db);
    raise(result.delay_ms, frame.delay_ms);
  }
  result.ssim_db = ssim.value();
  result.psnr_db = psnr.value();
  return result;
}

template <class Point>
std::vector<Point> thinned_points(std::span<const Point> points, size_t points_max) {
  const size_t group = group_size(points.size(), points_max);
  if (group == 1) {
    return {points.begin(), points.end()};
  }
  std::vector<Point> result;
  result.reserve(points.size() / group + 1);
  for (size_t first = 0; first < points.size(); first += group) {
    result.push_back(merged(points.subspan(first, std::min(group, points.size() - first))));
  }
  return result;
}

struct Display {
  double at_s = 0.0;
  double captured_s = 0.0;
};

/// The frames that were displayed, by display time; `end_s` gets the last time in the log.
std::vector<Display> displays_of(std::span<const FramePoint> frames, double& end_s) {
  std::vector<Display> displays;
  end_s = 0.0;
  for (const FramePoint& frame : frames) {
    end_s = std::max(end_s, frame.capture_s);
    if (frame.display_s) {
      end_s = std::max(end_s, *frame.display_s);
      displays.push_back({.at_s = *frame.display_s, .captured_s = frame.capture_s});
    }
  }
  std::stable_sort(displays.begin(), displays.end(),
                   [](const Display& a, const Display& b) { return a.at_s < b.at_s; });
  return displays;
}

}  // namespace

std::vector<TimelinePoint> thinned(std::span<const TimelinePoint> points, size_t points_max) {
  return thinned_points(points, points_max);
}

std::vector<FramePoint> thinned(std::span<const FramePoint> points, size_t points_max) {
  return thinned_points(points, points_max);
}

std::vector<AgePoint> picture_age(std::span<const FramePoint> frames, size_t points_max) {
  constexpr double kBinSecondsMin = 0.05;
  check(points_max > 0, "picture_age: no points allowed");
  double end_s = 0.0;
  const std::vector<Display> displays = displays_of(frames, end_s);
  if (displays.empty() || end_s <= 0.0) {
    return {};
  }
  const auto bins = static_cast<size_t>(
      std::clamp(std::floor(end_s / kBinSecondsMin), 1.0, static_cast<double>(points_max)));
  const double bin_s = end_s / static_cast<double>(bins);
  std::vector<AgePoint> ages;
  ages.reserve(bins);
  double newest_s = 0.0;
  size_t next = 0;
  for (size_t i = 0; i < bins; ++i) {
    const double from_s = bin_s * static_cast<double>(i);
    const double to_s = i + 1 == bins ? end_s : bin_s * static_cast<double>(i + 1);
    double oldest_s = 0.0;
    for (; next < displays.size() && displays[next].at_s < to_s; ++next) {
      oldest_s = std::max(oldest_s, displays[next].at_s - newest_s);
      newest_s = std::max(newest_s, displays[next].captured_s);
    }
    oldest_s = std::max(oldest_s, to_s - newest_s);
    ages.push_back({.time_s = from_s, .age_ms_max = oldest_s * 1000.0});
  }
  return ages;
}

FrameFit frame_fit(std::span<const FramePoint> frames) {
  FrameFit fit{.frames = frames.size()};
  std::vector<double> ratios;
  for (const FramePoint& frame : frames) {
    fit.skipped += frame.size_bytes ? 0 : 1;
    if (const auto ratio = fit_ratio(frame)) {
      ratios.push_back(*ratio);
    }
  }
  fit.with_budget = ratios.size();
  if (ratios.empty()) {
    return fit;
  }
  std::sort(ratios.begin(), ratios.end());
  const auto fitting = std::upper_bound(ratios.begin(), ratios.end(), 1.0) - ratios.begin();
  const auto count = static_cast<double>(ratios.size());
  fit.over_share = 1.0 - static_cast<double>(fitting) / count;
  fit.ratio_p95 = ratios[static_cast<size_t>(std::ceil(0.95 * count)) - 1];
  return fit;
}

}  // namespace cress::report
