#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "relay/daemon/relay_machine.hh"
#include "transport/base/machine.hh"

namespace cress::relay {

/// A relay that does the work that its machine hands out at once, and hands over together what came
/// within `gather`, as its driver does.
struct RelayHost final : Machine {
  explicit RelayHost(RelayMachineOptions options) : relay(kTimeZero, std::move(options)) {}

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    waiting.push_back({now, from, {bytes.begin(), bytes.end()}, ecn});
    hand_over(now);
  }
  void handle_ecn(Ecn next) override { ecn = next; }
  void handle_timeout(TimePoint now) override {
    hand_over(now);
    if (waiting.empty() && relay.poll_timeout() <= now) {
      relay.handle_timeout(now);
    }
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    return waiting.empty() ? relay.poll_transmit(now) : std::nullopt;
  }
  TimePoint poll_timeout() const override {
    return waiting.empty() ? relay.poll_timeout() : waiting.front().at + gather;
  }
  bool drained(TimePoint now) override {
    bool any = false;
    for (auto work = relay.poll_work(); work; work = relay.poll_work()) {
      work->run();
      relay.handle_work(now, *std::move(work));
      any = true;
    }
    return any;
  }
  void hand_over(TimePoint now) {
    if (!waiting.empty() && waiting.front().at + gather <= now) {
      for (const Received& received : std::exchange(waiting, {})) {
        relay.handle_ecn(received.ecn);
        relay.handle_datagram(std::max(received.at, changed), received.from, received.bytes);
      }
    }
  }

  struct Received {
    TimePoint at{};
    Address from;
    std::vector<std::byte> bytes;
    Ecn ecn = Ecn::kNotEct;
  };
  RelayMachine relay;
  Duration gather{};
  Ecn ecn = Ecn::kNotEct;         // of the datagram that comes next
  TimePoint changed = kTimeZero;  // by the test
  std::vector<Received> waiting;
};

}  // namespace cress::relay
