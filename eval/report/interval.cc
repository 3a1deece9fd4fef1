#include "eval/report/interval.hh"

#include <cmath>
#include <limits>

#include "transport/base/check.hh"

namespace cress::report {
namespace {

/// The continued fraction of the incomplete beta function, by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr int kTermsMax = 500;
  constexpr double kTiny = 1e-300;
  constexpr double kPrecise = 1e-15;
  const auto not_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / not_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= kTermsMax; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d);
    c = not_zero(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d);
    c = not_zero(1 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1) < kPrecise) {
      break;
    }
  }
  return fraction;
}

/// std::lgamma writes the sign into a global; this one does not.
double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

/// I_x(a, b), the regularised incomplete beta function.
double incomplete_beta(double a, double b, double x) {
  if (x <= 0 || x >= 1) {
    return x <= 0 ? 0 : 1;
  }
  const double front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) +
                                b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                   : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/// Probability that |t| is over `t`.
double both_tails(double t, double freedom) {
  return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

}  // namespace

Sample sample_of(std::span<const double> values) {
  Sample sample{.count = values.size()};
  for (const double value : values) {
    sample.mean += value / static_cast<double>(values.size());
  }
  for (const double value : values) {
    const double off = value - sample.mean;
    sample.variance += values.size() < 2 ? 0 : off * off / static_cast<double>(values.size() - 1);
  }
  return sample;
}

double student_t_quantile(double p, double freedom) {
  check(p > 0 && p < 1 && freedom > 0, "student_t_quantile: p in (0, 1), freedom above 0");
  if (p < 0.5) {
    return -student_t_quantile(1 - p, freedom);
  }
  const double tails = 2 * (1 - p);
  double low = 0;
  double high = 1;
  constexpr double kHighMax = 1e12;
  while (both_tails(high, freedom) > tails && high < kHighMax) {
    low = high;
    high *= 2;
  }
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (both_tails(middle, freedom) > tails ? low : high) = middle;
  }
  return (low + high) / 2;
}

Interval mean_interval(const Sample& sample, double confidence) {
  check(sample.count >= 2, "mean_interval: one value has no spread");
  const auto count = static_cast<double>(sample.count);
  const double half =
      student_t_quantile((1 + confidence) / 2, count - 1) * std::sqrt(sample.variance / count);
  return {sample.mean - half, sample.mean + half};
}

Interval welch_interval(const Sample& a, const Sample& b, double confidence) {
  check(a.count >= 2 && b.count >= 2, "welch_interval: one value has no spread");
  const double of_a = a.variance / static_cast<double>(a.count);
  const double of_b = b.variance / static_cast<double>(b.count);
  const double difference = b.mean - a.mean;
  if (of_a + of_b <= 0) {
    return {difference, difference};
  }
  // Welch and Satterthwaite's degrees of freedom; in shares, so that nothing underflows.
  const double share_a = of_a / (of_a + of_b);
  const double share_b = 1 - share_a;
  const double freedom = 1 / (share_a * share_a / static_cast<double>(a.count - 1) +
                              share_b * share_b / static_cast<double>(b.count - 1));
  const double half = student_t_quantile((1 + confidence) / 2, freedom) * std::sqrt(of_a + of_b);
  return {difference - half, difference + half};
}

}  // namespace cress::report
