#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "eval/report/page_parts.hh"
#include "transport/base/rng.hh"

namespace cress::report {
namespace {

std::vector<FramePoint> random_frames(Rng& rng, size_t count) {
  std::vector<FramePoint> frames(count);
  for (size_t i = 0; i < count; ++i) {
    FramePoint& frame = frames[i];
    frame.frame = static_cast<double>(i);
    frame.capture_s = static_cast<double>(i) / 30.0;
    if (rng.chance(0.9)) {
      frame.size_bytes = rng.uniform(500.0, 9000.0);
      frame.budget_bytes = rng.uniform(1000.0, 9000.0);
    }
    if (rng.chance(0.8)) {
      frame.delay_ms = rng.exponential(150.0);
      frame.display_s = frame.capture_s + *frame.delay_ms / 1000.0;
      frame.ssim_db = rng.uniform(8.0, 20.0);
    }
  }
  return frames;
}

TEST(Thinned, ShortTimelinesStayAsTheyAre) {
  const std::vector<TimelinePoint> points{{.time_s = 0, .delay_ms = 5}, {.time_s = 0.1}};
  const auto same = thinned(points, 2);
  ASSERT_EQ(same.size(), 2U);
  EXPECT_EQ(same[0].delay_ms, 5);
  EXPECT_EQ(same[1].delay_ms, std::nullopt);
}

TEST(Thinned, TimelinesKeepEveryPeakAndTheMeanRate) {
  Rng rng{1};
  for (const size_t count : {1501U, 4000U, 30'001U}) {
    std::vector<TimelinePoint> points(count);
    double delay_max = 0.0;
    double rate_sum = 0.0;
    for (size_t i = 0; i < count; ++i) {
      points[i].time_s = 0.1 * static_cast<double>(i);
      points[i].delay_ms = rng.exponential(100.0);
      points[i].throughput_kbps = rng.uniform(0.0, 5000.0);
      delay_max = std::max(delay_max, *points[i].delay_ms);
      rate_sum += *points[i].throughput_kbps;
    }
    const auto thin = thinned(points);
    EXPECT_LE(thin.size(), kPointsMax);
    EXPECT_GT(thin.size(), kPointsMax / 2);
    double thin_max = 0.0;
    double thin_sum = 0.0;
    for (const TimelinePoint& point : thin) {
      thin_max = std::max(thin_max, point.delay_ms.value_or(0.0));
      thin_sum += point.throughput_kbps.value_or(0.0);
      EXPECT_EQ(point.capacity_kbps, std::nullopt);
    }
    EXPECT_EQ(thin_max, delay_max);
    EXPECT_NEAR(thin_sum / static_cast<double>(thin.size()), rate_sum / static_cast<double>(count),
                10.0);
  }
}

TEST(Thinned, FramesKeepTheWorstDelayAndTheWorstOvershoot) {
  Rng rng{2};
  const std::vector<FramePoint> frames = random_frames(rng, 7001);
  const std::vector<FramePoint> thin = thinned(frames);
  EXPECT_LE(thin.size(), kPointsMax);
  const auto worst = [](const std::vector<FramePoint>& points) {
    double delay = 0.0;
    double overshoot = 0.0;
    for (const FramePoint& point : points) {
      delay = std::max(delay, point.delay_ms.value_or(0.0));
      overshoot =
          std::max(overshoot, point.size_bytes.value_or(0.0) / point.budget_bytes.value_or(1e9));
    }
    return std::pair(delay, overshoot);
  };
  EXPECT_EQ(worst(thin), worst(frames));
}

TEST(PictureAge, GrowsUntilTheNextFrameIsDisplayed) {
  // Captured at 0.2 s and displayed at 0.3; captured at 0.9 and displayed at 1.0; the log ends
  // there.
  const std::vector<FramePoint> frames{{.frame = 0, .capture_s = 0.2, .display_s = 0.3},
                                       {.frame = 1, .capture_s = 0.9, .display_s = 1.0}};
  const std::vector<AgePoint> ages = picture_age(frames, 4);
  ASSERT_EQ(ages.size(), 4U);
  EXPECT_NEAR(ages[0].age_ms_max, 250, 1e-9);  // nothing yet: counted from the start
  EXPECT_NEAR(ages[1].age_ms_max, 300, 1e-9);  // until just before 0.3 s; then .1 to .3
  EXPECT_NEAR(ages[2].age_ms_max, 550, 1e-9);
  EXPECT_NEAR(ages[3].age_ms_max, 800, 1e-9);
  EXPECT_EQ(ages[3].time_s, 0.75);
}

TEST(PictureAge, HasTheMaximumOfDenseSampling) {
  Rng rng{3};
  for (int round = 0; round < 20; ++round) {
    const std::vector<FramePoint> frames = random_frames(rng, 300);
    double end_s = 0.0;
    for (const FramePoint& frame : frames) {
      end_s = std::max({end_s, frame.capture_s, frame.display_s.value_or(0.0)});
    }
    double dense_ms = 0.0;
    for (int step = 0; step <= static_cast<int>(end_s * 2000.0); ++step) {
      const double t = step / 2000.0;
      double newest = 0.0;
      for (const FramePoint& frame : frames) {
        if (frame.display_s.value_or(1e9) <= t) {
          newest = std::max(newest, frame.capture_s);
        }
      }
      dense_ms = std::max(dense_ms, (t - newest) * 1000.0);
    }
    double largest_ms = 0.0;
    for (const AgePoint& point : picture_age(frames)) {
      largest_ms = std::max(largest_ms, point.age_ms_max);
    }
    EXPECT_NEAR(largest_ms, dense_ms, 0.6);
  }
}

TEST(PictureAge, IsEmptyWhenNothingWasDisplayed) {
  EXPECT_TRUE(picture_age(std::vector<FramePoint>{{.frame = 0, .capture_s = 1.0}}).empty());
  EXPECT_TRUE(picture_age({}).empty());
}

TEST(FrameFit, CountsFramesOverBudgetAndSkippedOnes) {
  std::vector<FramePoint> frames;
  for (int i = 1; i <= 20; ++i) {
    frames.push_back(
        {.frame = static_cast<double>(i), .size_bytes = 100.0 * i, .budget_bytes = 1500.0});
  }
  frames.push_back({.frame = 21, .budget_bytes = 1500.0});
  const FrameFit fit = frame_fit(frames);
  EXPECT_EQ(fit.frames, 21U);
  EXPECT_EQ(fit.skipped, 1U);
  EXPECT_EQ(fit.with_budget, 20U);
  EXPECT_DOUBLE_EQ(fit.over_share, 0.25);  // 1600 to 2000
  EXPECT_DOUBLE_EQ(fit.ratio_p95, 1900.0 / 1500.0);
}

}  // namespace
}  // namespace cress::report
