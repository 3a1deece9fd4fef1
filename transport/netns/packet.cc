#include "transport/netns/packet.hh"

#include <algorithm>
#include <array>
#include <optional>

namespace cress::netns {
namespace {

constexpr size_t kIpv4HeaderMin = 20;
constexpr size_t kIpv6Header = 40;
// IANA's protocol numbers.
constexpr uint8_t kHopByHop = 0;
constexpr uint8_t kTcp = 6;
constexpr uint8_t kUdp = 17;
constexpr uint8_t kDccp = 33;
constexpr uint8_t kRouting = 43;
constexpr uint8_t kFragment = 44;
constexpr uint8_t kAuthentication = 51;
constexpr uint8_t kDestinationOptions = 60;
constexpr uint8_t kMobility = 135;
constexpr uint8_t kSctp = 132;
constexpr uint8_t kUdpLite = 136;

uint8_t byte_at(std::span<const std::byte> bytes, size_t at) {
  return std::to_integer<uint8_t>(bytes[at]);
}

uint16_t word_at(std::span<const std::byte> bytes, size_t at) {
  return static_cast<uint16_t>(byte_at(bytes, at) << 8 | byte_at(bytes, at + 1));
}

bool has_ports(uint8_t protocol) {
  return protocol == kTcp || protocol == kUdp || protocol == kDccp || protocol == kSctp ||
         protocol == kUdpLite;
}

/// Ports lie in the first four bytes of every transport that has them; a packet may end before.
void read_ports(std::span<const std::byte> packet, size_t at, FlowKey& flow) {
  if (has_ports(flow.protocol) && at + 4 <= packet.size()) {
    flow.source.port = word_at(packet, at);
    flow.destination.port = word_at(packet, at + 2);
  }
}

Address ipv6_at(std::span<const std::byte> bytes, size_t at) {
  Address address;
  for (size_t i = 0; i < address.ip.size(); ++i) {
    address.ip[i] = byte_at(bytes, at + i);
  }
  return address;
}

Result<PacketHeader, PacketError> parse_ipv4(std::span<const std::byte> bytes) {
  if (bytes.size() < kIpv4HeaderMin) {
    return PacketError::kTruncated;
  }
  const size_t header_size = size_t{4} * (byte_at(bytes, 0) & 0xfU);
  const size_t length = word_at(bytes, 2);
  if (header_size < kIpv4HeaderMin || header_size > length) {
    return PacketError::kBadHeader;
  }
  if (length > bytes.size()) {
    return PacketError::kTruncated;
  }
  constexpr uint16_t kMoreFragments = 0x2000;
  constexpr uint16_t kFragmentOffset = 0x1fff;
  const uint16_t fragment = word_at(bytes, 6);
  PacketHeader header;
  header.version = 4;
  header.length = DataSize{static_cast<int64_t>(length)};
  header.transport_offset = DataSize{static_cast<int64_t>(header_size)};
  header.dscp = byte_at(bytes, 1) >> 2;
  header.ecn = byte_at(bytes, 1) & 3;
  header.hop_limit = byte_at(bytes, 8);
  header.is_fragment = (fragment & (kMoreFragments | kFragmentOffset)) != 0;
  header.flow = {ipv4_at(bytes, 12), ipv4_at(bytes, 16), byte_at(bytes, 9)};
  if ((fragment & kFragmentOffset) == 0) {
    read_ports(bytes.first(length), header_size, header.flow);
  }
  return header;
}

/// Skips the extension headers of `packet`, from `header.transport_offset` on.
std::optional<PacketError> skip_extensions(std::span<const std::byte> packet,
                                           PacketHeader& header) {
  auto at = static_cast<size_t>(header.transport_offset.bytes());
  uint8_t& next = header.flow.protocol;
  bool is_first = true;  // the fragment that begins the packet, or all of it
  for (int i = 0; is_first; ++i) {
    const bool is_extension = next == kHopByHop || next == kRouting || next == kFragment ||
                              next == kAuthentication || next == kDestinationOptions ||
                              next == kMobility;
    if (!is_extension) {
      break;
    }
    if (i == kExtensionHeadersMax) {
      return PacketError::kManyHeaders;
    }
    if (at + 8 > packet.size()) {
      return PacketError::kTruncated;
    }
    size_t size = 8;
    if (next == kFragment) {
      header.is_fragment = true;
      is_first = (word_at(packet, at + 2) & 0xfff8U) == 0;
    } else {
      const size_t units = byte_at(packet, at + 1);
      size = next == kAuthentication ? (units + 2) * 4 : (units + 1) * 8;
    }
    if (at + size > packet.size()) {
      return PacketError::kTruncated;
    }
    next = byte_at(packet, at);
    at += size;
  }
  header.transport_offset = DataSize{static_cast<int64_t>(at)};
  if (is_first) {
    read_ports(packet, at, header.flow);
  }
  return std::nullopt;
}

Result<PacketHeader, PacketError> parse_ipv6(std::span<const std::byte> bytes) {
  if (bytes.size() < kIpv6Header) {
    return PacketError::kTruncated;
  }
  const size_t length = kIpv6Header + word_at(bytes, 4);
  if (length > bytes.size()) {
    return PacketError::kTruncated;
  }
  const uint16_t traffic_class = static_cast<uint16_t>(word_at(bytes, 0) >> 4 & 0xffU);
  PacketHeader header;
  header.version = 6;
  header.length = DataSize{static_cast<int64_t>(length)};
  header.transport_offset = DataSize{static_cast<int64_t>(kIpv6Header)};
  header.dscp = static_cast<uint8_t>(traffic_class >> 2);
  header.ecn = static_cast<uint8_t>(traffic_class & 3U);
  header.hop_limit = byte_at(bytes, 7);
  header.flow = {ipv6_at(bytes, 8), ipv6_at(bytes, 24), byte_at(bytes, 6)};
  if (const auto error = skip_extensions(bytes.first(length), header)) {
    return *error;
  }
  return header;
}

bool is_one_link_only(const Address& address) {
  if (address.is_ipv4()) {
    // A machine's own (127.0.0.0/8) and a link's own.
    return address.ip[12] == 127 || (address.ip[12] == 169 && address.ip[13] == 254);
  }
  constexpr IpBytes kLoopback{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return address.ip == kLoopback || (address.ip[0] == 0xfe && (address.ip[1] & 0xc0U) == 0x80);
}

bool is_for_many(const Address& address) {
  if (address.is_ipv4()) {
    constexpr uint8_t kMulticastFirst = 224;  // and class E with the broadcast address above it
    return address.ip[12] >= kMulticastFirst;
  }
  return address.ip[0] == 0xff;
}

}  // namespace

const char* describe(PacketError error) {
  switch (error) {
    case PacketError::kEmpty:
      return "no bytes";
    case PacketError::kBadVersion:
      return "neither IPv4 nor IPv6";
    case PacketError::kTruncated:
      return "shorter than its header says";
    case PacketError::kBadHeader:
      return "a header of an impossible length";
    case PacketError::kManyHeaders:
      return "too many extension headers";
  }
  return "";
}

Result<PacketHeader, PacketError> parse_packet(std::span<const std::byte> bytes) {
  if (bytes.empty()) {
    return PacketError::kEmpty;
  }
  switch (byte_at(bytes, 0) >> 4) {
    case 4:
      return parse_ipv4(bytes);
    case 6:
      return parse_ipv6(bytes);
    default:
      return PacketError::kBadVersion;
  }
}

void mark_congestion(std::span<std::byte> packet) {
  if (!parse_packet(packet)) {
    return;
  }
  const auto set_word = [packet](size_t at, uint32_t value) {
    packet[at] = static_cast<std::byte>(value >> 8 & 0xffU);
    packet[at + 1] = static_cast<std::byte>(value & 0xffU);
  };
  const uint16_t before = word_at(packet, 0);
  if (byte_at(packet, 0) >> 4 == 6) {
    set_word(0, before | 0x30U);
    return;
  }
  set_word(0, before | 3U);
  // RFC 1624: the sum is of ones' complements, so a changed word changes it by the difference.
  constexpr size_t kChecksumAt = 10;
  uint32_t sum = static_cast<uint16_t>(~word_at(packet, kChecksumAt)) +
                 static_cast<uint16_t>(~before) + uint32_t{word_at(packet, 0)};
  sum = (sum & 0xffffU) + (sum >> 16);
  sum = (sum & 0xffffU) + (sum >> 16);
  set_word(kChecksumAt, ~sum & 0xffffU);
}

bool is_routable(const PacketHeader& header) {
  return !is_one_link_only(header.flow.source) && !is_one_link_only(header.flow.destination) &&
         !is_for_many(header.flow.destination);
}

}  // namespace cress::netns
