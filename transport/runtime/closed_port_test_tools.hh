#pragma once

#include <sys/socket.h>

#include "transport/base/check.hh"
#include "transport/runtime/socket_address.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::runtime {

/// A port that answers every datagram with "port unreachable" as long as this object lives. It is
/// a socket connected to itself: no other program gets its port meanwhile, and the kernel finds no
/// socket for the datagrams of others. (A port that was merely closed may be another test's by
/// now.)
class ClosedPort {
 public:
  /// `bind`: an address of this machine, with port 0.
  ClosedPort(const MonotonicClock& clock, const Address& bind)
      : socket_{clock, {.bind = bind, .ipv4_only = bind.is_ipv4()}} {
    const auto self = to_sockaddr(address(), bind.is_ipv4());
    check(self.has_value(), "an address of the socket's family");
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what the sockets API is made of
    const auto* const raw = reinterpret_cast<const sockaddr*>(&self->storage);
    check(connect(socket_.handle(), raw, self->size) == 0, "a UDP socket connects to itself");
  }
  Address address() const { return socket_.local_address(); }

 private:
  UdpSocket socket_;
};

}  // namespace cress::runtime
