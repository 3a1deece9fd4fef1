#include "eval/report/interval.hh"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::report {
namespace {

TEST(StudentT, AgreesWithPrintedTables) {
  const struct {
    double p, freedom, value;
  } table[] = {{0.75, 1, 1.0},         {0.975, 1, 12.7062047}, {0.975, 2, 4.3026527},
               {0.975, 4, 2.7764451},  {0.975, 10, 2.2281389}, {0.995, 30, 2.7499957},
               {0.975, 1e6, 1.9599668}};
  for (const auto& row : table) {
    EXPECT_NEAR(student_t_quantile(row.p, row.freedom), row.value, 2e-6 * row.value);
    EXPECT_NEAR(student_t_quantile(1 - row.p, row.freedom), -row.value, 2e-6 * row.value);
  }
  EXPECT_NEAR(student_t_quantile(0.5, 3), 0, 1e-12);
}

TEST(StudentT, GrowsWithProbabilityAndShrinksWithFreedom) {
  for (double freedom = 1; freedom < 200; freedom *= 1.7) {
    double last = 0;
    for (const double p : {0.6, 0.9, 0.99, 0.9999, 0.999999}) {
      const double value = student_t_quantile(p, freedom);
      EXPECT_GT(value, last);
      EXPECT_GT(value, student_t_quantile(p, freedom * 1.7));
      last = value;
    }
  }
}

TEST(Sample, IsMeanAndUnbiasedVariance) {
  const std::array<double, 4> values{1, 2, 3, 6};
  const Sample sample = sample_of(values);
  EXPECT_EQ(sample.count, 4U);
  EXPECT_DOUBLE_EQ(sample.mean, 3);
  EXPECT_DOUBLE_EQ(sample.variance, 14.0 / 3);
  EXPECT_EQ(sample_of(std::array<double, 1>{5}).variance, 0);
}

TEST(Welch, IsTheClassicalIntervalForEqualSpreads) {
  // n = 3 and 3, variances 1: standard error sqrt(2/3), 4 degrees of freedom.
  const Interval interval = welch_interval({3, 10, 1}, {3, 12, 1}, 0.95);
  EXPECT_NEAR(interval.middle(), 2, 1e-12);
  EXPECT_NEAR(interval.half(), 2.7764451 * std::sqrt(2.0 / 3), 1e-6);
  const Interval exact = welch_interval({3, 10, 0}, {3, 12, 0}, 0.95);
  EXPECT_EQ(exact.low, 2);
  EXPECT_EQ(exact.high, 2);
}

// Goal: 95 % means 95 %. Method: known true values, drawn 4000 times; three standard errors are 1
// %.
TEST(Intervals, ContainTheTrueValueAtTheStatedRate) {
  Rng rng{11};
  int mean_held = 0;
  int welch_held = 0;
  constexpr int kRounds = 4000;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> a(4);
    std::vector<double> b(6);
    for (double& value : a) {
      value = 100 + 3 * rng.normal();
    }
    for (double& value : b) {
      value = 107 + 9 * rng.normal();
    }
    const Interval mean = mean_interval(sample_of(a), 0.95);
    mean_held += mean.low <= 100 && 100 <= mean.high ? 1 : 0;
    const Interval welch = welch_interval(sample_of(a), sample_of(b), 0.95);
    welch_held += welch.low <= 7 && 7 <= welch.high ? 1 : 0;
  }
  EXPECT_NEAR(mean_held / double{kRounds}, 0.95, 0.0115);
  EXPECT_NEAR(welch_held / double{kRounds}, 0.95, 0.015);
}

}  // namespace
}  // namespace cress::report
