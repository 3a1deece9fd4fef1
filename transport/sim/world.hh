#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/machine.hh"
#include "transport/sim/datagram.hh"
#include "transport/sim/link.hh"
#include "transport/sim/nat.hh"

namespace cress::sim {

/// Hosts, NATs and the links between them, in virtual time: this and runtime::Driver are the only
/// code that steps machines. Equal parts give equal runs. Machines, links and NATs are borrowed and
/// must outlive the world. Links of an instant deliver before machines' time-outs of that instant,
/// each in the order in which they were added. Threads: none inside; one owner.
class World {
 public:
  using HostId = size_t;

  struct HostOptions {
    /// Unique. Address{}: reachable only from hosts that have no other route.
    Address address{};
    Nat* nat = nullptr;       ///< between this host and all others; may be shared
    Duration clock_offset{};  ///< this host's clock minus the world's
  };
  /// Two hosts and the path between them.
  struct Pair {
    Machine& left;
    Machine& right;
    Link& forward;  ///< left -> right
    Link& reverse;  ///< right -> left
  };

  World() = default;
  explicit World(const Pair& pair);

  HostId add(Machine& machine, const HostOptions& options);
  /// Datagrams from `from` to `to` take `link`; without a link they are lost. Datagrams that `from`
  /// sends to Address{} take its first link.
  void connect(HostId from, HostId to, Link& link);

  /// Changes the host's address from now on; datagrams in transit to the old address are lost.
  void move(HostId host, const Address& address);
  /// Replaces the host's machine, as after a restart; nullptr: the host is off.
  void replace(HostId host, Machine* machine);
  /// To be called after the application changed a machine: polls its output.
  void drain(HostId host);
  /// Delivers an attacker's datagram to `to` at once; no host sent it.
  void inject(const Address& from, const Address& to, std::span<const std::byte> bytes);
  /// Called with every datagram as it is sent, with its addresses outside NATs; returning false
  /// drops it.
  void set_watch(std::function<bool(TimePoint now, const Datagram& datagram)> watch) {
    watch_ = std::move(watch);
  }

  /// Runs every event up to and including `end`. `on_progress` (may be empty) is called with the
  /// virtual time about once a virtual second.
  void run_until(TimePoint end, const std::function<void(TimePoint)>& on_progress = {});
  void run_for(Duration length) { run_until(now_ + length); }
  TimePoint now() const { return now_; }

 private:
  struct Host {
    Machine* machine = nullptr;
    HostOptions options;
    std::vector<std::pair<HostId, Link*>> routes;

    TimePoint local(TimePoint now) const { return now + options.clock_offset; }
    TimePoint poll_timeout() const;
  };
  struct Wire {
    Link* link = nullptr;
    HostId to = 0;
  };

  TimePoint next_event() const;
  void step();
  void deliver(HostId to, const Datagram& datagram);
  bool collect(HostId from);
  void send(HostId from, Transmit transmit);
  std::optional<HostId> host_of(const Address& address) const;

  std::vector<Host> hosts_;
  std::vector<Wire> wires_;
  std::map<Address, HostId> by_address_;
  std::function<bool(TimePoint, const Datagram&)> watch_;
  TimePoint now_ = kTimeZero;
};

}  // namespace cress::sim
