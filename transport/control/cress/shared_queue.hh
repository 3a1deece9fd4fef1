#pragma once

#include <optional>

#include "transport/base/fifo.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/control/cress/recent_least.hh"
#include "transport/control/cress/share_rate.hh"
#include "transport/control/cress/yield_trial.hh"

namespace cress::control {

/// Do others fill the bottleneck's queue, and what is our share then? A link serves whole
/// opportunities of kOpportunitySize, so small datagrams of ours that wait in its queue together
/// arrive together. Where they arrive one by one, datagrams of others stand between them: that a
/// sender with little in the network can see at once. If the queue does not run empty for a while
/// either, or loses, the rate follows loss (ShareRate) until it empties for good: a flow that
/// yields to a queue that others fill gets nothing. Where it empties because we send less
/// (YieldTrial), nobody else fills it. The numbers: docs/method.md, "The Cress
/// forecast", step 7. Threads: none inside; one owner. Peer data: any values are safe.
class SharedQueue {
 public:
  SharedQueue();

  /// A datagram arrived at `at`; without waiting it would have at `expected` (both the receiver's
  /// clock). Call in the order of arrival. `round_trip`: since it was sent. `jitter`: what left the
  /// queue together may arrive this far apart.
  void handle_arrival(TimePoint now, TimePoint expected, TimePoint at, DataSize size,
                      Duration round_trip, Duration jitter = {});
  /// A datagram was lost, or marked instead (RFC 3168 §5).
  void handle_congestion(TimePoint now);
  void on_sent(TimePoint now, DataSize size) { share_.on_sent(now, size); }

  /// Others keep the queue from emptying.
  bool is_shared() const { return is_shared_; }
  /// Our share of the link while it is.
  DataRate rate() const { return share_.rate(); }
  /// What may be sent now while it is.
  DataSize window(TimePoint now) const { return share_.window(now); }
  /// How long the newest arrival waited in the queue.
  Duration waited() const { return waited_; }

 private:
  struct Arrival {
    TimePoint expected{};
    TimePoint at{};
    DataSize size;
  };

  bool is_split(const Arrival& arrival, Duration together) const;
  void note_pair(TimePoint now, const Arrival& arrival, Duration jitter);
  bool have_others_left(TimePoint now) const;
  Duration own_time(DataSize size) const;
  void note_wait(TimePoint now);
  bool is_filled(TimePoint now) const;
  bool is_over(TimePoint now) const;
  void begin(TimePoint now);
  void refuse(TimePoint now);

  Fifo<Arrival> recent_;
  int splits_ = 0;  // in a row
  // Since the last split, or since the queue counts as shared.
  TimePoint unsplit_since_ = kTimeZero;
  int togethers_ = 0;  // pairs that left together
  std::optional<TimePoint> stands_since_;
  bool is_shared_ = false;
  RecentLeast<Duration> longest_;  // wait, negated
  std::optional<TimePoint> empty_since_;
  TimePoint refused_until_ = kTimeZero;
  Duration waited_{};
  Duration round_trip_{};

  TimePoint congested_at_ = kTimeZero - 1h;
  TimePoint lowered_at_ = kTimeZero - 1h;
  ShareRate share_;
  YieldTrial trial_;
};

}  // namespace cress::control
