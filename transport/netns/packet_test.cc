#include "transport/netns/packet.hh"

#include <gtest/gtest.h>

#include <vector>

#include "transport/base/rng.hh"
#include "transport/runtime/address_text.hh"

namespace cress::netns {
namespace {

using Bytes = std::vector<std::byte>;

void put(Bytes& bytes, std::initializer_list<int> values) {
  for (const int value : values) {
    bytes.push_back(static_cast<std::byte>(value));
  }
}

/// 100.64.0.2:1000 to 198.51.100.7:53, DSCP 46, ECN 1.
Bytes udp4(int fragment = 0) {
  Bytes bytes;
  put(bytes, {0x45, 46 << 2 | 1, 0, 32, 0, 1, fragment >> 8, fragment & 0xff, 64, 17, 0, 0});
  put(bytes, {100, 64, 0, 2, 198, 51, 100, 7});
  put(bytes, {1000 >> 8, 1000 & 0xff, 0, 53, 0, 12, 0, 0, 'a', 'b', 'c', 'd'});
  return bytes;
}

/// [fd00::2]:1000 to [2001:db8::7]:53, class 0xb9, behind `extensions` of which `next` is the
/// first.
Bytes udp6(int next = 17, const Bytes& extensions = {}) {
  Bytes bytes;
  put(bytes, {0x6b, 0x90, 0, 0, 0, static_cast<int>(extensions.size()) + 12, next, 61});
  put(bytes, {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2});
  put(bytes, {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7});
  bytes.insert(bytes.end(), extensions.begin(), extensions.end());
  put(bytes, {1000 >> 8, 1000 & 0xff, 0, 53, 0, 12, 0, 0, 'a', 'b', 'c', 'd'});
  return bytes;
}

PacketError error_of(const Bytes& bytes) {
  const auto header = parse_packet(bytes);
  EXPECT_FALSE(header.has_value());
  return header ? PacketError::kEmpty : header.error();
}

TEST(Packet, AnIpv4PacketsFlowLengthAndClassAreRead) {
  const auto header = parse_packet(udp4());
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->version, 4);
  EXPECT_EQ(header->flow.source, *runtime::parse_address("100.64.0.2:1000"));
  EXPECT_EQ(header->flow.destination, *runtime::parse_address("198.51.100.7:53"));
  EXPECT_EQ(header->flow.protocol, 17);
  EXPECT_EQ(header->length, DataSize{32});
  EXPECT_EQ(header->transport_offset, DataSize{20});
  EXPECT_EQ(header->dscp, 46);
  EXPECT_EQ(header->ecn, 1);
  EXPECT_EQ(header->hop_limit, 64);
  EXPECT_FALSE(header->is_fragment);
}

TEST(Packet, AnIpv6PacketsFlowLengthAndClassAreReadBehindItsExtensions) {
  Bytes extensions;
  put(extensions, {60, 0, 0, 0, 0, 0, 0, 0});                          // hop by hop
  put(extensions, {17, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});  // destination options
  for (const Bytes& bytes : {udp6(), udp6(0, extensions)}) {
    const auto header = parse_packet(bytes);
    ASSERT_TRUE(header.has_value());
    EXPECT_EQ(header->version, 6);
    EXPECT_EQ(header->flow.source, *runtime::parse_address("[fd00::2]:1000"));
    EXPECT_EQ(header->flow.destination, *runtime::parse_address("[2001:db8::7]:53"));
    EXPECT_EQ(header->flow.protocol, 17);
    EXPECT_EQ(header->length.bytes(), static_cast<int64_t>(bytes.size()));
    EXPECT_EQ(header->transport_offset.bytes(), static_cast<int64_t>(bytes.size()) - 12);
    EXPECT_EQ(header->dscp, 46);
    EXPECT_EQ(header->ecn, 1);
    EXPECT_EQ(header->hop_limit, 61);
  }
}

TEST(Packet, OnlyTheFirstFragmentHasPorts) {
  const auto first4 = parse_packet(udp4(0x2000));
  const auto later4 = parse_packet(udp4(0x0003));
  ASSERT_TRUE(first4 && later4);
  EXPECT_TRUE(first4->is_fragment && later4->is_fragment);
  EXPECT_EQ(first4->flow.source.port, 1000);
  EXPECT_EQ(later4->flow.source.port, 0);
  Bytes first;
  put(first, {17, 0, 0, 1, 0, 0, 0, 9});
  Bytes later;
  put(later, {17, 0, 0, 8, 0, 0, 0, 9});
  const auto first6 = parse_packet(udp6(44, first));
  const auto later6 = parse_packet(udp6(44, later));
  ASSERT_TRUE(first6 && later6);
  EXPECT_TRUE(first6->is_fragment && later6->is_fragment);
  EXPECT_EQ(first6->flow.destination.port, 53);
  EXPECT_EQ(later6->flow.destination.port, 0);
  EXPECT_EQ(later6->flow.protocol, 17);
}

TEST(Packet, ErrorIsNamed) {
  EXPECT_EQ(error_of({}), PacketError::kEmpty);
  Bytes bytes = udp4();
  bytes[0] = std::byte{0x55};
  EXPECT_EQ(error_of(bytes), PacketError::kBadVersion);
  bytes[0] = std::byte{0x44};
  EXPECT_EQ(error_of(bytes), PacketError::kBadHeader);
  bytes[0] = std::byte{0x4f};
  EXPECT_EQ(error_of(bytes), PacketError::kBadHeader) << "a header longer than the packet";
  Bytes hops;
  for (int i = 0; i <= kExtensionHeadersMax; ++i) {
    put(hops, {i == kExtensionHeadersMax ? 17 : 60, 0, 0, 0, 0, 0, 0, 0});
  }
  EXPECT_EQ(error_of(udp6(60, hops)), PacketError::kManyHeaders);
  Bytes long_extension;
  put(long_extension, {17, 200, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(error_of(udp6(60, long_extension)), PacketError::kTruncated);
}

TEST(Packet, EveryCutOfAPacketIsTruncated) {
  Bytes extension;
  put(extension, {17, 0, 0, 0, 0, 0, 0, 0});
  for (const Bytes& whole : {udp4(), udp6(), udp6(60, extension)}) {
    for (size_t size = 1; size < whole.size(); ++size) {
      EXPECT_EQ(error_of({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)}),
                PacketError::kTruncated);
    }
  }
}

TEST(Packet, AnyBytesGiveAHeaderInsideThemOrAnError) {
  Rng rng{5};
  int read = 0;
  for (int i = 0; i < 200'000; ++i) {
    Bytes bytes(rng.below(120));
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(rng.next());
    }
    if (!bytes.empty()) {
      bytes[0] = static_cast<std::byte>(rng.chance(0.5) ? 0x45 : 0x60);
    }
    if (bytes.size() > 5) {
      bytes[rng.chance(0.5) ? 2 : 4] = std::byte{0};
    }
    if (const auto header = parse_packet(bytes)) {
      ++read;
      ASSERT_LE(header->length.bytes(), static_cast<int64_t>(bytes.size()));
      ASSERT_LE(header->transport_offset, header->length);
    }
  }
  EXPECT_GT(read, 1000);
}

/// Ones' complement sum of the header's words: 0xffff where its checksum is right.
uint32_t checksum_of(const Bytes& bytes) {
  uint32_t sum = 0;
  for (size_t at = 0; at < 20; at += 2) {
    sum += std::to_integer<uint32_t>(bytes[at]) << 8 | std::to_integer<uint32_t>(bytes[at + 1]);
  }
  while (sum > 0xffff) {
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return sum;
}

TEST(Packet, MarkSetsCeAndKeepsTheChecksumRight) {
  for (int ecn = 0; ecn < 4; ++ecn) {
    for (int salt = 0; salt < 1000; ++salt) {
      Bytes packet = udp4();
      packet[1] = static_cast<std::byte>(46 << 2 | ecn);
      packet[4] = static_cast<std::byte>(salt >> 8);
      packet[5] = static_cast<std::byte>(salt & 0xff);
      const uint32_t right = 0xffff - checksum_of(packet);
      packet[10] = static_cast<std::byte>(right >> 8);
      packet[11] = static_cast<std::byte>(right & 0xff);
      ASSERT_EQ(checksum_of(packet), 0xffffU);
      mark_congestion(packet);
      ASSERT_EQ(checksum_of(packet), 0xffffU) << ecn << " " << salt;
      const auto header = parse_packet(packet);
      ASSERT_EQ(header->ecn, 3);
      ASSERT_EQ(header->dscp, 46);
      ASSERT_EQ(header->flow, parse_packet(udp4())->flow);
    }
  }
}

TEST(Packet, MarkSetsCeInIpv6AndLeavesOtherBytesAlone) {
  Bytes packet = udp6();
  mark_congestion(packet);
  auto expected = *parse_packet(udp6());
  expected.ecn = 3;
  EXPECT_EQ(*parse_packet(packet), expected);
  Bytes broken = udp4();
  broken.resize(19);
  const Bytes before = broken;
  mark_congestion(broken);
  EXPECT_EQ(broken, before);
}

TEST(Packet, OnlyUnicastBeyondTheLinkIsRoutable) {
  const struct {
    const char* from;
    const char* to;
    bool routable;
  } cases[] = {
      {"100.64.0.2:1", "192.0.2.1:1", true},        {"[fd00::1]:1", "[2001:db8::1]:1", true},
      {"[fe80::1]:1", "[2001:db8::1]:1", false},    {"[fd00::1]:1", "[fe80::1]:1", false},
      {"[fd00::1]:1", "[ff02::16]:1", false},       {"100.64.0.2:1", "224.0.0.251:1", false},
      {"100.64.0.2:1", "255.255.255.255:1", false}, {"169.254.1.1:1", "192.0.2.1:1", false},
      {"100.64.0.2:1", "127.0.0.1:1", false},       {"127.0.0.1:1", "192.0.2.1:1", false},
      {"[::1]:1", "[2001:db8::1]:1", false}};
  for (const auto& c : cases) {
    PacketHeader header;
    header.flow = {*runtime::parse_address(c.from), *runtime::parse_address(c.to), 17};
    EXPECT_EQ(is_routable(header), c.routable) << c.from << " to " << c.to;
  }
}

}  // namespace
}  // namespace cress::netns
