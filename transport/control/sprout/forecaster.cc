#include "transport/control/sprout/forecaster.hh"

#include <algorithm>
#include <utility>

#include "transport/base/check.hh"

namespace cress::control {

BayesianEstimator::BayesianEstimator(const BeliefDynamics& dynamics, const ForecastTable& table)
    : table_(table), belief_(dynamics) {
  check(dynamics.model() == table.model(), "BayesianEstimator: two models");
}

void BayesianEstimator::skip_tick() { belief_.evolve(); }

void BayesianEstimator::observe_tick(double packets) {
  belief_.evolve();
  belief_.observe(observed_packets(packets));
}

ForecastCounts BayesianEstimator::forecast() {
  last_ = table_.forecast(belief_, last_);
  return last_;
}

void EwmaEstimator::observe_tick(double packets) {
  average_ = (1 - options_.weight) * average_ + options_.weight * packets;
}

ForecastCounts EwmaEstimator::forecast() {
  const double per_tick = std::max(average_, options_.floor);
  ForecastCounts counts;
  for (int horizon = 1; horizon <= options_.forecast_ticks; ++horizon) {
    counts.push_back(static_cast<uint32_t>(per_tick * horizon));
  }
  return counts;
}

Forecaster::Forecaster(std::unique_ptr<TickEstimator> estimator, Options options)
    : estimator_(std::move(estimator)), options_(options) {
  check(estimator_ != nullptr && options_.tick > Duration{} && options_.prior_ticks >= 0,
        "Forecaster: options out of range");
  for (int i = 0; i < options_.prior_ticks; ++i) {
    estimator_->skip_tick();
  }
}

void Forecaster::advance(TimePoint now) {
  // Strictly before: an arrival exactly at the end of a tick still belongs to it.
  while (tick_start_ + options_.tick < now) {
    if (tick_start_ >= silent_until_ || arrived_ > 0) {
      estimator_->observe_tick(arrived_);
      arrived_ = 0;
    } else {
      estimator_->skip_tick();
    }
    tick_start_ += options_.tick;
    forecast_is_fresh_ = false;
  }
}

void Forecaster::handle_arrival(TimePoint now, DataSize size, Duration time_to_next) {
  check(size >= DataSize{} && time_to_next >= Duration{}, "Forecaster: negative arrival");
  if (!started_) {
    started_ = true;
    tick_start_ = now;
    silent_until_ = now;
    forecast_is_fresh_ = false;
  }
  check(now >= tick_start_, "Forecaster: time went back");
  advance(now);
  arrived_ += static_cast<double>(size.bytes()) / static_cast<double>(kModelPacketSize.bytes());
  // Never lowered: a later packet of the same flight does not withdraw an announcement.
  silent_until_ = std::max(silent_until_, tick_start_ + time_to_next);
}

const DeliveryForecast& Forecaster::forecast(TimePoint now) {
  if (started_) {
    advance(now);
  }
  if (!forecast_is_fresh_) {
    forecast_ = {tick_start_, estimator_->forecast()};
    forecast_is_fresh_ = true;
  }
  return forecast_;
}

}  // namespace cress::control
