#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "relay/tunnel/flow_slots.hh"
#include "relay/tunnel/packet_gate.hh"
#include "relay/tunnel/packet_parts.hh"
#include "transport/base/result.hh"
#include "transport/control/control.hh"
#include "transport/session/endpoint.hh"

namespace cress::tunnel {

/// The MTU of a tunnel's interface: the minimum for IPv6 (RFC 8200 §5). The session's datagrams
/// that carry such a packet whole fit every path of 1500 bytes; until the path is known to carry
/// them (the first seconds), and where it does not, full packets go in two parts.
inline constexpr DataSize kTunnelMtu{1280};

struct TunnelStats {
  uint64_t packets_in = 0;           ///< taken from the device
  uint64_t packets_out = 0;          ///< given to the device
  uint64_t packets_not_carried = 0;  ///< not IP, or not to be forwarded by a router
  uint64_t packets_foreign = 0;      ///< from or to an address that is not of the tunnel
  uint64_t packets_cut = 0;          ///< larger than a message, or than the rest of the window
  uint64_t packets_dropped = 0;      ///< the queues held more than the forecast promised to carry
  uint64_t messages_lost = 0;        ///< lost in the network
  uint64_t messages_delivered = 0;
  uint64_t paddings_sent = 0;
  DataSize bytes_in{};
  DataSize bytes_out{};
  friend bool operator==(const TunnelStats&, const TunnelStats&) = default;
};

/// SproutTunnel (paper §4.3) without I/O: carries IP packets of any program over one session. Each
/// flow has its own queue; queues take turns, one packet each. All queues together hold at most
/// what the forecast promises to deliver; the excess is dropped from the head of the longest. A
/// bulk transfer therefore fills only its own queue, and a call next to it is not delayed. Packets
/// of a flow are not reordered by the tunnel, and nothing is retransmitted: the tunnelled protocols
/// do that themselves.
///
/// After each handle_* and each send, poll_transmit, poll_packet and poll_note until empty, then
/// sleep until poll_timeout. Peer data never fails a check; packets are not trusted in either
/// direction. Threads: none inside; one owner. `now` never goes back.
class Tunnel {
 public:
  /// `fills_window`: while packets flow, the window is filled to the byte, with a part of the next
  /// packet or, if none waits, with padding. Only Sprout's belief needs that: it interprets what
  /// was not sent as what the link could not carry (docs/adr/0005).
  Tunnel(TimePoint start, session::EndpointOptions options,
         std::unique_ptr<control::Control> control, bool fills_window);

  /// From now on only what `gate` lets through is sent or given out.
  void set_gate(PacketGate gate) { gate_ = std::move(gate); }

  /// An IP packet for the other end. False: not carried.
  bool send(TimePoint now, std::span<const std::byte> packet);
  /// A message from this program to the other end's; sent before all packets, and also while the
  /// window is closed. At most as large as a message.
  void send_note(TimePoint now, std::vector<std::byte> note);

  Result<Unit, wire::WireError> handle_datagram(TimePoint now, std::span<const std::byte> datagram);
  void handle_timeout(TimePoint now);
  std::optional<std::vector<std::byte>> poll_transmit(TimePoint now);
  /// A packet from the other end.
  std::optional<std::vector<std::byte>> poll_packet();
  std::optional<std::vector<std::byte>> poll_note();
  TimePoint poll_timeout() const;

  /// The path's largest datagram has changed.
  void set_datagram_max(DataSize size) { endpoint_.set_datagram_max(size); }

  const session::Endpoint& endpoint() const { return endpoint_; }
  /// Bytes of packets that wait.
  DataSize queued() const { return queues_.size() + cutter_.left() + endpoint_.queued(); }
  const AssemblerStats& assembler() const { return assembler_.stats(); }
  const TunnelStats& stats() const { return stats_; }
  size_t flows() const { return slots_.size(); }

 private:
  void drain(TimePoint now);
  void bound(TimePoint now);
  void fill(TimePoint now);
  void pad(TimePoint now);
  bool lets_in(std::span<const std::byte> packet) const;

  std::optional<PacketGate> gate_;
  DataSize queue_floor_;
  bool fills_window_;
  TimePoint pad_until_ = kTimeZero;
  TimePoint pad_at_ = kNever;
  TimePoint now_;
  session::Endpoint endpoint_;
  FlowSlots slots_;
  // Whole packets wait here, so that no half of one is sent in vain, and go over one of the
  // endpoint's flows when the window has room.
  session::FlowQueues queues_;
  PacketCutter cutter_;
  PacketAssembler assembler_;
  // Both grow by what one datagram brings and are drained after it.
  std::deque<std::vector<std::byte>> packets_;
  std::deque<std::vector<std::byte>> notes_;
  TunnelStats stats_;
};

}  // namespace cress::tunnel
