// The processor time of a relay full of rooms for each datagram that it sends, without system
// calls: decrypting, sorting, planning, encrypting, all legs' reports and forecasts.

#include <benchmark/benchmark.h>

#include <array>
#include <ctime>

#include "relay/daemon/caller_test_tools.hh"
#include "relay/daemon/relay_machine.hh"

namespace cress::relay {
namespace {

constexpr int kMembers = 5;
// The driver's gathering interval while it is busy, and the network's delay as a multiple of it.
constexpr Duration kStep = 850us;
constexpr size_t kDelaySteps = 6;

Duration processor_time() {
  // Of this thread alone: other work of the machine does not count.
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds{now.tv_sec} + Duration{now.tv_nsec};
}

/// Rooms in which each member sends and requests all others, stepped as the driver steps a busy
/// relay: datagrams that arrived meanwhile are one change.
class FullRelay {
 public:
  explicit FullRelay(int rooms) {
    for (int room = 0; room < rooms; ++room) {
      const auto access = access_of(static_cast<uint8_t>(room));
      check(relay_.open({.name = "room" + std::to_string(room), .access = access}),
            "FullRelay: a room was not opened");
      for (int member = 0; member < kMembers; ++member) {
        // Four of one network: its budget of handshakes holds nobody up.
        callers_.push_back(
            std::make_unique<Caller>(kTimeZero, static_cast<uint32_t>(64 * (callers_.size() + 1)),
                                     access, member == 0, callers_.size() + 1));
      }
    }
  }

  void run_for(Duration duration) {
    for (const TimePoint end = now_ + duration; now_ < end;) {
      step();
    }
  }
  Duration take_time() { return std::exchange(time_, {}); }
  RoomStats stats() const { return relay_.room_stats(); }
  size_t members() const { return relay_.members(); }

 private:
  void step() {
    now_ += kStep;
    place_ = (place_ + 1) % kDelaySteps;
    for (const auto& caller : callers_) {
      if (caller->poll_timeout() <= now_) {
        caller->handle_timeout(now_);
      }
    }
    for (const Transmit& transmit : to_members_.at(place_)) {
      Caller& caller = *callers_[(size_t{transmit.to.ip[14]} * 256 + transmit.to.ip[15]) / 64 - 1];
      caller.handle_datagram(now_, address_of(0), transmit.bytes);
    }
    const Duration before = processor_time();
    for (Transmit& transmit : to_members_.at(place_)) {
      relay_.take_back(std::move(transmit.bytes));
    }
    to_members_.at(place_).clear();
    step_relay();
    time_ += processor_time() - before;
    to_relay_.at(place_).clear();
    for (const auto& caller : callers_) {
      while (auto transmit = caller->poll_transmit(now_)) {
        to_relay_.at(place_).emplace_back(caller->address, std::move(transmit->bytes));
      }
    }
  }

  [[gnu::noinline]] void step_relay() {
    for (const auto& [from, bytes] : to_relay_.at(place_)) {
      relay_.handle_datagram(now_, from, bytes);
    }
    while (relay_.poll_timeout() <= now_) {
      relay_.handle_timeout(now_);
      collect();
    }
    collect();
  }
  void collect() {
    while (auto transmit = relay_.poll_transmit(now_)) {
      to_members_.at(place_).push_back(*std::move(transmit));
    }
  }

  TimePoint now_ = kTimeZero;
  RelayMachine relay_{kTimeZero, {}};
  std::vector<std::unique_ptr<Caller>> callers_;
  size_t place_ = 0;
  std::array<std::vector<std::pair<Address, std::vector<std::byte>>>, kDelaySteps> to_relay_;
  std::array<std::vector<Transmit>, kDelaySteps> to_members_;
  Duration time_{};
};

// One second of every member's video and audio; only the time inside the relay is counted.
void BM_FullRelay(benchmark::State& state) {
  const auto rooms = static_cast<int>(state.range(0));
  FullRelay relay{rooms};
  relay.run_for(6s);
  check(relay.members() == static_cast<size_t>(rooms * kMembers),
        "BM_FullRelay: somebody is not in");
  uint64_t datagrams = 0;
  for (auto _ : state) {
    const RoomStats before = relay.stats();
    relay.take_time();
    relay.run_for(1s);
    state.SetIterationTime(to_seconds(relay.take_time()));
    datagrams += relay.stats().datagrams_out - before.datagrams_out;
  }
  state.SetItemsProcessed(static_cast<int64_t>(datagrams));
  state.counters["datagrams/s"] =
      benchmark::Counter(static_cast<double>(datagrams) / static_cast<double>(state.iterations()));
}
BENCHMARK(BM_FullRelay)->ArgName("rooms")->Arg(1)->Arg(24)->UseManualTime();

}  // namespace
}  // namespace cress::relay
