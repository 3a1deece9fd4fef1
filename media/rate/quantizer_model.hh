#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "media/frame/picture.hh"
#include "transport/base/units.hh"

namespace cress::media {

enum class FrameType { kKey, kDelta };

/// The quantizer step (VP8's AC step, RFC 6386 §14.1) that libvpx's quantizer 0..63 stands
/// for: 4..284.
int quantizer_step(int quantizer);

struct QuantizerModelOptions {
  /// What quantizer_for may answer, 0 <= min <= max <= 63.
  int quantizer_min = 2;
  int quantizer_max = 63;
  /// How many frames may turn out larger than their budget, 0 < share < 1: the model keeps a safety
  /// margin that makes it so. More caution wastes window; an overshoot costs delay.
  double over_budget_share = 0.20;
  /// Pixels of a picture: the only hint there is before the first frame.
  double pixels = 640 * 360;
};

/// What is known of a frame before it is coded.
struct FrameContext {
  FrameType type = FrameType::kDelta;
  /// `picture_activity` against the picture that the frame refers to.
  std::optional<double> activity{};
  /// The quantizer of the frame it refers to; none: that of the frame observed last.
  std::optional<int> reference_quantizer{};
};

/// How much `now` differs from `before`, the picture coded last: the mean absolute difference of
/// their luma, on a grid of every fourth pixel of every fourth row. 0 for a repeated picture, above
/// 20 for a cut. Both of one size.
double picture_activity(const Picture& now, const Picture& before);

/// Predicts how large a frame will be at each quantizer, and so which quantizer fits a budget. It
/// learns from every coded frame.
///
/// For each frame type, with s the logarithm of the quantizer step and s' that of the frame before:
///   log2(size) = level − slope · s + memory · s' + error
/// level moves from frame to frame (motion, cuts), slope and memory hardly: a Kalman filter whose
/// state is those three. `memory` is there because a delta frame finer than its reference also pays
/// for what the reference left out. An outlier (a cut, a repeated picture) moves the level only a
/// little; a second one in the same direction is believed. The margin on top is the running
/// quantile of the error that over_budget_share asks for. Threads: none inside; one owner.
class QuantizerModel {
 public:
  explicit QuantizerModel(const QuantizerModelOptions& options = {});

  /// The finest quantizer whose frame is expected to fit `budget` (> 0) with the margin; the
  /// coarsest allowed when none is: then the caller has to scale down, skip, or live with it.
  int quantizer_for(DataSize budget, FrameType type, std::optional<double> activity = {}) const;
  /// A frame was coded and will be the next one's reference. `size` > 0. With the budget it was
  /// meant for, the margin is steered by what the caller cares about: whether it fitted.
  void observe(int quantizer, FrameType type, DataSize size, std::optional<DataSize> budget = {},
               std::optional<double> activity = {});

  /// The expected size, as likely too large as too small.
  DataSize predict(int quantizer, FrameType type, std::optional<double> activity = {}) const;

  /// The expected log2 of the size in bytes: falls strictly from finer to coarser quantizers.
  double log_size(int quantizer, const FrameContext& frame) const;
  /// A frame of `size` > 0 was coded. What was only an attempt teaches as well as what was sent.
  void learn(int quantizer, const FrameContext& frame, DataSize size);
  /// The pictures will have `ratio` times the pixels they had: a guess until frames of the new size
  /// are seen.
  void handle_resize(double ratio);

 private:
  static constexpr size_t kParts = 4;
  using Vector = std::array<double, kParts>;

  struct Filter {
    Vector state{};  // level, slope, memory, motion
    std::array<Vector, kParts> covariance{};
    double margin = 0;     // in log2 of bytes
    int last_outlier = 0;  // its sign, 0 when the last frame was none
  };

  const Filter& filter(FrameType type) const { return filters_[type == FrameType::kKey ? 0 : 1]; }
  Vector features(int quantizer, const FrameContext& frame) const;
  static void update(Filter& filter, const Vector& features, double log_size);

  QuantizerModelOptions options_;
  std::array<Filter, 2> filters_;
  double last_log_step_;
};

}  // namespace cress::media
