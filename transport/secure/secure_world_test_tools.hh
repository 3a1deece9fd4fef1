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

#include "transport/base/machine.hh"
#include "transport/secure/connection.hh"
#include "transport/secure/listener.hh"
#include "transport/secure/secure_test_tools.hh"
#include "transport/sim/world.hh"

namespace cress::secure {

/// One end with an application that, while connected, says something every `heartbeat`.
struct Node final : Machine {
  Node(TimePoint now, const Address& at, ConnectionOptions options)
      : connection(std::make_unique<Connection>(now, std::move(options))),
        address(at),
        next_heartbeat(now) {}

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    connection->handle_datagram(now, from, bytes);
  }
  void handle_timeout(TimePoint now) override {
    if (connection->poll_timeout() <= now) {
      connection->handle_timeout(now);
      drained(now);
    }
    if (connection->is_connected() && next_heartbeat <= now) {
      say(now, heartbeat_size);
      next_heartbeat = now + heartbeat;
    }
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    return connection->poll_transmit(now);
  }
  TimePoint poll_timeout() const override {
    return std::min(connection->poll_timeout(),
                    connection->is_connected() ? next_heartbeat : kNever);
  }
  bool drained(TimePoint now) override {
    while (auto datagram = connection->poll_datagram()) {
      received.emplace_back(now, *std::move(datagram));
    }
    while (auto event = connection->poll_event()) {
      if (std::holds_alternative<Connected>(*event)) {
        sequence = 0;  // a new Endpoint
        next_heartbeat = now;
      }
      events.emplace_back(now, *event);
    }
    return false;
  }

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
    return static_cast<size_t>(std::ranges::count_if(
        events, [](const auto& e) { return std::holds_alternative<T>(e.second); }));
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
  /// The longest time between two datagrams received from `since` on.
  Duration longest_gap(TimePoint since, TimePoint until) const {
    Duration gap{};
    TimePoint last = since;
    for (const auto& [at, bytes] : received) {
      if (at > since) {
        gap = std::max(gap, at - last);
        last = at;
      }
    }
    return std::max(gap, until - last);
  }

  std::unique_ptr<Connection> connection;
  Address address;
  Duration heartbeat = 50ms;
  size_t heartbeat_size = 20;
  std::vector<std::pair<TimePoint, Event>> events;
  std::vector<std::pair<TimePoint, std::vector<std::byte>>> received;
  std::vector<std::vector<std::byte>> sent;
  uint64_t sequence = 0;
  TimePoint next_heartbeat;
  sim::World::HostId id = 0;
};

/// By its size: a proof of identity, perhaps with an id before it.
inline bool is_proof(std::span<const std::byte> bytes) {
  constexpr auto kSize =
      static_cast<size_t>(kControlOverhead.bytes()) + 1 + sizeof(PublicKey) + sizeof(Signature);
  constexpr auto kRouted = static_cast<size_t>(kRoutedOverhead.bytes());
  return (bytes.size() == kSize && bytes[0] == kControlKind) ||
         (bytes.size() == kSize + kRouted && bytes[0] == kRoutedKind);
}

struct Flight {
  TimePoint sent_at;
  Address from;
  Address to;
  std::vector<std::byte> bytes;
};

/// Connections in one network of the simulated world, 20 ms from each to each, where an attacker
/// watches and speaks.
class SecureWorld {
 public:
  explicit SecureWorld(uint64_t seed = 1)
      : air_({.trace = nullptr, .propagation = 20ms, .seed = seed, .queue = nullptr}) {
    world_.connect_all(air_);
    world_.set_watch([this](TimePoint now, const sim::Datagram& datagram) {
      auto& [datagrams, bytes] = sent_to[datagram.to];
      ++datagrams;
      bytes += datagram.bytes.size();
      return !watch || watch({now, datagram.from, datagram.to, datagram.bytes});
    });
  }

  Node& listen(const Address& address, ConnectionOptions options = {}) {
    options.role = Role::kListener;
    return add(address, std::move(options));
  }
  Node& join(const Address& address, const Address& listener, ConnectionOptions options = {}) {
    options.role = Role::kJoiner;
    options.listener = listener;
    return add(address, std::move(options));
  }
  /// Its program is gone; start() runs it on as if nothing had been.
  void stop(Node& node) { world_.replace(node.id, nullptr); }
  void start(Node& node) { world_.replace(node.id, &node); }
  void move(Node& node, const Address& to) {
    node.address = to;
    world_.move(node.id, to);
  }
  /// Its host reports that the network is another.
  void notice(Node& node) {
    node.connection->handle_network_change(now());
    world_.drain(node.id);
  }

  /// Its user answers the last NewcomerWaits.
  void answer(Node& node, bool admits) {
    std::string code;
    for (const auto& [at, event] : node.events) {
      const auto* waits = std::get_if<NewcomerWaits>(&event);
      code = waits != nullptr ? waits->code : code;
    }
    admits ? node.connection->admit(now(), code) : node.connection->refuse(now());
    world_.drain(node.id);
  }

  void run_for(Duration length) { run_until(now() + length); }
  void run_until(TimePoint end) {
    for (sim::World::HostId host = 0; host < hosts_; ++host) {
      world_.drain(host);
    }
    world_.run_until(end);
  }
  /// An attacker's datagram, there at once.
  void inject(const Address& from, const Address& to, const std::vector<std::byte>& bytes) {
    world_.inject(from, to, bytes);
  }
  void set_conditions(const sim::LinkConditions& conditions) { air_.set_conditions(conditions); }
  /// The largest datagram that passes, without its IP and UDP headers.
  void set_mtu(DataSize largest) { set_conditions({.mtu = largest + sim::kUdpIpOverhead}); }

  TimePoint now() const { return world_.now(); }
  /// Sees every datagram as it is sent; false loses it.
  std::function<bool(const Flight&)> watch;
  /// Datagrams and bytes sent to each address.
  std::map<Address, std::pair<uint64_t, uint64_t>> sent_to;

 protected:
  Node& add(const Address& address, ConnectionOptions options) {
    if (options.secret.empty() && !options.credential) {
      options.secret = test_secret();
    }
    nodes_.push_back(std::make_unique<Node>(now(), address, std::move(options)));
    nodes_.back()->id = add_host(*nodes_.back(), address);
    return *nodes_.back();
  }
  sim::World::HostId add_host(Machine& machine, const Address& address) {
    ++hosts_;
    return world_.add(machine, {.address = address});
  }
  void drain(sim::World::HostId host) { world_.drain(host); }

 private:
  sim::Link air_;
  sim::World world_;
  size_t hosts_ = 0;
  std::vector<std::unique_ptr<Node>> nodes_;
};

inline Secret test_access(uint8_t room) { return derive_room(test_secret(room)).access; }

/// A Listener that answers each datagram of a peer with another.
struct ListenerHost final : Machine {
  explicit ListenerHost(ListenerOptions options) : listener(kTimeZero, std::move(options)) {}

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    listener.handle_datagram(now, from, bytes);
  }
  void handle_timeout(TimePoint now) override { listener.handle_timeout(now); }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    return listener.poll_transmit(now);
  }
  TimePoint poll_timeout() const override { return listener.poll_timeout(); }
  bool drained(TimePoint now) override {
    bool any = false;
    for (auto work = take_work(); work; work = take_work()) {
      work->run();
      listener.handle_work(now, *std::move(work));
      any = true;
    }
    while (auto datagram = listener.poll_datagram()) {
      say(now, datagram->peer);
      any = true;
    }
    while (auto event = listener.poll_event()) {
      events.emplace_back(now, *std::move(event));
    }
    return any;
  }
  void say(TimePoint now, PeerId peer) {
    listener.send(now, peer, plain_datagram(sequences[peer], 20));
    sequences[peer] += 70;
  }
  std::optional<HandshakeWork> take_work() { return works ? listener.poll_work() : std::nullopt; }

  Listener listener;
  std::map<PeerId, uint64_t> sequences;
  std::vector<std::pair<TimePoint, PeerEvent>> events;
  bool works = false;  // on handshakes, when the listener hands them out
};

/// A Listener of many rooms in such a network, and its joiners.
class ListenerWorld : public SecureWorld {
 public:
  explicit ListenerWorld(ListenerOptions options = {}) : host_(with_rooms(std::move(options))) {
    add_host(host_, address());
  }

  void open_room(uint8_t room) {
    const Credential credential = room_credential(test_access(room));
    rooms[credential.identity] = credential.psk;
  }
  Node& join(const Address& from, uint8_t room) {
    return join(from, room_credential(test_access(room)));
  }
  Node& join(const Address& from, Credential credential) {
    // A joiner that begins again is another peer.
    Node& node = SecureWorld::join(from, address(),
                                   {.credential = std::move(credential), .rejoin_after = 1h});
    drain(node.id);
    return node;
  }
  void say(PeerId peer) { host_.say(now(), peer); }
  void set_works(bool works) { host_.works = works; }
  /// A stranger's datagram, at the listener at once.
  void inject(const Address& from, const std::vector<std::byte>& bytes) {
    SecureWorld::inject(from, address(), bytes);
  }

  static Address address() { return test_address(1, 4433); }
  const std::vector<std::pair<TimePoint, PeerEvent>>& events() const { return host_.events; }
  template <class T>
  size_t count() const {
    return static_cast<size_t>(std::ranges::count_if(
        events(), [](const auto& e) { return std::holds_alternative<T>(e.second.event); }));
  }
  template <class T>
  std::optional<TimePoint> last() const {
    std::optional<TimePoint> found;
    for (const auto& [at, event] : events()) {
      found = std::holds_alternative<T>(event.event) ? at : found;
    }
    return found;
  }

  std::map<std::string, Secret> rooms;

 private:
  ListenerOptions with_rooms(ListenerOptions options) {
    options.lookup = [this](std::string_view identity) -> std::optional<Secret> {
      const auto found = rooms.find(std::string{identity});
      return found == rooms.end() ? std::nullopt : std::optional{found->second};
    };
    return options;
  }

  ListenerHost host_;

 public:
  Listener* const listener = &host_.listener;
};

}  // namespace cress::secure
