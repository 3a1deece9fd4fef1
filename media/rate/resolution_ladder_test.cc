#include "media/rate/resolution_ladder.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::media {
namespace {

constexpr Duration kFrame = 33'333'333ns;

// A caller that makes each wanted step at once; keeps when it did.
struct Steps {
  ResolutionLadder ladder;
  TimePoint now{};
  std::vector<TimePoint> at;

  void frame(bool skipped, int quantizer) {
    now += kFrame;
    ladder.handle_frame(now, skipped, quantizer);
    if (ladder.wanted() != ladder.rung()) {
      ladder.handle_step(now);
      at.push_back(now);
    }
  }
  void run(Duration length, bool skipped, int quantizer) {
    for (const TimePoint end = now + length; now < end;) {
      frame(skipped, quantizer);
    }
  }
};

TEST(ResolutionLadder, StepsDownAfterAboutASecondOfNeed) {
  for (const bool skipped : {false, true}) {
    Steps steps;
    steps.run(10s, false, 40);
    EXPECT_EQ(steps.ladder.rung(), 0);
    steps.run(700ms, skipped, 60);
    EXPECT_EQ(steps.ladder.rung(), 0) << "a short narrow moment is no reason";
    steps.run(700ms, skipped, 60);
    EXPECT_EQ(steps.ladder.rung(), 1);
  }
}

TEST(ResolutionLadder, ReachesTheSmallestSizeAndStaysThere) {
  Steps steps;
  steps.run(60s, true, 63);
  EXPECT_EQ(steps.ladder.rung(), kResolutionRungs - 1);
  EXPECT_EQ(steps.at.size(), 2U);
}

TEST(ResolutionLadder, StepsUpOnlyAfterSecondsOfEase) {
  Steps steps;
  steps.run(3s, false, 60);
  ASSERT_EQ(steps.ladder.rung(), 1);
  steps.run(60s, false, 40);
  EXPECT_EQ(steps.ladder.rung(), 1) << "neither in need nor at ease: stay";
  steps.run(2s, false, 20);
  EXPECT_EQ(steps.ladder.rung(), 1);
  steps.run(3s, false, 20);
  EXPECT_EQ(steps.ladder.rung(), 0);
}

TEST(ResolutionLadder, NeverFlapsWhereTheSmallSizeIsAtEaseAndTheLargeOneInNeed) {
  // The worst case: each rung asks for the other.
  Steps steps;
  for (const TimePoint end = steps.now + 10min; steps.now < end;) {
    steps.frame(false, steps.ladder.rung() == 0 ? 60 : 20);
  }
  EXPECT_GE(steps.at.size(), 2U);
  EXPECT_LE(steps.at.size(), 40U) << "steps in ten minutes";
  for (size_t i = 1; i < steps.at.size(); ++i) {
    EXPECT_GE(steps.at[i] - steps.at[i - 1], ResolutionLadderOptions{}.dwell_min);
  }
}

TEST(ResolutionLadder, WanderingBudgetsMoveItSeldom) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng{seed};
    Steps steps;
    // log2 of the budget over what quantizer 40 takes, as in the bench: a factor of two a second.
    double log_budget = 0;
    for (const TimePoint end = steps.now + 5min; steps.now < end;) {
      log_budget = std::clamp(log_budget + 0.17 * rng.normal(), -2.5, 2.5);
      const double relief = 0.6 * steps.ladder.rung();
      const double quantizer = 40 - 14 * (log_budget + relief) + 3 * rng.normal();
      steps.frame(quantizer > 68, std::clamp(static_cast<int>(quantizer), 2, 63));
    }
    EXPECT_LE(steps.at.size(), 45U) << "one step in seven seconds at most";
    for (size_t i = 1; i < steps.at.size(); ++i) {
      EXPECT_GE(steps.at[i] - steps.at[i - 1], ResolutionLadderOptions{}.dwell_min);
    }
  }
}

TEST(ResolutionLadder, ARefusedStepIsAskedForAgainOnlyAfterMoreNeed) {
  ResolutionLadder ladder;
  TimePoint now{};
  int refusals = 0;
  for (const TimePoint end = now + 10s; now < end; now += kFrame) {
    ladder.handle_frame(now, true, 63);
    if (ladder.wanted() != ladder.rung()) {
      ladder.handle_refusal();
      ++refusals;
    }
  }
  EXPECT_EQ(ladder.rung(), 0);
  EXPECT_GE(refusals, 5);
  EXPECT_LE(refusals, 10);
}

}  // namespace
}  // namespace cress::media
