// The cost of forwarding: one fragment of one member to all others, including parsing, plan,
// window, session and datagrams; compared with merely copying the same bytes.

#include <benchmark/benchmark.h>

#include <ctime>

#include "relay/forward/room_test_tools.hh"

namespace cress::relay {
namespace {

/// A room whose members are endpoints on perfect links: their answers are prepared outside the
/// timed part.
class BenchRoom {
 public:
  explicit BenchRoom(int members) {
    const LegLinks links{.down = constant_trace(DataRate::kilobits_per_second(100'000)),
                         .up = constant_trace(DataRate::kilobits_per_second(100'000))};
    for (int i = 0; i < members; ++i) {
      world_.join(links, {.speaks = i == 0});
    }
    world_.set_clock([] {
      // Of this thread alone: other work of the machine does not count.
      timespec now{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
      return std::chrono::seconds{now.tv_sec} + Duration{now.tv_nsec};
    });
  }
  RoomWorld& world() { return world_; }

 private:
  RoomWorld world_{RoomOptions{.member_rate_max = DataRate::kilobits_per_second(50'000),
                               .member_datagrams_per_second = 10'000,
                               .video_rate_max = DataRate::kilobits_per_second(2500),
                               .thumbnail_rate = DataRate::kilobits_per_second(2500)}};
};

// One second of every member's video and audio; only the time inside the room is counted.
void BM_ForwardFragment(benchmark::State& state) {
  BenchRoom bench{static_cast<int>(state.range(0))};
  RoomWorld& world = bench.world();
  world.run_until(kTimeZero + 5s);
  uint64_t datagrams = 0;
  uint64_t fragments = 0;
  for (auto _ : state) {
    const RoomStats before = world.room().stats();
    world.take_room_time();
    world.run_until(world.now() + 1s);
    state.SetIterationTime(to_seconds(world.take_room_time()));
    datagrams += world.room().stats().datagrams_out - before.datagrams_out;
    fragments += world.room().stats().fragments_out - before.fragments_out;
  }
  state.SetItemsProcessed(static_cast<int64_t>(datagrams));
  state.counters["datagrams/s"] =
      benchmark::Counter(static_cast<double>(datagrams) / static_cast<double>(state.iterations()));
  state.counters["fragments/s"] =
      benchmark::Counter(static_cast<double>(fragments) / static_cast<double>(state.iterations()));
}
BENCHMARK(BM_ForwardFragment)->ArgName("members")->Arg(2)->Arg(4)->Arg(10)->UseManualTime();

// The minimum: copying a fragment's bytes into a new datagram for each leg.
void BM_CopyFragment(benchmark::State& state) {
  const std::vector<std::byte> fragment(1128);
  for (auto _ : state) {
    for (int64_t leg = 1; leg < state.range(0); ++leg) {
      std::vector<std::byte> datagram(fragment);
      benchmark::DoNotOptimize(datagram.data());
    }
  }
  state.SetItemsProcessed(state.iterations() * (state.range(0) - 1));
}
BENCHMARK(BM_CopyFragment)->ArgName("members")->Arg(10);

}  // namespace
}  // namespace cress::relay
