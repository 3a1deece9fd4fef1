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
/// Cumulative: never falls. Empty: nothing is known.
using ForecastCounts = std::vector<uint32_t>;

/// A datagram as its receiver saw it.
struct ArrivedDatagram {
  uint64_t sequence = 0;    ///< the sender's byte sequence before it
  DataSize payload;         ///< its frames: the datagram without its header
  Duration time_to_next{};  ///< how long the sender will be silent after it; 0: another follows
  /// It carries messages: its sender wants to hear soon how the link did. Feedback alone does not,
  /// or two idle ends would answer each other for ever.
  bool asks_for_feedback = false;
  /// The sender's clock when it left, if it says so: low 16 bits of milliseconds.
  std::optional<uint16_t> sent_ms{};
};

/// When a datagram arrived, by the receiver's clock.
struct ArrivalStamp {
  uint64_t sequence = 0;
  TimePoint at{};
  friend bool operator==(const ArrivalStamp&, const ArrivalStamp&) = default;
};

/// What a receiver tells its sender about the link between them. A scheme fills what it needs.
struct Feedback {
  TimePoint made_at{};                 ///< by the receiver's clock
  ForecastCounts counts;               ///< a forecast made at the receiver (Sprout)
  std::vector<ArrivalStamp> arrivals;  ///< arrivals since lately, ascending by sequence (Cress)
};

/// How much may be sent so that it surely arrives in time: both halves of a scheme at one end of a
/// session. As a receiver it turns arrivals into feedback, as a sender feedback into a safe window.
/// Threads: none inside; one owner. `now` never goes back. Peer data: any values are safe.
class Control {
 public:
  virtual ~Control() = default;

  // The receiver's half.
  virtual void handle_arrival(TimePoint now, const ArrivedDatagram& datagram) = 0;
  /// Something worth telling, for a datagram that leaves now; asked for once a datagram.
  virtual std::optional<Feedback> poll_feedback(TimePoint now) = 0;
  /// When a datagram must leave even if only to carry feedback; kNever: heartbeats suffice.
  virtual TimePoint feedback_due() const = 0;

  // The sender's half.
  /// A datagram left: `sequence` before it, `payload` of frames.
  virtual void on_sent(TimePoint now, uint64_t sequence, DataSize payload) = 0;
  /// `next_sequence`: the byte sequence after all that was sent; `received_or_lost`: what the peer
  /// says is no longer in flight.
  virtual void handle_feedback(TimePoint now, const Feedback& feedback, uint64_t next_sequence,
                               uint64_t received_or_lost) = 0;
  /// Bytes that may be sent now; never negative.
  virtual DataSize window(TimePoint now) const = 0;
  /// Sent and, as far as is known or forecast, still in the network.
  virtual DataSize outstanding(TimePoint now) const = 0;
  /// What the window counts for each message beside its own bytes.
  virtual DataSize message_overhead() const = 0;
  /// All that the current forecast promises over its life: bounds the sender's own queues (paper
  /// §4.3).
  virtual DataSize forecast_total() const = 0;
  /// The forecast as a mean rate, for people; nothing before the first feedback.
  virtual std::optional<DataRate> forecast_rate() const = 0;
  /// How long the sender may now be silent, where `usual` is what was asked for.
  virtual Duration heartbeat_interval(TimePoint now, Duration usual) const = 0;
  /// How long a message may wait for a window that is open, but smaller than the message, before it
  /// goes all the same, one at a time.
  virtual Duration patience(TimePoint now) const = 0;
  /// When the window next grows by itself; kNever when it will not.
  virtual TimePoint next_change(TimePoint now) const = 0;
  /// A datagram is lost if it has not arrived when one sent this much later arrives.
  virtual Duration reordering_max() const { return kThrowawayInterval; }
};

}  // namespace cress::control
