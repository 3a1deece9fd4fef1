#include "eval/encoder/bd_rate.hh"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace cress::encoder_bench {
namespace {

using Points = std::vector<RatePoint>;

const Points kAnchor{{150, 31.2}, {300, 34.0}, {600, 36.9}, {1200, 39.1}};

Points at_rates(double factor) {
  Points points = kAnchor;
  for (RatePoint& point : points) {
    point.kbps *= factor;
  }
  return points;
}

TEST(BdRate, CurveComparedWithItselfIsZero) {
  EXPECT_NEAR(bd_rate_percent(kAnchor, kAnchor).value(), 0, 1e-9);
}

TEST(BdRate, AConstantFactorOfRateIsThatFactor) {
  EXPECT_NEAR(bd_rate_percent(kAnchor, at_rates(0.5)).value(), -50, 1e-9);
  EXPECT_NEAR(bd_rate_percent(kAnchor, at_rates(1.25)).value(), 25, 1e-9);
}

TEST(BdRate, StraightLinesGiveTheMeanOfTheirDistance) {
  // Both are straight in log rate, so any interpolation gives the lines themselves. At 30 dB the
  // test needs 4 times the anchor's rate, at 40 dB the same: the mean of ln 4 and ln 1 is ln 2.
  const Points anchor{{100, 30}, {200, 35}, {400, 40}};
  const Points test{{400, 30}, {400 * (1 + 1e-12), 35}, {400 * (1 + 2e-12), 40}};
  EXPECT_NEAR(bd_rate_percent(anchor, test).value(), 100, 1e-6);
}

TEST(BdRate, OnlyCommonQualitiesCount) {
  // ln rate = q · ln 2 and q · ln 2 + (q − 3) · ln 2 / 2 on [3, 5]: the mean of the second's excess
  // is ln 2 / 2. Outside, the second is undefined.
  const Points anchor{{1, 0}, {2, 1}, {4, 2}, {8, 3}, {16, 4}, {32, 5}, {64, 6}};
  const Points test{{8, 3}, {16 * std::sqrt(2.0), 4}, {64, 5}};
  EXPECT_NEAR(bd_rate_percent(anchor, test).value(), 100 * (std::sqrt(2.0) - 1), 1e-9);
}

TEST(BdRate, ThePieceBetweenPointsIsTheMonotoneCubic) {
  // By hand, with ln rate L over quality q: (0, 0), (1, 1), (3, 2), widths 1 and 2, secants 1 and
  // 1/2. Inner slope: w1 = 2·2 + 1 = 5, w2 = 2 + 2·1 = 4: 9 / (5/1 + 4/(1/2)) = 9/13. Ends: ((2·1 +
  // 2)·1 − 1·½) / 3 = 7/6 and ((2·2 + 1)·½ − 2·1) / 3 = 1/6. ∫ of a Hermite piece is h·(y0 + y1)/2
  // + h²·(d0 − d1)/12: 1/2 + (7/6 − 9/13)/12 + 3 + 4·(9/13 − 1/6)/12. The other curve is L = 0's
  // mirror: the straight line from (0, 0) to (3, 2), ∫ = 3.
  const Points bent{{1, 0}, {std::exp(1.0), 1}, {std::exp(2.0), 3}};
  const Points straight{{1, 0}, {std::exp(2.0), 3}};
  const double area = 0.5 + (7.0 / 6 - 9.0 / 13) / 12 + 3 + 4 * (9.0 / 13 - 1.0 / 6) / 12;
  EXPECT_NEAR(bd_rate_percent(straight, bent).value(), 100 * std::expm1((area - 3) / 3), 1e-9);
}

TEST(BdRate, OrderOfPointsDoesNotMatterAndExchangeInverts) {
  const Points test{{1100, 39.3}, {140, 31.9}, {560, 37.0}, {270, 34.4}};
  const Points sorted{{140, 31.9}, {270, 34.4}, {560, 37.0}, {1100, 39.3}};
  const double there = bd_rate_percent(kAnchor, test).value();
  EXPECT_EQ(bd_rate_percent(kAnchor, sorted), there);
  EXPECT_LT(there, 0);
  const double back = bd_rate_percent(test, kAnchor).value();
  EXPECT_NEAR((1 + there / 100) * (1 + back / 100), 1, 1e-12);
}

TEST(BdRate, UselessCurvesGiveNoResult) {
  EXPECT_FALSE(bd_rate_percent(kAnchor, Points{}));
  EXPECT_FALSE(bd_rate_percent(kAnchor, Points{{300, 34}}));
  EXPECT_FALSE(bd_rate_percent(kAnchor, Points{{300, 34}, {600, 33}}));  // more bits, less quality
  EXPECT_FALSE(bd_rate_percent(kAnchor, Points{{300, 34}, {600, 34}}));  // no gain
  EXPECT_FALSE(bd_rate_percent(kAnchor, Points{{0, 30}, {600, 34}}));    // nothing sent
  EXPECT_FALSE(bd_rate_percent(kAnchor, Points{{300, 50}, {600, 55}}));  // no common quality
  EXPECT_FALSE(bd_rate_percent(kAnchor, Points{{300, 39.1}, {600, 45}}));  // touches in one point
  EXPECT_FALSE(bd_rate_percent(Points{{NAN, 31}, {600, 34}}, kAnchor));
}

}  // namespace
}  // namespace cress::encoder_bench
