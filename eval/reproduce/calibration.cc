#include "eval/reproduce/calibration.hh"

#include <algorithm>
#include <cmath>
#include <memory>

#include "transport/control/cress/cress_control.hh"
#include "transport/control/cress/gamma_belief.hh"
#include "transport/control/sprout/forecaster.hh"
#include "transport/control/sprout/model.hh"

namespace cress::reproduce {
namespace {

/// The instants of a repeated trace, in order.
class Opportunities {
 public:
  explicit Opportunities(const sim::DeliveryTrace& trace) : trace_(trace) {}

  TimePoint next() const { return kTimeZero + base_ + trace_.opportunities[at_].at; }
  void pass() {
    if (++at_ == trace_.opportunities.size()) {
      at_ = 0;
      base_ += trace_.period();
    }
  }

 private:
  const sim::DeliveryTrace& trace_;
  size_t at_ = 0;
  Duration base_{};
};

Calibration empty_calibration() {
  constexpr auto kHorizons = static_cast<size_t>(control::kForecastTicks);
  return {.forecasts = 0,
          .shortfalls = std::vector<int64_t>(kHorizons),
          .forecast = std::vector<double>(kHorizons),
          .delivered = std::vector<double>(kHorizons)};
}

/// Counts what is delivered after `made` and by each horizon.
template <class Forecast>
void compare(Opportunities opportunities, TimePoint made, Forecast forecast_of,
             Calibration& calibration) {
  double delivered = 0;
  ++calibration.forecasts;
  for (size_t i = 0; i < calibration.shortfalls.size(); ++i) {
    const TimePoint until = made + static_cast<int64_t>(i + 1) * control::kTickLength;
    for (; opportunities.next() <= until; opportunities.pass()) {
      ++delivered;
    }
    const double forecast = forecast_of(i);
    calibration.shortfalls[i] += delivered < forecast ? 1 : 0;
    calibration.forecast[i] += forecast;
    calibration.delivered[i] += delivered;
  }
}

}  // namespace

Calibration calibrate_sprout(const sim::DeliveryTrace& trace, Duration duration, Duration skip,
                             const control::BeliefDynamics& dynamics,
                             const control::ForecastTable& table) {
  control::Forecaster forecaster{std::make_unique<control::BayesianEstimator>(dynamics, table), {}};
  Calibration calibration = empty_calibration();
  Opportunities opportunities{trace};
  // Ticks begin with the first arrival.
  for (TimePoint tick = opportunities.next(); tick < kTimeZero + duration;
       tick += control::kTickLength) {
    for (; opportunities.next() <= tick; opportunities.pass()) {
      forecaster.handle_arrival(opportunities.next(), control::kModelPacketSize, {});
    }
    const control::ForecastCounts& counts = forecaster.forecast(tick).counts;
    if (tick >= kTimeZero + skip && !counts.empty()) {
      compare(
          opportunities, tick, [&](size_t i) { return static_cast<double>(counts.at(i)); },
          calibration);
    }
  }
  return calibration;
}

Calibration calibrate_cress(const sim::DeliveryTrace& trace, Duration duration, Duration skip) {
  const control::CressControl::Options options;
  control::GammaBelief belief{options.belief};
  Calibration calibration = empty_calibration();
  Opportunities opportunities{trace};
  TimePoint seen = opportunities.next();
  double missed = 0;  // packets expected since the last one
  const auto busy_until = [&](TimePoint at) {
    missed += belief.mean_rate() * to_seconds(at - seen);
    belief.pass_busy(at - seen);
    seen = at;
  };
  for (TimePoint tick = seen; tick < kTimeZero + duration; tick += control::kTickLength) {
    for (; opportunities.next() <= tick; opportunities.pass()) {
      busy_until(opportunities.next());
      belief.observe(1);
      missed = 0;
    }
    busy_until(tick);
    if (tick >= kTimeZero + skip) {
      compare(
          opportunities, tick,
          [&](size_t i) {
            const Duration horizon = static_cast<int64_t>(i + 1) * control::kTickLength;
            return missed >= options.outage_packets
                       ? 0.0
                       : belief.deliveries(horizon, options.caution_normal);
          },
          calibration);
    }
  }
  return calibration;
}

}  // namespace cress::reproduce
