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

}  // namespace
}  // namespace cress::app
