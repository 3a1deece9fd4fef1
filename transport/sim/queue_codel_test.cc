#include "transport/sim/queue_codel.hh"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::sim {
namespace {

constexpr DataSize kFull{1500};

QueuedDatagram datagram(TimePoint sent, DataSize size = kFull) {
  return {.datagram = {.bytes = {}, .wire_size = size}, .sent = sent};
}

TEST(CodelQueue, EveryDatagramIsDeliveredDroppedOrQueued) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng{seed};
    CodelQueue queue{{.limit = DataSize{400'000}}};
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
  }
}

TEST(CodelQueue, LeavesInOrder) {
  Rng rng{7};
  CodelQueue queue;
  TimePoint last = kTimeZero - 1ns;
  TimePoint now = kTimeZero;
  for (int step = 0; step < 20'000; ++step) {
    now += 1ms;
    queue.push(now, datagram(now));
    if (rng.chance(0.8)) {
      const auto popped = queue.pop(now);
      ASSERT_TRUE(popped);
      EXPECT_GT(popped->sent, last);
      last = popped->sent;
    }
  }
  EXPECT_GT(queue.stats().dropped, 0U);
}

TEST(CodelQueue, DropsNothingWhileTheWaitIsBelowTheTarget) {
  CodelQueue queue;
  for (int i = 0; i < 10'000; ++i) {
    const TimePoint now = kTimeZero + i * 1ms;
    queue.push(now, datagram(now));
    if (i >= 4) {  // each waits 4 ms
      ASSERT_TRUE(queue.pop(now));
    }
  }
  EXPECT_EQ(queue.stats().dropped, 0U);
}

TEST(CodelQueue, ForgivesABurstThatIsGoneWithinAnInterval) {
  CodelQueue queue;
  for (int burst = 0; burst < 20; ++burst) {
    const TimePoint start = kTimeZero + burst * 1s;
    for (int i = 0; i < 90; ++i) {
      queue.push(start, datagram(start));
    }
    for (int i = 0; i < 90; ++i) {  // waits up to 90 ms, each at most once above for an interval
      ASSERT_TRUE(queue.pop(start + i * 1ms));
    }
  }
  EXPECT_EQ(queue.stats().dropped, 0U);
}

TEST(CodelQueue, NeverDropsTheLastPacket) {
  // One datagram at a time over a very slow link: the wait is the link's own (the MTU rule).
  CodelQueue queue;
  for (int i = 0; i < 100; ++i) {
    const TimePoint now = kTimeZero + i * 1s;
    queue.push(now, datagram(now));
    ASSERT_TRUE(queue.pop(now + 900ms));
  }
  EXPECT_EQ(queue.stats().dropped, 0U);
}

TEST(CodelQueue, SpacesDropsByTheIntervalOverTheRootOfTheirCount) {
  // A standing queue that no drop can cure: polled every 0.1 ms, refilled at once.
  const Duration step = 100us;
  CodelQueue queue;
  std::vector<TimePoint> drops;
  TimePoint now = kTimeZero;
  for (int i = 0; i < 500; ++i) {
    queue.push(now, datagram(now));
  }
  uint64_t seen = 0;
  for (int i = 0; i < 30'000; ++i) {
    now += step;
    queue.push(now, datagram(now));
    ASSERT_TRUE(queue.pop(now));
    for (; seen < queue.stats().dropped; ++seen) {
      drops.push_back(now);
      queue.push(now, datagram(now));
    }
  }
  ASSERT_GT(drops.size(), 200U);
  // Entered one interval after the wait first exceeded 5 ms.
  EXPECT_NEAR(to_milliseconds(drops[0]), 105.0, 0.5);
  EXPECT_TRUE(queue.dropping());
  double due = to_milliseconds(drops[0]);
  for (size_t n = 1; n < drops.size(); ++n) {
    due += 100.0 / std::sqrt(static_cast<double>(n));
    EXPECT_NEAR(to_milliseconds(drops[n]), due, 0.21) << "drop " << n;
  }
}

TEST(CodelQueue, ReturnsNearItsOldRateAfterAShortPause) {
  CodelQueue queue;
  TimePoint now = kTimeZero;
  const auto overload = [&](Duration length) {
    const uint64_t before = queue.stats().dropped;
    for (const TimePoint end = now + length; now < end; now += 1ms) {
      while (queue.size() < kFull * 60) {
        queue.push(now, datagram(now - 50ms));
      }
      queue.pop(now);
    }
    return queue.stats().dropped - before;
  };
  const auto drain = [&] {
    while (queue.pop(now)) {
    }
  };
  const uint64_t first = overload(2s);
  drain();
  now += 100ms;
  const uint64_t soon = overload(300ms);
  drain();
  now += 60s;
  const uint64_t late = overload(300ms);
  EXPECT_GT(first, 50U);
  EXPECT_GT(soon, 3 * late);
  EXPECT_GE(late, 2U);
}

}  // namespace
}  // namespace cress::sim
