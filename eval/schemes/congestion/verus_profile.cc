#include "eval/schemes/congestion/verus_profile.hh"

#include <algorithm>
#include <cmath>

#include "transport/base/check.hh"

namespace cress::schemes {
namespace {

constexpr double kOldWeight = 0.875;      // of what a window's point was
constexpr double kSlopeMin = 1e-3;        // ms a segment: no link is that fast
constexpr double kExplorationMax = 1.25;  // of the largest window seen

}  // namespace

std::vector<double> never_falling(std::span<const double> values) {
  struct Block {
    double mean;
    size_t length;
  };
  std::vector<Block> blocks;
  for (const double value : values) {
    blocks.push_back({value, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean > blocks.back().mean) {
      const Block last = blocks.back();
      blocks.pop_back();
      Block& into = blocks.back();
      const auto left = static_cast<double>(into.length);
      const auto right = static_cast<double>(last.length);
      into.mean = (into.mean * left + last.mean * right) / (left + right);
      into.length += last.length;
    }
  }
  std::vector<double> result;
  result.reserve(values.size());
  for (const Block& block : blocks) {
    result.insert(result.end(), block.length, block.mean);
  }
  return result;
}

void VerusProfile::observe(double window, double delay_ms) {
  const auto index = static_cast<size_t>(
      std::clamp(std::floor(window), 1.0, static_cast<double>(kVerusWindowMax)));
  double& point = points_[index];
  point = point < 0 ? delay_ms : kOldWeight * point + (1.0 - kOldWeight) * delay_ms;
  largest_ = std::max(largest_, index);
}

void VerusProfile::rebuild() {
  std::vector<double> windows;
  std::vector<double> delays;
  for (size_t window = 1; window <= largest_; ++window) {
    if (points_[window] >= 0) {
      windows.push_back(static_cast<double>(window));
      delays.push_back(points_[window]);
    }
  }
  const std::vector<double> smooth = never_falling(delays);
  curve_.clear();
  for (size_t i = 0; i < smooth.size(); ++i) {
    curve_.push_back({windows[i], smooth[i]});
  }
}

double VerusProfile::slope() const {
  const double rise = curve_.back().delay_ms - curve_.front().delay_ms;
  return std::max(rise / (curve_.back().window - curve_.front().window), kSlopeMin);
}

double VerusProfile::window_for(double delay_ms) const {
  check(!empty(), "VerusProfile: something is known");
  const Point& last = curve_.back();
  if (delay_ms >= last.delay_ms) {
    return std::min(last.window + (delay_ms - last.delay_ms) / slope(),
                    std::max(kExplorationMax * last.window, last.window + 1.0));
  }
  const auto above =
      std::upper_bound(curve_.begin(), curve_.end(), delay_ms,
                       [](double delay, const Point& point) { return delay < point.delay_ms; });
  if (above == curve_.begin()) {
    return 1.0;
  }
  const Point& low = *(above - 1);
  const double share = (delay_ms - low.delay_ms) / (above->delay_ms - low.delay_ms);
  return low.window + share * (above->window - low.window);
}

double VerusProfile::delay_for(double window) const {
  check(!empty(), "VerusProfile: something is known");
  if (window <= curve_.front().window) {
    return curve_.front().delay_ms;
  }
  if (window >= curve_.back().window) {
    return curve_.back().delay_ms + (window - curve_.back().window) * slope();
  }
  const auto above =
      std::upper_bound(curve_.begin(), curve_.end(), window,
                       [](double value, const Point& point) { return value < point.window; });
  const Point& low = *(above - 1);
  const double share = (window - low.window) / (above->window - low.window);
  return low.delay_ms + share * (above->delay_ms - low.delay_ms);
}

}  // namespace cress::schemes
