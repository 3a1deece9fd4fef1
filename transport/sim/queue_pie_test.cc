#include "transport/sim/queue_pie.hh"

#include <gtest/gtest.h>

namespace cress::sim {
namespace {

constexpr DataSize kPiePacket{1500};

QueuedDatagram pie_packet(TimePoint sent, DataSize size = kPiePacket, Ecn ecn = Ecn::kNotEct) {
  return {.datagram = {.bytes = {}, .wire_size = size, .ecn = ecn}, .sent = sent};
}

/// `in` datagrams arrive while one leaves every millisecond; returns the mean wait of the second
/// half.
Duration mean_wait(PieQueue& queue, double in, int steps, Ecn ecn = Ecn::kNotEct) {
  Duration sum{};
  int64_t count = 0;
  double owed = 0;
  for (int step = 1; step <= steps; ++step) {
    const TimePoint now = kTimeZero + step * 1ms;
    for (owed += in; owed >= 1; owed -= 1) {
      queue.push(now, pie_packet(now, kPiePacket, ecn));
    }
    const auto popped = queue.pop(now);
    if (popped && step > steps / 2) {
      sum += now - popped->sent;
      ++count;
    }
  }
  return sum / count;
}

TEST(PieQueue, WhatCameInWentOutWasDroppedOrIsStillThere) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng{seed};
    PieQueue queue{rng.fork(1), {.limit = DataSize{400'000}}};
    TimePoint now = kTimeZero;
    DataSize in;
    DataSize out;
    for (int step = 0; step < 20'000; ++step) {
      now += from_seconds(rng.exponential(0.001));
      if (rng.chance(0.6)) {
        const DataSize size{static_cast<int64_t>(40 + rng.below(1461))};
        in += size;
        queue.push(now, pie_packet(now, size));
      } else if (const auto popped = queue.pop(now)) {
        out += popped->datagram.wire_size;
      }
      ASSERT_EQ(in, out + queue.size() + queue.stats().dropped_size) << "seed " << seed;
    }
    EXPECT_GT(queue.stats().dropped, 0U) << "seed " << seed;
  }
}

TEST(PieQueue, HoldsTheDelayNearItsTarget) {
  for (const double load : {1.05, 1.2, 1.5}) {
    PieQueue queue{Rng{1}};
    const Duration wait = mean_wait(queue, load, 60'000);
    EXPECT_GT(wait, 8ms) << load;
    EXPECT_LT(wait, 25ms) << load;
    EXPECT_NEAR(queue.drop_probability(), 1 - 1 / load, 0.05) << load;
  }
}

TEST(PieQueue, ShortBurstPasses) {
  PieQueue queue{Rng{1}};
  TimePoint now = kTimeZero + 1s;
  for (int i = 0; i < 100; ++i) {
    queue.push(now, pie_packet(now));
  }
  for (int i = 0; i < 100; ++i) {
    queue.pop(now += 1ms);
  }
  EXPECT_EQ(queue.stats().dropped, 0U);
}

TEST(PieQueue, DropsNothingInTheFirst150MsOfALoad) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    PieQueue queue{Rng{seed}};
    TimePoint now = kTimeZero + 1s;
    for (const TimePoint end = now + 140ms; now < end; now += 1ms) {
      for (int i = 0; i < 5; ++i) {
        queue.push(now, pie_packet(now));
      }
      queue.pop(now);
    }
    EXPECT_GT(queue.drop_probability(), 0.0);
    EXPECT_EQ(queue.stats().dropped, 0U) << "seed " << seed;
  }
}

TEST(PieQueue, NeverDropsWhatWouldWaitForOneOther) {
  PieQueue queue{Rng{1}};
  mean_wait(queue, 1.5, 10'000);
  const TimePoint now = kTimeZero + 10s;
  while (queue.pop(now)) {
  }
  EXPECT_GT(queue.drop_probability(), 0.2);
  const uint64_t before = queue.stats().dropped;
  for (int i = 0; i < 100; ++i) {
    queue.push(now, pie_packet(now));
    EXPECT_TRUE(queue.pop(now));
  }
  EXPECT_EQ(queue.stats().dropped, before);
}

TEST(PieQueue, WhatItDoesInAnIdleHourIsOneStep) {
  PieQueue queue{Rng{1}};
  TimePoint now = kTimeZero;
  // Were the time of the next update to go back instead, it would go back twice as far each time.
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(queue.pop(now += 180s));
  }
  for (int i = 0; i < 100; ++i) {
    queue.push(now, pie_packet(now));
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(queue.pop(now += 1ms));
  }
}

TEST(PieQueue, UnderloadedQueueDropsNothing) {
  PieQueue queue{Rng{1}};
  mean_wait(queue, 0.95, 60'000);
  EXPECT_EQ(queue.stats().dropped, 0U);
  EXPECT_EQ(queue.drop_probability(), 0);
}

TEST(PieQueue, ProbabilityFallsWhenTheLoadHasGone) {
  PieQueue queue{Rng{1}};
  mean_wait(queue, 1.5, 20'000);
  const double before = queue.drop_probability();
  TimePoint now = kTimeZero + 20s;
  while (queue.pop(now += 1ms)) {
  }
  queue.pop(now + 10s);
  EXPECT_GT(before, 0.2);
  EXPECT_LT(queue.drop_probability(), before / 10);
}

TEST(PieQueue, MarksEcnCapableUpToATenthAndDropsAbove) {
  PieQueue light{Rng{1}};
  mean_wait(light, 1.0, 100, Ecn::kEct0);
  PieQueue marking{Rng{1}};
  double owed = 0;
  for (int step = 1; marking.stats().dropped == 0 && step < 60'000; ++step) {
    const TimePoint now = kTimeZero + step * 1ms;
    for (owed += 1.2; owed >= 1; owed -= 1) {
      marking.push(now, pie_packet(now, kPiePacket, Ecn::kEct0));
    }
    marking.pop(now);
  }
  EXPECT_GT(marking.stats().marked, 0U);
  EXPECT_GT(marking.drop_probability(), 0.1) << "the first drop";
  EXPECT_EQ(light.stats().marked, 0U);
}

}  // namespace
}  // namespace cress::sim
