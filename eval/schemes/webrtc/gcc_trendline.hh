#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "eval/schemes/webrtc/gcc_arrival_filter.hh"

namespace cress::schemes {

/// The filter that replaced the Kalman filter in libwebrtc (modules/congestion_controller/ goog_cc,
/// trendline estimator): the slope of a line through the smoothed delays of the newest groups.
/// Shape: window >= 2, 0 <= smoothing < 1, gain > 0.
struct GccTrendlineOptions {
  size_t window = 20;
  double smoothing = 0.9;
  double gain = 4.0;
};

/// Threads: none inside; one owner.
class GccTrendline {
 public:
  explicit GccTrendline(const GccTrendlineOptions& options = {});

  void handle_variation(const GccGroupVariation& variation);

  /// Milliseconds of delay gained per millisecond, times the gain: scaled and compared with the
  /// detector's threshold. 0 until the window is full.
  double gradient() const { return gradient_; }
  int64_t groups() const { return groups_; }

 private:
  struct Point {
    double arrived_ms = 0;
    double delay_ms = 0;
  };
  double slope() const;

  GccTrendlineOptions options_;
  std::deque<Point> points_;
  double arrived_ms_ = 0;
  double delay_ms_ = 0;
  double smoothed_ms_ = 0;
  double gradient_ = 0;
  int64_t groups_ = 0;
};

}  // namespace cress::schemes
