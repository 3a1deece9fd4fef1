#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "transport/base/ecn.hh"
#include "transport/base/units.hh"

namespace cress {

/// Where a datagram comes from or goes to: an IPv6 address and a UDP port. IPv4 is written as
/// ::ffff:a.b.c.d (RFC 4291 §2.5.5.2), so there is one kind. The text form is the runtime's.
struct Address {
  std::array<uint8_t, 16> ip{};
  uint16_t port = 0;
  /// Of a link-local address, the interface; 0 for others.
  uint32_t scope = 0;

  bool is_ipv4() const {
    constexpr std::array<uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return std::equal(kMapped.begin(), kMapped.end(), ip.begin());
  }
  friend auto operator<=>(const Address&, const Address&) = default;
};

/// One datagram to send.
struct Transmit {
  Address to;
  std::vector<std::byte> bytes;
  /// What a simulated link is charged: the size of the IP packet, where that is not the bytes and
  /// their UDP and IP headers. Real sockets ignore it.
  DataSize wire_size{};
  /// What the IP header says. Real sockets ignore it so far.
  Ecn ecn = Ecn::kNotEct;
};

}  // namespace cress
