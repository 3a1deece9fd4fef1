#include "app/live/own_address.hh"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>
#include <memory>

namespace cress::live {
namespace {

/// The larger, the better; 0: useless to any other machine.
int rank(const ifaddrs& interface) {
  const bool is_up = (interface.ifa_flags & IFF_UP) != 0;
  if (interface.ifa_addr == nullptr || !is_up || (interface.ifa_flags & IFF_LOOPBACK) != 0) {
    return 0;
  }
  if (interface.ifa_addr->sa_family == AF_INET) {
    return 2;
  }
  if (interface.ifa_addr->sa_family != AF_INET6) {
    return 0;
  }
  const auto* address = reinterpret_cast<const sockaddr_in6*>(interface.ifa_addr);
  return IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr) ? 0 : 1;
}

std::string text_of(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* ip =
      address.sa_family == AF_INET
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(&address)->sin_addr)
          : &reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr;
  inet_ntop(address.sa_family, ip, text.data(), text.size());
  return text.data();
}

}  // namespace

std::string own_address() {
  std::string best = "127.0.0.1";
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) {
    return best;
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list{raw, &freeifaddrs};
  int best_rank = 0;
  for (const ifaddrs* interface = raw; interface != nullptr; interface = interface->ifa_next) {
    if (rank(*interface) > best_rank) {
      best_rank = rank(*interface);
      best = text_of(*interface->ifa_addr);
    }
  }
  return best;
}

}  // namespace cress::live
