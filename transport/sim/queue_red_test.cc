#include "transport/sim/queue_red.hh"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "transport/base/golden_test_tools.hh"

namespace cress::sim {
namespace {

constexpr DataSize kFull{1500};

QueuedDatagram datagram(TimePoint sent, DataSize size = kFull) {
  return {.datagram = {.bytes = {}, .wire_size = size}, .sent = sent};
}

TEST(RedQueue, EveryDatagramIsDeliveredDroppedOrQueued) {
  std::string drops;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng{seed};
    RedQueue queue{{.unit = seed % 2 == 0 ? RedUnit::kBytes : RedUnit::kDatagrams,
                    .threshold_min = seed % 2 == 0 ? 7'500 : 5,
                    .threshold_max = seed % 2 == 0 ? 22'500 : 15,
                    .weight = 0.02,
                    .gentle = seed % 3 != 0,
                    .limit = DataSize{60'000}},
                   rng.fork(1)};
    TimePoint now = kTimeZero;
    DataSize in;
    DataSize out;
    for (int step = 0; step < 5'000; ++step) {
      now += from_seconds(rng.exponential(0.002));
      if (rng.chance(0.55)) {
        const DataSize size{static_cast<int64_t>(40 + rng.below(1461))};
        in += size;
        queue.push(now, datagram(now, size));
      } else if (const auto popped = queue.pop(now)) {
        out += popped->datagram.wire_size;
      }
      ASSERT_EQ(in, out + queue.size() + queue.stats().dropped_size) << "seed " << seed;
    }
    EXPECT_GT(queue.stats().dropped, 0U) << "seed " << seed;
    drops += std::to_string(queue.stats().dropped) + " " +
             std::to_string(queue.stats().dropped_size.bytes()) + "\n";
  }
  expect_golden("red_drops", drops);
}

TEST(RedQueue, AveragesAsFloydAndJacobsonSay) {
  // Thresholds far away: nothing is dropped, so the queue's length is known from outside.
  const RedOptions options{.unit = RedUnit::kDatagrams,
                           .threshold_min = 1'000'000,
                           .threshold_max = 3'000'000,
                           .weight = 0.05,
                           .datagram_time = 10ms};
  RedQueue queue{options, Rng{1}};
  Rng rng{2};
  TimePoint now = kTimeZero;
  int64_t length = 0;
  double average = 0;
  TimePoint idle_since = kTimeZero;
  int idle_times = 0;
  for (int step = 0; step < 20'000; ++step) {
    now += Duration{static_cast<int64_t>(rng.below(30'000'000))};
    if (rng.chance(0.5)) {
      if (length == 0) {
        average *= std::pow(0.95, std::floor(to_milliseconds(now - idle_since) / 10.0));
        ++idle_times;
      } else {
        average = 0.95 * average + 0.05 * static_cast<double>(length);
      }
      queue.push(now, datagram(now));
      ++length;
    } else if (queue.pop(now)) {
      --length;
      if (length == 0) {
        idle_since = now;
      }
    }
    ASSERT_NEAR(queue.average(), average, 1e-9 * (1.0 + average)) << "step " << step;
  }
  EXPECT_GT(idle_times, 50);
}

TEST(RedQueue, ChanceFollowsTheThresholds) {
  const RedOptions gentle{.threshold_min = 5'000, .threshold_max = 15'000, .drop_chance_max = 0.1};
  RedOptions strict = gentle;
  strict.gentle = false;
  EXPECT_EQ(red_drop_chance(gentle, 4'999.0), 0.0);
  EXPECT_EQ(red_drop_chance(gentle, 5'000.0), 0.0);
  EXPECT_DOUBLE_EQ(red_drop_chance(gentle, 10'000.0), 0.05);
  EXPECT_DOUBLE_EQ(red_drop_chance(gentle, 15'000.0), 0.1);
  EXPECT_DOUBLE_EQ(red_drop_chance(gentle, 22'500.0), 0.55);
  EXPECT_DOUBLE_EQ(red_drop_chance(gentle, 30'000.0), 1.0);
  EXPECT_DOUBLE_EQ(red_drop_chance(strict, 10'000.0), 0.05);
  EXPECT_DOUBLE_EQ(red_drop_chance(strict, 15'000.0), 1.0);
}

// Holds the queue at `length` datagrams and returns the gaps between drops.
std::vector<int> gaps_at(RedUnit unit, int length, DataSize size, int drops) {
  RedQueue queue{{.unit = unit,
                  .threshold_min = unit == RedUnit::kBytes ? 7'500 : 5,
                  .threshold_max = unit == RedUnit::kBytes ? 22'500 : 15,
                  .drop_chance_max = 0.2,
                  .weight = 1.0},  // the average is the length
                 Rng{42}};
  while (queue.size() < size * length) {
    queue.push(kTimeZero, datagram(kTimeZero, size));
  }
  std::vector<int> gaps;
  int gap = 0;
  for (uint64_t before = queue.stats().dropped; static_cast<int>(gaps.size()) < drops;) {
    ++gap;
    queue.push(kTimeZero, datagram(kTimeZero, size));
    if (queue.stats().dropped > before) {
      before = queue.stats().dropped;
      gaps.push_back(gap);
      gap = 0;
    } else {
      queue.pop(kTimeZero);
    }
  }
  gaps.erase(gaps.begin());  // counts from the filling
  return gaps;
}

TEST(RedQueue, GapsBetweenDropsAreUniform) {
  // Half way between the thresholds: p_b = 0.1, so gaps are 1..10, each as often.
  const std::vector<int> gaps = gaps_at(RedUnit::kDatagrams, 10, kFull, 20'001);
  std::vector<int> often(11, 0);
  for (const int gap : gaps) {
    ASSERT_GE(gap, 1);
    ASSERT_LE(gap, 10);
    ++often[static_cast<size_t>(gap)];
  }
  for (size_t gap = 1; gap <= 10; ++gap) {
    EXPECT_NEAR(often[gap], 2000, 200) << "gap " << gap;  // 4.7 standard deviations
  }
}

TEST(RedQueue, SmallDatagramsAreDroppedInProportion) {
  // 15 000 bytes queued in both cases: p_b = 0.1 for full ones, 0.02 for a fifth of the size.
  const auto mean = [](const std::vector<int>& gaps) {
    double sum = 0;
    for (const int gap : gaps) {
      sum += gap;
    }
    return sum / static_cast<double>(gaps.size());
  };
  EXPECT_NEAR(mean(gaps_at(RedUnit::kBytes, 10, kFull, 5'001)), 5.5, 0.2);
  EXPECT_NEAR(mean(gaps_at(RedUnit::kBytes, 50, DataSize{300}, 5'001)), 25.5, 1.0);
}

TEST(RedQueue, ForgetsAQueueAfterIdleTime) {
  RedQueue queue{{.unit = RedUnit::kDatagrams,
                  .threshold_min = 5,
                  .threshold_max = 15,
                  .weight = 0.1,
                  .datagram_time = 12ms},
                 Rng{3}};
  TimePoint now = kTimeZero;
  for (int i = 0; i < 200; ++i) {
    queue.push(now, datagram(now));
  }
  EXPECT_GT(queue.average(), 5.0);
  while (queue.pop(now)) {
  }
  const uint64_t dropped = queue.stats().dropped;
  now += 10s;
  queue.push(now, datagram(now));
  EXPECT_LT(queue.average(), 0.01);
  EXPECT_EQ(queue.stats().dropped, dropped);
}

TEST(RedQueue, SameSeedSameDrops) {
  const auto run = [](uint64_t seed) {
    RedQueue queue{{.weight = 0.02}, Rng{seed}};
    std::vector<uint64_t> drops;
    for (int i = 0; i < 2'000; ++i) {
      const TimePoint now = kTimeZero + i * 10ms;
      queue.push(now, datagram(now));
      if (i % 10 != 0) {
        queue.pop(now);
      }
      drops.push_back(queue.stats().dropped);
    }
    return drops;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

}  // namespace
}  // namespace cress::sim
