#pragma once

#include <cstddef>
#include <memory>

#include "transport/control/control.hh"
#include "transport/sim/trace.hh"

namespace cress::schemes {

/// The counterpart for a call of the Sprout paper's omniscient protocol (§5.1): a window that knows
/// the link over which it sends. It keeps the exact state of the bottleneck's queue and permits
/// what will have left it within the delay target, no less and no more; so a call's frames are
/// those of a sender with a perfect forecast. It needs no feedback and sends none. It does not
/// anticipate losses and queues that drop. Threads: none inside; one owner. `now` never goes back.
class OmniscientControl final : public control::Control {
 public:
  struct Options {
    /// As CressControl's, so that only the forecast differs.
    Duration delay_target = 60ms;
    /// What the link carries in addition to each datagram's payload.
    DataSize datagram_overhead{};
  };

  /// `trace` is that of the link over which this end sends.
  OmniscientControl(std::shared_ptr<const sim::DeliveryTrace> trace, const Options& options);

  void handle_arrival(TimePoint /*now*/, const control::ArrivedDatagram& /*datagram*/) override {}
  std::optional<control::Feedback> poll_feedback(TimePoint /*now*/) override {
    return std::nullopt;
  }
  TimePoint feedback_due() const override { return kNever; }

  void on_sent(TimePoint now, uint64_t sequence, DataSize payload) override;
  void handle_feedback(TimePoint /*now*/, const control::Feedback& /*feedback*/,
                       uint64_t /*next_sequence*/, uint64_t /*received_or_lost*/) override {}
  DataSize window(TimePoint now) const override;
  DataSize outstanding(TimePoint now) const override;
  DataSize message_overhead() const override;
  /// Bytes that the link carries within kPromise of the last datagram sent.
  DataSize forecast_total() const override;
  std::optional<DataRate> forecast_rate() const override;
  /// During an outage, until it ends: heartbeats would form its first queue.
  Duration heartbeat_interval(TimePoint now, Duration usual) const override;
  /// The window is never wrong: what does not fit waits.
  Duration patience(TimePoint /*now*/) const override { return Duration::max(); }
  TimePoint next_change(TimePoint now) const override;

 private:
  static constexpr Duration kPromise = 260ms;  // as long as CressControl's forecast lives

  /// The bottleneck's state after all opportunities up to `at`.
  struct Queue {
    TimePoint at{};
    DataSize size{};
  };
  Queue queue_at(TimePoint now) const;
  /// The first opportunity after `at`.
  TimePoint opportunity_after(TimePoint at) const;

  std::shared_ptr<const sim::DeliveryTrace> trace_;
  Options options_;
  Queue queue_;  // as of the last datagram sent
};

}  // namespace cress::schemes
