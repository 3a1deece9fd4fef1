#include "transport/control/cress/gamma_belief.hh"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "transport/base/check.hh"

namespace cress::control {
namespace {

// Idle time does not reduce the certainty below this.
constexpr double kIdleShapeMin = 1;
// Arrivals in each block of this much busy time, in seconds, are compared with what the belief
// expected. Each block keeps 0.98 of the weight of those before, so about 50 count. At the start,
// kPriorBlocks blocks count as having measured options.burstiness.
constexpr double kBlockS = 0.1;
constexpr double kKept = 0.98;
constexpr double kPriorBlocks = 30;
constexpr double kExpectedMin = 0.5;
// Of what is measured: a link that changes now and then is not taken for a steady one.
constexpr double kMargin = 1.2;

}  // namespace

GammaBelief::GammaBelief(const Options& options)
    : options_(options),
      packets_(options.prior_packets),
      exposure_s_(options.prior_packets / options.prior_rate),
      errors_(kPriorBlocks * options.burstiness),
      blocks_(kPriorBlocks) {
  check(options.busy_half_life > Duration{} && options.idle_half_life > Duration{} &&
            options.burstiness > 0 && options.prior_rate > 0 && options.prior_packets > 0,
        "GammaBelief: options out of range");
}

void GammaBelief::pass_idle(Duration elapsed) {
  // The mean stays, the certainty fades: to a floor, or a long silence would leave nothing to
  // divide.
  const double faded = std::exp2(-to_seconds(elapsed) / to_seconds(options_.idle_half_life));
  const double packets_min = kIdleShapeMin * options_.burstiness;
  const double kept = std::max(faded, std::min(1.0, packets_min / packets_));
  packets_ *= kept;
  exposure_s_ *= kept;
}

void GammaBelief::pass_busy(Duration exposure) {
  if (block_s_ == 0) {
    block_rate_ = mean_rate();
    block_known_s_ = exposure_s_;
  }
  block_s_ += to_seconds(exposure);
  const double half_lives = to_seconds(exposure) / to_seconds(options_.busy_half_life);
  const double kept = std::exp2(-half_lives);
  packets_ *= kept;
  // Exposure accumulates evenly while older exposure is discounted: the integral of the discount.
  exposure_s_ =
      exposure_s_ * kept + (1 - kept) * to_seconds(options_.busy_half_life) / std::numbers::ln2;
}

void GammaBelief::observe(double packets) {
  packets_ += packets;
  block_packets_ += packets;
  if (block_s_ >= kBlockS) {
    const double expected = block_rate_ * block_s_;
    const double off = block_packets_ - expected;
    const double variance = std::max(expected, kExpectedMin) * (1 + block_s_ / block_known_s_);
    errors_ = kKept * errors_ + off * off / variance;
    blocks_ = kKept * blocks_ + 1;
    block_s_ = block_packets_ = 0;
  }
}

double GammaBelief::burstiness() const {
  return std::clamp(kMargin * errors_ / blocks_,
                    std::min(options_.burstiness_min, options_.burstiness), options_.burstiness);
}

double GammaBelief::deliveries(Duration horizon, double normal) const {
  const double burstiness = this->burstiness();
  const double mean = mean_rate() * to_seconds(horizon) / burstiness;
  if (mean <= 0) {
    return 0;
  }
  // Gamma-Poisson mixture: variance m + m²/a; the gamma of the same moments has shape m²/variance.
  const double shape = 1 / (1 / mean + burstiness / packets_);
  const double ninth = 1 / (9 * shape);
  const double root = std::max(0.0, 1 - ninth + normal * std::sqrt(ninth));
  return mean * root * root * root * burstiness;
}

}  // namespace cress::control
