// The cost of forwarding: one fragment of one member to all others, including parsing, plan,
// window, session and datagrams; compared with merely copying the same bytes.

#include <benchmark/benchmark.h>

#include <ctime>

#include "relay/forward/room_world_test_tools.hh"

namespace cress::relay {
namespace {

Duration processor_time() {
  // Of this thread alone: whatever else the machine does is not the room's.
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds{now.tv_sec} + Duration{now.tv_nsec};
}

/// The room's host, and how long the room works.
class TimedRoom final : public Machine {
 public:
  explicit TimedRoom(RoomHost& host) : host_(host) {
    constexpr int kTries = 1000;
    const Duration before = processor_time();
    for (int i = 1; i < kTries; ++i) {
      (void)processor_time();
    }
    clock_cost_ = (processor_time() - before) / kTries;
  }
  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    timed([&] { host_.handle_datagram(now, from, bytes); });
  }
  void handle_timeout(TimePoint now) override {
    timed([&] { host_.handle_timeout(now); });
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    std::optional<Transmit> transmit;
    timed([&] { transmit = host_.poll_transmit(now); });
    return transmit;
  }
  TimePoint poll_timeout() const override { return host_.poll_timeout(); }
  Duration take_time() { return std::exchange(time_, Duration{}); }

 private:
  template <class Act>
  void timed(Act act) {
    const Duration before = processor_time();
    act();
    time_ += processor_time() - before - clock_cost_;
  }

  RoomHost& host_;
  Duration time_{};
  Duration clock_cost_{};  // what asking it adds to each call
};

// One second of every member's video and audio; only the time inside the room is counted.
void BM_ForwardFragment(benchmark::State& state) {
  SimulatedRoom world{RoomOptions{.member_rate_max = DataRate::kilobits_per_second(50'000),
                                  .member_datagrams_per_second = 10'000,
                                  .video_rate_max = DataRate::kilobits_per_second(2500),
                                  .thumbnail_rate = DataRate::kilobits_per_second(2500)}};
  const auto perfect = constant_trace(DataRate::kilobits_per_second(100'000));
  for (int64_t i = 0; i < state.range(0); ++i) {
    world.join({.down = perfect, .up = perfect}, {.speaks = i == 0});
  }
  world.host().on_sent = nullptr;  // no digest
  TimedRoom timed{world.host()};
  world.replace_host(timed);
  world.run_until(kTimeZero + 5s);
  uint64_t datagrams = 0;
  uint64_t fragments = 0;
  for (auto _ : state) {
    const RoomStats before = world.room().stats();
    timed.take_time();
    world.run_until(world.now() + 1s);
    state.SetIterationTime(to_seconds(timed.take_time()));
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
