#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/base/address.hh"
#include "transport/base/result.hh"
#include "transport/base/units.hh"

namespace cress::netns {

/// Why bytes are not an IP packet.
enum class PacketError {
  kEmpty,
  kBadVersion,   ///< neither 4 nor 6
  kTruncated,    ///< fewer bytes than its header says
  kBadHeader,    ///< a header shorter than the minimum, or longer than the packet
  kManyHeaders,  ///< more than kExtensionHeadersMax IPv6 extension headers
};
/// The error in a few words.
const char* describe(PacketError error);

inline constexpr int kExtensionHeadersMax = 8;

/// What identifies a flow. Ports are 0 for protocols without ports and for fragments after the
/// first.
struct FlowKey {
  Address source;
  Address destination;
  uint8_t protocol = 0;  ///< IANA's number: 6 TCP, 17 UDP, 1 ICMP, 58 ICMPv6
  friend auto operator<=>(const FlowKey&, const FlowKey&) = default;
};

/// The head of an IPv4 (RFC 791) or IPv6 (RFC 8200) packet.
struct PacketHeader {
  FlowKey flow;
  int version = 4;
  DataSize length;            ///< of the whole packet; bytes after it are not part of it
  DataSize transport_offset;  ///< where the transport's header begins; at most `length`
  uint8_t dscp = 0;           ///< RFC 2474, 0..63
  uint8_t ecn = 0;            ///< RFC 3168, 0..3
  uint8_t hop_limit = 0;
  bool is_fragment = false;  ///< part of a larger packet, including the first part
  friend bool operator==(const PacketHeader&, const PacketHeader&) = default;
};

/// Reads the headers of a packet, including IPv6 extension headers; checksums are not verified.
/// Total: any bytes give a header or one error; reads nothing beyond `bytes`.
Result<PacketHeader, PacketError> parse_packet(std::span<const std::byte> bytes);

/// Writes CE into the ECN field of a packet that parse_packet accepts, and corrects an IPv4
/// header's checksum (RFC 3168 §5, RFC 1624). Anything else stays as it is.
void mark_congestion(std::span<std::byte> packet);

/// What a router sends on: neither to nor from an address that is good on one link or one machine
/// only, nor to many at once.
bool is_routable(const PacketHeader& header);

}  // namespace cress::netns
