#include "transport/control/cress/gamma_belief.hh"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "transport/base/check.hh"

namespace cress::control {
namespace {

// Idle time does not reduce the certainty below this.
constexpr double kIdleShapeMin = 1;

}  // namespace

GammaBelief::GammaBelief(const Options& options)
    : options_(options),
      shape_(options.prior_packets / options.burstiness),
      exposure_s_(options.prior_packets / options.prior_rate / options.burstiness) {
  check(options.busy_half_life > Duration{} && options.idle_half_life > Duration{} &&
            options.burstiness > 0 && options.prior_rate > 0 && options.prior_packets > 0,
        "GammaBelief: options out of range");
}

void GammaBelief::pass_idle(Duration elapsed) {
  // The mean stays, the certainty fades: to a floor, or a long silence would leave nothing to
  // divide.
  const double faded = std::exp2(-to_seconds(elapsed) / to_seconds(options_.idle_half_life));
  const double kept = std::max(faded, std::min(1.0, kIdleShapeMin / shape_));
  shape_ *= kept;
  exposure_s_ *= kept;
}

void GammaBelief::pass_busy(Duration exposure) {
  const double half_lives = to_seconds(exposure) / to_seconds(options_.busy_half_life);
  const double kept = std::exp2(-half_lives);
  shape_ *= kept;
  // Exposure accumulates evenly while older exposure is discounted: the integral of the discount.
  exposure_s_ = exposure_s_ * kept + (1 - kept) * to_seconds(options_.busy_half_life) /
                                         std::numbers::ln2 / options_.burstiness;
}

void GammaBelief::observe(double packets) { shape_ += packets / options_.burstiness; }

double GammaBelief::deliveries(Duration horizon, double normal) const {
  const double mean = mean_rate() * to_seconds(horizon) / options_.burstiness;
  if (mean <= 0) {
    return 0;
  }
  // Gamma-Poisson mixture: variance m + m²/a; the gamma of the same moments has shape m²/variance.
  const double shape = 1 / (1 / mean + 1 / shape_);
  const double ninth = 1 / (9 * shape);
  const double root = std::max(0.0, 1 - ninth + normal * std::sqrt(ninth));
  return mean * root * root * root * options_.burstiness;
}

}  // namespace cress::control
