#pragma once

#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/control/cress/share_rate.hh"

namespace cress::control {

/// What marks of congestion say (ECN; RFC 9331). A queue for scalable senders marks instead of
/// letting datagrams wait, so that a forecast sees the whole link where others need their share of
/// it. Marks that our own datagrams ahead in the queue explain say only that we send in bursts;
/// others say that somebody else fills the link. Their fraction α then lowers our rate as it lowers
/// DCTCP's window (RFC 8257 §3.3): by α/2 each round trip. While others fill the queue without
/// marks, SharedQueue decides alone. The numbers: docs/method.md, "The Cress forecast", step 8.
/// Threads: none inside; one owner. Peer data: any values are safe.
class MarkedQueue {
 public:
  /// A datagram arrived at `at`; without waiting it would have at `expected` (both the receiver's
  /// clock). Call in the order of arrival. `round_trip`: since it was sent. `jitter`: by so much it
  /// may be late without a queue. Returns whether it was marked because it waited behind datagrams
  /// of others, as in a queue that marks instead of dropping (RFC 3168): then it counts as lost.
  bool handle_arrival(TimePoint now, TimePoint expected, TimePoint at, bool marked,
                      Duration round_trip, Duration jitter = {});
  void on_sent(TimePoint now, DataSize size) { share_.on_sent(now, size); }

  /// Somebody else fills the link: send no more than the share.
  bool is_shared() const { return is_shared_; }
  /// Datagrams are marked, for whatever reason: bursts are to be spread.
  bool marks(TimePoint now) const { return now - marked_at_ < kMemory; }
  DataRate rate() const { return share_.rate(); }
  DataSize window(TimePoint now) const { return share_.window(now); }

 private:
  static constexpr Duration kMemory = 1s;

  void count(TimePoint now, bool marked, Duration round_trip);
  void follow(TimePoint now, Duration round_trip);

  TimePoint last_at_ = kTimeZero - 1h;    // the newest arrival, by the receiver's clock
  TimePoint marked_at_ = kTimeZero - 1h;  // any
  TimePoint shared_at_ = kTimeZero - 1h;  // the newest mark that only others explain
  int others_ = 0;                        // such marks, one soon after another
  double fraction_ = 0;                   // α
  bool is_shared_ = false;
  TimePoint lowered_at_ = kTimeZero;
  ShareRate share_;
};

}  // namespace cress::control
