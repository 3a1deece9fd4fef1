#include "eval/schemes/webrtc/gcc_playout.hh"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace cress::schemes {
namespace {

// As in libwebrtc's jitter estimator, in its units (milliseconds and bytes), unless noted
// otherwise.
constexpr double kSizeSmoothing = 0.97;
// libwebrtc's newer rule: not the largest frame ever but the 95th percentile of ten seconds.
constexpr size_t kSizesMax = 300;
constexpr double kSizeQuantile = 0.95;
constexpr double kStateNoiseSlope = 2.5e-10;
constexpr double kStateNoiseOffset = 1e-10;
constexpr double kSlopeMin = 1e-6;
constexpr double kDelayOutlier = 15;  // standard deviations
constexpr double kSizeOutlier = 3;
constexpr double kDelayLimit = 3.5;
constexpr int64_t kNoiseCountMax = 400;
constexpr double kNoiseQuantile = 2.33;  // 99 % of a normal distribution
constexpr double kNoiseOffsetMs = 30;
constexpr Duration kSystemJitter = 10ms;
// Retransmissions are waited for once this many frames needed one.
constexpr int64_t kSentAgainMin = 3;
// The delay moves by a tenth of real time.
constexpr double kDelaySlew = 0.1;
// After five seconds of frames later than this, the path's delay counts as changed.
constexpr double kTransitShiftMs = 73;
constexpr int64_t kTransitShiftFrames = 150;
// Ours: libwebrtc fits a line to all frames so far; we take the mean over some thirty seconds.
constexpr int64_t kTransitsMax = 1000;

}  // namespace

void GccJitter::update_noise(double residual_ms) {
  const double keep = static_cast<double>(noise_count_ - 1) / static_cast<double>(noise_count_);
  noise_count_ = std::min(noise_count_ + 1, kNoiseCountMax);
  const double off = residual_ms - noise_mean_ms_;
  noise_mean_ms_ = keep * noise_mean_ms_ + (1 - keep) * residual_ms;
  noise_variance_ = std::max(1.0, keep * noise_variance_ + (1 - keep) * off * off);
}

void GccJitter::update_model(double size_change, double residual_ms) {
  error_slope_ += kStateNoiseSlope;
  error_offset_ += kStateNoiseOffset;
  // A frame unlike the one before gives much information about the slope, a similar one little.
  const double sigma = std::max(
      1.0, (300 * std::exp(-std::abs(size_change) / size_large_) + 1) * std::sqrt(noise_variance_));
  const double from_slope = error_slope_ * size_change + error_cross_;
  const double from_offset = error_cross_ * size_change + error_offset_;
  const double denominator = sigma + size_change * from_slope + from_offset;
  const double gain_slope = from_slope / denominator;
  const double gain_offset = from_offset / denominator;
  slope_ms_per_byte_ = std::max(kSlopeMin, slope_ms_per_byte_ + gain_slope * residual_ms);
  offset_ms_ += gain_offset * residual_ms;
  const double slope = error_slope_;
  const double cross = error_cross_;
  error_slope_ = (1 - gain_slope * size_change) * slope - gain_slope * cross;
  error_cross_ = (1 - gain_slope * size_change) * cross - gain_slope * error_offset_;
  error_offset_ = error_offset_ * (1 - gain_offset) - gain_offset * size_change * cross;
}

void GccJitter::handle_frame(const GccFrameArrival& frame) {
  if (frame.sent_again) {
    ++sent_again_;
    previous_.reset();  // its arrival gives no information about the path
    return;
  }
  const auto previous = std::exchange(previous_, frame);
  if (!previous) {
    return;
  }
  const auto size = static_cast<double>(frame.size.bytes());
  const double size_change = size - static_cast<double>(previous->size.bytes());
  const double limit_ms = kDelayLimit * std::sqrt(noise_variance_) + 0.5;
  const double delay_ms = std::clamp(
      to_milliseconds((frame.arrived - previous->arrived) - (frame.captured - previous->captured)),
      -limit_ms, limit_ms);
  if (size < size_mean_ + 2 * std::sqrt(size_variance_)) {  // key frames are not the usual size
    size_mean_ = kSizeSmoothing * size_mean_ + (1 - kSizeSmoothing) * size;
  }
  const double off = size - size_mean_;
  size_variance_ =
      std::max(1.0, kSizeSmoothing * size_variance_ + (1 - kSizeSmoothing) * off * off);
  sizes_.push_back(size);
  if (sizes_.size() > kSizesMax) {
    sizes_.pop_front();
  }
  std::vector<double> sorted{sizes_.begin(), sizes_.end()};
  const auto large = sorted.begin() +
                     static_cast<ptrdiff_t>(kSizeQuantile * static_cast<double>(sorted.size() - 1));
  std::ranges::nth_element(sorted, large);
  size_large_ = *large;
  const double residual_ms = delay_ms - (slope_ms_per_byte_ * size_change + offset_ms_);
  const double outlier_ms = kDelayOutlier * std::sqrt(noise_variance_);
  if (std::abs(residual_ms) < outlier_ms ||
      size > size_mean_ + kSizeOutlier * std::sqrt(size_variance_)) {
    update_noise(residual_ms);
    if (size_change > -0.25 * size_large_) {  // a small frame behind a large one waits for it
      update_model(size_change, residual_ms);
    }
  } else {
    update_noise(std::copysign(outlier_ms, residual_ms));
  }
}

Duration GccJitter::estimate(Duration round_trip) const {
  const double noise_ms =
      std::max(1.0, kNoiseQuantile * std::sqrt(noise_variance_) - kNoiseOffsetMs);
  const double size_ms = slope_ms_per_byte_ * std::max(0.0, size_large_ - size_mean_);
  Duration wanted = from_seconds(std::clamp((noise_ms + size_ms) / 1000, 0.0, to_seconds(kMax)));
  wanted += kSystemJitter;
  if (sent_again_ >= kSentAgainMin) {
    wanted += round_trip;
  }
  return std::min(wanted, kMax);
}

void GccPlayout::learn_transit(Duration transit) {
  const double transit_ms = to_milliseconds(transit);
  const double error = transit_ms - transit_ms_;
  const int64_t side = error > kTransitShiftMs ? 1 : (error < -kTransitShiftMs ? -1 : 0);
  shifted_ = side == 0 || (side > 0) != (shifted_ >= 0) ? side : shifted_ + side;
  if (transits_ == 0 || std::abs(shifted_) >= kTransitShiftFrames) {
    shifted_ = 0;
    transits_ = 1;
    transit_ms_ = transit_ms;
    return;
  }
  transits_ = std::min(transits_ + 1, kTransitsMax);
  transit_ms_ +=
      std::clamp(error, -kTransitShiftMs, kTransitShiftMs) / static_cast<double>(transits_);
}

TimePoint GccPlayout::handle_frame(TimePoint now, const GccFrameArrival& frame,
                                   Duration round_trip) {
  jitter_.handle_frame(frame);
  learn_transit(frame.arrived - frame.captured);
  const Duration wanted = jitter_.estimate(round_trip);
  if (last_captured_) {
    const Duration step = from_seconds(
        kDelaySlew * std::clamp(to_seconds(frame.captured - *last_captured_), 0.0, 10.0));
    delay_ = std::clamp(wanted, delay_ - step, delay_ + step);
  } else {
    delay_ = wanted;
  }
  last_captured_ = frame.captured;
  const TimePoint usual = frame.captured + from_seconds(transit_ms_ / 1000);
  if (usual + delay_ < now) {
    // It is late: the next ones may be as well.
    delay_ = std::min(std::max(wanted, delay_), delay_ + (now - (usual + delay_)));
    return now;
  }
  return usual + delay_;
}

}  // namespace cress::schemes
