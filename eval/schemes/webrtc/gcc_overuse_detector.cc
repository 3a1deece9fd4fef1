#include "eval/schemes/webrtc/gcc_overuse_detector.hh"

#include <algorithm>
#include <cmath>
#include <utility>

#include "transport/base/check.hh"

namespace cress::schemes {
namespace {

// A gradient this far beyond the threshold is a spike, for example from a route change, and must
// not move it (§5.4).
constexpr double kSpikeMs = 15;
// Differs from the draft §5.4: after a silence the threshold would jump. As in libwebrtc.
constexpr Duration kAdaptMax = 100ms;

}  // namespace

GccOveruseDetector::GccOveruseDetector(const GccDetectorOptions& options)
    : options_(options), threshold_ms_(options.threshold_initial_ms) {
  check(options.threshold_min_ms > 0 && options.threshold_min_ms <= options.threshold_initial_ms &&
            options.threshold_initial_ms <= options.threshold_max_ms && options.gain_up > 0 &&
            options.gain_down > 0,
        "GccDetectorOptions out of range");
}

void GccOveruseDetector::adapt_threshold(TimePoint arrived, double gradient_ms) {
  const Duration elapsed = last_ ? std::min(arrived - *last_, kAdaptMax) : Duration{};
  last_ = arrived;
  const double beyond = std::abs(gradient_ms) - threshold_ms_;
  if (beyond > kSpikeMs) {
    return;
  }
  const double gain = beyond < 0 ? options_.gain_down : options_.gain_up;
  threshold_ms_ = std::clamp(threshold_ms_ + to_milliseconds(elapsed) * gain * beyond,
                             options_.threshold_min_ms, options_.threshold_max_ms);
}

GccUsage GccOveruseDetector::handle_gradient(TimePoint arrived, double gradient_ms) {
  arrived = std::max(arrived, last_.value_or(arrived));
  const double previous_ms = std::exchange(previous_ms_, gradient_ms);
  if (gradient_ms > threshold_ms_) {
    above_since_ = above_since_.value_or(arrived);
    if (arrived - *above_since_ >= options_.overuse_time && gradient_ms >= previous_ms) {
      usage_ = GccUsage::kOveruse;
    }
  } else {
    above_since_.reset();
    usage_ = gradient_ms < -threshold_ms_ ? GccUsage::kUnderuse : GccUsage::kNormal;
  }
  adapt_threshold(arrived, gradient_ms);
  return usage_;
}

}  // namespace cress::schemes
