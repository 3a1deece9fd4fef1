#include "relay/tunnel/packet_gate.hh"

#include <algorithm>

#include "transport/runtime/address_text.hh"

namespace cress::tunnel {
namespace {

netns::Prefix prefix_of(const char* ip, int length) {
  return {*runtime::parse_address(ip), length};
}

netns::Prefix host_of(netns::Prefix own) {
  own.length = own.address.is_ipv4() ? 32 : 128;
  return own;
}

bool is_in(const std::vector<netns::Prefix>& networks, const Address& address) {
  return std::ranges::any_of(
      networks, [&](const netns::Prefix& network) { return netns::contains(network, address); });
}

}  // namespace

bool PacketGate::lets_in(const netns::PacketHeader& packet) const {
  return netns::is_routable(packet) && is_in(theirs, packet.flow.source) &&
         is_in(ours, packet.flow.destination);
}

bool PacketGate::lets_out(const netns::PacketHeader& packet) const {
  return netns::is_routable(packet) && is_in(ours, packet.flow.source) &&
         is_in(theirs, packet.flow.destination);
}

PacketGate gate_of(const TunnelNetwork& network, bool is_listener, const TunnelReach& reach) {
  PacketGate gate{
      .ours = {host_of(network.own4(is_listener)), host_of(network.own6(is_listener))},
      .theirs = {host_of(network.own4(!is_listener)), host_of(network.own6(!is_listener))}};
  const netns::Prefix all4 = prefix_of("0.0.0.0:0", 0);
  if (is_listener && reach.internet) {
    gate.ours.push_back(all4);
  }
  if (!is_listener && reach.is_private) {
    gate.theirs = {all4, prefix_of("[::]:0", 0)};
  }
  gate.theirs.insert(gate.theirs.end(), reach.routes.begin(), reach.routes.end());
  return gate;
}

std::string refusal_of(const TunnelNetwork& network, const netns::Prefix& named,
                       const TunnelReach& reach) {
  const netns::Prefix chosen = network.own4(true);
  const netns::Prefix shared = prefix_of("100.64.0.0:0", 10);
  if (reach.is_private || netns::contains(shared, chosen.address) || chosen == named) {
    return "";
  }
  const std::string text = netns::format_prefix(chosen);
  return "the listener's network is " + text + ", not one of 100.64.0.0/10; --address " + text +
         " here accepts it";
}

std::string overlap_of(const std::vector<netns::Prefix>& own,
                       const std::vector<netns::Prefix>& existing) {
  for (const netns::Prefix& one : own) {
    for (const netns::Prefix& other : existing) {
      if (one.length > 0 && other.length > 0 && netns::overlap(one, other)) {
        return "the tunnel's network " + netns::format_prefix(one) +
               " overlaps this machine's route to " + netns::format_prefix(other) +
               "; another --address of the listener avoids that";
      }
    }
  }
  return "";
}

}  // namespace cress::tunnel
