#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/base/ecn.hh"
#include "transport/base/units.hh"

namespace cress {

/// An IPv6 address, first byte first.
using IpBytes = std::array<uint8_t, 16>;

/// Where a datagram comes from or goes to: an IPv6 address and a UDP port. IPv4 is written as
/// ::ffff:a.b.c.d (RFC 4291 §2.5.5.2), so there is one address type. runtime/address_text.hh has
/// the text form.
struct Address {
  IpBytes ip{};
  uint16_t port = 0;
  /// Interface index of a link-local address; 0 for other addresses.
  uint32_t scope = 0;

  /// a.b.c.d of `bytes`, the first one first; without them 0.0.0.0. Port 0.
  static constexpr Address ipv4(const std::array<uint8_t, 4>& bytes = {}) {
    Address address;
    address.ip[10] = address.ip[11] = 0xff;
    std::copy(bytes.begin(), bytes.end(), address.ip.begin() + 12);
    return address;
  }

  bool is_ipv4() const {
    constexpr std::array<uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return std::equal(kMapped.begin(), kMapped.end(), ip.begin());
  }
  friend auto operator<=>(const Address&, const Address&) = default;
};

/// The IPv4 address in the four bytes from `at` on, which the caller has checked to be there.
inline Address ipv4_at(std::span<const std::byte> bytes, size_t at) {
  std::array<uint8_t, 4> ip{};
  std::ranges::transform(bytes.subspan(at, 4), ip.begin(), std::to_integer<uint8_t>);
  return Address::ipv4(ip);
}

/// One datagram to send.
struct Transmit {
  Address to;
  std::vector<std::byte> bytes;
  /// Size of the IP packet, charged on a simulated link, where it differs from the bytes plus UDP
  /// and IP headers. Real sockets ignore it.
  DataSize wire_size{};
  /// What the IP header says.
  Ecn ecn = Ecn::kNotEct;
};

}  // namespace cress
