#include "media/rate/quantizer_model.hh"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "transport/base/check.hh"

namespace cress::media {
namespace {

constexpr int kQuantizers = 64;

// libvpx maps its 0..63 to VP8's 128 indices, finer at the fine end; in its order.
constexpr std::array<int, kQuantizers> kIndices{
    0,  1,  2,  3,  4,  5,  7,  8,  9,  10, 12,  13,  15,  17,  18,  19,  20,  21,  23,  24, 25, 26,
    27, 28, 29, 30, 31, 33, 35, 37, 39, 41, 43,  45,  47,  49,  51,  53,  55,  57,  59,  61, 64, 67,
    70, 73, 76, 79, 82, 85, 88, 91, 94, 97, 100, 103, 106, 109, 112, 115, 118, 121, 124, 127};

// RFC 6386 §14.1, the AC table, as the runs of equal differences that it is made of.
constexpr int ac_step(int index) {
  constexpr std::array<std::array<int, 2>, 7> kRuns{
      // how many, how far apart
      {{{54, 1}}, {{29, 2}}, {{1, 3}}, {{18, 3}}, {{14, 4}}, {{1, 5}}, {{0, 0}}}};
  constexpr std::array<int, 10> kTail{239, 245, 249, 254, 259, 264, 269, 274, 279, 284};
  if (index >= 118) {
    return kTail.at(static_cast<size_t>(index - 118));
  }
  int step = 4;
  for (const auto& [count, apart] : kRuns) {
    const int taken = index < count ? index : count;
    step += taken * apart;
    index -= taken;
  }
  return step;
}
static_assert(ac_step(0) == 4 && ac_step(54) == 58 && ac_step(83) == 116 && ac_step(102) == 173);
static_assert(ac_step(116) == 229 && ac_step(117) == 234 && ac_step(118) == 239 &&
              ac_step(127) == 284);

// Logarithms of steps are relative to this, the middle of the scale, so that level and slope are
// nearly independent.
constexpr double kLogStepOrigin = 5.5;

// How far each part of the state varies from one frame to the next (standard deviations), and the
// error around it, all in log2 of bytes. Fitted to talking heads.
constexpr double kLevelDrift = 0.12;
constexpr double kSlopeDrift = 0.010;
constexpr double kMemoryDrift = 0.010;
constexpr double kMotionDrift = 0.005;
constexpr double kErrorDeviation = 0.18;
// In log2 of bytes: after a frame that is too large the margin grows by (1 - over_budget_share)
// times this, otherwise it shrinks by over_budget_share times this.
constexpr double kMarginStep = 0.06;
constexpr double kMarginMin = -0.3;
constexpr double kMarginMax = 1.5;
constexpr double kOutlierDeviations = 3.0;

// A picture of four times the pixels takes 2.6 times the bytes at one quantizer (key frames of the
// clips, halved); and the uncertainty of that estimate.
constexpr double kSizeExponent = 0.7;
constexpr double kResizeDeviation = 0.5;

// Sensor noise alone makes an activity of about one; its logarithm is relative to a quiet talking
// head's. Below the floor a picture is a repetition.
constexpr double kActivityFloor = 0.1;
constexpr double kLogActivityOrigin = 1.0;

double log_step(int quantizer) {
  return std::log2(static_cast<double>(quantizer_step(quantizer))) - kLogStepOrigin;
}

void set_diagonal(std::array<std::array<double, 4>, 4>& matrix,
                  const std::array<double, 4>& diagonal) {
  for (size_t i = 0; i < diagonal.size(); ++i) {
    matrix[i][i] = diagonal[i];
  }
}

double dot(const std::array<double, 4>& a, const std::array<double, 4>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}

}  // namespace

int quantizer_step(int quantizer) {
  check(quantizer >= 0 && quantizer < kQuantizers, "quantizer_step: out of range");
  return ac_step(kIndices.at(static_cast<size_t>(quantizer)));
}

double picture_activity(const Picture& now, const Picture& before) {
  check(now.width == before.width && now.height == before.height,
        "picture_activity: pictures of two sizes");
  constexpr int kGrid = 4;
  int64_t sum = 0;
  int64_t count = 0;
  for (int row = 0; row < now.height; row += kGrid) {
    const ptrdiff_t at = static_cast<ptrdiff_t>(row) * now.width;
    for (int column = 0; column < now.width; column += kGrid, ++count) {
      sum += std::abs(now.y()[at + column] - before.y()[at + column]);
    }
  }
  return static_cast<double>(sum) / static_cast<double>(count);
}

QuantizerModel::QuantizerModel(const QuantizerModelOptions& options)
    : options_(options), last_log_step_(0) {
  check(0 <= options.quantizer_min && options.quantizer_min <= options.quantizer_max &&
            options.quantizer_max < kQuantizers,
        "QuantizerModel: quantizers out of range");
  check(options.over_budget_share > 0 && options.over_budget_share < 1 && options.pixels > 0,
        "QuantizerModel: options out of range");
  // Before the first frame: at the middle of the scale a key frame takes about 0.25 bits per pixel,
  // a delta frame of a talking head a tenth of that; either may be wrong by a factor of four.
  const double key_bytes = options.pixels * 0.25 / 8;
  filters_[0] = {.state = {std::log2(key_bytes), 1.0, 0.0, 0.0}, .margin = 0.5};
  set_diagonal(filters_[0].covariance, {2.0, 0.04, 1e-6, 1e-6});
  filters_[1] = {.state = {std::log2(key_bytes / 10), 1.5, 0.3, 0.5}, .margin = 0.3};
  set_diagonal(filters_[1].covariance, {2.0, 0.09, 0.09, 0.09});
}

QuantizerModel::Vector QuantizerModel::features(int quantizer, const FrameContext& frame) const {
  const double motion =
      frame.activity ? std::log2(std::max(*frame.activity, kActivityFloor)) - kLogActivityOrigin
                     : 0.0;
  const double reference =
      frame.reference_quantizer ? log_step(*frame.reference_quantizer) : last_log_step_;
  return {1.0, -log_step(quantizer), reference, motion};
}

double QuantizerModel::log_size(int quantizer, const FrameContext& frame) const {
  return dot(filter(frame.type).state, features(quantizer, frame));
}

void QuantizerModel::learn(int quantizer, const FrameContext& frame, DataSize size) {
  check(size > DataSize{0}, "QuantizerModel: a frame without bytes");
  Filter& to = filters_[frame.type == FrameType::kKey ? 0 : 1];
  update(to, features(quantizer, frame), std::log2(static_cast<double>(size.bytes())));
  last_log_step_ = log_step(quantizer);
}

void QuantizerModel::handle_resize(double ratio) {
  check(ratio > 0, "QuantizerModel: ratio out of range");
  for (Filter& to : filters_) {
    to.state[0] += kSizeExponent * std::log2(ratio);
    to.covariance[0][0] += kResizeDeviation * kResizeDeviation;
    to.last_outlier = 0;
  }
}

DataSize QuantizerModel::predict(int quantizer, FrameType type,
                                 std::optional<double> activity) const {
  const double log_size =
      std::clamp(dot(filter(type).state, features(quantizer, {.type = type, .activity = activity})),
                 0.0, 30.0);
  return DataSize{static_cast<int64_t>(std::exp2(log_size))};
}

int QuantizerModel::quantizer_for(DataSize budget, FrameType type,
                                  std::optional<double> activity) const {
  check(budget > DataSize{0}, "QuantizerModel: no budget");
  const Filter& from = filter(type);
  const double log_budget = std::log2(static_cast<double>(budget.bytes())) - from.margin;
  for (int quantizer = options_.quantizer_min; quantizer < options_.quantizer_max; ++quantizer) {
    if (log_size(quantizer, {.type = type, .activity = activity}) <= log_budget) {
      return quantizer;
    }
  }
  return options_.quantizer_max;
}

void QuantizerModel::observe(int quantizer, FrameType type, DataSize size,
                             std::optional<DataSize> budget, std::optional<double> activity) {
  check(size > DataSize{0}, "QuantizerModel: a frame without bytes");
  Filter& to = filters_[type == FrameType::kKey ? 0 : 1];
  const Vector seen = features(quantizer, {.type = type, .activity = activity});
  const double log_bytes = std::log2(static_cast<double>(size.bytes()));
  // At either end of the scale the margin does not decide whether a frame fits.
  const bool free = quantizer > options_.quantizer_min && quantizer < options_.quantizer_max;
  if (!budget || free) {
    const bool over = budget ? size > *budget : log_bytes - dot(to.state, seen) > to.margin;
    to.margin =
        std::clamp(to.margin + kMarginStep * ((over ? 1.0 : 0.0) - options_.over_budget_share),
                   kMarginMin, kMarginMax);
  }
  update(to, seen, log_bytes);
  last_log_step_ = log_step(quantizer);
}

void QuantizerModel::update(Filter& filter, const Vector& features, double log_size) {
  auto& p = filter.covariance;
  p[0][0] += kLevelDrift * kLevelDrift;
  p[1][1] += kSlopeDrift * kSlopeDrift;
  p[2][2] += kMemoryDrift * kMemoryDrift;
  p[3][3] += kMotionDrift * kMotionDrift;
  Vector spread{};  // covariance · features
  for (size_t i = 0; i < kParts; ++i) {
    spread[i] = dot(p[i], features);
  }
  const double variance = dot(spread, features) + kErrorDeviation * kErrorDeviation;
  const double error = log_size - dot(filter.state, features);
  const double bound = kOutlierDeviations * std::sqrt(variance);
  const int outlier = error > bound ? 1 : (error < -bound ? -1 : 0);
  const bool believed = outlier != 0 && outlier == filter.last_outlier;
  filter.last_outlier = outlier;
  if (believed) {
    // Two outliers in the same direction are a new scene: move the level half of the way, and
    // increase its uncertainty so that the next frames move it the rest.
    filter.state[0] += error / 2;
    p[0][0] += error * error / 4;
    return;
  }
  const double step = std::clamp(error, -bound, bound) / variance;
  for (size_t i = 0; i < kParts; ++i) {
    filter.state[i] += spread[i] * step;
    for (size_t j = 0; j < kParts; ++j) {
      p[i][j] -= spread[i] * spread[j] / variance;
    }
  }
  // A slope of the wrong sign would make finer quantizers look cheaper: it is clamped, whatever was
  // observed.
  filter.state[1] = std::clamp(filter.state[1], 0.3, 4.0);
  filter.state[2] = std::clamp(filter.state[2], -0.5, 1.5);
  filter.state[3] = std::clamp(filter.state[3], 0.0, 2.0);
}

}  // namespace cress::media
