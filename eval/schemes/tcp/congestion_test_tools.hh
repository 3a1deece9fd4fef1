#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "eval/schemes/tcp/tcp_receiver.hh"
#include "eval/schemes/tcp/tcp_sender.hh"
#include "transport/sim/world.hh"

/// Code shared by the tests of congestion controllers. Threads: none inside.
namespace cress::schemes::testing_tools {

inline double segments(DataSize size) {
  return static_cast<double>(size.bytes()) / static_cast<double>(kTcpPayloadMax.bytes());
}

/// A path whose round trip the test sets: acknowledges one window at a time, evenly spaced, segment
/// by segment.
class RoundTrips {
 public:
  RoundTrips(CongestionControl& control, Duration round_trip)
      : control_(control), round_trip_(round_trip) {}

  void set_round_trip(Duration round_trip) { round_trip_ = round_trip; }
  TimePoint now() const { return now_; }
  /// Acknowledges the window's segments, and sends new ones.
  void run() {
    const auto count = static_cast<int64_t>(segments(control_.window()));
    const DataSize delivered_before = delivered_;
    const TimePoint start = now_;
    for (int64_t i = 1; i <= count; ++i) {
      now_ = start + round_trip_ * i / count;
      delivered_ += kTcpPayloadMax;
      control_.on_ack({.now = now_,
                       .delivered = kTcpPayloadMax,
                       .in_flight = control_.window(),
                       .acknowledged = delivered_,
                       .sent = delivered_ - kTcpPayloadMax + control_.window(),
                       .round_trip = round_trip_,
                       .one_way_delay = round_trip_ / 2,
                       .delivered_total = delivered_,
                       .delivered_when_sent = delivered_before,
                       .in_flight_now = control_.window() - kTcpPayloadMax});
    }
  }

 private:
  CongestionControl& control_;
  Duration round_trip_;
  TimePoint now_ = kTimeZero;
  DataSize delivered_;
};

/// One opportunity every `gap`, for ten seconds, repeated.
inline std::shared_ptr<const sim::DeliveryTrace> steady(Duration gap) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  for (Duration at = gap; at <= 10s; at += gap) {
    trace->opportunities.push_back({at});
  }
  return trace;
}

/// One flow over a link of constant rate, with a round trip of 40 ms.
struct SteadyFlow {
  SteadyFlow(std::unique_ptr<CongestionControl> control, Duration gap, bool every_ack,
             std::unique_ptr<sim::Queue> queue = nullptr)
      : sender(std::move(control)),
        receiver(every_ack ? TcpReceiver::Options{.quick_acks = kTcpSequenceMax}
                           : TcpReceiver::Options{}),
        forward({.trace = steady(gap), .queue = std::move(queue)}),
        reverse({.trace = steady(100us), .queue = nullptr}),
        world({sender, receiver, forward, reverse}) {}

  /// Of the capacity in [from, to).
  double utilization(TimePoint from, TimePoint to) const {
    DataSize left;
    for (const sim::PacketRecord& record : forward.records()) {
      left += record.left >= from && record.left < to ? record.size : DataSize{};
    }
    return static_cast<double>(left.bytes()) /
           static_cast<double>(forward.options().trace->capacity(from, to).bytes());
  }
  /// The `q`-quantile of the queueing delays, in ms, of the datagrams that left then.
  double queueing_ms(TimePoint from, TimePoint to, double q) const {
    std::vector<double> waits;
    for (const sim::PacketRecord& record : forward.records()) {
      if (record.left >= from && record.left < to) {
        waits.push_back(to_milliseconds(record.left - record.sent));
      }
    }
    std::ranges::sort(waits);
    return waits[static_cast<size_t>(q * static_cast<double>(waits.size() - 1))];
  }

  TcpSender sender;
  TcpReceiver receiver;
  sim::Link forward;
  sim::Link reverse;
  sim::World world;
};

}  // namespace cress::schemes::testing_tools
