#include "eval/schemes/cress/omniscient.hh"

#include <gtest/gtest.h>

#include "transport/base/rng.hh"
#include "transport/sim/world.hh"

namespace cress::schemes {
namespace {

TEST(Omniscient, UsesEveryOpportunityAndNoPacketWaits) {
  // Drawn traces, with opportunities at one instant and at the start; several periods of them.
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng{seed};
    auto trace = std::make_shared<sim::DeliveryTrace>();
    Duration at = seed % 2 == 0 ? 0ms : 3ms;
    for (int i = 0; i < 500; ++i) {
      trace->opportunities.push_back({at});
      at += rng.chance(0.3) ? 0ms : static_cast<int64_t>(1 + rng.below(20)) * Duration{1ms};
    }
    trace->opportunities.push_back({at + 1ms});
    sim::Link forward{{.trace = trace, .queue = nullptr}};
    sim::Link reverse{{.trace = trace, .queue = nullptr}};
    OmniscientSender sender{trace};
    CountingReceiver receiver;
    sim::World world{{sender, receiver, forward, reverse}};
    const TimePoint end = kTimeZero + 3 * trace->period();
    world.run_until(end);
    for (const sim::PacketRecord& record : forward.records()) {
      ASSERT_EQ(record.left, record.sent) << "seed " << seed;
      ASSERT_EQ(record.arrived - record.sent, 20ms) << "seed " << seed;
    }
    world.run_until(end + 20ms);
    const DataSize possible = trace->capacity(kTimeZero, end + Duration{1});
    const DataSize there =
        receiver.delivered() + static_cast<int64_t>(forward.records().size()) * sim::kUdpIpOverhead;
    DataSize by_end;
    for (const sim::PacketRecord& record : forward.records()) {
      by_end += record.left <= end ? record.size : DataSize{};
    }
    EXPECT_EQ(by_end, possible) << "seed " << seed;
    EXPECT_GE(there, possible) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cress::schemes
