#include "media/rate/resolution_ladder.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::media {
namespace {

constexpr Duration kFrame = 33'333'333ns;

// A caller that makes each wanted step at once; records when.
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

TEST(ResolutionLadder, NeedCountsByItsWeight) {
  const auto after = [](Duration length, double weight) {
    ResolutionLadder ladder;
    for (TimePoint now{}; now < TimePoint{} + length; now += kFrame) {
      ladder.handle_frame(now, true, 63, weight);
    }
    return ladder.wanted();
  };
  EXPECT_EQ(after(9s, 0.1), 0);
  EXPECT_EQ(after(11s, 0.1), 1) << "a tenth: ten seconds instead of one";
  EXPECT_EQ(after(60s, 0), 0);
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
  // The worst case: each rung requests the other.
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
    // log2 of the budget relative to what quantizer 40 takes, as in the bench: a factor of two per
    // second.
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

TEST(ResolutionLadder, NeedOfASecondAndEaseOfThreeAreEnough) {
  Steps steps;
  steps.run(20s, false, 40);
  const TimePoint begin = steps.now;
  steps.run(5s, false, 56);
  ASSERT_GE(steps.at.size(), 1U);
  EXPECT_NEAR(to_seconds(steps.at[0] - begin), 1.0, 0.05);
  Steps back;
  back.run(2s, false, 56);
  ASSERT_EQ(back.ladder.rung(), 1);
  back.run(20s, false, 40);
  const TimePoint eased = back.now;
  back.run(5s, false, 28);
  ASSERT_EQ(back.ladder.rung(), 0);
  EXPECT_NEAR(to_seconds(back.at.back() - eased), 3.0, 0.05);
}

TEST(ResolutionLadder, NearlyCoarseIsNoNeedAndNearlyFineNoEase) {
  Steps steps;
  steps.run(30s, false, 55);
  EXPECT_EQ(steps.ladder.rung(), 0);
  steps.run(2s, true, 10);
  ASSERT_EQ(steps.ladder.rung(), 1);
  steps.run(60s, false, 29);
  EXPECT_EQ(steps.ladder.rung(), 1);
}

TEST(ResolutionLadder, TheSecondStepDownWaitsFourSeconds) {
  Steps steps;
  steps.run(60s, true, 63);
  ASSERT_EQ(steps.at.size(), 2U);
  EXPECT_NEAR(to_seconds(steps.at[1] - steps.at[0]), 4.0, 0.05);
}

TEST(ResolutionLadder, EachRelapseDoublesTheWaitUpToAMinute) {
  Steps steps;
  for (const TimePoint end = steps.now + 10min; steps.now < end;) {
    steps.frame(false, steps.ladder.rung() == 0 ? 60 : 20);
  }
  std::vector<double> waits;  // from a step down to the next one up
  for (size_t i = 1; i < steps.at.size() && waits.size() < 7; i += 2) {
    waits.push_back(to_seconds(steps.at[i] - steps.at[i - 1]));
  }
  const std::vector<double> expected{4, 8, 16, 32, 64, 64, 64};
  ASSERT_EQ(waits.size(), expected.size());
  for (size_t i = 0; i < waits.size(); ++i) {
    EXPECT_NEAR(waits[i], expected[i], 0.05) << i;
  }
}

TEST(ResolutionLadder, AStepUpThatHoldsForFifteenSecondsIsForgiven) {
  for (const auto& [held, wait] : {std::pair<Duration, double>{13s, 8.0}, {15s, 4.0}}) {
    Steps steps;
    steps.run(2s, false, 60);
    steps.run(6s, false, 20);
    ASSERT_EQ(steps.ladder.rung(), 0);
    const TimePoint up = steps.at.back();
    steps.run(up + held - steps.now, false, 40);
    steps.run(2s, false, 60);
    ASSERT_EQ(steps.ladder.rung(), 1);
    const TimePoint down = steps.at.back();
    steps.run(20s, false, 20);
    EXPECT_NEAR(to_seconds(steps.at.back() - down), wait, 0.05);
  }
}

TEST(ResolutionLadder, AWantedStepStaysWantedWhileHalfTheNeedIsLeft) {
  ResolutionLadder ladder;
  TimePoint now{};
  const auto run = [&](Duration length, int quantizer) {
    for (const TimePoint end = now + length; now < end; now += kFrame) {
      ladder.handle_frame(now, false, quantizer);
    }
  };
  run(3s, 60);
  EXPECT_EQ(ladder.wanted(), 1);
  const TimePoint since = ladder.wanted_since();
  EXPECT_NEAR(to_seconds(since - TimePoint{}), 1.0, 0.05);
  run(1s, 40);
  EXPECT_EQ(ladder.wanted(), 1) << "0.35 of the last second is left, by the weights of memory";
  EXPECT_EQ(ladder.wanted_since(), since);
  run(200ms, 40);
  EXPECT_EQ(ladder.wanted(), 0);
}

}  // namespace
}  // namespace cress::media
