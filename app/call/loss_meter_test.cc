#include <gtest/gtest.h>

#include "app/call/call_sender.hh"

namespace cress::app {
namespace {

using Kind = session::MessageOutcome::Kind;

double share_after(int delivered, int lost, int dropped) {
  LossMeter meter;
  for (int i = 0; i < delivered + lost + dropped; ++i) {
    meter.handle_outcome(i < delivered ? Kind::kDelivered
                                       : (i < delivered + lost ? Kind::kLost : Kind::kDropped));
  }
  return meter.share();
}

TEST(LossMeter, OneLostMessageCountsATwoHundredth) {
  EXPECT_EQ(share_after(0, 0, 0), 0.0);
  EXPECT_EQ(share_after(100, 0, 0), 0.0);
  EXPECT_DOUBLE_EQ(share_after(100, 1, 0), 1.0 / 200);
  EXPECT_DOUBLE_EQ(share_after(0, 2, 0), 1.0 / 200 + 199.0 / 200 / 200);
}

TEST(LossMeter, DeliveredMessagesMakeItForget) {
  LossMeter meter;
  for (int i = 0; i < 2'000; ++i) {
    meter.handle_outcome(Kind::kLost);
  }
  EXPECT_NEAR(meter.share(), 1.0, 0.001);
  meter.handle_outcome(Kind::kDelivered);
  EXPECT_NEAR(meter.share(), 199.0 / 200, 0.001);
  for (int i = 1; i < 200; ++i) {
    meter.handle_outcome(Kind::kDelivered);
  }
  EXPECT_NEAR(meter.share(), 0.367, 0.002) << "the 200th part less, 200 times: 1/e";
}

TEST(LossMeter, DropsInOurOwnQueueAreNoNetworkLoss) {
  EXPECT_EQ(share_after(0, 0, 50), 0.0);
  // Nor does it indicate a good network.
  EXPECT_EQ(share_after(0, 10, 50), share_after(0, 10, 0));
}

TEST(LossMeter, BurstsShowInWhatFollowsALoss) {
  LossMeter bursts;
  LossMeter single;
  for (int i = 0; i < 1'000; ++i) {
    bursts.handle_video_outcome(i % 40 < 4 ? Kind::kLost : Kind::kDelivered);
    single.handle_video_outcome(i % 10 == 0 ? Kind::kLost : Kind::kDelivered);
  }
  EXPECT_NEAR(bursts.persistence(), 0.75, 0.15) << "of four in a row three have a lost successor";
  EXPECT_TRUE(bursts.is_bursty());
  EXPECT_EQ(single.persistence(), 0.0);
  EXPECT_NEAR(bursts.share(), single.share(), 0.02);
}

TEST(LossMeter, DroppedMessagesDoNotEndABurst) {
  LossMeter meter;
  meter.handle_video_outcome(Kind::kLost);
  meter.handle_video_outcome(Kind::kDropped);
  meter.handle_video_outcome(Kind::kLost);
  EXPECT_DOUBLE_EQ(meter.persistence(), 1.0 / 40);
  meter.handle_video_outcome(Kind::kDelivered);
  EXPECT_DOUBLE_EQ(meter.persistence(), 1.0 / 40 * 39 / 40);
}

TEST(LossMeter, OutageIsNoBurst) {
  LossMeter meter;
  for (int i = 0; i < 20; ++i) {
    meter.handle_video_outcome(Kind::kLost);
  }
  EXPECT_GT(meter.persistence(), 0.35) << "so far it may be a long burst";
  for (int i = 0; i < 80; ++i) {
    meter.handle_video_outcome(Kind::kLost);
  }
  EXPECT_EQ(meter.persistence(), 0.0);
  meter.handle_video_outcome(Kind::kDelivered);
  EXPECT_EQ(meter.persistence(), 0.0);
}

}  // namespace
}  // namespace cress::app
