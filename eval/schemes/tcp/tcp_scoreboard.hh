#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "eval/schemes/tcp/tcp_ranges.hh"
#include "transport/base/time.hh"

namespace cress::schemes {

/// A TCP sender's state of its outstanding segments: SACK (RFC 2018) and loss by time order, RACK
/// (RFC 8985), which also detects lost retransmissions. Units: segments, numbered from 0 in order
/// of first transmission. Cost: everything is amortised over transmissions, however long the
/// window; only a timeout and its undoing walk the window. Bounds: `outstanding()` entries, which
/// the sender's windows limit. Threads: none inside; one owner.
class TcpScoreboard {
 public:
  /// What an acknowledgement changed.
  struct Delivery {
    int64_t newly_delivered = 0;
    bool advanced = false;  ///< the cumulative acknowledgement moved
    /// Of the newest delivered segment (in order of sending), if it is unambiguous.
    std::optional<Duration> round_trip;
    TimePoint newest_sent{};  ///< when the newest delivered segment left
    int64_t delivered_when_sent = 0;
    /// How long it took to send, and to acknowledge, the data delivered since it was sent.
    Duration send_elapsed{};
    Duration ack_elapsed{};
  };

  /// All below it are acknowledged.
  int64_t first() const { return first_; }
  /// The next new segment's number.
  int64_t next() const { return first_ + outstanding(); }
  int64_t outstanding() const { return static_cast<int64_t>(segments_.size()); }
  /// Sent, and neither delivered nor declared lost.
  int64_t in_flight() const { return in_flight_; }
  int64_t delivered() const { return delivered_; }
  std::optional<Duration> least_round_trip() const { return least_round_trip_; }
  bool has_lost() const { return lost_ > 0; }
  /// How many outstanding segments were sent more than once.
  int64_t retransmitted() const { return retransmitted_; }

  void send_new(TimePoint now);
  /// The next lost segment, which counts as retransmitted at `now`; `has_lost()` must hold. In the
  /// order in which losses were found: by number, and lost retransmissions after that.
  int64_t retransmit(TimePoint now);

  /// Everything below `segment` (at most next()) has arrived, and the segments in `sacks`; parts
  /// outside the outstanding ones are ignored. `echo`: the timestamp returned with it.
  Delivery acknowledge(TimePoint now, int64_t segment, std::span<const TcpRange> sacks,
                       std::optional<TimePoint> echo);
  /// Declares lost what RACK says is lost; returns how many. `repairing`: a recovery is in
  /// progress, so reordering is not waited for unless it has been observed.
  int64_t find_losses(TimePoint now, bool repairing);
  /// When find_losses may find more without any acknowledgement; kNever if it cannot.
  TimePoint loss_timeout() const { return loss_timeout_; }

  /// A retransmission timeout: everything not delivered is declared lost.
  void lose_everything();
  /// What was declared lost and not retransmitted is in flight after all (Eifel, RFC 4015).
  void forgive();

 private:
  enum class State : uint8_t { kInFlight, kLost, kSacked };
  struct Segment {
    TimePoint sent{};
    int64_t serial = 0;  // of its last transmission
    int64_t delivered_when_sent = 0;
    // The newest delivery when this was sent, and the send time of that segment.
    TimePoint delivery_time{};
    TimePoint delivery_sent{};
    State state = State::kInFlight;
    bool retransmitted = false;
  };
  struct Transmission {
    int64_t segment = 0;
    int64_t serial = 0;
  };

  Segment& at(int64_t segment) { return segments_[static_cast<size_t>(segment - first_)]; }
  bool is_current(const Transmission& transmission) const;
  void note_departure(TimePoint now);
  void deliver(TimePoint now, const Segment& segment, bool original, Delivery& delivery);
  void lose(int64_t number);
  void drop_stale_transmissions();

  int64_t first_ = 0;
  std::deque<Segment> segments_;
  TcpRangeSet sacked_;
  std::deque<Transmission> transmissions_;  // in order of departure; stale ones are skipped
  std::deque<Transmission> lost_queue_;     // in order of discovery; stale ones are skipped
  int64_t in_flight_ = 0;
  int64_t lost_ = 0;
  int64_t retransmitted_ = 0;
  int64_t delivered_ = 0;
  int64_t next_serial_ = 1;
  // The newest delivery, and the send time of what it delivered; for rates.
  TimePoint delivery_time_{};
  TimePoint delivery_sent_{};
  // RACK: the newest delivered transmission, and how long it took.
  int64_t newest_serial_ = 0;
  Duration newest_round_trip_{};
  std::optional<Duration> least_round_trip_;
  bool reordering_seen_ = false;
  TimePoint loss_timeout_ = kNever;
};

}  // namespace cress::schemes
