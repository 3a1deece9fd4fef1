#include "eval/schemes/congestion/ledbat.hh"

#include <gtest/gtest.h>

#include "eval/schemes/tcp/congestion_test_tools.hh"

namespace cress::schemes {
namespace {

using testing_tools::segments;
using testing_tools::SteadyFlow;

TEST(LedbatDelays, QueueingIsTheLeastOfFourSamplesAboveTheLeastOfTenMinutes) {
  LedbatDelays delays;
  delays.add(kTimeZero, 50ms);
  EXPECT_EQ(delays.queueing(), Duration{});
  for (const Duration sample : {90ms, 80ms, 95ms}) {
    delays.add(kTimeZero + 1s, sample);
  }
  EXPECT_EQ(delays.queueing(), Duration{});  // the 50 ms is one of the four still
  delays.add(kTimeZero + 2s, 85ms);
  EXPECT_EQ(delays.queueing(), 30ms);
}

TEST(LedbatDelays, ForgetTheBaseAfterTenMinutes) {
  LedbatDelays delays;
  delays.add(kTimeZero, 20ms);
  for (int minute = 1; minute < 10; ++minute) {
    delays.add(kTimeZero + minute * 1min, 60ms);
    EXPECT_EQ(delays.base(), 20ms) << minute;
  }
  delays.add(kTimeZero + 10min, 60ms);
  EXPECT_EQ(delays.base(), 60ms);
}

AckEvent ack_of(const Ledbat& ledbat, Duration one_way_delay) {
  return {.now = kTimeZero,
          .delivered = kTcpPayloadMax,
          .in_flight = ledbat.window(),
          .one_way_delay = one_way_delay};
}

TEST(Ledbat, GrowsByTheShareOfTheTargetThatIsLeft) {
  Ledbat ledbat;
  EXPECT_EQ(segments(ledbat.window()), 2);
  ledbat.on_ack(ack_of(ledbat, 20ms));
  EXPECT_DOUBLE_EQ(ledbat.window_segments(), 2.5);  // no queue: 1 / 2
  for (int i = 0; i < 4; ++i) {
    ledbat.on_ack(ack_of(ledbat, 20ms));
  }
  double before = ledbat.window_segments();
  for (const double left : {1.0, 1.0, 1.0, 0.25}) {  // four samples until the filter knows
    ledbat.on_ack(ack_of(ledbat, 95ms));
    const double most = std::floor(before) + 1.0;
    EXPECT_DOUBLE_EQ(ledbat.window_segments(), std::min(before + left / before, most));
    before = ledbat.window_segments();
  }
}

TEST(Ledbat, ShrinksAboveTheTargetButNeverBelowTwoSegments) {
  Ledbat ledbat;
  ledbat.on_ack(ack_of(ledbat, 20ms));
  for (int i = 0; i < 100; ++i) {
    ledbat.on_ack(ack_of(ledbat, 20ms));
  }
  for (int i = 0; i < 4; ++i) {
    ledbat.on_ack(ack_of(ledbat, 220ms));
  }
  const double before = ledbat.window_segments();
  ledbat.on_ack(ack_of(ledbat, 220ms));  // 200 ms of queue: one target too many
  EXPECT_DOUBLE_EQ(ledbat.window_segments(), before - 1.0 / before);
  for (int i = 0; i < 1'000; ++i) {
    ledbat.on_ack(ack_of(ledbat, 520ms));
  }
  EXPECT_EQ(segments(ledbat.window()), 2);
}

TEST(Ledbat, GrowsNoFurtherThanOneSegmentBeyondWhatIsUsed) {
  Ledbat ledbat;
  for (int i = 0; i < 100; ++i) {
    AckEvent ack = ack_of(ledbat, 20ms);
    ack.in_flight = kTcpPayloadMax * 5;
    ledbat.on_ack(ack);
  }
  EXPECT_DOUBLE_EQ(ledbat.window_segments(), 6.0);
}

TEST(Ledbat, HalvesOnLossAndRestartsWithOneSegmentAfterATimeout) {
  Ledbat ledbat;
  for (int i = 0; i < 300; ++i) {
    ledbat.on_ack(ack_of(ledbat, 20ms));
  }
  const double before = ledbat.window_segments();
  ASSERT_GT(before, 20);
  ledbat.on_loss(kTimeZero);
  EXPECT_DOUBLE_EQ(ledbat.window_segments(), before / 2);
  ledbat.on_timeout(kTimeZero, false);
  EXPECT_EQ(segments(ledbat.window()), 1);
  ledbat.on_spurious_loss(kTimeZero);
  EXPECT_DOUBLE_EQ(ledbat.window_segments(), before / 2);
}

TEST(Ledbat, HoldsAHundredMillisecondsOfQueueOnAConstantLink) {
  SteadyFlow flow{std::make_unique<Ledbat>(), 1500us, true};
  flow.world.run_until(kTimeZero + 120s);
  const TimePoint from = kTimeZero + 30s;
  const TimePoint to = kTimeZero + 120s;
  EXPECT_GT(flow.utilization(from, to), 0.99);
  EXPECT_NEAR(flow.queueing_ms(from, to, 0.5), 100, 5);
  EXPECT_NEAR(flow.queueing_ms(from, to, 0.95), 100, 10);
}

}  // namespace
}  // namespace cress::schemes
