#pragma once

#include <string>
#include <vector>

#include "transport/control/sprout/forecast_table.hh"
#include "transport/control/sprout/rate_belief.hh"
#include "transport/sim/trace.hh"

/// How often a link delivers less than was forecast. Threads: pure functions.
namespace cress::reproduce {

/// Shape: one number per horizon of 1, 2, ... kForecastTicks ticks.
struct Calibration {
  int64_t forecasts = 0;
  std::vector<int64_t> shortfalls;  ///< number of forecasts that were not reached
  std::vector<double> forecast;     ///< packets, summed
  std::vector<double> delivered;    ///< packets, summed
};

/// Sprout's forecasts, one per tick, while the link delivers one packet of the model's size at
/// every opportunity, from `skip` on to `duration`.
Calibration calibrate_sprout(const sim::DeliveryTrace& trace, Duration duration, Duration skip,
                             const control::BeliefDynamics& dynamics,
                             const control::ForecastTable& table);
/// The same for Cress's belief, which counts packets of an opportunity's size, and for its outage
/// detection.
Calibration calibrate_cress(const sim::DeliveryTrace& trace, Duration duration, Duration skip);

}  // namespace cress::reproduce
