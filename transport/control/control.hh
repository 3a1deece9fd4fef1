#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::control {

/// The reordering to expect of a path before any is measured (paper §3.4).
inline constexpr Duration kThrowawayInterval = 10ms;

/// Packets that the link will deliver within 1, 2, ... ticks, with high probability (Sprout, §3.3).
/// Cumulative, so it never decreases. Empty: unknown.
using ForecastCounts = std::vector<uint32_t>;

/// A datagram as its receiver observed it.
struct ArrivedDatagram {
  uint64_t sequence = 0;  ///< the sender's byte sequence before this datagram
  DataSize payload;       ///< its frames: the datagram without its header
  Duration
      time_to_next{};  ///< how long the sender will be silent after it; 0: another datagram follows
  /// It carries messages, so its sender needs feedback about the link soon. A datagram with
  /// feedback alone does not ask for feedback; otherwise two idle ends would answer each other for
  /// ever.
  bool asks_for_feedback = false;
  /// The sender's clock when the datagram left, if it was sent: low 16 bits of milliseconds.
  std::optional<uint16_t> sent_ms{};
  bool marked = false;  ///< by a queue: congestion experienced (RFC 3168)
};

/// When a datagram arrived, by the receiver's clock.
struct ArrivalStamp {
  uint64_t sequence = 0;
  TimePoint at{};
  bool marked = false;
  friend bool operator==(const ArrivalStamp&, const ArrivalStamp&) = default;
};

/// What a receiver reports to its sender about the link between them. Each scheme fills the fields
/// that it needs.
struct Feedback {
  TimePoint made_at{};                 ///< by the receiver's clock
  ForecastCounts counts;               ///< a forecast made at the receiver (Sprout)
  std::vector<ArrivalStamp> arrivals;  ///< recent arrivals, ascending by sequence (Cress)
};

/// A congestion control scheme: how much may be sent so that it will arrive in time with high
/// probability. One object holds both halves at one end of a session: as a receiver it turns
/// arrivals into feedback, as a sender it turns feedback into a window. Threads: none inside; one
/// owner. `now` never goes back. Peer data: any values are safe.
class Control {
 public:
  virtual ~Control() = default;

  // The receiver's half.
  virtual void handle_arrival(TimePoint now, const ArrivedDatagram& datagram) = 0;
  /// Feedback for a datagram that leaves now, if there is any; called once per datagram.
  virtual std::optional<Feedback> poll_feedback(TimePoint now) = 0;
  /// When a datagram must be sent even if it carries only feedback; kNever: heartbeats suffice.
  virtual TimePoint feedback_due() const = 0;

  // The sender's half.
  /// A datagram was sent: `sequence` is the byte sequence before it, `payload` the size of its
  /// frames.
  virtual void on_sent(TimePoint now, uint64_t sequence, DataSize payload) = 0;
  /// `next_sequence`: the byte sequence after everything sent; `received_or_lost`: the bytes that
  /// the peer reports as no longer in flight.
  virtual void handle_feedback(TimePoint now, const Feedback& feedback, uint64_t next_sequence,
                               uint64_t received_or_lost) = 0;
  /// Bytes that may be sent now; never negative.
  virtual DataSize window(TimePoint now) const = 0;
  /// Bytes sent that are, as far as is known, forecast or likely, still in the network.
  virtual DataSize outstanding(TimePoint now) const = 0;
  /// Bytes that the window counts for each message in addition to the message itself.
  virtual DataSize message_overhead() const = 0;
  /// Bytes that the current forecast promises over its whole life: bounds the sender's own queues
  /// (paper §4.3).
  virtual DataSize forecast_total() const = 0;
  /// The forecast as a mean rate, for display; nullopt before the first feedback.
  virtual std::optional<DataRate> forecast_rate() const = 0;
  /// What the forecast usually is while anything arrives: an outage does not lower it. nullopt: not
  /// known.
  virtual std::optional<DataRate> usual_rate() const { return std::nullopt; }
  /// How evenly the link delivers, 0 to 1: at 1 nearly the whole window is sure to arrive.
  virtual double steadiness() const { return 0; }
  /// How long the sender may now be silent; `usual` is the configured interval.
  virtual Duration heartbeat_interval(TimePoint now, Duration usual) const = 0;
  /// How long a message waits when the window is open but smaller than the message. After that the
  /// message is sent anyway, one at a time.
  virtual Duration patience(TimePoint now) const = 0;
  /// When the window next grows by itself; kNever if it will not.
  virtual TimePoint next_change(TimePoint now) const = 0;
  /// Others fill the bottleneck's queue: losses are to be expected, and known late.
  virtual bool is_shared(TimePoint /*now*/) const { return false; }
  /// Whether it answers marks as a scalable sender does (RFC 9331 §4), so that its datagrams may
  /// ask for them.
  virtual bool answers_marks() const { return false; }
  /// How long after a datagram of `size` the next may leave; what must leave now does not wait.
  virtual Duration spacing(TimePoint /*now*/, DataSize /*size*/) const { return {}; }
  /// At the receiver: every datagram with a lower sequence has arrived or is lost, by the time
  /// since later ones arrived; 0: not known. The sender's throwaway point says the same by the
  /// times of sending.
  virtual uint64_t decided_before(TimePoint /*now*/) const { return 0; }
  /// A datagram that has not arrived when another arrives that was sent this much later is lost.
  virtual Duration reordering_max() const { return kThrowawayInterval; }
};

}  // namespace cress::control
