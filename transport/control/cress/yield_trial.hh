#pragma once

#include <optional>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::control {

/// Does a queue that counts as shared empty when we send less? It does if it is our own (a slow
/// link, or a queue for each flow, as FQ-CoDel's) and if others give way to delay as we do. TCP
/// takes the room that we leave. A trial begins when the queue grows fast, when others seem
/// to have left it, or when it is longer than a router's buffer should be: for 400 ms we send at
/// 0.6 of the rate at which our datagrams leave the queue, then at that rate until those sent in
/// the 400 ms have arrived. If the queue shrank meanwhile, we send at 0.6 again until it is empty,
/// or no longer shrinks. The numbers: docs/method.md, "The Cress forecast", step 7. A plain value.
/// Threads: none inside; one owner. Peer data: any values are safe.
class YieldTrial {
 public:
  /// A datagram arrived, as in SharedQueue::handle_arrival. Returns whether the queue empties: this
  /// ends the trial. `others_left`: for some time nobody stood between our datagrams.
  bool handle_arrival(TimePoint now, TimePoint expected, TimePoint at, DataSize size,
                      Duration round_trip, bool others_left);
  /// The rate that may not be exceeded while a trial runs; nullopt: no trial runs.
  std::optional<DataRate> limit() const { return limit_; }

 private:
  /// Of datagrams one after the other.
  struct Span {
    TimePoint expected;
    TimePoint at;
    DataSize size;  // of those behind the first
  };
  struct Growth {
    double factor;  // by which they arrive further apart than they were sent
    DataRate leaves;
  };

  std::optional<Growth> measure(TimePoint expected, TimePoint at, DataSize size, Duration length);
  /// Whether or not others seem to have left.
  bool is_due(TimePoint now, const Growth& growth, Duration waited) const;
  void yield(TimePoint now, TimePoint until);

  std::optional<Span> span_;
  std::optional<DataRate> limit_;
  DataRate leaves_;  // what left the queue before the trial
  Duration waited_before_{};
  TimePoint begun_at_ = kTimeZero - 1h;
  TimePoint begun_next_to_others_at_ = kTimeZero - 1h;
  TimePoint yields_from_ = kTimeZero;
  TimePoint yields_until_ = kTimeZero;
};

}  // namespace cress::control
