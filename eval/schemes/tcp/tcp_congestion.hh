#pragma once

#include <optional>

#include "eval/schemes/tcp/tcp_segment.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::schemes {

/// RFC 6928: ten segments.
inline constexpr DataSize kTcpInitialWindow = kTcpPayloadMax * 10;

/// The information in one acknowledgement that delivered something.
struct AckEvent {
  TimePoint now{};
  DataSize delivered{};     ///< payload newly known to have arrived, cumulatively or by SACK
  DataSize in_flight{};     ///< payload in the network just before this acknowledgement
  DataSize acknowledged{};  ///< cumulatively acknowledged since the flow's start
  DataSize sent{};  ///< first transmissions since the flow's start: rounds are counted by it
  /// Of the newest segment delivered, absent if it cannot be distinguished from a retransmission.
  std::optional<Duration> round_trip{};
  /// Of the same segment, by the receiver's clock: the time its acknowledgement was sent minus the
  /// time it was sent.
  std::optional<Duration> one_way_delay{};
  /// Payload delivered since the newest delivered segment was sent, divided by the longer of its
  /// sending and acknowledging times (draft-cheng-iccrg-delivery-rate-estimation); absent if that
  /// is less than any round trip: such a rate would be too high.
  std::optional<DataRate> delivery_rate{};
  DataSize delivered_total{};      ///< delivered since the flow's start
  DataSize delivered_when_sent{};  ///< `delivered_total` when the newest delivered segment left
  /// The cumulative acknowledgement moved; otherwise this only reports data beyond a gap.
  bool advanced = true;
  bool in_recovery = false;  ///< losses are being repaired; PRR limits the sending
  bool repairing = false;    ///< in a recovery, or after a timeout
  DataSize lost{};           ///< declared lost by this acknowledgement
  DataSize in_flight_now{};  ///< payload in the network after all that
};

/// How much a TCP sender may have in flight. The sender detects losses and repairs them; this
/// decides the window before, and after. Threads: none inside; one owner.
class CongestionControl {
 public:
  virtual ~CongestionControl() = default;
  virtual void on_ack(const AckEvent& ack) = 0;
  /// A recovery begins: from here on `window()` is the window for after the recovery.
  virtual void on_loss(TimePoint now) = 0;
  /// Nothing was acknowledged for a retransmission timeout. `repeated`: neither after the timeout
  /// before.
  virtual void on_timeout(TimePoint now, bool repeated) = 0;
  /// The last on_loss or on_timeout was spurious: the data declared lost has arrived (RFC 4015).
  virtual void on_spurious_loss(TimePoint now) = 0;
  /// Payload allowed in flight, at least one segment.
  virtual DataSize window() const = 0;
  /// The rate at which segments are sent; nullopt: as the window opens.
  virtual std::optional<DataRate> pacing_rate() const { return std::nullopt; }
  /// Whether `window()` also applies in a recovery; otherwise PRR limits the sending there.
  virtual bool governs_recovery() const { return false; }
  /// Whether another full segment may be sent, with `in_flight` outstanding. Not called while PRR
  /// applies.
  virtual bool may_send(DataSize in_flight) const { return in_flight + kTcpPayloadMax <= window(); }
  /// A segment was sent; `in_flight` includes it.
  virtual void on_sent(TimePoint /*now*/, DataSize /*in_flight*/) {}
  /// For controllers that act by the clock.
  virtual void handle_timeout(TimePoint /*now*/) {}
  virtual TimePoint poll_timeout() const { return kNever; }
};

}  // namespace cress::schemes
