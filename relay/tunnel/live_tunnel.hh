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
  /// The joiner's link. For a listener: its host is the one to put into the link (empty: an address
  /// of this machine), and its secret may be empty: a new one.
  secure::Link link{};
  /// The address on which a listener listens; all zero: any address and port.
  Address bind{};
  TunnelNetwork network{};
  /// Runs in a private network behind the tunnel. Empty: the tunnel is an interface in this
  /// machine's own network, which needs CAP_NET_ADMIN.
  std::vector<std::string> command{};
  /// For an interface in this machine's network: destinations reached through it in addition to the
  /// other end.
  std::vector<netns::Prefix> routes{};
  /// The listener lets the joiner reach networks beyond this machine, by address translation
  /// (IPv4). Needs root and a machine that forwards packets.
  bool internet = false;
  /// Receives one line of JSON per second; empty: none.
  std::filesystem::path stats{};
};

/// One end of a tunnel, live, from the beginning until COMMAND has ended, the other end has ended
/// (for a joiner), or SIGINT or SIGTERM. Everything it created is removed then: its interface, the
/// private network and all processes in it. Returns COMMAND's exit code, 0 after a signal, 1 if the
/// other end is not reachable. `out`: a listener's link, on a line of its own. `notes`: events, one
/// line each. Errors: std::runtime_error, one clear line. Threads: the caller's process must have
/// no other thread.
int run_tunnel(const LiveTunnelOptions& options, std::ostream& out, std::ostream& notes);

}  // namespace cress::tunnel
