#include "transport/runtime/own_address.hh"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <tuple>

#include "transport/runtime/address_text.hh"
#include "transport/runtime/file_descriptor.hh"
#include "transport/runtime/socket_address.hh"

namespace cress::runtime {
namespace {

bool is_loopback(const Address& address) {
  constexpr IpBytes kOne{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return address.is_ipv4() ? address.ip[12] == 127 : address.ip == kOne;
}

// RFC 3927, RFC 4291 §2.5.6.
bool is_link_local(const Address& address) {
  return address.is_ipv4() ? address.ip[12] == 169 && address.ip[13] == 254
                           : address.ip[0] == 0xfe && (address.ip[1] & 0xc0U) == 0x80;
}

// RFC 4193: private IPv6 addresses of one site.
bool is_unique_local(const Address& address) {
  return !address.is_ipv4() && (address.ip[0] & 0xfeU) == 0xfc;
}

// RFC 1918; RFC 6598: a provider's own, behind its NAT.
bool is_private_ipv4(const Address& address) {
  const int a = address.ip[12];
  const int b = address.ip[13];
  return address.is_ipv4() && (a == 10 || (a == 172 && b >= 16 && b < 32) ||
                               (a == 192 && b == 168) || (a == 100 && b >= 64 && b < 128));
}

Address without_port(Address address) {
  address.port = 0;
  address.scope = 0;
  return address;
}

}  // namespace

bool is_specific(const Address& address) {
  return std::any_of(address.ip.begin() + (address.is_ipv4() ? 12 : 0), address.ip.end(),
                     [](uint8_t byte) { return byte != 0; });
}

std::vector<InterfaceAddress> interface_addresses() {
  std::vector<InterfaceAddress> all;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    return all;
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner{list, &::freeifaddrs};
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) {
      continue;
    }
    if (const auto address = from_sockaddr(*entry->ifa_addr)) {
      all.push_back({entry->ifa_name, without_port(*address),
                     (entry->ifa_flags & IFF_LOOPBACK) != 0 || is_loopback(*address)});
    }
  }
  return all;
}

std::vector<Address> routed_addresses() {
  std::vector<Address> routed;
  // Of the root name servers: always somewhere else. Connecting a datagram socket only asks the
  // routes.
  for (const char* elsewhere : {"198.41.0.4:53", "[2001:503:ba3e::2:30]:53"}) {
    const auto far = parse_address(elsewhere);
    const bool ipv4 = far->is_ipv4();
    const auto to = to_sockaddr(*far, ipv4);
    const FileDescriptor socket{::socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (socket.get() >= 0 && to &&
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to->storage), to->size) == 0 &&
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0) {
      if (const auto address = from_sockaddr(own)) {
        routed.push_back(without_port(*address));
      }
    }
  }
  return routed;
}

Address best_address(std::span<const InterfaceAddress> all, std::span<const Address> routed) {
  const auto rank = [&](const InterfaceAddress& one) {
    const bool is_routed = std::ranges::find(routed, one.address) != routed.end();
    return std::tuple{!one.address.is_ipv4(), is_unique_local(one.address), !is_routed};
  };
  const InterfaceAddress* best = nullptr;
  for (const InterfaceAddress& one : all) {
    if (!one.loopback && !is_link_local(one.address) && is_specific(one.address) &&
        (best == nullptr || rank(one) < rank(*best))) {
      best = &one;
    }
  }
  return best != nullptr ? best->address : without_port(*parse_address("127.0.0.1:0"));
}

Address best_own_address() { return best_address(interface_addresses(), routed_addresses()); }

std::vector<Address> candidate_addresses(const Address& local) {
  std::vector<Address> candidates;
  if (is_specific(local)) {
    candidates.push_back(local);
  } else {
    candidates = routed_addresses();
    for (const InterfaceAddress& one : interface_addresses()) {
      if (!one.loopback && !is_link_local(one.address) &&
          std::ranges::find(candidates, one.address) == candidates.end()) {
        candidates.push_back(one.address);
      }
    }
  }
  for (Address& candidate : candidates) {
    candidate.port = local.port;
  }
  return candidates;
}

std::string own_host(const Address& bind) {
  return host_of(is_specific(bind) ? bind : best_own_address());
}

const char* who_reaches(std::string_view host) {
  // RFC 6761 §6.3: names that always mean this machine.
  if (host == "localhost" || host.ends_with(".localhost")) {
    return "this machine";
  }
  const bool is_ipv6 = host.find(':') != std::string_view::npos;
  std::string text{host};
  if (is_ipv6) {
    text.insert(0, 1, '[').append("]");
  }
  const auto address = parse_address(text.append(":1"));
  if (!address) {
    return "";
  }
  if (!is_specific(*address)) {
    return "nobody";
  }
  if (is_loopback(*address)) {
    return "this machine";
  }
  const bool is_near =
      is_link_local(*address) || is_unique_local(*address) || is_private_ipv4(*address);
  return is_near ? "its own network" : "";
}

}  // namespace cress::runtime
