#include "eval/schemes/congestion/vegas.hh"

#include <gtest/gtest.h>

#include "eval/schemes/tcp/congestion_test_tools.hh"

namespace cress::schemes {
namespace {

using testing_tools::RoundTrips;
using testing_tools::segments;
using testing_tools::SteadyFlow;

TEST(Vegas, BacklogIsTheWindowLessWhatThePathHolds) {
  EXPECT_EQ(vegas_backlog(20, 100ms, 100ms), 0);
  EXPECT_EQ(vegas_backlog(20, 110ms, 100ms), 2);  // 20 * 10 / 100
  EXPECT_EQ(vegas_backlog(20, 114ms, 100ms), 2);  // 2.8, rounded down
  EXPECT_EQ(vegas_backlog(40, 112500us, 100ms), 5);
}

TEST(Vegas, DoublesEveryRoundTripWithoutAQueue) {
  Vegas vegas;
  RoundTrips path{vegas, 100ms};
  for (int doubled = 0; doubled < 6; ++doubled) {
    EXPECT_EQ(segments(vegas.window()), 10 << doubled);
    path.run();
  }
}

TEST(Vegas, LeavesSlowStartAtTheRateThatComesBack) {
  Vegas vegas;
  RoundTrips path{vegas, 100ms};
  path.run();
  ASSERT_EQ(segments(vegas.window()), 20);
  path.set_round_trip(125ms);
  // The first round with the longer round trip still grows. It is judged when the next one begins:
  // 40 * 100 / 125, and one.
  path.run();
  path.run();
  EXPECT_FALSE(vegas.in_slow_start());
  EXPECT_EQ(segments(vegas.window()), 33);
}

/// A Vegas out of slow start with `window` segments and a base round trip of 100 ms.
void settle(Vegas& vegas, RoundTrips& path, double window) {
  path.run();
  path.run();
  vegas.on_loss(path.now());
  while (segments(vegas.window()) < window) {
    path.run();
  }
}

TEST(Vegas, AddsOneSegmentUnderAlphaTakesOneAboveBetaAndRestsBetween) {
  const auto change = [](Duration round_trip) {
    Vegas vegas;
    RoundTrips path{vegas, 100ms};
    settle(vegas, path, 30);
    path.set_round_trip(round_trip);
    path.run();  // the round in which the samples are taken
    const double before = segments(vegas.window());
    path.run();
    path.run();
    return segments(vegas.window()) - before;
  };
  EXPECT_EQ(change(103ms), 2);   // 0.9 packets in the queue: one more each round
  EXPECT_EQ(change(110ms), 0);   // 3
  EXPECT_EQ(change(130ms), -2);  // 9
}

TEST(Vegas, HalvesOnLossRestartsOnTimeoutAndUndoesMistakes) {
  Vegas vegas;
  RoundTrips path{vegas, 100ms};
  path.run();
  path.run();
  ASSERT_EQ(segments(vegas.window()), 40);
  vegas.on_loss(path.now());
  EXPECT_EQ(segments(vegas.window()), 20);
  vegas.on_timeout(path.now(), false);
  EXPECT_EQ(segments(vegas.window()), 1);
  vegas.on_spurious_loss(path.now());
  EXPECT_EQ(segments(vegas.window()), 20);
}

TEST(Vegas, KeepsTwoToFourPacketsInTheQueueOfAConstantLink) {
  // 8 Mbit/s: a packet takes 1.5 ms, so two to four of them wait 3 to 6 ms (Brakmo and Peterson
  // §4).
  SteadyFlow flow{std::make_unique<Vegas>(), 1500us, false};
  flow.world.run_until(kTimeZero + 60s);
  EXPECT_GT(flow.utilization(kTimeZero + 20s, kTimeZero + 60s), 0.99);
  EXPECT_GE(flow.queueing_ms(kTimeZero + 20s, kTimeZero + 60s, 0.5), 1.5);
  EXPECT_LE(flow.queueing_ms(kTimeZero + 20s, kTimeZero + 60s, 0.95), 9.0);
}

}  // namespace
}  // namespace cress::schemes
