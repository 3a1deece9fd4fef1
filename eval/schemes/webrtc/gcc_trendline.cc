#include "eval/schemes/webrtc/gcc_trendline.hh"

#include "transport/base/check.hh"

namespace cress::schemes {

GccTrendline::GccTrendline(const GccTrendlineOptions& options) : options_(options) {
  check(options.window >= 2 && options.smoothing >= 0 && options.smoothing < 1 && options.gain > 0,
        "GccTrendlineOptions out of range");
}

double GccTrendline::slope() const {
  const auto count = static_cast<double>(points_.size());
  double arrived_sum = 0;
  double delay_sum = 0;
  for (const Point& point : points_) {
    arrived_sum += point.arrived_ms;
    delay_sum += point.delay_ms;
  }
  double covariance = 0;
  double variance = 0;
  for (const Point& point : points_) {
    const double arrived = point.arrived_ms - arrived_sum / count;
    covariance += arrived * (point.delay_ms - delay_sum / count);
    variance += arrived * arrived;
  }
  return variance > 0 ? covariance / variance : 0;
}

void GccTrendline::handle_variation(const GccGroupVariation& variation) {
  ++groups_;
  arrived_ms_ += to_milliseconds(variation.arrival_gap);
  delay_ms_ += to_milliseconds(variation.variation());
  smoothed_ms_ = options_.smoothing * smoothed_ms_ + (1 - options_.smoothing) * delay_ms_;
  points_.push_back({arrived_ms_, smoothed_ms_});
  if (points_.size() > options_.window) {
    points_.pop_front();
  }
  if (points_.size() == options_.window) {
    gradient_ = slope() * options_.gain;
  }
}

}  // namespace cress::schemes
