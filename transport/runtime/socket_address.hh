#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>

#include "transport/base/address.hh"

namespace cress::runtime {

/// An address in the form of a system call. `ipv4_socket`: the socket is AF_INET, so an IPv4
/// address must be written as such; nullopt if such a socket cannot reach the address.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};
std::optional<SocketAddress> to_sockaddr(const Address& address, bool ipv4_socket);

/// nullopt for families other than AF_INET and AF_INET6. `any` must be the start of as many bytes
/// as its family needs.
std::optional<Address> from_sockaddr(const sockaddr& any);
std::optional<Address> from_sockaddr(const sockaddr_storage& any);

Address from_ipv4(const in_addr& ip, uint16_t port);

}  // namespace cress::runtime
