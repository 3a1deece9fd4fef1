#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "relay/calls/call_relay.hh"
#include "transport/base/machine.hh"
#include "transport/secure/secure_world_test_tools.hh"
#include "transport/sim/nat.hh"
#include "transport/sim/world.hh"

namespace cress::relay {

/// What stands between an end and the Internet. The four of RFC 3489 §5, by RFC 4787's terms.
enum class Door { kOpen, kFullCone, kRestricted, kPortRestricted, kSymmetric };

inline std::optional<sim::NatOptions> nat_options(Door door, const Address& outside) {
  using Scope = sim::NatOptions::Scope;
  switch (door) {
    case Door::kOpen:
      return std::nullopt;
    case Door::kFullCone:
      return sim::NatOptions{outside, Scope::kEndpoint, Scope::kEndpoint};
    case Door::kRestricted:
      return sim::NatOptions{outside, Scope::kEndpoint, Scope::kAddress};
    case Door::kPortRestricted:
      return sim::NatOptions{outside, Scope::kEndpoint, Scope::kAddressAndPort};
    case Door::kSymmetric:
      return sim::NatOptions{outside, Scope::kAddressAndPort, Scope::kAddressAndPort};
  }
  return std::nullopt;
}

/// Two may be punched unless both hide: one of them under a port that the other cannot learn.
inline bool can_be_direct(Door left, Door right) {
  const auto hides = [](Door a, Door b) {
    return a == Door::kSymmetric && (b == Door::kSymmetric || b == Door::kPortRestricted);
  };
  return !hides(left, right) && !hides(right, left);
}

struct RelayHost final : Machine {
  explicit RelayHost(const CallRelayOptions& options) : relay(options, nullptr) {}
  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    relay.handle_datagram(now, from, bytes);
  }
  void handle_timeout(TimePoint now) override { relay.handle_timeout(now); }
  std::optional<Transmit> poll_transmit(TimePoint /*now*/) override {
    return relay.poll_transmit();
  }
  TimePoint poll_timeout() const override { return relay.poll_timeout(); }
  CallRelay relay;
};

/// Two ends, each behind a NAT of its own, and a relay on the Internet: 20 ms from any host to any
/// other, so that relayed datagrams take 40.
class RendezvousWorld {
 public:
  explicit RendezvousWorld(const CallRelayOptions& options = {.calls_max = 10})
      : air_({.trace = nullptr, .propagation = 20ms, .seed = 1, .queue = nullptr}),
        relay_(options) {
    world_.connect_all(air_);
    world_.add(relay_, {.address = relay_address()});
    world_.set_watch([this](TimePoint now, const sim::Datagram& datagram) {
      return !watch || watch({now, datagram.from, datagram.to, datagram.bytes});
    });
  }

  static Address relay_address() { return secure::test_address(200, 4747); }
  static Address inside(uint8_t host) { return secure::test_address(host, 5000); }
  static Address outside(uint8_t host) { return secure::test_address(100 + host, 40'000); }

  secure::Node& add(secure::Role role, uint8_t host, Door door,
                    secure::ConnectionOptions options = {}) {
    options.role = role;
    options.secret = options.secret.empty() ? secure::test_secret() : options.secret;
    options.relays = {relay_address()};
    const Address address = door == Door::kOpen ? outside(host) : inside(host);
    nodes_.push_back(std::make_unique<secure::Node>(world_.now(), address, std::move(options)));
    secure::Node& node = *nodes_.back();
    sim::World::HostOptions at{.address = address};
    if (const auto nat = nat_options(door, outside(host))) {
      nats_.push_back(std::make_unique<sim::Nat>(*nat));
      at.nat = nats_.back().get();
    }
    node.heartbeat = 20ms;
    node.id = world_.add(node, at);
    node.connection->set_local_addresses(world_.now(), {address});
    world_.drain(node.id);
    return node;
  }

  void run_for(Duration length) { world_.run_for(length); }
  TimePoint now() const { return world_.now(); }
  sim::World& world() { return world_; }
  CallRelay& relay() { return relay_.relay; }

  /// Sees every datagram as it is sent, outside of NATs; false loses it.
  std::function<bool(const secure::Flight&)> watch;

 private:
  sim::Link air_;
  sim::World world_;
  RelayHost relay_;
  std::vector<std::unique_ptr<sim::Nat>> nats_;
  std::vector<std::unique_ptr<secure::Node>> nodes_;
};

}  // namespace cress::relay
