#include "eval/encoder/bd_rate.hh"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace cress::encoder_bench {
namespace {

/// ln(rate) over quality as a piecewise cubic.
class Curve {
 public:
  /// nullopt if quality does not rise with rate, or there are too few points.
  static std::optional<Curve> through(std::span<const RatePoint> points) {
    Curve curve;
    std::vector<RatePoint> sorted{points.begin(), points.end()};
    std::ranges::sort(sorted, {}, &RatePoint::quality_db);
    for (const RatePoint& point : sorted) {
      const bool usable =
          point.kbps > 0 && std::isfinite(point.kbps) && std::isfinite(point.quality_db);
      if (!usable || (!curve.x_.empty() && (point.quality_db <= curve.x_.back() ||
                                            std::log(point.kbps) <= curve.y_.back()))) {
        return std::nullopt;
      }
      curve.x_.push_back(point.quality_db);
      curve.y_.push_back(std::log(point.kbps));
    }
    if (curve.x_.size() < 2) {
      return std::nullopt;
    }
    curve.set_slopes();
    return curve;
  }

  double low() const { return x_.front(); }
  double high() const { return x_.back(); }

  /// ∫ ln(rate) over quality in [from, to], inside [low, high].
  double integral(double from, double to) const {
    double sum = 0;
    for (size_t i = 0; i + 1 < x_.size(); ++i) {
      const double a = std::clamp(from, x_[i], x_[i + 1]);
      const double b = std::clamp(to, x_[i], x_[i + 1]);
      sum += primitive(i, b) - primitive(i, a);
    }
    return sum;
  }

 private:
  double width(size_t i) const { return x_[i + 1] - x_[i]; }
  double secant(size_t i) const { return (y_[i + 1] - y_[i]) / width(i); }

  /// The slope at an end, from the parabola through three points, clamped to keep the curve
  /// monotone. Both secants rise, or there is no curve.
  static double end_slope(double h0, double h1, double s0, double s1) {
    const double slope = ((2 * h0 + h1) * s0 - h0 * s1) / (h0 + h1);
    return std::max(slope, 0.0);
  }

  void set_slopes() {
    const size_t n = x_.size();
    slopes_.assign(n, secant(0));
    if (n == 2) {
      return;
    }
    for (size_t i = 1; i + 1 < n; ++i) {
      const double w1 = 2 * width(i) + width(i - 1);
      const double w2 = width(i) + 2 * width(i - 1);
      slopes_[i] = (w1 + w2) / (w1 / secant(i - 1) + w2 / secant(i));
    }
    slopes_[0] = end_slope(width(0), width(1), secant(0), secant(1));
    slopes_[n - 1] = end_slope(width(n - 2), width(n - 3), secant(n - 2), secant(n - 3));
  }

  /// ∫ from x_i to x of piece i: y + d·t + c·t² + b·t³ with t = x − x_i.
  double primitive(size_t i, double x) const {
    const double h = width(i);
    const double t = x - x_[i];
    const double c = (3 * secant(i) - 2 * slopes_[i] - slopes_[i + 1]) / h;
    const double b = (slopes_[i] - 2 * secant(i) + slopes_[i + 1]) / (h * h);
    return t * (y_[i] + t * (slopes_[i] / 2 + t * (c / 3 + t * b / 4)));
  }

  std::vector<double> x_, y_, slopes_;
};

}  // namespace

std::optional<double> bd_rate_percent(std::span<const RatePoint> anchor,
                                      std::span<const RatePoint> test) {
  const auto from = Curve::through(anchor);
  const auto to = Curve::through(test);
  if (!from || !to) {
    return std::nullopt;
  }
  const double low = std::max(from->low(), to->low());
  const double high = std::min(from->high(), to->high());
  if (!(low < high)) {
    return std::nullopt;
  }
  const double mean = (to->integral(low, high) - from->integral(low, high)) / (high - low);
  return 100 * std::expm1(mean);
}

}  // namespace cress::encoder_bench
