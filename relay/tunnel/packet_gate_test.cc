#include "relay/tunnel/packet_gate.hh"

#include <gtest/gtest.h>

#include "transport/runtime/address_text.hh"

namespace cress::tunnel {
namespace {

netns::PacketHeader between(const char* source, const char* destination) {
  netns::PacketHeader packet;
  packet.flow.source = *runtime::parse_address(source);
  packet.flow.destination = *runtime::parse_address(destination);
  packet.version = packet.flow.source.is_ipv4() ? 4 : 6;
  return packet;
}

constexpr const char* kListener = "100.65.0.1:0";
constexpr const char* kJoiner = "100.65.0.2:0";
constexpr const char* kElsewhere = "198.51.100.7:0";

PacketGate gate_at(bool is_listener, const TunnelReach& reach) {
  return gate_of({.listener = *parse_tunnel_prefix("100.65.0.1/30")}, is_listener, reach);
}

TEST(PacketGate, WithoutInternetOnlyTheTwoAddressesPass) {
  const PacketGate gate = gate_at(true, {});
  EXPECT_TRUE(gate.lets_in(between(kJoiner, kListener)));
  EXPECT_TRUE(gate.lets_out(between(kListener, kJoiner)));
  EXPECT_FALSE(gate.lets_in(between(kJoiner, kElsewhere))) << "would be forwarded";
  EXPECT_FALSE(gate.lets_in(between(kElsewhere, kListener))) << "not the joiner's address";
  EXPECT_FALSE(gate.lets_in(between(kListener, kListener))) << "our own address";
  EXPECT_FALSE(gate.lets_out(between(kElsewhere, kJoiner))) << "forwarded by this machine";
  EXPECT_FALSE(gate.lets_out(between(kListener, kElsewhere)));
  EXPECT_TRUE(
      gate.lets_in(between("[fd74:756e:6e65:6c00::6441:2]:0", "[fd74:756e:6e65:6c00::6441:1]:0")));
  EXPECT_FALSE(gate.lets_in(between("[fd74:756e:6e65:6c00::6441:2]:0", "[2001:db8::1]:0")));
  EXPECT_FALSE(
      gate.lets_in(between("[fd74:756e:6e65:6c00::6441:3]:0", "[fd74:756e:6e65:6c00::6441:1]:0")))
      << "one address, not its neighbour's too";
  EXPECT_FALSE(gate.lets_in(between("100.65.0.3:0", kListener)));
}

TEST(PacketGate, WithInternetTheJoinerReachesIpv4AndOnlyInItsOwnName) {
  const PacketGate gate = gate_at(true, {.internet = true});
  EXPECT_TRUE(gate.lets_in(between(kJoiner, kElsewhere)));
  EXPECT_TRUE(gate.lets_out(between(kElsewhere, kJoiner)));
  EXPECT_FALSE(gate.lets_in(between("100.65.0.3:0", kElsewhere)));
  EXPECT_FALSE(gate.lets_in(between(kJoiner, "127.0.0.1:0")));
  EXPECT_FALSE(gate.lets_out(between(kElsewhere, "203.0.113.1:0")));
  EXPECT_FALSE(gate.lets_in(between("[fd74:756e:6e65:6c00::6441:2]:0", "[2001:db8::1]:0")));
}

TEST(PacketGate, AJoinerIsReachedFromWhatItNamedAlone) {
  const PacketGate gate =
      gate_at(false, {.routes = {{*runtime::parse_address("198.51.100.0:0"), 24}}});
  EXPECT_TRUE(gate.lets_in(between(kListener, kJoiner)));
  EXPECT_TRUE(gate.lets_in(between(kElsewhere, kJoiner)));
  EXPECT_TRUE(gate.lets_out(between(kJoiner, kElsewhere)));
  EXPECT_FALSE(gate.lets_in(between("203.0.113.1:0", kJoiner)));
  EXPECT_FALSE(gate.lets_in(between(kListener, "192.168.1.1:0"))) << "would be forwarded";
  EXPECT_FALSE(gate.lets_out(between("192.168.1.1:0", kElsewhere)));
}

TEST(PacketGate, ACommandInAPrivateNetworkReachesEverythingInItsOwnName) {
  const PacketGate gate = gate_at(false, {.is_private = true});
  EXPECT_TRUE(gate.lets_out(between(kJoiner, "203.0.113.1:0")));
  EXPECT_TRUE(gate.lets_in(between("203.0.113.1:0", kJoiner)));
  for (const char* any : {"[2001:db8::1]:0", "[fd00::1]:0"}) {
    EXPECT_TRUE(gate.lets_out(between("[fd74:756e:6e65:6c00::6441:2]:0", any))) << any;
    EXPECT_TRUE(gate.lets_in(between(any, "[fd74:756e:6e65:6c00::6441:2]:0"))) << any;
  }
  EXPECT_FALSE(gate.lets_out(between("192.168.1.1:0", kElsewhere)));
  EXPECT_FALSE(gate.lets_in(between("203.0.113.1:0", kElsewhere)));
}

TEST(TunnelNetwork, AJoinerTakesOnlySharedAddressesOrWhatItNamed) {
  const auto network = [](const char* text) {
    return TunnelNetwork{.listener = *parse_tunnel_prefix(text)};
  };
  const netns::Prefix none{};
  EXPECT_EQ(refusal_of(network("100.64.0.1/30"), none, {}), "");
  EXPECT_EQ(refusal_of(network("100.127.255.254/30"), none, {}), "");
  EXPECT_EQ(refusal_of(network("192.168.1.1/30"), none, {}),
            "the listener's network is 192.168.1.1/30, not one of 100.64.0.0/10; "
            "--address 192.168.1.1/30 here accepts it");
  EXPECT_NE(refusal_of(network("100.128.0.1/30"), none, {}), "");
  EXPECT_NE(refusal_of(network("192.168.1.1/30"), network("192.168.1.5/30").listener, {}), "");
  EXPECT_EQ(refusal_of(network("192.168.1.1/30"), network("192.168.1.1/30").listener, {}), "");
  EXPECT_EQ(refusal_of(network("192.168.1.1/30"), none, {.is_private = true}), "");
}

TEST(TunnelNetwork, OverlapWithARouteIsNamed) {
  const std::vector<netns::Prefix> own{*parse_tunnel_prefix("100.65.0.1/30")};
  const auto route = [](const char* ip, int length) {
    return netns::Prefix{*runtime::parse_address(ip), length};
  };
  EXPECT_EQ(overlap_of(own, {route("0.0.0.0:0", 0), route("10.0.0.0:0", 8)}), "");
  EXPECT_EQ(overlap_of(own, {route("10.0.0.0:0", 8), route("100.64.0.0:0", 10)}),
            "the tunnel's network 100.65.0.1/30 overlaps this machine's route to 100.64.0.0/10; "
            "another --address of the listener avoids that");
  EXPECT_NE(overlap_of(own, {route("100.65.0.2:0", 32)}), "");
}

}  // namespace
}  // namespace cress::tunnel
