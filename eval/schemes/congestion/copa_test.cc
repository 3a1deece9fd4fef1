#include "eval/schemes/congestion/copa.hh"

#include <gtest/gtest.h>

#include "eval/schemes/congestion/reno.hh"
#include "eval/schemes/tcp/congestion_test_tools.hh"

namespace cress::schemes {
namespace {

using testing_tools::RoundTrips;
using testing_tools::segments;
using testing_tools::SteadyFlow;

TEST(Copa, TargetIsOneOverDeltaTimesTheQueueingDelay) {
  EXPECT_DOUBLE_EQ(copa_target_rate(0.5, 20ms).value_or(0), 100.0);
  EXPECT_DOUBLE_EQ(copa_target_rate(0.1, 100ms).value_or(0), 100.0);
  EXPECT_FALSE(copa_target_rate(0.5, 0ms).has_value());
}

TEST(Copa, DoublesUntilTheRatePassesTheTarget) {
  Copa copa;
  RoundTrips path{copa, 100ms};
  for (int doubled = 0; doubled < 5; ++doubled) {
    EXPECT_EQ(segments(copa.window()), 10 << doubled);
    path.run();
  }
  EXPECT_TRUE(copa.in_slow_start());
  path.set_round_trip(110ms);  // target 1 / (0.5 * 10 ms) = 200/s; the rate is 320 / 110 ms
  path.run();
  EXPECT_FALSE(copa.in_slow_start());
}

/// Out of slow start.
void settle(Copa& copa, RoundTrips& path) {
  path.run();
  path.run();
  path.set_round_trip(200ms);
  path.run();
  ASSERT_FALSE(copa.in_slow_start());
}

TEST(Copa, StepsByVelocityOverDeltaTimesTheWindowEachAcknowledgement) {
  Copa copa{{.switches_mode = false}};
  RoundTrips path{copa, 100ms};
  settle(copa, path);
  const double before = copa.window_segments();
  ASSERT_EQ(copa.velocity(), 1.0);
  // 1 / (0.5 * 100 ms) = 20/s is under the rate: down by 1 / (0.5 * W).
  copa.on_ack({.now = path.now() + 1ms,
               .delivered = kTcpPayloadMax,
               .in_flight = copa.window(),
               .round_trip = 200ms,
               .in_flight_now = copa.window()});
  EXPECT_DOUBLE_EQ(copa.window_segments(), before - 2.0 / before);
}

TEST(Copa, VelocityDoublesFromTheThirdRoundTripInOneDirectionOn) {
  Copa copa{{.switches_mode = false}};
  RoundTrips path{copa, 100ms};
  settle(copa, path);
  path.set_round_trip(100ms);
  // No queue any more once the old samples are out of the standing window: upwards.
  std::vector<double> velocities;
  for (int round = 0; round < 9; ++round) {
    path.run();
    velocities.push_back(copa.velocity());
  }
  const auto first = std::ranges::find(velocities, 2.0);
  ASSERT_NE(first, velocities.end());
  EXPECT_GE(first - velocities.begin(), 2);
  ASSERT_GE(velocities.end() - first, 3);
  EXPECT_EQ(first[1], 4.0);
  EXPECT_EQ(first[2], 8.0);
}

TEST(Copa, PacesTwiceTheWindowOverAStandingRoundTrip) {
  Copa copa;
  EXPECT_FALSE(copa.pacing_rate());
  RoundTrips path{copa, 100ms};
  path.run();
  EXPECT_EQ(copa.pacing_rate(), DataRate::from(copa.window(), 100ms) * 2.0);
}

TEST(Copa, CompetesWhenTheQueueWasNotNearlyEmptyForFiveRoundTrips) {
  Copa copa;
  RoundTrips path{copa, 100ms};
  settle(copa, path);
  EXPECT_FALSE(copa.competes());
  for (int round = 0; round < 12; ++round) {
    path.run();  // 100 ms of queue, all the time
  }
  EXPECT_TRUE(copa.competes());
  EXPECT_LT(copa.delta(), kCopaDelta);  // one more of 1/delta per round trip
  const double delta = copa.delta();
  copa.on_loss(path.now());
  path.run();
  EXPECT_NEAR(copa.delta(), 2.0 * delta, 0.2 * delta);  // half of 1/delta
  path.set_round_trip(100ms);
  for (int round = 0; round < 5; ++round) {
    path.run();
  }
  EXPECT_FALSE(copa.competes());
  EXPECT_EQ(copa.delta(), kCopaDelta);
}

TEST(Copa, TimeoutRestartsAndASpuriousLossIsUndone) {
  Copa copa;
  RoundTrips path{copa, 100ms};
  settle(copa, path);
  const double before = copa.window_segments();
  copa.on_timeout(path.now(), false);
  copa.on_timeout(path.now(), true);
  EXPECT_EQ(segments(copa.window()), 2);
  EXPECT_TRUE(copa.in_slow_start());
  copa.on_spurious_loss(path.now());
  EXPECT_EQ(copa.window_segments(), before);
  EXPECT_FALSE(copa.in_slow_start());
}

TEST(Copa, KeepsAConstantLinkBusyWithAFewPacketsInTheQueue) {
  // §2.3: the queue swings between 0 and 2.5 / delta = 5 packets, 7.5 ms here; 1 / delta on
  // average.
  SteadyFlow flow{std::make_unique<Copa>(), 1500us, true};
  flow.world.run_until(kTimeZero + 60s);
  const TimePoint from = kTimeZero + 10s;
  const TimePoint to = kTimeZero + 60s;
  EXPECT_GT(flow.utilization(from, to), 0.95);
  EXPECT_LT(flow.queueing_ms(from, to, 0.5), 8.0);
  EXPECT_LT(flow.queueing_ms(from, to, 0.95), 15.0);
  const auto& copa = dynamic_cast<const Copa&>(flow.sender.control());
  EXPECT_FALSE(copa.competes());
}

}  // namespace
}  // namespace cress::schemes
