#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"
#include "transport/netns/packet.hh"
#include "transport/runtime/address_text.hh"

namespace cress::netns {
namespace {

/// A parser's result for a packet: its error, or all fields.
std::string words_of(std::span<const std::byte> packet) {
  const auto parsed = parse_packet(packet);
  if (!parsed) {
    return describe(parsed.error());
  }
  const PacketHeader& h = parsed.value();
  return std::to_string(h.version) + " " + runtime::format_address(h.flow.source) + " " +
         runtime::format_address(h.flow.destination) + " " + std::to_string(h.flow.protocol) +
         " of " + std::to_string(h.length.bytes()) + " at " +
         std::to_string(h.transport_offset.bytes()) + " class " + std::to_string(h.dscp) + "/" +
         std::to_string(h.ecn) + " hops " + std::to_string(h.hop_limit) +
         (h.is_fragment ? " part" : "") + (is_routable(h) ? " goes on" : " stays");
}

/// Headers whose fields are around their limits.
std::vector<std::byte> draw_packet(Rng& rng, bool is_ipv6) {
  constexpr std::array kProtocols{0, 1, 6, 17, 33, 43, 44, 51, 58, 59, 60, 132, 135, 136};
  constexpr std::array kFirstBytes{0x20, 0xfd, 0xfe, 0xff, 100, 169, 223, 224, 255};
  std::vector<std::byte> packet(is_ipv6 ? 40 + rng.below(60) : 20 + rng.below(12));
  for (std::byte& byte : packet) {
    byte = static_cast<std::byte>(rng.below(rng.chance(0.5) ? 3 : 256));
  }
  const auto put = [&](size_t at, uint64_t value) { packet[at] = static_cast<std::byte>(value); };
  const auto protocol = [&] { return kProtocols.at(rng.below(kProtocols.size())); };
  for (const size_t at : is_ipv6 ? std::array<size_t, 2>{8, 24} : std::array<size_t, 2>{12, 16}) {
    put(at, static_cast<uint64_t>(kFirstBytes.at(rng.below(kFirstBytes.size()))));
    put(at + 1, std::array<uint64_t, 6>{254, 253, 0x80, 0xbf, 0xc0, 0}.at(rng.below(6)));
  }
  size_t size = packet.size() - rng.below(3);
  size += rng.chance(0.1) ? 3 : 0;
  if (is_ipv6) {
    put(0, 0x60 + rng.below(16));
    put(4, 0);
    put(5, size - 40);
    put(6, static_cast<uint64_t>(protocol()));
    for (size_t at = 40; at + 1 < packet.size(); at += 8) {
      put(at, static_cast<uint64_t>(protocol()));
      put(at + 1, rng.below(3));
    }
  } else {
    put(0, 0x40 + 4 + rng.below(5));
    put(2, 0);
    put(3, size);
    put(6, rng.chance(0.3) ? 0x20 : rng.below(2));
    put(7, rng.chance(0.7) ? 0 : 1);
    put(9, static_cast<uint64_t>(protocol()));
  }
  return packet;
}

TEST(PacketModel, RandomPacketsAreParsedAsCommitted) {
  Rng rng{7};
  std::string all;
  for (int part = 0; part < 120; ++part) {
    std::string lines;
    for (int i = 0; i < 40; ++i) {
      lines += words_of(draw_packet(rng, i % 2 == 0)) + "\n";
    }
    all += lines.substr(0, lines.find('\n')) + " ... " + golden_digest(lines) + "\n";
  }
  expect_golden("packets", all);
}

TEST(PacketModel, EachBeginningOfAPacketIsReadAsCommitted) {
  Rng rng{9};
  std::string all;
  for (const bool is_ipv6 : {false, true}) {
    const std::vector<std::byte> packet = draw_packet(rng, is_ipv6);
    for (size_t size = 0; size <= packet.size(); ++size) {
      all += std::to_string(size) + " " + words_of(std::span{packet}.first(size)) + "\n";
    }
  }
  expect_golden("beginnings", all);
}

}  // namespace
}  // namespace cress::netns
