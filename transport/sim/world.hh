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
    /// Unique. Address{}: none; reachable only by datagrams to Address{} (see connect).
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
  /// What no other link takes goes over `link`, to whichever host has the address when it arrives.
  void connect_all(Link& link);

  /// Changes the host's address from now on; datagrams in transit to the old address are lost.
  void move(HostId host, const Address& address);
  /// The same, and puts the host behind `nat`; nullptr: behind none.
  void move(HostId host, const Address& address, Nat* nat);
  /// Replaces the host's machine, as after a restart; nullptr: the host is off.
  void replace(HostId host, Machine* machine);
  /// The host is gone for good, and its links with it. Not while the world steps.
  void remove(HostId host);
  /// After the application changed a machine: polls what it sends.
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
    std::vector<HostId> to;  // each once; empty: whichever host has the address
  };

  TimePoint next_event() const;
  void step();
  void deliver(HostId to, const Datagram& datagram);
  std::optional<HostId> receiver_of(const Wire& wire, const Datagram& datagram) const;
  bool collect(HostId from);
  void send(HostId from, Transmit transmit);
  void take_address(HostId host);
  void free_address(HostId host);
  std::optional<HostId> host_of(const Address& address) const;

  std::vector<Host> hosts_;
  std::vector<Wire> wires_;
  Link* everywhere_ = nullptr;
  std::map<Address, HostId> by_address_;
  std::function<bool(TimePoint, const Datagram&)> watch_;
  TimePoint now_ = kTimeZero;
};

}  // namespace cress::sim
