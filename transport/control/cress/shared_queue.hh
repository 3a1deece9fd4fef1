#pragma once

#include <array>

#include "transport/base/fifo.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::control {

/// Do others fill the bottleneck's queue, and what is our share then? A link serves whole
/// opportunities of kOpportunitySize, so small datagrams of ours that wait in its queue together
/// arrive together. Where they arrive one by one, datagrams of others stand between them: that a
/// sender with little in the network can see at once. As long as the queue does not empty, the
/// rate then follows loss as TCP's does (additive increase, multiplicative decrease,
/// RFC 5681 §3.1): a flow that yields to a queue that others fill gets nothing.
/// Threads: none inside; one owner. Peer data: any values are safe.
class SharedQueue {
 public:
  /// A datagram arrived at `at`; without waiting it would have at `expected` (both the receiver's
  /// clock). Call in the order of arrival. `round_trip`: since it was sent. `jitter`: what left the
  /// queue together may arrive this far apart.
  void handle_arrival(TimePoint now, TimePoint expected, TimePoint at, DataSize size,
                      Duration round_trip, Duration jitter = {});
  void handle_lost(TimePoint now);
  void on_sent(TimePoint now, DataSize size);

  /// Others keep the queue from emptying.
  bool is_shared() const { return is_shared_; }
  /// Our share of the link while it is.
  DataRate rate() const { return DataRate::from(DataSize{static_cast<int64_t>(rate_)}, 1s); }
  /// What may be sent now while it is.
  DataSize window(TimePoint now) const;
  /// How long the newest arrival waited in the queue.
  Duration waited() const { return waited_; }

 private:
  struct Arrival {
    TimePoint expected{};
    TimePoint at{};
    DataSize size;
  };

  bool is_split(const Arrival& arrival, Duration together) const;
  void begin(TimePoint now);
  void increase(TimePoint now);
  double credit(TimePoint now) const;

  Fifo<Arrival> recent_;
  int splits_ = 0;  // in a row
  bool is_shared_ = false;
  TimePoint refused_until_ = kTimeZero;
  Duration waited_{};
  Duration round_trip_{};

  // In bytes a second.
  double rate_ = 0;
  double credit_ = 0;
  TimePoint credit_at_ = kTimeZero;
  TimePoint raised_at_ = kTimeZero;
  TimePoint lowered_at_ = kTimeZero - 1h;
  // Sent in the running second and in those before.
  static constexpr size_t kSeconds = 5;
  TimePoint second_ = kTimeZero;
  std::array<double, kSeconds> sent_{};
};

}  // namespace cress::control
