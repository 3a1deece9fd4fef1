#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relay/tunnel/greeting.hh"
#include "relay/tunnel/tunnel.hh"
#include "transport/base/machine.hh"
#include "transport/secure/connection.hh"

namespace cress::tunnel {

/// Creates the controls that fill a session's window; keeps Sprout's tables, which are computed on
/// first use. Must outlive the controls. Threads: none inside; one owner.
class ControlMaker {
 public:
  ControlMaker();
  ~ControlMaker();
  /// `tag`: bytes that encryption adds to each datagram.
  std::unique_ptr<control::Control> make(ControlKind kind, DataSize tag);

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

struct SecureTunnelOptions {
  secure::ConnectionOptions connection{};
  /// Set by the listener. A joiner receives it, and uses only `control`, and `listener` if its user
  /// named the network that it accepts (refusal_of).
  TunnelNetwork network{};
  /// Which packets may pass.
  TunnelReach reach{};
};

/// One end of a tunnel behind its link: a peer with the link gets a Tunnel, and each new peer a new
/// Tunnel; packets are dropped while no peer is connected. Still without I/O: a Driver steps it
/// over a socket, a test over a simulated link. Threads: none inside; one owner. `now` never goes
/// back. Peer data: unauthenticated data never reaches the Tunnel.
class SecureTunnel : public Machine {
 public:
  SecureTunnel(TimePoint start, SecureTunnelOptions options);

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  void handle_path_error(TimePoint now, const PathError& error) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;

  /// An IP packet for the other end.
  void send(TimePoint now, std::span<const std::byte> packet);
  void handle_network_change(TimePoint now);
  void hang_up(TimePoint now);

  std::optional<std::vector<std::byte>> poll_packet();
  std::optional<secure::Event> poll_event();

  /// What the ends have agreed on; nullopt before that and while no peer is connected.
  const std::optional<TunnelNetwork>& network() const { return network_; }
  /// Why the ends cannot agree; empty if they can.
  const std::string& disagreement() const { return disagreement_; }

  /// Null while no peer is connected.
  const Tunnel* tunnel() const { return tunnel_.get(); }
  const secure::Connection& connection() const { return connection_; }
  /// Incremented with each peer.
  uint64_t sessions() const { return sessions_; }

 private:
  void drain(TimePoint now);
  void drain_events(TimePoint now);
  void greet(TimePoint now);
  void handle_note(TimePoint now, std::span<const std::byte> note);

  SecureTunnelOptions options_;
  bool is_listener_;
  ControlMaker controls_;
  secure::Connection connection_;
  std::unique_ptr<Tunnel> tunnel_;
  std::optional<TunnelNetwork> network_;
  TimePoint greet_at_ = kNever;
  std::string disagreement_;
  uint64_t sessions_ = 0;
  // Few events: drained after each call. Packets: those that one datagram brings.
  std::deque<secure::Event> events_;
};

}  // namespace cress::tunnel
