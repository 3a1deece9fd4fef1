// Goal: marks that only others explain lower the rate as DCTCP's, and no other mark does. Method:
// one arrival after another, each with the time at which it would have come through an empty queue.

#include "transport/control/cress/marked_queue.hh"

#include <gtest/gtest.h>

namespace cress::control {
namespace {

constexpr DataSize kSize{1200};
constexpr Duration kRoundTrip = 50ms;

class MarkedQueueTest : public testing::Test {
 protected:
  /// The next datagram, `apart` after the one before, arrives after `wait`.
  bool arrive(Duration apart, bool marked, Duration wait = {}, Duration jitter = {}) {
    now_ += apart;
    return queue_.handle_arrival(now_, now_, now_ + wait, marked, kRoundTrip, jitter);
  }
  /// For `length`, `rate` leaves and arrives; each n-th is marked, 0: none.
  void run(Duration length, DataRate rate, int each) {
    const TimePoint end = now_ + length;
    while (now_ < end) {
      queue_.on_sent(now_, kSize);
      const bool marked = each > 0 && ++sent_ % each == 0;
      arrive(kSize / rate, marked);
    }
  }
  /// After so long that nothing more is saved.
  double window() const { return static_cast<double>(queue_.window(now_ + 10s).bytes()); }
  double kbps() const { return queue_.rate().kilobits_per_second(); }

  static constexpr DataRate kRate = DataRate::kilobits_per_second(3000);
  // At which three marks are more than our share allows.
  static constexpr DataRate kFast = DataRate::kilobits_per_second(8000);

  MarkedQueue queue_;
  TimePoint now_ = kTimeZero + 10s;
  int sent_ = 0;
};

TEST_F(MarkedQueueTest, MarksOfAnEmptyQueueShowOthers) {
  run(2s, kRate, 0);
  EXPECT_FALSE(queue_.is_shared());
  run(200ms, kRate, 5);
  EXPECT_TRUE(queue_.is_shared());
}

TEST_F(MarkedQueueTest, TwoMarksAreNotEnough) {
  run(2s, kFast, 0);
  for (int i = 0; i < 2; ++i) {
    arrive(3ms, true);
  }
  EXPECT_FALSE(queue_.is_shared());
  arrive(3ms, true);
  EXPECT_TRUE(queue_.is_shared());
}

TEST_F(MarkedQueueTest, MarksFurtherApartThanASecondAreNotEnough) {
  run(2s, kRate, 0);
  for (int i = 0; i < 20; ++i) {
    arrive(1s, true);
  }
  EXPECT_FALSE(queue_.is_shared());
}

TEST_F(MarkedQueueTest, OurOwnBurstsExplainTheirMarks) {
  run(2s, kRate, 0);
  for (int frame = 0; frame < 60; ++frame) {
    arrive(33ms, false);  // the first of ten finds the queue empty
    for (int i = 1; i < 10; ++i) {
      EXPECT_FALSE(arrive(0ms, true, i * 2ms));
    }
  }
  EXPECT_FALSE(queue_.is_shared());
  EXPECT_TRUE(queue_.marks(now_)) << "but bursts are to be spread";
}

TEST_F(MarkedQueueTest, AWaitingDatagramsMarkIsNotOfOthersShare) {
  run(2s, kRate, 0);
  for (int i = 0; i < 60; ++i) {
    EXPECT_FALSE(arrive(33ms, true, 1ms)) << "the link was silent for a millisecond";
  }
  EXPECT_FALSE(queue_.is_shared());
}

TEST_F(MarkedQueueTest, AMarkBehindOthersCountsAsALoss) {
  EXPECT_TRUE(arrive(33ms, true, 4ms));
  EXPECT_FALSE(arrive(33ms, true, 4ms - 1ns));
  EXPECT_FALSE(arrive(33ms, false, 20ms));
  EXPECT_FALSE(arrive(5ms, true, 20ms)) << "it was behind another of ours";
}

TEST_F(MarkedQueueTest, JitterIsNoWait) {
  EXPECT_FALSE(arrive(33ms, true, 13ms, 10ms));
  EXPECT_TRUE(arrive(33ms, true, 14ms, 10ms));
  run(2s, kFast, 0);
  for (int i = 0; i < 40; ++i) {
    arrive(33ms, i % 5 == 0, i % 2 * 3ms, 10ms);
  }
  EXPECT_TRUE(queue_.is_shared());
}

// DCTCP's: two packets by the fraction, each round trip.
TEST_F(MarkedQueueTest, RateSettlesWhereMarksTakeWhatItGrowsBy) {
  run(2s, kRate, 0);
  run(10s, kRate, 5);
  const double settled = 2 * 1500 * 8 / 0.2 / to_seconds(kRoundTrip) / 1000;
  EXPECT_NEAR(kbps(), settled, settled / 5);
}

TEST_F(MarkedQueueTest, RareMarksLeaveTheRateAlone) {
  run(2s, kRate, 0);
  run(5s, kRate, 50);
  EXPECT_FALSE(queue_.is_shared()) << "our share is more than we send";
}

TEST_F(MarkedQueueTest, ASecondWithoutMarksEndsIt) {
  run(2s, kRate, 0);
  run(2s, kRate, 5);
  ASSERT_TRUE(queue_.is_shared());
  run(900ms, kRate, 0);
  EXPECT_TRUE(queue_.is_shared());
  run(200ms, kRate, 0);
  EXPECT_FALSE(queue_.is_shared());
  EXPECT_FALSE(queue_.marks(now_));
}

TEST_F(MarkedQueueTest, WindowIsTheRatesAndFillsForNinetyMilliseconds) {
  run(2s, kRate, 0);
  run(2s, kRate, 5);
  ASSERT_TRUE(queue_.is_shared());
  const auto full = static_cast<double>((queue_.rate() * 90ms).bytes());
  EXPECT_NEAR(window(), full, 2);
  queue_.on_sent(now_ + 10s, DataSize{1000});
  EXPECT_NEAR(window(), full - 1000, 2);
}

}  // namespace
}  // namespace cress::control
