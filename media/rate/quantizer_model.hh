#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "media/frame/picture.hh"
#include "transport/base/units.hh"

namespace cress::media {

enum class FrameType { kKey, kDelta };

/// The quantizer step (VP8's AC step, RFC 6386 §14.1) of libvpx's quantizer 0..63: 4..284.
int quantizer_step(int quantizer);

struct QuantizerModelOptions {
  /// The range of quantizer_for's results, 0 <= min <= max <= 63.
  int quantizer_min = 2;
  int quantizer_max = 63;
  /// The share of frames that may exceed their budget, 0 < share < 1: the model keeps a safety
  /// margin that achieves it. More caution wastes window; an overshoot costs delay.
  double over_budget_share = 0.20;
  /// Pixels of a picture: the only information before the first frame.
  double pixels = 640 * 360;
};

/// What is known of a frame before it is encoded.
struct FrameContext {
  FrameType type = FrameType::kDelta;
  /// `picture_activity` relative to the picture of the frame's reference.
  std::optional<double> activity{};
  /// The quantizer of its reference; nullopt: that of the last observed frame.
  std::optional<int> reference_quantizer{};
};

/// How much `now` differs from `before`, the previously encoded picture: the mean absolute
/// difference of their luma, on a grid of every fourth pixel of every fourth row. 0 for a repeated
/// picture, above 20 for a cut. Both of one size.
double picture_activity(const Picture& now, const Picture& before);

/// Predicts the size of a frame at each quantizer, and so which quantizer fits a budget. It learns
/// from every encoded frame.
///
/// For each frame type, with s the logarithm of the quantizer step, s' that of the reference's step
/// and m the logarithm of the activity:
///   log2(size) = level − slope · s + memory · s' + motion · m + error
/// level changes from frame to frame (cuts), the others hardly: a Kalman filter with those four as
/// its state. `memory` exists because a delta frame finer than its reference also encodes what the
/// reference left out. An outlier (a cut, a repeated picture) moves the level only a little; a
/// second one in the same direction is accepted. The margin on top is the running quantile of the
/// error that over_budget_share asks for. Threads: none inside; one owner.
class QuantizerModel {
 public:
  explicit QuantizerModel(const QuantizerModelOptions& options = {});

  /// The finest quantizer whose frame is expected to fit `budget` (> 0) with the margin; if none
  /// fits, the coarsest allowed: the caller then has to scale down, skip, or accept it.
  int quantizer_for(DataSize budget, FrameType type, std::optional<double> activity = {}) const;
  /// A frame was encoded and will be the next one's reference. `size` > 0. If the budget is given,
  /// the margin is adjusted by whether the frame fitted.
  void observe(int quantizer, FrameType type, DataSize size, std::optional<DataSize> budget = {},
               std::optional<double> activity = {});

  /// The expected size: the median of the prediction.
  DataSize predict(int quantizer, FrameType type, std::optional<double> activity = {}) const;

  /// The expected log2 of the size in bytes: strictly decreasing from finer to coarser quantizers.
  double log_size(int quantizer, const FrameContext& frame) const;
  /// A frame of `size` > 0 was encoded. Attempts count as well as sent frames.
  void learn(int quantizer, const FrameContext& frame, DataSize size);
  /// The pictures will have `ratio` times as many pixels: an estimate until frames of the new size
  /// are observed.
  void handle_resize(double ratio);

 private:
  static constexpr size_t kParts = 4;
  using Vector = std::array<double, kParts>;

  struct Filter {
    Vector state{};  // level, slope, memory, motion
    std::array<Vector, kParts> covariance{};
    double margin = 0;     // in log2 of bytes
    int last_outlier = 0;  // its sign, 0 if the last frame was no outlier
  };

  const Filter& filter(FrameType type) const { return filters_[type == FrameType::kKey ? 0 : 1]; }
  Vector features(int quantizer, const FrameContext& frame) const;
  static void update(Filter& filter, const Vector& features, double log_size);

  QuantizerModelOptions options_;
  std::array<Filter, 2> filters_;
  double last_log_step_;
};

}  // namespace cress::media
