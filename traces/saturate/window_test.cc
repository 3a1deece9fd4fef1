#include "traces/saturate/window.hh"

#include <gtest/gtest.h>

namespace cress::traces {
namespace {

/// Feeds the window `seconds` of deliveries at 100 packets per second, each with this delay.
struct Feed {
  SaturatingWindow window;
  TimePoint now = kTimeZero;
  uint64_t newest = 0;
  uint64_t lost_of = 1'000'000;  // one of this many is lost

  void run(int steps, Duration delay, uint64_t each = 1) {
    for (int i = 0; i < steps; ++i) {
      now += 10ms;
      newest += each;
      window.on_feedback(now,
                         {.known_at = now,
                          .newest_arrived = now,
                          .newest = newest,
                          .arrived = newest / lost_of * (lost_of - 1) + newest % lost_of,
                          .delay = delay},
                         newest + window.packets());
    }
  }
};

TEST(SaturatingWindow, GrowsByWhatIsDeliveredWhileTheDelayIsUnder750Ms) {
  Feed feed;
  feed.run(100, 749ms);
  EXPECT_EQ(feed.window.packets(), SaturatingWindow::kPacketsMin + 100);
}

TEST(SaturatingWindow, HoldsBetween750MsAnd3S) {
  Feed feed;
  feed.run(100, 100ms);
  const size_t before = feed.window.packets();
  feed.run(100, 750ms);
  feed.run(100, 3s);
  EXPECT_EQ(feed.window.packets(), before);
}

TEST(SaturatingWindow, ShrinksOnceARoundTripOver3S) {
  Feed feed;
  feed.run(1'000, 100ms);
  feed.run(3'000, 800ms);  // so that the best rate is old
  const size_t before = feed.window.packets();
  feed.run(1, 4s);
  const size_t once = feed.window.packets();
  EXPECT_LT(once, before);
  feed.run(100, 4s);
  EXPECT_EQ(feed.window.packets(), once) << "these were on the way when it shrank";
  feed.run(3'000, 4s);
  EXPECT_LT(feed.window.packets(), once);
}

TEST(SaturatingWindow, NeverShrinksBelowWhat750MsNeedAtTheBestRecentRate) {
  Feed feed;
  feed.run(1'000, 100ms, 4);  // 400 packets a second
  for (int i = 0; i < 800; ++i) {
    feed.run(1, 5s, 1);
  }
  EXPECT_GE(feed.window.packets(), 300U);
  feed.run(20'000, 5s, 1);
  EXPECT_LT(feed.window.packets(), 100U) << "what was 200 s ago does not count";
  EXPECT_GE(feed.window.packets(), SaturatingWindow::kPacketsMin);
}

TEST(SaturatingWindow, AtAnUnchangedRateItShrinksTo750MsAndNoFurther) {
  Feed feed;
  feed.run(200, 100ms, 4);
  ASSERT_GT(feed.window.packets(), 800U);
  feed.run(6'000, 5s, 4);  // a minute, in rounds of about a second
  EXPECT_NEAR(static_cast<double>(feed.window.packets()), 300, 10);
}

TEST(SaturatingWindow, AllowsForDeliveriesSinceTheLastReport) {
  Feed feed;
  feed.run(200, 1s);
  const uint64_t fresh = feed.window.allowed(feed.now);
  EXPECT_EQ(fresh, feed.window.packets());
  EXPECT_NEAR(static_cast<double>(feed.window.allowed(feed.now + 1s) - fresh), 100, 2);
  EXPECT_EQ(feed.window.allowed(feed.now + 60s),
            feed.window.allowed(feed.now + SaturatingWindow::kAgeMax));
}

TEST(SaturatingWindow, DoesNotGrowAgainstAQueueThatOverflows) {
  Feed feed;
  feed.run(1'000, 100ms, 10);
  EXPECT_FALSE(feed.window.has_filled());
  const size_t before = feed.window.packets();
  feed.lost_of = 2;
  feed.newest *= 2;  // so that the count of arrivals continues from its value
  feed.run(20'000, 100ms, 10);
  EXPECT_LT(feed.window.packets(), before);
  EXPECT_TRUE(feed.window.has_filled());
}

TEST(SaturatingWindow, GrowsInSpiteOfLossThatIsNoOverflow) {
  Feed feed;
  feed.lost_of = 10;
  feed.run(1'000, 100ms, 10);
  EXPECT_EQ(feed.window.packets(), SaturatingWindow::kPacketsMin + 10'000);
}

TEST(SaturatingWindow, OverflowsWhenAFirstRoundLosesMoreThanAFifth) {
  for (const uint64_t arrived : {80, 79}) {
    SaturatingWindow window;
    window.on_feedback(kTimeZero, {.newest = 100, .arrived = arrived, .delay = 100ms}, 100);
    EXPECT_EQ(window.has_filled(), arrived < 80) << arrived;
  }
}

TEST(SaturatingWindow, HasAnUpperBound) {
  Feed feed;
  feed.run(1'000, 1ms, 1'000);
  EXPECT_EQ(feed.window.packets(), SaturatingWindow::kPacketsMax);
  EXPECT_EQ(feed.window.allowed(feed.now + 60s), SaturatingWindow::kPacketsMax);
}

}  // namespace
}  // namespace cress::traces
