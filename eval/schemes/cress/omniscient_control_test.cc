#include "eval/schemes/cress/omniscient_control.hh"

#include <gtest/gtest.h>

#include "transport/base/rng.hh"
#include "transport/sim/link.hh"

namespace cress::schemes {
namespace {

std::shared_ptr<const sim::DeliveryTrace> drawn_trace(uint64_t seed) {
  Rng rng{seed};
  auto trace = std::make_shared<sim::DeliveryTrace>();
  Duration time{};
  for (int i = 0; i < 400; ++i) {
    time += std::chrono::milliseconds{rng.below(rng.chance(0.02) ? 500 : 12)};
    trace->opportunities.push_back({time});
  }
  trace->opportunities.push_back({time + 3ms});
  return trace;
}

void run_until(sim::Link& link, TimePoint end) {
  while (link.poll_timeout() <= end) {
    const TimePoint now = link.poll_timeout();
    link.handle_timeout(now);
    while (link.poll_delivered(now)) {
    }
  }
}

TEST(OmniscientControl, PermitsExactlyWhatLeavesWithinTheTarget) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const auto trace = drawn_trace(seed);
    OmniscientControl control{trace, {.datagram_overhead = DataSize{60}}};
    sim::Link link{{.trace = trace, .queue = nullptr}};
    Rng rng{seed};
    TimePoint now = kTimeZero;
    int sent = 0;
    for (int i = 0; i < 300; ++i) {
      now += std::chrono::milliseconds{rng.below(40)};
      run_until(link, now);
      const DataSize window = control.window(now);
      if (window <= DataSize{100}) {
        continue;
      }
      // All of it in one datagram of any size: the queue counts bytes.
      link.push(now, {{}, window});
      control.on_sent(now, 0, window - DataSize{60});
      EXPECT_EQ(control.window(now), DataSize{}) << "seed " << seed;
      ++sent;
    }
    ASSERT_GT(sent, 50);
    run_until(link, now + 5s);
    for (const sim::PacketRecord& record : link.records()) {
      EXPECT_LE(record.left - record.sent, 60ms) << "seed " << seed;
    }
  }
}

TEST(OmniscientControl, TheNextChangeIsWhenTheNextOpportunityComesIntoSight) {
  const auto trace = drawn_trace(3);
  const OmniscientControl control{trace, {}};
  TimePoint now = kTimeZero;
  for (int i = 0; i < 1000; ++i) {
    const TimePoint change = control.next_change(now);
    ASSERT_GT(change, now);
    EXPECT_GT(trace->capacity(change + 60ms, change + 60ms + 1ns), DataSize{});
    EXPECT_EQ(trace->capacity(now + 60ms + 1ns, change + 60ms), DataSize{});
    now = change;
  }
}

}  // namespace
}  // namespace cress::schemes
