#include "transport/control/cress/longer_path.hh"

#include <gtest/gtest.h>

#include <functional>

namespace cress::control {
namespace {

constexpr DataSize kSpeech{164};

class LongerPathTest : public testing::Test {
 protected:
  /// A datagram of audio each 20 ms and, each 100 ms, `frame` bytes of video 5 ms before one of
  /// them; the n-th datagram waits for waits(n). What was found, if anything, ends it.
  void arrive(Duration length, const std::function<Duration(int)>& waits, DataSize frame,
              Duration spread = {}) {
    const TimePoint end = now_ + length;
    for (int i = 0; now_ < end && !found_; now_ += 20ms) {
      if (i % 6 == 0 && frame > DataSize{}) {
        found_ = path_.handle_arrival(now_ - 5ms, now_ - 5ms + waits(i), waits(i), frame, spread);
        ++i;
      }
      if (!found_) {
        found_ = path_.handle_arrival(now_, now_ + waits(i), waits(i), kSpeech, spread);
      }
      ++i;
    }
  }

  LongerPath path_;
  std::optional<Duration> found_;
  TimePoint now_ = kTimeZero + 10s;
};

TEST_F(LongerPathTest, SteadyWaitsWhateverArrivesAreALongerPath) {
  const TimePoint start = now_;
  arrive(
      5s, [](int) { return 40ms; }, DataSize{1000});
  EXPECT_EQ(found_, 40ms);
  EXPECT_GE(now_ - start, 1s);
  EXPECT_LT(now_ - start, 1200ms);
}

TEST_F(LongerPathTest, TheLeastOfNearlyEqualWaitsCounts) {
  arrive(
      5s, [](int i) { return i % 2 == 0 ? 40ms : 39500us; }, DataSize{1000});
  EXPECT_EQ(found_, 39500us);
}

TEST_F(LongerPathTest, WaitsOfAQueueOnTopAreAllowed) {
  arrive(
      5s, [](int i) { return i % 5 == 2 ? 40ms : 90ms; }, DataSize{1000});
  EXPECT_EQ(found_, 40ms);
}

TEST_F(LongerPathTest, AnEvenlyServedQueueIsNoLongerPath) {
  arrive(
      20s, [](int) { return 40ms; }, DataSize{});
  EXPECT_FALSE(found_) << "two datagrams of audio during each wait";
}

TEST_F(LongerPathTest, LittleServedSaysNothing) {
  arrive(
      20s, [](int) { return 40ms; }, DataSize{600});
  EXPECT_FALSE(found_);
  arrive(
      20s, [](int) { return 40ms; }, DataSize{700});
  EXPECT_TRUE(found_) << "with audio, 1000 bytes";
}

TEST_F(LongerPathTest, AQueueThatEmptiesIsNoLongerPath) {
  arrive(
      20s, [](int i) { return i % 40 == 0 ? 7ms : 40ms; }, DataSize{1000});
  EXPECT_FALSE(found_);
}

TEST_F(LongerPathTest, AWaitUnderEightMillisecondsIsNoQueue) {
  arrive(
      20s, [](int) { return 7999us; }, DataSize{3000});
  EXPECT_FALSE(found_);
  arrive(
      20s, [](int) { return 8ms; }, DataSize{3000});
  EXPECT_EQ(found_, 8ms);
}

TEST_F(LongerPathTest, ChangingWaitsAreAQueue) {
  arrive(
      20s, [](int i) { return 60ms - i % 50 * 1ms; }, DataSize{1000});
  EXPECT_FALSE(found_);
}

TEST_F(LongerPathTest, ALeastWaitNotMetAgainIsForgotten) {
  arrive(
      20s, [](int i) { return i % 40 == 2 ? 40ms : 60ms + i % 40 * 1ms; }, DataSize{1000});
  EXPECT_FALSE(found_) << "40 ms are met each 670 ms";
}

TEST_F(LongerPathTest, JitterBlursTheLeastWait) {
  const auto waits = [](int i) { return i % 40 == 2 ? 40ms : 43ms + i * 7 % 30 * 1ms; };
  arrive(20s, waits, DataSize{1000});
  EXPECT_FALSE(found_);
  arrive(20s, waits, DataSize{1000}, 24ms);
  EXPECT_EQ(found_, 40ms) << "43 ms are near it";
}

TEST_F(LongerPathTest, HalfTheSpreadMayBeJitter) {
  const auto waits = [](int) { return 40ms; };
  arrive(20s, waits, DataSize{1000}, 81ms);
  EXPECT_FALSE(found_);
  arrive(20s, waits, DataSize{1000}, 80ms);
  EXPECT_TRUE(found_);
}

}  // namespace
}  // namespace cress::control
