#include "eval/schemes/congestion/reno.hh"

#include <gtest/gtest.h>

namespace cress::schemes {
namespace {

double segments(DataSize size) {
  return static_cast<double>(size.bytes()) / static_cast<double>(kTcpPayloadMax.bytes());
}

// A full window is acknowledged, segment by segment.
void acknowledge_window(Reno& reno) {
  const auto count = static_cast<int64_t>(segments(reno.window()));
  for (int64_t i = 0; i < count; ++i) {
    reno.on_ack({.now = kTimeZero, .delivered = kTcpPayloadMax, .in_flight = reno.window()});
  }
}

TEST(Reno, StartsWithTenSegmentsAndDoublesEveryRoundTrip) {
  Reno reno;
  for (int doubled = 0; doubled < 9; ++doubled) {
    EXPECT_EQ(segments(reno.window()), 10 << doubled);
    acknowledge_window(reno);
  }
}

TEST(Reno, HalvesOnLossAndThenAddsOneSegmentARoundTrip) {
  Reno reno;
  acknowledge_window(reno);
  acknowledge_window(reno);
  ASSERT_EQ(segments(reno.window()), 40);
  reno.on_loss(kTimeZero);
  EXPECT_EQ(segments(reno.window()), 20);
  EXPECT_FALSE(reno.in_slow_start());
  for (int expected = 21; expected < 60; ++expected) {
    acknowledge_window(reno);
    // By rounding, a round's last acknowledgement may belong to the next.
    EXPECT_NEAR(segments(reno.window()), expected, 1.0);
  }
  EXPECT_NEAR(segments(reno.window()), 59, 1.0);
}

TEST(Reno, StartsAgainFromOneSegmentAfterATimeoutUpToHalf) {
  Reno reno;
  acknowledge_window(reno);
  acknowledge_window(reno);
  reno.on_timeout(kTimeZero, false);
  EXPECT_EQ(segments(reno.window()), 1);
  reno.on_timeout(kTimeZero, true);  // the threshold is not halved again
  for (const double expected : {2, 4, 8, 16, 20}) {
    acknowledge_window(reno);
    EXPECT_NEAR(segments(reno.window()), expected, 0.5);
  }
  EXPECT_FALSE(reno.in_slow_start());
}

TEST(Reno, UndoesASpuriousReduction) {
  Reno reno;
  acknowledge_window(reno);
  reno.on_timeout(kTimeZero, false);
  reno.on_timeout(kTimeZero, true);
  reno.on_spurious_loss(kTimeZero);
  EXPECT_EQ(segments(reno.window()), 20);
  EXPECT_TRUE(reno.in_slow_start());
}

TEST(Reno, DoesNotGrowAWindowThatIsNotUsed) {
  Reno reno;
  acknowledge_window(reno);
  reno.on_loss(kTimeZero);
  const DataSize before = reno.window();
  for (int i = 0; i < 1'000; ++i) {
    reno.on_ack(
        {.now = kTimeZero, .delivered = kTcpPayloadMax, .in_flight = before - kTcpPayloadMax});
  }
  EXPECT_EQ(reno.window(), before);
}

TEST(Reno, DoesNotGrowByDuplicatesNorInARecovery) {
  Reno reno;
  AckEvent ack{.delivered = kTcpPayloadMax, .in_flight = reno.window(), .advanced = false};
  reno.on_ack(ack);
  EXPECT_EQ(reno.window(), kTcpInitialWindow);
  ack.advanced = true;
  ack.in_recovery = true;
  reno.on_ack(ack);
  EXPECT_EQ(reno.window(), kTcpInitialWindow);
  ack.in_recovery = false;
  reno.on_ack(ack);
  EXPECT_EQ(reno.window(), kTcpInitialWindow + kTcpPayloadMax);
}

TEST(Reno, NeverGoesBelowTwoSegmentsOnLossNorOneOnTimeout) {
  Reno reno;
  for (int i = 0; i < 20; ++i) {
    reno.on_loss(kTimeZero);
    EXPECT_GE(segments(reno.window()), 2);
  }
  for (int i = 0; i < 20; ++i) {
    reno.on_timeout(kTimeZero, false);
    EXPECT_EQ(segments(reno.window()), 1);
  }
}

}  // namespace
}  // namespace cress::schemes
