#pragma once

#include <memory>

#include "transport/control/control.hh"
#include "transport/control/sprout/forecaster.hh"
#include "transport/control/sprout/send_window.hh"

namespace cress::control {

/// Sprout and Sprout-EWMA: the receiver forecasts once per tick, the sender credits the counts tick
/// by tick (paper §3).
class SproutControl final : public Control {
 public:
  explicit SproutControl(std::unique_ptr<TickEstimator> estimator,
                         Forecaster::Options forecaster = {}, SendWindow::Options window = {});

  void handle_arrival(TimePoint now, const ArrivedDatagram& datagram) override;
  std::optional<Feedback> poll_feedback(TimePoint now) override;
  TimePoint feedback_due() const override { return kNever; }

  void on_sent(TimePoint now, uint64_t sequence, DataSize payload) override;
  void handle_feedback(TimePoint now, const Feedback& feedback, uint64_t next_sequence,
                       uint64_t received_or_lost) override;
  DataSize window(TimePoint now) const override { return window_.window(now); }
  DataSize outstanding(TimePoint now) const override { return window_.in_network(now); }
  DataSize message_overhead() const override { return {}; }
  DataSize forecast_total() const override { return window_.forecast_total(); }
  std::optional<DataRate> forecast_rate() const override;
  Duration heartbeat_interval(TimePoint /*now*/, Duration usual) const override { return usual; }
  Duration patience(TimePoint /*now*/) const override { return Duration::max(); }
  TimePoint next_change(TimePoint now) const override { return window_.next_change(now); }

 private:
  Forecaster forecaster_;
  SendWindow window_;
  std::optional<TimePoint> reported_tick_;
};

}  // namespace cress::control
