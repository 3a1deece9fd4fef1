#include "transport/control/cress/shared_queue.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

namespace cress::control {
namespace {

constexpr DataSize kAudio{164};

class SharedQueueTest : public testing::Test {
 protected:
  void SetUp() override { stand(); }
  /// `count` datagrams, `apart`; the n-th waits in the queue for waits(n).
  void arrive(int count, Duration apart, const std::function<Duration(int)>& waits,
              DataSize size = kAudio) {
    for (int i = 0; i < count; ++i) {
      now_ += apart;
      const Duration wait = waits(i);
      queue_.handle_arrival(now_, now_, now_ + wait, size, 100ms);
      least_kbps_ = std::min(least_kbps_, kbps());
    }
  }
  /// For `length`, `rate` leaves in datagrams of 1200 bytes.
  void send(Duration length, DataRate rate) {
    const DataSize size{1200};
    for (const TimePoint end = now_ + length; now_ < end; now_ += size / rate) {
      queue_.on_sent(now_, size);
    }
  }
  /// Two of ours leave one right after the other: 4.8 Mbit/s.
  void show_rate() {
    now_ += 20ms;
    queue_.handle_arrival(now_, now_, now_ + 100ms, DataSize{1200}, 100ms);
    queue_.handle_arrival(now_, now_, now_ + 102ms, DataSize{1200}, 100ms);
  }
  /// The queue stands for 640 ms; every second of ours leaves together with the one before it.
  void stand() {
    arrive(32, 20ms, [](int i) { return 100ms - i % 2 * 20ms; });
  }
  void share() {
    show_rate();
    arrive(8, 20ms, [](int) { return 100ms; });
    ASSERT_TRUE(queue_.is_shared());
    least_kbps_ = kbps();
  }
  /// However clear the signs of others are.
  void expect_refused_for_three_seconds() {
    EXPECT_FALSE(queue_.is_shared());
    arrive(149, 20ms, [](int) { return 100ms; });
    EXPECT_FALSE(queue_.is_shared());
    show_rate();
    arrive(20, 20ms, [](int) { return 100ms; });
    EXPECT_TRUE(queue_.is_shared());
  }
  /// For `length` two of ours leave together every 40 ms.
  void leave_in_pairs(Duration length) {
    arrive(
        static_cast<int>(length / 20ms), 20ms, [](int i) { return 200ms - i % 2 * 20ms; },
        DataSize{800});
  }
  double kbps() const { return queue_.rate().kilobits_per_second(); }

  SharedQueue queue_;
  double least_kbps_ = 0;  // since it counts as shared
  TimePoint now_ = kTimeZero + 10s;
};

TEST_F(SharedQueueTest, OthersBetweenOurDatagramsAreSeen) {
  show_rate();
  arrive(5, 20ms, [](int) { return 100ms; });
  EXPECT_FALSE(queue_.is_shared()) << "five of them were behind another of ours";
  arrive(1, 20ms, [](int) { return 100ms; });
  EXPECT_TRUE(queue_.is_shared());
  EXPECT_EQ(queue_.waited(), 100ms);
}

TEST_F(SharedQueueTest, AQueueThatDrainsEvery500MillisecondsIsNotShared) {
  const auto drains_every = [&](Duration apart) {
    for (int i = 0; i < 3; ++i) {
      arrive(1, 20ms, [](int) { return 7ms; });
      show_rate();
      arrive(static_cast<int>(apart / 20ms) - 2, 20ms, [](int) { return 100ms; });
    }
    return queue_.is_shared();
  };
  EXPECT_FALSE(drains_every(500ms));
  EXPECT_TRUE(drains_every(700ms));
}

TEST_F(SharedQueueTest, AfterALossTheFirstSignOfOthersIsEnough) {
  const auto see_others = [this] {
    arrive(1, 20ms, [](int) { return 7ms; });
    show_rate();
    arrive(7, 20ms, [](int) { return 100ms; });
    return queue_.is_shared();
  };
  EXPECT_FALSE(see_others());
  queue_.handle_congestion(now_);
  now_ += 9800ms;
  EXPECT_TRUE(see_others());
  queue_ = SharedQueue{};
  queue_.handle_congestion(now_);
  now_ += 10s;
  EXPECT_FALSE(see_others());
}

TEST_F(SharedQueueTest, PausingLinkIsNotShared) {
  // One opportunity every 200 ms takes all that waits.
  arrive(500, 20ms, [](int i) { return 200ms - i % 10 * 20ms; });
  EXPECT_FALSE(queue_.is_shared());
}

TEST_F(SharedQueueTest, OurOwnQueueIsNotShared) {
  arrive(
      500, 10ms, [](int) { return 100ms; }, DataSize{800});
  EXPECT_FALSE(queue_.is_shared()) << "ten of ours are more than an opportunity";
}

TEST_F(SharedQueueTest, ALinkThatSendsByteByByteIsNotShared) {
  queue_ = SharedQueue{};
  // 200 kbit/s: 20 ms for 500 bytes. Half as long again, and others stand
  // between.
  const auto follow = [&](Duration apart) {
    for (int i = 0; i < 50; ++i) {
      now_ += apart;
      queue_.handle_arrival(now_, now_, now_ + 100ms, DataSize{500 - i % 2 * 50}, 100ms);
    }
    return queue_.is_shared();
  };
  EXPECT_FALSE(follow(20ms));
  EXPECT_FALSE(follow(27ms));
  EXPECT_TRUE(follow(31ms));
}

TEST_F(SharedQueueTest, ShortWaitsAreNoQueue) {
  // Every fifth waits so little that the queue was nearly empty.
  arrive(100, 10ms, [](int i) { return i % 5 == 4 ? 7900us : 12'000us; });
  EXPECT_FALSE(queue_.is_shared());
  show_rate();
  arrive(100, 10ms, [](int i) { return i % 5 == 4 ? 8000us : 12'000us; });
  EXPECT_TRUE(queue_.is_shared());
}

TEST_F(SharedQueueTest, JitterIsNotOthers) {
  // Two wait together each time; the second takes up to 8 ms longer on the path behind the queue.
  const auto late = [&](Duration jitter) {
    for (int i = 0; i < 200; ++i) {
      const TimePoint first = now_ + i * 40ms;
      queue_.handle_arrival(first, first, first + 60ms, kAudio, 100ms, jitter);
      queue_.handle_arrival(first, first + 20ms, first + 68ms, kAudio, 100ms, jitter);
    }
    now_ += 8s;
    return queue_.is_shared();
  };
  EXPECT_FALSE(late(8ms));
  show_rate();
  EXPECT_TRUE(late({})) << "without jitter something of 8 ms stood between them";
}

TEST_F(SharedQueueTest, EmptyQueueEndsIt) {
  queue_ = SharedQueue{};
  arrive(1, 20ms, [](int) { return 59ms; });
  arrive(1, 0ms, [](int) { return 59ms; });
  arrive(32, 20ms, [](int) { return 59ms; });
  ASSERT_TRUE(queue_.is_shared());
  arrive(1, 20ms, [](int) { return 4ms; });
  EXPECT_TRUE(queue_.is_shared());
  arrive(1, 20ms, [](int) { return 3ms; });
  EXPECT_FALSE(queue_.is_shared());
}

TEST_F(SharedQueueTest, LongQueueThatFillsAgainStaysShared) {
  share();
  arrive(150, 20ms, [](int i) { return i % 10 == 9 ? 26ms : 0ms; });
  EXPECT_TRUE(queue_.is_shared());
  arrive(1000, 20ms, [](int i) { return i % 10 == 9 ? 60ms : 0ms; });
  EXPECT_TRUE(queue_.is_shared());
}

TEST_F(SharedQueueTest, LongQueueThatStaysShortForASecondEndsIt) {
  share();
  arrive(50, 20ms, [](int i) { return i % 10 == 9 ? 25ms : 3ms; });
  EXPECT_TRUE(queue_.is_shared()) << "0.98 s";
  arrive(1, 20ms, [](int) { return 25ms; });
  EXPECT_FALSE(queue_.is_shared());
}

TEST_F(SharedQueueTest, ShareDoesNotGrowInAnEmptyQueue) {
  send(2s, DataRate::kilobits_per_second(2000));
  share();
  arrive(1, 20ms, [](int) { return 3ms; });
  const double before = kbps();
  send(500ms, DataRate::kilobits_per_second(2000));
  arrive(1, 1ms, [](int) { return 3ms; });
  EXPECT_EQ(kbps(), before);
  arrive(1, 100ms, [](int) { return 100ms; });
  EXPECT_NEAR(kbps() - before, 120, 2) << "a packet a round trip of 100 ms, for 100 ms";
}

TEST_F(SharedQueueTest, WaitBeyondAnyBufferIsRefusedForThreeSeconds) {
  share();
  arrive(1, 20ms, [](int) { return 5001ms; });
  expect_refused_for_three_seconds();
}

TEST_F(SharedQueueTest, AQueueThatEmptiesWhenWeYieldIsNotShared) {
  send(2s, DataRate::kilobits_per_second(2000));
  share();
  arrive(32, 20ms, [](int i) { return 100ms + i * 6500us; });
  EXPECT_LT(kbps(), 50.1) << "a trial: hardly anything leaves";
  EXPECT_LE(queue_.window(now_ + 1s), DataSize{50'000 / 8 * 90 / 1000});
  arrive(35, 20ms, [](int i) { return 300ms - i * 5ms; });
  EXPECT_TRUE(queue_.is_shared());
  arrive(5, 20ms, [](int i) { return 100ms - i * 12ms; });
  expect_refused_for_three_seconds();
}

TEST_F(SharedQueueTest, WhenOthersSeemToHaveLeftATrialBegins) {
  send(2s, DataRate::kilobits_per_second(2000));
  share();
  leave_in_pairs(1960ms);
  EXPECT_GT(least_kbps_, 1950);
  leave_in_pairs(400ms);
  EXPECT_NEAR(kbps(), 0.6 * 320, 20) << "0.6 of 800 bytes in 20 ms";
}

TEST_F(SharedQueueTest, OnePairThatOthersSplitShowsTheyAreThere) {
  send(2s, DataRate::kilobits_per_second(2000));
  share();
  for (int i = 0; i < 10; ++i) {
    leave_in_pairs(1900ms);
    arrive(1, 20ms, [](int) { return 200ms; });
  }
  EXPECT_GT(least_kbps_, 1950);
}

TEST_F(SharedQueueTest, DatagramsThatNeverMeetShowNothingOfOthers) {
  send(2s, DataRate::kilobits_per_second(2000));
  share();
  arrive(50, 210ms, [](int) { return 200ms; });
  EXPECT_GT(least_kbps_, 1950);
}

TEST_F(SharedQueueTest, WhatArrivesWithinTheJitterMayHaveOthersBetween) {
  send(2s, DataRate::kilobits_per_second(2000));
  share();
  for (int i = 0; i < 100; ++i) {
    now_ += 40ms;
    const Duration apart = i % 10 == 0 ? 0ms : 8ms;
    queue_.handle_arrival(now_, now_ - 20ms, now_ + 180ms, DataSize{800}, 100ms, 10ms);
    queue_.handle_arrival(now_, now_, now_ + 180ms + apart, DataSize{800}, 100ms, 10ms);
    least_kbps_ = std::min(least_kbps_, kbps());
  }
  EXPECT_TRUE(queue_.is_shared());
  EXPECT_GT(least_kbps_, 1950);
}

// As under FQ-CoDel, where turns of other queues look like datagrams of others (experiment 0046).
TEST_F(SharedQueueTest, OurOwnQueueThatCountedAsSharedEmpties) {
  send(2s, DataRate::kilobits_per_second(2000));
  share();
  const DataSize size{1200};
  const Duration takes = size / DataRate::kilobits_per_second(1200);
  std::deque<std::pair<TimePoint, TimePoint>> waiting;  // sent, and when it will have left
  TimePoint empty_at = now_ + 100ms;
  Duration longest{};
  for (const TimePoint end = now_ + 5s; now_ < end && queue_.is_shared(); now_ += 1ms) {
    if (queue_.window(now_) >= size) {
      queue_.on_sent(now_, size);
      empty_at = std::max(empty_at, now_) + takes;
      waiting.emplace_back(now_, empty_at);
    }
    for (; !waiting.empty() && waiting.front().second <= now_; waiting.pop_front()) {
      const auto [sent, left] = waiting.front();
      longest = std::max(longest, left - sent - takes);
      queue_.handle_arrival(now_, sent + takes, left, size, now_ - sent);
    }
  }
  EXPECT_FALSE(queue_.is_shared());
  EXPECT_LT(longest, 1s);
}

TEST_F(SharedQueueTest, InATrialNoMoreThanItsLimitIsSent) {
  send(2s, DataRate::kilobits_per_second(2000));
  share();
  arrive(
      32, 20ms, [](int i) { return 100ms + i * 6500us; }, DataSize{1200});
  ASSERT_NEAR(kbps(), 0.6 * 1200 * 8 / 26.5, 3) << "a trial";
  DataSize sent;
  for (int i = 0; i < 300; ++i) {
    const DataSize window = queue_.window(now_ + i * 1ms);
    queue_.on_sent(now_ + i * 1ms, window);
    sent += window;
  }
  EXPECT_NEAR(static_cast<double>(sent.bytes()), kbps() / 8 * 390, 400)
      << "300 ms, and 90 that were not used before";
}

TEST_F(SharedQueueTest, ShareBeginsWithTheMostOfFiveSeconds) {
  send(1500ms, DataRate::kilobits_per_second(2000));
  send(2s, DataRate::kilobits_per_second(500));
  share();
  EXPECT_NEAR(kbps(), 2000, 50);
}

TEST_F(SharedQueueTest, ShareBeginsWith300KilobitsAtLeast) {
  share();
  EXPECT_EQ(kbps(), 300);
}

TEST_F(SharedQueueTest, LossTakesTwentyPercentOnceARoundTrip) {
  send(2s, DataRate::kilobits_per_second(2000));
  share();
  const double before = kbps();
  queue_.handle_congestion(now_);
  EXPECT_NEAR(kbps(), before * 0.8, 1);
  queue_.handle_congestion(now_ + 100ms);
  EXPECT_NEAR(kbps(), before * 0.8, 1);
  queue_.handle_congestion(now_ + 101ms);
  EXPECT_NEAR(kbps(), before * 0.64, 1);
  for (int i = 2; i < 50; ++i) {
    queue_.handle_congestion(now_ + i * 101ms);
  }
  EXPECT_EQ(kbps(), 300);
}

TEST_F(SharedQueueTest, UsedShareGrowsByAPacketARoundTrip) {
  send(2s, DataRate::kilobits_per_second(1000));
  share();
  const double before = kbps();
  arrive(10, 90ms, [this](int) {
    queue_.on_sent(now_, DataSize{50'000});
    return 100ms;
  });
  EXPECT_NEAR(kbps() - before, 9 * 1500 * 8 / 100.0, 1) << "900 ms of 1500 bytes in 100 ms";
}

TEST_F(SharedQueueTest, ShareGrowsNoFasterThanAtTenMilliseconds) {
  for (const Duration round_trip : {10ms, 2ms, 0ms}) {
    queue_ = SharedQueue{};
    stand();
    share();
    queue_.on_sent(now_, DataSize{50'000});
    const double before = kbps();
    now_ += 10ms;
    queue_.handle_arrival(now_, now_, now_ + 100ms, kAudio, round_trip);
    EXPECT_NEAR(kbps() - before, 1500 * 8 / 10.0, 1) << "1500 bytes in 10 ms, for 10 ms";
  }
}

TEST_F(SharedQueueTest, UnusedShareDoesNotGrow) {
  send(2s, DataRate::kilobits_per_second(1000));
  share();
  arrive(50, 100ms, [](int) { return 100ms; });
  const double before = kbps();
  arrive(50, 100ms, [](int) { return 100ms; });
  EXPECT_EQ(kbps(), before);
}

TEST_F(SharedQueueTest, WindowIsWhatTheRateGaveIn90Milliseconds) {
  send(2s, DataRate::kilobits_per_second(800));
  share();
  const auto bytes = [&](Duration later) {
    return static_cast<double>(queue_.window(now_ + later).bytes());
  };
  const double most = kbps() / 8 * 90;
  EXPECT_NEAR(bytes(1s), most, 1);
  queue_.on_sent(now_ + 1s, DataSize{4000});
  EXPECT_NEAR(bytes(1s), most - 4000, 1);
  EXPECT_NEAR(bytes(1010ms), most - 4000 + most / 9, 1);
  EXPECT_NEAR(bytes(2s), most, 1);
  queue_.on_sent(now_ + 2s, DataSize{12'000});
  EXPECT_EQ(bytes(2s), 0);
}

}  // namespace
}  // namespace cress::control
