#include "eval/schemes/congestion/compound.hh"

#include <gtest/gtest.h>

#include "eval/schemes/tcp/congestion_test_tools.hh"

namespace cress::schemes {
namespace {

using testing_tools::RoundTrips;
using testing_tools::segments;
using testing_tools::SteadyFlow;

TEST(Compound, DelayWindowGrowsByAnEighthOfTheWindowToThreeQuarters) {
  EXPECT_EQ(compound_increase(16), 0);        // 8 / 8 - 1
  EXPECT_EQ(compound_increase(256), 7);       // 64 / 8 - 1
  EXPECT_EQ(compound_increase(10'000), 124);  // 1000 / 8 - 1
  EXPECT_EQ(compound_increase(1), 0);         // never negative
}

/// Out of slow start with no more than Reno's window.
void settle(Compound& compound, RoundTrips& path) {
  for (int i = 0; i < 6; ++i) {
    path.run();
  }
  ASSERT_EQ(segments(compound.window()), 640);
  compound.on_loss(path.now());
  ASSERT_FALSE(compound.in_slow_start());
  ASSERT_EQ(compound.delay_window(), 0);
  ASSERT_EQ(compound.loss_window(), 320);
}

TEST(Compound, GrowsBothWindowsWithoutAQueueAndYieldsTheBacklogAboveGamma) {
  Compound compound;
  RoundTrips path{compound, 100ms};
  settle(compound, path);
  path.run();
  path.run();
  // Each round that was judged added 320^0.75 / 8 - 1 = 8.46 or a little more.
  const double grown = compound.delay_window();
  EXPECT_GT(grown, 8.4);
  EXPECT_LT(grown, 18.0);
  EXPECT_NEAR(compound.loss_window(), 322, 0.5);  // Reno's one segment per round trip
  // 330 segments and a fifth of the round trip in the queue: 66 packets, above gamma.
  path.set_round_trip(125ms);
  path.run();
  path.run();
  EXPECT_EQ(compound.delay_window(), 0);
  EXPECT_GT(compound.loss_window(), 322);
}

TEST(Compound, ARoundOfFewSamplesIsNotJudged) {
  Compound compound;
  RoundTrips path{compound, 100ms};
  settle(compound, path);
  path.run();
  path.run();
  const auto end_round = [&](int64_t round) {
    compound.on_ack({.now = path.now(),
                     .delivered = kTcpPayloadMax,
                     .in_flight = compound.window(),
                     .acknowledged = DataSize{1'000'000'000} * round,
                     .sent = DataSize{1'000'000'000} * round,
                     .round_trip = 100ms,
                     .in_flight_now = compound.window()});
    return compound.delay_window();
  };
  const double before = compound.delay_window();
  const double judged = end_round(1);
  EXPECT_GT(judged, before);        // a whole round's samples
  EXPECT_EQ(end_round(2), judged);  // one sample
}

TEST(Compound, LossHalvesTheWholeAndSharesItOut) {
  Compound compound;
  RoundTrips path{compound, 100ms};
  settle(compound, path);
  for (int i = 0; i < 10; ++i) {
    path.run();
  }
  const double loss = compound.loss_window();
  const double delay = compound.delay_window();
  ASSERT_GT(delay, 80);
  compound.on_loss(path.now());
  EXPECT_DOUBLE_EQ(compound.loss_window(), loss / 2);
  EXPECT_DOUBLE_EQ(compound.delay_window(), (loss + delay) / 2 - loss / 2);
}

TEST(Compound, GammaFollowsTheBacklogThatRenoAloneHadAtALoss) {
  Compound compound;
  EXPECT_EQ(compound.gamma(), 30);
  RoundTrips path{compound, 100ms};
  settle(compound, path);
  EXPECT_DOUBLE_EQ(compound.gamma(), 6);  // 0.2 * 30 + 0.8 * 0.75 * 0: no queue when it was lost
  path.set_round_trip(200ms);
  path.run();
  path.run();
  compound.on_loss(path.now());
  EXPECT_EQ(compound.gamma(), 30);  // 160 packets were in the queue
  compound.on_timeout(path.now(), false);
  EXPECT_EQ(compound.delay_window(), 0);
  EXPECT_EQ(segments(compound.window()), 1);
  compound.on_spurious_loss(path.now());
  EXPECT_GT(segments(compound.window()), 100);
}

TEST(Compound, LeavesSlowStartAtABacklogOfGamma) {
  Compound compound;
  RoundTrips path{compound, 100ms};
  for (int i = 0; i < 4; ++i) {
    path.run();
  }
  EXPECT_TRUE(compound.in_slow_start());
  path.set_round_trip(150ms);
  for (int i = 0; i < 3; ++i) {
    path.run();
  }
  EXPECT_FALSE(compound.in_slow_start());
}

TEST(Compound, FillsALongPathFasterThanRenoWould) {
  // 80 Mbit/s with a queue of a quarter of the path: after a loss Reno needs 130 round trips of 40
  // ms to come back, one segment in each; Compound has no more than Reno's loss window to rebuild.
  SteadyFlow flow{std::make_unique<Compound>(), 150us, false,
                  std::make_unique<sim::DropTailQueue>(DataSize{100'000})};
  flow.world.run_until(kTimeZero + 60s);
  EXPECT_GT(flow.utilization(kTimeZero + 20s, kTimeZero + 60s), 0.95);
  EXPECT_GT(flow.sender.stats().recoveries, 1U);
}

}  // namespace
}  // namespace cress::schemes
