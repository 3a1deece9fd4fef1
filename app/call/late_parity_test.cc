#include "app/call/late_parity.hh"

#include <gtest/gtest.h>

namespace cress::app {
namespace {

constexpr TimePoint kLost = kTimeZero + 20s;

TEST(LateParity, LeavesWithItsFrameUntilFramesAreLostAgain) {
  LateParity parity;
  parity.handle_frame_lost(kLost - 11s);
  parity.handle_frame_lost(kLost - 100ms);
  parity.handle_frame_lost(kLost - 1ms);
  EXPECT_EQ(parity.lateness(kLost, 300ms), 0ms) << "one burst, long after the one before";
  parity.handle_frame_lost(kLost + 1s);
  EXPECT_GT(parity.lateness(kLost + 1s, 300ms), 0ms);
  EXPECT_GT(parity.lateness(kLost + 11s, 300ms), 0ms);
  EXPECT_EQ(parity.lateness(kLost + 11s + 1ms, 300ms), 0ms);
}

TEST(LateParity, LongerRoundTripsMakeItLaterWithinBounds) {
  LateParity parity;
  parity.handle_frame_lost(kLost - 1s);
  parity.handle_frame_lost(kLost);
  EXPECT_EQ(parity.lateness(kLost, 99ms), 0ms);
  EXPECT_EQ(parity.lateness(kLost, 100ms), 20ms);
  EXPECT_EQ(parity.lateness(kLost, 200ms), 40ms);
  EXPECT_EQ(parity.lateness(kLost, 5s), 60ms);
}

TEST(LateParity, FragmentsLeaveWhenDueInTheirOrder) {
  LateParity parity;
  EXPECT_FALSE(parity.poll_due(kTimeZero));
  parity.hold(kTimeZero + 60ms, {.frame_id = 1, .message = {}});
  parity.hold(kTimeZero + 30ms, {.frame_id = 2, .message = {}});
  EXPECT_FALSE(parity.poll_due(kTimeZero + 59ms));
  for (const uint32_t id : {1U, 2U}) {
    const auto fragment = parity.poll_due(kTimeZero + 60ms);
    ASSERT_TRUE(fragment);
    EXPECT_EQ(fragment->frame_id, id);
  }
  EXPECT_FALSE(parity.poll_due(kTimeZero + 1s));
}

}  // namespace
}  // namespace cress::app
