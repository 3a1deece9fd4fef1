#pragma once

#include <filesystem>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "relay/tunnel/secure_tunnel.hh"
#include "transport/base/address.hh"
#include "transport/netns/route_socket.hh"
#include "transport/secure/link/link.hh"

namespace cress::tunnel {

struct LiveTunnelOptions {
  secure::Role role = secure::Role::kListener;
  /// A joiner's; of a listener, its host is what the link shall name (empty: an address of this
  /// machine) and its secret may be empty: a new one.
  secure::Link link{};
  /// Where a listener listens; all zero: any address and port.
  Address bind{};
  TunnelNetwork network{};
  /// Runs in a private network behind the tunnel. Empty: the tunnel is an interface of this
  /// machine's own network, which takes CAP_NET_ADMIN.
  std::vector<std::string> command{};
  /// Of an interface in this machine's network: what is reached through it, besides the other end.
  std::vector<netns::Prefix> routes{};
  /// A listener lets the joiner go on beyond this machine, by address translation (IPv4). Takes
  /// root and a machine that forwards packets.
  bool internet = false;
  /// A line of JSON a second; empty: none.
  std::filesystem::path stats{};
};

/// One end of a tunnel, live, from the beginning until COMMAND has ended, the other end is gone for
/// good (a joiner's), or SIGINT or SIGTERM. Everything it made is gone then: its interface, the
/// private network and all processes in it. Returns COMMAND's exit code, 0 after a signal, 1 when
/// the other end is not to be had. `out`: a listener's link, on a line of its own. `notes`: what
/// happens, a line each.
/// Errors: std::runtime_error, one clear line. Threads: the caller's process has no other.
int run_tunnel(const LiveTunnelOptions& options, std::ostream& out, std::ostream& notes);

}  // namespace cress::tunnel
