#include "transport/sim/queue_fq_codel.hh"

#include <gtest/gtest.h>

#include <map>

#include "transport/base/rng.hh"

namespace cress::sim {
namespace {

constexpr DataSize kFlowPacket{1500};

QueuedDatagram flow_packet(uint16_t flow, TimePoint sent, DataSize size = kFlowPacket,
                           Ecn ecn = Ecn::kNotEct) {
  return {.datagram = {.bytes = {},
                       .wire_size = size,
                       .from = {.port = flow},
                       .to = {.port = static_cast<uint16_t>(flow + 1000)},
                       .ecn = ecn},
          .sent = sent};
}

TEST(FqCodelQueue, WhatCameInWentOutWasDroppedOrIsStillThere) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng{seed};
    FqCodelQueue queue{{.flows = 8, .limit = DataSize{100'000}}};
    TimePoint now = kTimeZero;
    DataSize in;
    DataSize out;
    for (int step = 0; step < 5'000; ++step) {
      now += from_seconds(rng.exponential(0.002));
      if (rng.chance(0.55)) {
        const DataSize size{static_cast<int64_t>(40 + rng.below(1461))};
        in += size;
        queue.push(now, flow_packet(static_cast<uint16_t>(rng.below(12)), now, size));
      } else if (const auto popped = queue.pop(now)) {
        out += popped->datagram.wire_size;
      }
      ASSERT_EQ(in, out + queue.size() + queue.stats().dropped_size) << "seed " << seed;
      ASSERT_LE(queue.size(), DataSize{100'000});
    }
    EXPECT_GT(queue.stats().dropped, 0U) << "seed " << seed;
    TimePoint end = now;
    while (queue.pop(end += 1ms)) {
    }
    EXPECT_TRUE(queue.empty());
  }
}

TEST(FqCodelQueue, BackloggedFlowsGetEqualBytes) {
  FqCodelQueue queue{{.codel = {.target = 10s}}};
  for (int i = 0; i < 200; ++i) {
    queue.push(kTimeZero, flow_packet(1, kTimeZero, kFlowPacket));
    queue.push(kTimeZero, flow_packet(2, kTimeZero, DataSize{500}));
    queue.push(kTimeZero, flow_packet(2, kTimeZero, DataSize{500}));
    queue.push(kTimeZero, flow_packet(2, kTimeZero, DataSize{500}));
    queue.push(kTimeZero, flow_packet(3, kTimeZero, DataSize{1000}));
  }
  std::map<uint16_t, int64_t> bytes;
  for (int i = 0; i < 300; ++i) {
    const auto popped = queue.pop(kTimeZero + 1ms);
    bytes[popped->datagram.from.port] += popped->datagram.wire_size.bytes();
  }
  EXPECT_NEAR(static_cast<double>(bytes[1]), static_cast<double>(bytes[2]), 3000);
  EXPECT_NEAR(static_cast<double>(bytes[1]), static_cast<double>(bytes[3]), 3000);
}

TEST(FqCodelQueue, SparseFlowPassesABacklog) {
  FqCodelQueue queue;
  for (int i = 0; i < 100; ++i) {
    queue.push(kTimeZero, flow_packet(1, kTimeZero));
  }
  TimePoint now = kTimeZero;
  for (int i = 0; i < 40; ++i) {
    queue.pop(now += 1ms);
    if (i % 10 == 5) {  // flow 1 is an old one by then
      queue.push(now, flow_packet(2, now, DataSize{200}));
      const auto next = queue.pop(now);
      ASSERT_TRUE(next);
      EXPECT_EQ(next->datagram.from.port, 2) << i;
    }
  }
}

TEST(FqCodelQueue, EmptiedNewFlowWaitsARoundAmongTheOld) {
  FqCodelQueue queue;
  for (int i = 0; i < 10; ++i) {
    queue.push(kTimeZero, flow_packet(1, kTimeZero));
  }
  queue.pop(kTimeZero);
  queue.pop(kTimeZero);  // flow 1 is an old one now
  queue.push(kTimeZero, flow_packet(2, kTimeZero, DataSize{100}));
  EXPECT_EQ(queue.pop(kTimeZero)->datagram.from.port, 2);
  EXPECT_EQ(queue.pop(kTimeZero)->datagram.from.port, 1) << "flow 2 ran empty";
  queue.push(kTimeZero, flow_packet(2, kTimeZero, DataSize{100}));
  EXPECT_EQ(queue.pop(kTimeZero)->datagram.from.port, 2) << "its turn among the old ones";
}

TEST(FqCodelQueue, OverflowTakesFromTheLongestFlow) {
  FqCodelQueue queue{{.limit = DataSize{30'000}}};
  queue.push(kTimeZero, flow_packet(2, kTimeZero));
  for (int i = 0; i < 30; ++i) {
    queue.push(kTimeZero, flow_packet(1, kTimeZero));
  }
  EXPECT_EQ(queue.stats().dropped, 11U);
  int of_two = 0;
  while (const auto popped = queue.pop(kTimeZero)) {
    of_two += popped->datagram.from.port == 2 ? 1 : 0;
  }
  EXPECT_EQ(of_two, 1);
}

TEST(FqCodelQueue, StandingQueueMarksWhatIsEcnCapable) {
  for (const Ecn ecn : {Ecn::kNotEct, Ecn::kEct0, Ecn::kEct1}) {
    FqCodelQueue queue;
    TimePoint now = kTimeZero;
    uint64_t marked = 0;
    for (int step = 0; step < 2'000; ++step) {
      now += 1ms;
      queue.push(now, flow_packet(1, now, kFlowPacket, ecn));
      if (step > 50) {
        const auto popped = queue.pop(now);
        marked += popped && popped->datagram.ecn == Ecn::kCe ? 1 : 0;
      }
    }
    if (ecn == Ecn::kNotEct) {
      EXPECT_GT(queue.stats().dropped, 5U);
      EXPECT_EQ(marked, 0U);
    } else {
      EXPECT_EQ(queue.stats().dropped, 0U);
      EXPECT_GT(marked, 5U);
    }
    EXPECT_EQ(queue.stats().marked, marked);
  }
}

}  // namespace
}  // namespace cress::sim
