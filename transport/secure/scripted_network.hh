#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "transport/base/rng.hh"
#include "transport/secure/connection.hh"

namespace cress::secure {

// For tests only: connections on a network in virtual time that loses, delays and duplicates, with
// an attacker who can observe and inject datagrams.

inline Address test_address(uint8_t last, uint16_t port = 5000) {
  Address address;
  address.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, last, last};
  address.port = port;
  return address;
}

inline std::vector<std::byte> test_secret(uint8_t fill = 7) {
  return std::vector<std::byte>(16, std::byte{fill});
}

/// A datagram like an Endpoint's: header with the low 32 bits of `sequence`, frames of `size`
/// bytes.
inline std::vector<std::byte> plain_datagram(uint64_t sequence, size_t size = 100) {
  std::vector<std::byte> bytes(16 + size);
  bytes[0] = std::byte{0x10};
  for (size_t i = 0; i < 4; ++i) {
    bytes[4 + i] = static_cast<std::byte>((sequence >> (8 * (3 - i))) & 255U);
  }
  for (size_t i = 16; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>((sequence + i) & 255U);
  }
  return bytes;
}

/// One end with an application that, while connected, sends something every `heartbeat`.
struct Node {
  std::unique_ptr<Connection> connection;
  Address address;
  Duration heartbeat = 50ms;
  size_t heartbeat_size = 20;
  std::vector<std::pair<TimePoint, Event>> events;
  std::vector<std::pair<TimePoint, std::vector<std::byte>>> received;
  std::vector<std::vector<std::byte>> sent;
  uint64_t sequence = 0;
  TimePoint next_heartbeat = kTimeZero;
  bool is_running = true;

  void say(TimePoint now, size_t size) {
    sent.push_back(plain_datagram(sequence, size));
    sequence += size + 50;
    connection->send(now, sent.back());
  }
  template <class T>
  std::optional<TimePoint> when() const {
    for (const auto& [at, event] : events) {
      if (std::holds_alternative<T>(event)) {
        return at;
      }
    }
    return std::nullopt;
  }
  template <class T>
  size_t count() const {
    return static_cast<size_t>(std::count_if(events.begin(), events.end(), [](const auto& e) {
      return std::holds_alternative<T>(e.second);
    }));
  }
  std::optional<CloseReason> closed() const {
    std::optional<CloseReason> reason;
    for (const auto& [at, event] : events) {
      if (const auto* closed = std::get_if<Closed>(&event)) {
        reason = closed->reason;
      }
    }
    return reason;
  }
};

struct Flight {
  TimePoint sent_at;
  Address from;
  Address to;
  std::vector<std::byte> bytes;
};

class ScriptedNetwork {
 public:
  struct Conditions {
    Duration delay = 20ms;
    Duration jitter{};  ///< uniform, in addition to the delay: reorders
    double loss = 0;
    double duplicate = 0;
    DataSize mtu{65'507};
  };

  explicit ScriptedNetwork(uint64_t seed = 1) : rng_(seed) {}

  Node& listen(const Address& address, ConnectionOptions options = {}) {
    options.role = Role::kListener;
    if (options.secret.empty()) {
      options.secret = test_secret();
    }
    return add(address, std::move(options));
  }
  Node& join(const Address& address, const Address& listener, ConnectionOptions options = {}) {
    options.role = Role::kJoiner;
    options.listener = listener;
    if (options.secret.empty()) {
      options.secret = test_secret();
    }
    return add(address, std::move(options));
  }

  void run_for(Duration length) { run_until(now_ + length); }
  void run_until(TimePoint end) {
    settle();
    for (TimePoint next = next_time(); next <= end; next = next_time()) {
      now_ = std::max(now_, next);
      deliver();
      settle();
    }
    now_ = end;
  }
  /// An attacker's datagram, delivered at once.
  void inject(const Address& from, const Address& to, const std::vector<std::byte>& bytes) {
    arrive({now_, from, to, bytes});
    settle();
  }

  TimePoint now() const { return now_; }
  Conditions conditions;
  /// Called with every datagram as it is sent; returning false drops it.
  std::function<bool(const Flight&)> watch;
  /// Datagrams and bytes sent to each address.
  std::map<Address, std::pair<uint64_t, uint64_t>> sent_to;

 private:
  Node& add(const Address& address, ConnectionOptions options) {
    nodes_.push_back(std::make_unique<Node>());
    Node& node = *nodes_.back();
    node.connection = std::make_unique<Connection>(now_, std::move(options));
    node.address = address;
    node.next_heartbeat = now_;
    return node;
  }

  TimePoint next_time() const {
    TimePoint next = flights_.empty() ? kNever : flights_.begin()->first;
    for (const auto& node : nodes_) {
      if (node->is_running) {
        next = std::min(next, node->connection->poll_timeout());
        if (node->connection->is_connected()) {
          next = std::min(next, node->next_heartbeat);
        }
      }
    }
    return next;
  }

  void deliver() {
    while (!flights_.empty() && flights_.begin()->first <= now_) {
      const Flight flight = std::move(flights_.begin()->second);
      flights_.erase(flights_.begin());
      arrive(flight);
    }
    for (const auto& node : nodes_) {
      if (!node->is_running) {
        continue;
      }
      if (node->connection->poll_timeout() <= now_) {
        node->connection->handle_timeout(now_);
        drain(*node);
        check(++steps_without_time_ < 1000, "a connection spins");
      }
      if (node->connection->is_connected() && node->next_heartbeat <= now_) {
        node->say(now_, node->heartbeat_size);
        node->next_heartbeat = now_ + node->heartbeat;
      }
    }
  }

  void arrive(const Flight& flight) {
    for (const auto& node : nodes_) {
      if (node->is_running && node->address == flight.to) {
        node->connection->handle_datagram(now_, flight.from, flight.bytes);
        drain(*node);
      }
    }
  }

  void settle() {
    for (const auto& node : nodes_) {
      if (node->is_running) {
        drain(*node);
      }
    }
    if (last_step_ != now_) {
      last_step_ = now_;
      steps_without_time_ = 0;
    }
  }

  void drain(Node& node) {
    while (auto transmit = node.connection->poll_transmit(now_)) {
      auto& [datagrams, bytes] = sent_to[transmit->to];
      ++datagrams;
      bytes += transmit->bytes.size();
      launch({now_, node.address, transmit->to, std::move(transmit->bytes)});
    }
    while (auto datagram = node.connection->poll_datagram()) {
      node.received.emplace_back(now_, *std::move(datagram));
    }
    while (auto event = node.connection->poll_event()) {
      if (std::holds_alternative<Connected>(*event)) {
        node.sequence = 0;  // a new Endpoint
        node.next_heartbeat = now_;
      }
      node.events.emplace_back(now_, *event);
    }
  }

  void launch(const Flight& flight) {
    const bool is_seen = !watch || watch(flight);
    const bool is_lost = rng_.chance(conditions.loss);
    const int copies = rng_.chance(conditions.duplicate) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      const Duration extra{
          static_cast<int64_t>(rng_.uniform() * static_cast<double>(conditions.jitter.count()))};
      if (is_seen && !is_lost &&
          flight.bytes.size() <= static_cast<size_t>(conditions.mtu.bytes())) {
        flights_.emplace(now_ + conditions.delay + extra, flight);
      }
    }
  }

  Rng rng_;
  TimePoint now_ = kTimeZero;
  TimePoint last_step_ = kTimeZero;
  int steps_without_time_ = 0;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::multimap<TimePoint, Flight> flights_;
};

}  // namespace cress::secure
