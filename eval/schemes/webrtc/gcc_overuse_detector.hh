#pragma once

#include <optional>

#include "transport/base/time.hh"

namespace cress::schemes {

/// What the delay gradient implies about the bottleneck's queue: it grows, drains, or neither.
enum class GccUsage { kNormal, kOveruse, kUnderuse };

/// draft-ietf-rmcat-gcc-02, §5.4 and §5.6. Shape: thresholds 0 < min <= initial <= max; gains > 0.
struct GccDetectorOptions {
  double threshold_initial_ms = 12.5;  ///< del_var_th(0)
  double threshold_min_ms = 6;
  double threshold_max_ms = 600;
  /// K_u and K_d, 1/ms. Differ from the draft §5.6 (draft()): libwebrtc's values, which belong to
  /// the trendline.
  double gain_up = 0.0087;
  double gain_down = 0.039;
  Duration overuse_time = 10ms;

  static GccDetectorOptions draft() {
    GccDetectorOptions options;
    options.gain_up = 0.01;
    options.gain_down = 0.00018;
    return options;
  }
};

/// The draft's over-use detector: compares the gradient with a threshold that follows it, slowly
/// down and faster up, so that neither the call's own queue nor a competing TCP starves the call.
/// Threads: none inside; one owner.
class GccOveruseDetector {
 public:
  explicit GccOveruseDetector(const GccDetectorOptions& options = {});

  /// m(i), as of the group that arrived at t(i). A time before the last one, which only a faulty
  /// peer can cause, counts as the last one.
  GccUsage handle_gradient(TimePoint arrived, double gradient_ms);

  GccUsage usage() const { return usage_; }
  double threshold_ms() const { return threshold_ms_; }

 private:
  void adapt_threshold(TimePoint arrived, double gradient_ms);

  GccDetectorOptions options_;
  double threshold_ms_;
  double previous_ms_ = 0;
  GccUsage usage_ = GccUsage::kNormal;
  std::optional<TimePoint> above_since_;
  std::optional<TimePoint> last_;
};

}  // namespace cress::schemes
