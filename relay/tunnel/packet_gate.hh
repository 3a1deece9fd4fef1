#pragma once

#include <string>
#include <vector>

#include "relay/tunnel/greeting.hh"
#include "transport/netns/packet.hh"
#include "transport/netns/route_socket.hh"

namespace cress::tunnel {

/// What one end of a tunnel reaches through the other, as its own user said.
struct TunnelReach {
  /// This end is in a private network, which has nothing but the tunnel.
  bool is_private = false;
  /// Networks behind the other end.
  std::vector<netns::Prefix> routes{};
  /// The listener forwards IPv4 packets of the joiner to what its machine reaches.
  bool internet = false;
};

/// Which packets pass one end of a tunnel, by the addresses inside them, in both directions (as
/// WireGuard's AllowedIPs): the other end can neither send from an address that is not behind it,
/// nor to one that is not this end's, so that nothing is forwarded unless `internet` says so.
/// Threads: none inside; a value.
struct PacketGate {
  std::vector<netns::Prefix> ours;
  std::vector<netns::Prefix> theirs;

  bool lets_in(const netns::PacketHeader& packet) const;
  bool lets_out(const netns::PacketHeader& packet) const;
};
PacketGate gate_of(const TunnelNetwork& network, bool is_listener, const TunnelReach& reach);

/// Why a joiner must not configure the network that its listener chose; empty: it may. Only
/// 100.64.0.0/10 (RFC 6598) is taken from anybody: in no network do other machines have these
/// addresses, so that no connection of this machine comes to lead into the tunnel. `named`: the
/// network that the joiner's user named, if its address is not all zero.
std::string refusal_of(const TunnelNetwork& network, const netns::Prefix& named,
                       const TunnelReach& reach);

/// The first of `existing` that the network of `own` overlaps, in words; empty: none does.
/// Everything (the default route) overlaps nothing.
std::string overlap_of(const std::vector<netns::Prefix>& own,
                       const std::vector<netns::Prefix>& existing);

}  // namespace cress::tunnel
