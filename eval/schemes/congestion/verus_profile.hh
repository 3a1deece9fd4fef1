#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace cress::schemes {

/// The windows in a profile: 1..kVerusWindowMax segments. Larger windows count as the largest.
inline constexpr size_t kVerusWindowMax = 8192;

/// Verus's delay profile (Zaki et al., SIGCOMM 2015, §4.1): the delay of each window. Each
/// acknowledgement updates its window's point (an average with weight 1/8); from time to time a
/// curve is fitted to the points. Differs from the paper, which fits a smoothing cubic spline with
/// a library: the curve is the nearest non-decreasing one (pool adjacent violators), linear between
/// its points. It has one window for each delay, which an oscillating spline does not have. Beyond
/// its last point it continues with its mean slope. Units: segments, milliseconds. Cost: an
/// observation is constant, a curve linear in the points, a lookup logarithmic. Threads: none
/// inside; one owner.
class VerusProfile {
 public:
  VerusProfile() : points_(kVerusWindowMax + 1, -1.0) {}

  void observe(double window, double delay_ms);
  /// Fits the curve again to the points observed so far.
  void rebuild();
  /// Fewer than two windows are known: no lookups yet.
  bool empty() const { return curve_.size() < 2; }
  /// The largest window whose delay is at most `delay_ms`; at least 1, at most a quarter beyond the
  /// largest window observed. Not empty.
  double window_for(double delay_ms) const;
  /// Not empty.
  double delay_for(double window) const;

 private:
  struct Point {
    double window = 0;
    double delay_ms = 0;
  };
  double slope() const;

  std::vector<double> points_;  // ms by window; negative: never observed
  size_t largest_ = 0;
  std::vector<Point> curve_;  // windows ascend, delays never decrease
};

/// The nearest non-decreasing sequence (least squares). Linear in the length.
std::vector<double> never_falling(std::span<const double> values);

}  // namespace cress::schemes
