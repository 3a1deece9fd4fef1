#pragma once

#include <optional>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::control {

/// Does a queue that counts as shared empty when we send less? It does if it is our own (a slow
/// link, or a queue for each flow, as FQ-CoDel's) and if others give way to delay as we do. TCP
/// takes the room that we leave. A trial begins when the queue grows fast, or is longer than a
/// router's buffer should be: we send at 0.6 of the rate at which our datagrams leave the queue,
/// until those sent meanwhile show whether it empties. The numbers: docs/method.md, "The Cress
/// forecast", step 7. A plain value. Threads: none inside; one owner. Peer data: any values are
/// safe.
class YieldTrial {
 public:
  /// A datagram arrived, as in SharedQueue::handle_arrival. Returns whether the queue empties: this
  /// ends the trial.
  bool handle_arrival(TimePoint now, TimePoint expected, TimePoint at, DataSize size,
                      Duration round_trip);
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
  void begin(TimePoint now, DataRate leaves, Duration waited);

  std::optional<Span> span_;
  std::optional<DataRate> limit_;
  TimePoint begun_at_ = kTimeZero;
  Duration waited_before_{};
  TimePoint next_ = kTimeZero;  // no trial before
};

}  // namespace cress::control
