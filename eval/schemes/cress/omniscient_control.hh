#pragma once

#include <cstddef>
#include <memory>

#include "transport/control/control.hh"
#include "transport/sim/trace.hh"

namespace cress::schemes {

/// What the omniscient protocol of the Sprout paper (§5.1) is to a flow, for a call: a window that
/// knows the link it sends over. It keeps the bottleneck's queue to the byte and lets go what will
/// have left it within the delay target, no less and no more; so a call's frames are those that a
/// sender with a perfect forecast would have made. It needs no feedback and gives none. What the
/// link loses, and queues that drop, it does not foresee.
/// Threads: none inside; one owner. `now` never goes back.
class OmniscientControl final : public control::Control {
 public:
  struct Options {
    /// As CressControl's, so that only the forecast differs.
    Duration delay_target = 60ms;
    /// What the link carries beside each datagram's payload.
    DataSize datagram_overhead{};
  };

  /// `trace` is that of the link this end sends over.
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
  /// What the link carries within kPromise of the last datagram sent.
  DataSize forecast_total() const override;
  std::optional<DataRate> forecast_rate() const override;
  /// While the link is dead, until it is not: heartbeats would be its first queue.
  Duration heartbeat_interval(TimePoint now, Duration usual) const override;
  /// A window never errs: what does not fit waits.
  Duration patience(TimePoint /*now*/) const override { return Duration::max(); }
  TimePoint next_change(TimePoint now) const override;

 private:
  static constexpr Duration kPromise = 260ms;  // as long as CressControl's forecast lives

  /// The bottleneck after all opportunities up to `at`.
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
