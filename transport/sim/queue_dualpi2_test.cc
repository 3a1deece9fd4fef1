#include "transport/sim/queue_dualpi2.hh"

#include <gtest/gtest.h>

#include <cmath>

#include "transport/base/rng.hh"

namespace cress::sim {
namespace {

constexpr DataSize kDualPacket{1500};

QueuedDatagram dual_packet(TimePoint sent, Ecn ecn, DataSize size = kDualPacket) {
  return {.datagram = {.bytes = {}, .wire_size = size, .ecn = ecn}, .sent = sent};
}

TEST(DualPi2Queue, WhatCameInWentOutWasDroppedOrIsStillThere) {
  constexpr Ecn kAll[] = {Ecn::kNotEct, Ecn::kEct0, Ecn::kEct1, Ecn::kCe};
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng{seed};
    DualPi2Queue queue{{.limit = DataSize{400'000}}};
    TimePoint now = kTimeZero;
    DataSize in;
    DataSize out;
    for (int step = 0; step < 20'000; ++step) {
      now += from_seconds(rng.exponential(0.001));
      if (rng.chance(0.6)) {
        const DataSize size{static_cast<int64_t>(40 + rng.below(1461))};
        in += size;
        queue.push(now, dual_packet(now, kAll[rng.below(4)], size));
      } else if (const auto popped = queue.pop(now)) {
        out += popped->datagram.wire_size;
      }
      ASSERT_EQ(in, out + queue.size() + queue.stats().dropped_size) << "seed " << seed;
    }
    EXPECT_GT(queue.stats().dropped, 0U) << "seed " << seed;
  }
}

TEST(DualPi2Queue, LowLatencyDatagramPassesAClassicBacklog) {
  DualPi2Queue queue;
  for (int i = 0; i < 20; ++i) {
    queue.push(kTimeZero, dual_packet(kTimeZero, Ecn::kNotEct));
  }
  queue.push(kTimeZero, dual_packet(kTimeZero, Ecn::kEct1));
  queue.push(kTimeZero, dual_packet(kTimeZero, Ecn::kCe));
  EXPECT_EQ(queue.pop(kTimeZero)->datagram.ecn, Ecn::kEct1);
}

TEST(DualPi2Queue, ClassicKeepsATenthWhileLowLatencyFillsTheLink) {
  DualPi2Queue queue;
  for (int i = 0; i < 1000; ++i) {
    queue.push(kTimeZero, dual_packet(kTimeZero, Ecn::kEct1));
    queue.push(kTimeZero, dual_packet(kTimeZero, Ecn::kNotEct));
  }
  int classic = 0;
  for (int i = 0; i < 500; ++i) {
    classic += queue.pop(kTimeZero)->datagram.ecn == Ecn::kNotEct ? 1 : 0;
  }
  EXPECT_NEAR(classic, 50, 2);
}

TEST(DualPi2Queue, LowLatencyIsMarkedAsSoonAsItsOwnQueueIsLong) {
  DualPi2Queue queue;
  for (int i = 0; i < 4; ++i) {
    queue.push(kTimeZero, dual_packet(kTimeZero, Ecn::kEct1));
  }
  EXPECT_EQ(queue.pop(kTimeZero + 1ms)->datagram.ecn, Ecn::kEct1) << "waited no longer than 1 ms";
  EXPECT_EQ(queue.pop(kTimeZero + 2ms)->datagram.ecn, Ecn::kCe);
  EXPECT_EQ(queue.pop(kTimeZero + 3ms)->datagram.ecn, Ecn::kEct1) << "one packet left is no queue";
  EXPECT_EQ(queue.stats().marked, 1U);
  EXPECT_EQ(queue.base_probability(), 0);
}

/// A classic load of `classic` datagrams a millisecond next to a low-latency one that fits.
struct Shares {
  double low_marked = 0;
  double classic_lost = 0;  // or marked
  Duration classic_wait{};
};
Shares shares(DualPi2Queue& queue, double classic, Ecn classic_ecn, int steps) {
  int64_t low = 0;
  int64_t low_marked = 0;
  int64_t classic_in = 0;
  int64_t classic_out = 0;
  int64_t waits = 0;
  Duration wait{};
  double owed = 0;
  for (int step = 1; step <= steps; ++step) {
    const TimePoint now = kTimeZero + step * 1ms;
    const bool scored = step > steps / 2;
    for (owed += classic; owed >= 1; owed -= 1) {
      queue.push(now, dual_packet(now, classic_ecn));
      classic_in += scored ? 1 : 0;
    }
    if (step % 5 == 0) {
      queue.push(now, dual_packet(now, Ecn::kEct1, DataSize{300}));
    }
    const auto popped = queue.pop(now);
    if (popped && scored) {
      const bool is_low = popped->datagram.wire_size < kDualPacket;
      const bool marked = popped->datagram.ecn == Ecn::kCe;
      low += is_low ? 1 : 0;
      low_marked += is_low && marked ? 1 : 0;
      classic_out += !is_low && !marked ? 1 : 0;
      waits += is_low ? 0 : 1;
      wait += is_low ? Duration{} : now - popped->sent;
    }
  }
  return {static_cast<double>(low_marked) / static_cast<double>(low),
          1 - static_cast<double>(classic_out) / static_cast<double>(classic_in), wait / waits};
}

TEST(DualPi2Queue, LowLatencyMarksAreCoupledToClassicDrops) {
  DualPi2Queue queue;
  const Shares result = shares(queue, 0.83, Ecn::kNotEct, 120'000);
  // 0.83 and 0.2 a step want one slot: 3.6 % of the classic ones have to go.
  EXPECT_NEAR(result.classic_lost, 0.036, 0.01);
  EXPECT_NEAR(result.low_marked, 2 * std::sqrt(result.classic_lost), 0.05) << "k times the root";
  EXPECT_GT(result.classic_wait, 10ms);
  EXPECT_LT(result.classic_wait, 20ms);
  EXPECT_NEAR(queue.base_probability(), std::sqrt(result.classic_lost), 0.05);
}

TEST(DualPi2Queue, ClassicEcnIsMarkedInsteadOfDropped) {
  DualPi2Queue queue;
  for (int step = 1; step <= 20'000; ++step) {
    const TimePoint now = kTimeZero + step * 1ms;
    // Stops while the queue is long, as a sender would that heeds its marks.
    if (queue.size() < DataSize{30'000}) {
      queue.push(now, dual_packet(now, Ecn::kEct0));
      queue.push(now, dual_packet(now, Ecn::kEct0));
    }
    queue.pop(now);
    if (queue.base_probability() > 0.4) {
      break;
    }
  }
  EXPECT_GT(queue.stats().marked, 0U);
  EXPECT_EQ(queue.stats().dropped, 0U);
}

TEST(DualPi2Queue, OverloadDropsLowLatencyToo) {
  DualPi2Queue queue;
  for (int step = 1; step <= 20'000; ++step) {
    const TimePoint now = kTimeZero + step * 1ms;
    queue.push(now, dual_packet(now, Ecn::kEct1));
    queue.push(now, dual_packet(now, Ecn::kEct1));
    queue.pop(now);
  }
  EXPECT_GE(queue.base_probability(), 0.5);
  EXPECT_GT(queue.stats().dropped, 1'000U);
}

}  // namespace
}  // namespace cress::sim
