#pragma once

#include <optional>

#include "eval/schemes/tcp/tcp_segment.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::schemes {

/// RFC 6928: ten segments.
inline constexpr DataSize kTcpInitialWindow = kTcpPayloadMax * 10;

/// What one acknowledgement that delivered something said.
struct AckEvent {
  TimePoint now{};
  DataSize delivered{};     ///< payload newly known to have arrived, cumulatively or by SACK
  DataSize in_flight{};     ///< payload in the network just before this acknowledgement
  DataSize acknowledged{};  ///< cumulatively acknowledged since the flow's start
  DataSize sent{};  ///< first transmissions since the flow's start: rounds are counted by it
  /// Of the newest segment delivered, absent where it cannot be told from a retransmission.
  std::optional<Duration> round_trip{};
  /// Of the same segment, by the receiver's clock: when its acknowledgement left less when it left.
  std::optional<Duration> one_way_delay{};
  /// Payload delivered since the newest delivered segment left, by the longer of the times in which
  /// it was sent and acknowledged (draft-cheng-iccrg-delivery-rate-estimation); absent where that
  /// is less than any round trip: such a rate would be too high.
  std::optional<DataRate> delivery_rate{};
  DataSize delivered_total{};      ///< delivered since the flow's start
  DataSize delivered_when_sent{};  ///< `delivered_total` when the newest delivered segment left
  /// The cumulative acknowledgement moved; else this only reports what lies beyond a hole.
  bool advanced = true;
  bool in_recovery = false;  ///< losses are being repaired; PRR governs the sending
  bool repairing = false;    ///< in a recovery, or in what follows a timeout
  DataSize lost{};           ///< given up by this acknowledgement
  DataSize in_flight_now{};  ///< payload in the network after all that
};

/// How much a TCP sender may have in flight. The sender finds losses and repairs them; this decides
/// the window before, and after.
/// Threads: none inside; one owner.
class CongestionControl {
 public:
  virtual ~CongestionControl() = default;
  virtual void on_ack(const AckEvent& ack) = 0;
  /// A recovery begins: from here `window()` is what the flow shall have when it is over.
  virtual void on_loss(TimePoint now) = 0;
  /// Nothing came back for a retransmission timeout. `repeated`: the timeout before brought
  /// nothing.
  virtual void on_timeout(TimePoint now, bool repeated) = 0;
  /// The last on_loss or on_timeout was a mistake: what was thought lost has arrived (RFC 4015).
  virtual void on_spurious_loss(TimePoint now) = 0;
  /// Payload allowed in flight, at least one segment.
  virtual DataSize window() const = 0;
  /// The rate at which segments are let go; none: as the window opens.
  virtual std::optional<DataRate> pacing_rate() const { return std::nullopt; }
  /// Whether `window()` holds in a recovery too; else PRR governs the sending there.
  virtual bool governs_recovery() const { return false; }
  /// May another full segment leave, with `in_flight` out? Not asked while PRR governs.
  virtual bool may_send(DataSize in_flight) const { return in_flight + kTcpPayloadMax <= window(); }
  /// A segment left; `in_flight` counts it.
  virtual void on_sent(TimePoint /*now*/, DataSize /*in_flight*/) {}
  /// For those that act by the clock.
  virtual void handle_timeout(TimePoint /*now*/) {}
  virtual TimePoint poll_timeout() const { return kNever; }
};

}  // namespace cress::schemes
