#include "transport/runtime/socket_address.hh"

#include <arpa/inet.h>

#include <cstring>

namespace cress::runtime {

std::optional<SocketAddress> to_sockaddr(const Address& address, bool ipv4_socket) {
  SocketAddress result;
  if (ipv4_socket) {
    if (!address.is_ipv4()) {
      return std::nullopt;
    }
    sockaddr_in ipv4{};
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(address.port);
    std::memcpy(&ipv4.sin_addr, &address.ip[12], sizeof ipv4.sin_addr);
    std::memcpy(&result.storage, &ipv4, sizeof ipv4);
    result.size = sizeof ipv4;
    return result;
  }
  sockaddr_in6 ipv6{};
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(address.port);
  ipv6.sin6_scope_id = address.scope;
  std::memcpy(&ipv6.sin6_addr, address.ip.data(), address.ip.size());
  std::memcpy(&result.storage, &ipv6, sizeof ipv6);
  result.size = sizeof ipv6;
  return result;
}

std::optional<Address> from_sockaddr(const sockaddr& any) {
  if (any.sa_family == AF_INET) {
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, &any, sizeof ipv4);
    return from_ipv4(ipv4.sin_addr, ntohs(ipv4.sin_port));
  }
  if (any.sa_family == AF_INET6) {
    sockaddr_in6 ipv6{};
    std::memcpy(&ipv6, &any, sizeof ipv6);
    Address address;
    std::memcpy(address.ip.data(), &ipv6.sin6_addr, address.ip.size());
    address.port = ntohs(ipv6.sin6_port);
    address.scope = ipv6.sin6_scope_id;
    return address;
  }
  return std::nullopt;
}

std::optional<Address> from_sockaddr(const sockaddr_storage& any) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what the sockets API is made of
  return from_sockaddr(reinterpret_cast<const sockaddr&>(any));
}

Address from_ipv4(const in_addr& ip, uint16_t port) {
  Address address = Address::ipv4();
  std::memcpy(&address.ip[12], &ip, sizeof ip);
  address.port = port;
  return address;
}

}  // namespace cress::runtime
