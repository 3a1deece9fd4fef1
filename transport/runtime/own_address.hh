#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/base/address.hh"

namespace cress::runtime {

/// An address of an interface that is up; its port is 0.
struct InterfaceAddress {
  std::string interface;
  Address address;
  bool loopback = false;
  friend bool operator==(const InterfaceAddress&, const InterfaceAddress&) = default;
};

/// This machine's current addresses, from the kernel (getifaddrs); empty if it gives none.
std::vector<InterfaceAddress> interface_addresses();
/// The source addresses of packets to the Internet, IPv4 first; nothing is sent.
std::vector<Address> routed_addresses();

/// The address to put into a link, so that others reach this machine: IPv4 before IPv6, never a
/// link-local one (169.254/16, fe80::), one of `routed` before others (a bridge of virtual machines
/// is not reachable from elsewhere), loopback (127.0.0.1) if there is nothing else. Pure.
Address best_address(std::span<const InterfaceAddress> all, std::span<const Address> routed);
/// The same for this machine now.
Address best_own_address();

/// Where others may reach our socket at `local`: its own address, or, if it is bound to all, those
/// of all interfaces except loopback and link-local ones, first the source addresses of packets to
/// the Internet. All with its port.
std::vector<Address> candidate_addresses(const Address& local);

/// Neither 0.0.0.0 nor ::, which stand for all of a machine's addresses.
bool is_specific(const Address& address);

/// The host part of the link of one who listens at `bind`.
std::string own_host(const Address& bind);

/// Who can reach the host of a link, where that is not everybody: "this machine", "its own network"
/// or "nobody"; else empty, also for names that a name server must resolve. Pure.
const char* who_reaches(std::string_view host);

}  // namespace cress::runtime
