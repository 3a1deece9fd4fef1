#include "transport/control/sprout/sprout_control.hh"

#include <utility>

namespace cress::control {
SproutControl::SproutControl(std::unique_ptr<TickEstimator> estimator,
                             Forecaster::Options forecaster, SendWindow::Options window)
    : forecaster_(std::move(estimator), forecaster), window_(window) {}

void SproutControl::handle_arrival(TimePoint now, const ArrivedDatagram& datagram) {
  forecaster_.handle_arrival(now, datagram.payload, datagram.time_to_next);
}

std::optional<Feedback> SproutControl::poll_feedback(TimePoint now) {
  const DeliveryForecast& forecast = forecaster_.forecast(now);
  if (reported_tick_ == forecast.tick_start) {
    return std::nullopt;
  }
  reported_tick_ = forecast.tick_start;
  return Feedback{.made_at = forecast.tick_start, .counts = forecast.counts, .arrivals = {}};
}

void SproutControl::on_sent(TimePoint now, uint64_t /*sequence*/, DataSize payload) {
  window_.on_sent(now, payload);
}

void SproutControl::handle_feedback(TimePoint now, const Feedback& feedback, uint64_t next_sequence,
                                    uint64_t received_or_lost) {
  if (!feedback.counts.empty()) {
    window_.handle_forecast(now, feedback.counts, next_sequence, received_or_lost);
  }
}

std::optional<DataRate> SproutControl::forecast_rate() const {
  if (window_.counts().empty()) {
    return std::nullopt;
  }
  return DataRate::from(window_.forecast_total(),
                        static_cast<int64_t>(window_.counts().size()) * kTickLength);
}

}  // namespace cress::control
