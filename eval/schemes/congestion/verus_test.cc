#include "eval/schemes/congestion/verus.hh"

#include <gtest/gtest.h>

#include <cmath>

#include "eval/schemes/tcp/congestion_test_tools.hh"
#include "transport/base/rng.hh"

namespace cress::schemes {
namespace {

using testing_tools::segments;
using testing_tools::SteadyFlow;

TEST(NeverFalling, PoolsWhatFallsAndKeepsTheRest) {
  EXPECT_EQ(never_falling(std::vector<double>{1, 2, 4}), (std::vector<double>{1, 2, 4}));
  EXPECT_EQ(never_falling(std::vector<double>{1, 4, 2, 6}), (std::vector<double>{1, 3, 3, 6}));
  EXPECT_EQ(never_falling(std::vector<double>{9, 3, 3}), (std::vector<double>{5, 5, 5}));
  EXPECT_TRUE(never_falling(std::vector<double>{}).empty());
}

TEST(NeverFalling, IsNeverFurtherThanOtherSequencesThatNeverFall) {
  Rng rng{3};
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> values(12);
    std::vector<double> other(12);
    double level = rng.uniform(-1, 1);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = rng.uniform(0, 10);
      other[i] = level += rng.uniform(0, 2);
    }
    const auto near = never_falling(values);
    double ours = 0;
    double theirs = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      ours += (near[i] - values[i]) * (near[i] - values[i]);
      theirs += (other[i] - values[i]) * (other[i] - values[i]);
      ASSERT_TRUE(i == 0 || near[i] >= near[i - 1]);
    }
    EXPECT_LE(ours, theirs);
  }
}

TEST(VerusProfile, MovesAPointByAnEighth) {
  VerusProfile profile;
  profile.observe(1, 40);
  profile.observe(10, 80);
  profile.observe(10, 160);  // 80 * 7/8 + 160 / 8
  profile.rebuild();
  EXPECT_DOUBLE_EQ(profile.delay_for(10), 90);
}

TEST(VerusProfile, AnswersBetweenItsPointsAndInverts) {
  VerusProfile profile;
  EXPECT_TRUE(profile.empty());
  profile.observe(2, 40);
  profile.observe(10, 80);
  profile.observe(20, 180);
  profile.rebuild();
  EXPECT_DOUBLE_EQ(profile.delay_for(6), 60);
  EXPECT_DOUBLE_EQ(profile.window_for(60), 6);
  EXPECT_DOUBLE_EQ(profile.window_for(130), 15);
  EXPECT_DOUBLE_EQ(profile.window_for(30), 1);
  for (double window = 2; window < 20; window += 0.25) {
    EXPECT_NEAR(profile.window_for(profile.delay_for(window)), window, 1e-9);
  }
}

TEST(VerusProfile, GoesAtMostAQuarterBeyondWhatItKnows) {
  VerusProfile profile;
  profile.observe(10, 40);
  profile.observe(20, 140);  // 10 ms a segment
  profile.rebuild();
  EXPECT_DOUBLE_EQ(profile.window_for(160), 22);
  EXPECT_DOUBLE_EQ(profile.window_for(10'000), 25);
  EXPECT_DOUBLE_EQ(profile.delay_for(22), 160);
}

TEST(Verus, AimsLowerWhenTheDelayRisesOrIsAboveTheBoundElseHigher) {
  EXPECT_EQ(verus_aim(100, 130, 5, 50, 2), 98);    // 130 / 50 > 2: delta 2 less
  EXPECT_EQ(verus_aim(100, 90, 5, 50, 2), 99);     // rising: delta 1 less
  EXPECT_EQ(verus_aim(100, 90, -5, 50, 2), 102);   // falling: delta 2 more
  EXPECT_EQ(verus_aim(100, 90, 0, 50, 2), 102);    // still: the same
  EXPECT_EQ(verus_aim(50.5, 90, 5, 50, 2), 50);    // never under the least
  EXPECT_EQ(verus_aim(100, 130, -5, 50, 4), 102);  // R = 4 allows it
}

TEST(Verus, SendsInAnEpochWhatTheWindowLacks) {
  EXPECT_EQ(verus_quota(20, 20, 25), 5);  // 5 epochs: 20 - 20 * 3/4
  EXPECT_EQ(verus_quota(20, 40, 25), 0);  // too much is out
  EXPECT_EQ(verus_quota(20, 0, 25), 20);
  EXPECT_EQ(verus_quota(20, 12, 5), 8);    // within one epoch: what is missing
  EXPECT_EQ(verus_quota(20, 12, 10), 20);  // two epochs: all of it comes back by then
}

TEST(Verus, StartsWithOneSegmentAndDoublesLeavingAtHalfASecond) {
  Verus verus{2};
  EXPECT_EQ(segments(verus.window()), 1);
  EXPECT_TRUE(verus.may_send(DataSize{}));
  EXPECT_FALSE(verus.may_send(kTcpPayloadMax));
  testing_tools::RoundTrips path{verus, 100ms};
  for (int doubled = 0; doubled < 6; ++doubled) {
    EXPECT_EQ(segments(verus.window()), 1 << doubled);
    path.run();
  }
  EXPECT_EQ(verus.poll_timeout(), kNever);  // no epochs yet
  path.set_round_trip(501ms);
  path.run();
  EXPECT_FALSE(verus.in_slow_start());
  EXPECT_NE(verus.poll_timeout(), kNever);
  EXPECT_EQ(verus.least_ms(), 100.0);
}

TEST(Verus, LossHalvesTheWindowAndATimeoutRestarts) {
  Verus verus{2};
  testing_tools::RoundTrips path{verus, 100ms};
  for (int i = 0; i < 6; ++i) {
    path.run();
  }
  ASSERT_EQ(verus.window_segments(), 64);
  verus.on_loss(path.now());
  EXPECT_EQ(verus.window_segments(), 32);
  EXPECT_TRUE(verus.recovers());
  EXPECT_DOUBLE_EQ(verus.aim_ms(), 0.75 * 2 * 100);
  verus.on_timeout(path.now(), false);
  EXPECT_TRUE(verus.in_slow_start());
  EXPECT_EQ(segments(verus.window()), 1);
  EXPECT_FALSE(verus.least_ms());
}

TEST(Verus, KeepsAConstantLinkBusyWithDelaysThatRBounds) {
  // 8 Mbit/s, 40 ms. R bounds the round trip: the queue may add 40, 120 or 200 ms.
  double before = 0;
  for (const int ratio : {2, 4, 6}) {
    SteadyFlow flow{std::make_unique<Verus>(ratio), 1500us, true};
    flow.world.run_until(kTimeZero + 60s);
    const TimePoint from = kTimeZero + 20s;
    const TimePoint to = kTimeZero + 60s;
    EXPECT_GT(flow.utilization(from, to), 0.85) << "R = " << ratio;
    const double queue_ms = flow.queueing_ms(from, to, 0.95);
    EXPECT_LT(queue_ms, 1.3 * 40.0 * (ratio - 1)) << "R = " << ratio;
    EXPECT_GT(queue_ms, before) << "R = " << ratio;  // the bound distinguishes them
    before = queue_ms;
  }
}

}  // namespace
}  // namespace cress::schemes
