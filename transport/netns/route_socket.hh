#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/units.hh"
#include "transport/netns/netlink.hh"

namespace cress::netns {

/// An address (port and scope 0) and its prefix length: of 32 bits for IPv4, of 128 for IPv6.
struct Prefix {
  Address address;
  int length = 0;
  friend bool operator==(const Prefix&, const Prefix&) = default;
};

bool contains(const Prefix& network, const Address& address);
/// Whether some address is in both.
bool overlap(const Prefix& one, const Prefix& other);

struct InterfaceOptions {
  std::string name;
  DataSize mtu{1500};
  /// Packets that may wait in the kernel until the device is read; 0 keeps the current value.
  uint32_t queue_packets = 0;
  std::vector<Prefix> addresses{};
  /// Destinations reached through it; length 0 is everything (the default route).
  std::vector<Prefix> routes{};
};

/// The way of packets to one destination; ports are 0.
struct Route {
  /// The router that they are handed to; nullopt: the destination is on the same wire, or this
  /// machine.
  std::optional<Address> router;
  /// The source address that they get unless the sender has chosen one.
  Address source;
  friend bool operator==(const Route&, const Route&) = default;
};

/// What an interface has carried since it was created.
struct InterfaceCounters {
  uint64_t received = 0;
  uint64_t sent = 0;
  uint64_t received_dropped = 0;
  uint64_t sent_dropped = 0;
  friend bool operator==(const InterfaceCounters&, const InterfaceCounters&) = default;
};

/// Interfaces, addresses and routes of one network (rtnetlink, RFC 3549): the network of the
/// process that made the socket, even if another process holds it now. Changes need CAP_NET_ADMIN
/// there. Errors: std::runtime_error, what and why. Threads: none inside; one owner.
class RouteSocket {
 public:
  RouteSocket();
  /// Takes ownership of an open socket.
  explicit RouteSocket(int fd) : socket_(fd) {}

  /// Sets MTU, queue length, up, addresses, routes, in this order. Returns false if IPv6 was
  /// requested but the machine has none; everything else is done in that case. IPv6 addresses are
  /// usable at once (no duplicate address detection), and the kernel adds none of its own.
  bool configure(const InterfaceOptions& options);
  void set_up(const std::string& interface);
  InterfaceCounters counters(const std::string& interface);
  /// Every interface's addresses.
  std::vector<Prefix> addresses();
  /// The destinations of all routes, of every table.
  std::vector<Prefix> destinations();
  /// The kernel's choice for packets to `destination`; nullopt: there is none.
  std::optional<Route> route_to(const Address& destination);
  int handle() const { return socket_.handle(); }

 private:
  struct Link {
    uint32_t index = 0;
    InterfaceCounters counters;
  };

  Link find(const std::string& interface);
  void add_address(uint32_t index, const Prefix& prefix, const std::string& interface);
  void add_route(uint32_t index, const Prefix& prefix, const std::string& interface);

  NetlinkSocket socket_;
};

/// "100.64.0.2/30".
std::string format_prefix(const Prefix& prefix);

}  // namespace cress::netns
