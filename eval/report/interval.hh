#pragma once

#include <span>

/// Statistics over several seeds. Threads: pure functions.
namespace cress::report {

/// Shape: count values; variance is the unbiased one, 0 for a single value.
struct Sample {
  size_t count = 0;
  double mean = 0;
  double variance = 0;
};
Sample sample_of(std::span<const double> values);

struct Interval {
  double low = 0;
  double high = 0;
  double middle() const { return (low + high) / 2; }
  double half() const { return (high - low) / 2; }
};

/// The value that Student's t with `freedom` (> 0) degrees stays below with probability `p`, in
/// (0, 1). To nine digits: by bisection of the incomplete beta function's continued fraction
/// (Lentz; Numerical Recipes §6.4).
double student_t_quantile(double p, double freedom);

/// Confidence interval of the mean with `confidence` (0.95, say). `sample.count` >= 2.
Interval mean_interval(const Sample& sample, double confidence);

/// Confidence interval of mean(b) - mean(a): Welch's interval, for unequal variances (Biometrika
/// 34, 1947). Both counts are >= 2.
Interval welch_interval(const Sample& a, const Sample& b, double confidence);

}  // namespace cress::report
