#include "transport/control/sprout/rate_belief.hh"

#include <algorithm>
#include <cmath>

#include "transport/base/check.hh"
#include "transport/control/sprout/kernels.hh"

namespace cress::control {

BeliefDynamics::BeliefDynamics(const SproutModel& model)
    : model_(model), transitions_(transition_rows(model)) {
  const size_t bins = bin_count(model);
  likelihoods_.resize(bins * (kObservedPacketsMax + 1));
  for (size_t bin = 0; bin < bins; ++bin) {
    const double mean = bin_rate(model, bin) * to_seconds(model.tick);
    // Recurrence over counts: P(k) = P(k-1) · mean / k, one exponential a bin.
    double probability = std::exp(-mean);
    for (int count = 0; count <= kObservedPacketsMax; ++count) {
      likelihoods_[static_cast<size_t>(count) * bins + bin] = probability;
      probability *= mean / (count + 1);
    }
  }
}

std::span<const double> BeliefDynamics::likelihoods(int count) const {
  check(count >= 0 && count <= kObservedPacketsMax, "likelihoods: count out of range");
  const size_t bins = bin_count(model_);
  return std::span{likelihoods_}.subspan(static_cast<size_t>(count) * bins, bins);
}

RateBelief::RateBelief(const BeliefDynamics& dynamics)
    : dynamics_(&dynamics),
      probabilities_(bin_count(dynamics.model()),
                     1.0 / static_cast<double>(bin_count(dynamics.model()))),
      scratch_(probabilities_.size()) {}

void RateBelief::evolve() {
  std::fill(scratch_.begin(), scratch_.end(), 0.0);
  const auto rows = dynamics_->transitions();
  for (size_t from = 0; from < rows.size(); ++from) {
    const TransitionRow& row = rows[from];
    add_scaled(std::span{scratch_}.subspan(row.first, row.weights.size()), probabilities_[from],
               row.weights);
  }
  probabilities_.swap(scratch_);
  normalise();
}

void RateBelief::observe(int packets) {
  check(packets >= 0, "RateBelief: negative arrivals");
  multiply(probabilities_,
           dynamics_->likelihoods(std::min(packets, BeliefDynamics::kObservedPacketsMax)));
  normalise();
}

void RateBelief::normalise() {
  const double total = sum(probabilities_);
  check(total > 0 && std::isfinite(total), "RateBelief: all probability lost");
  scale(probabilities_, 1.0 / total);
}

int observed_packets(double packets) {
  check(packets >= 0, "observed_packets: negative arrivals");
  if (packets > 0 && packets < 1) {
    return 1;
  }
  return static_cast<int>(std::min(packets + 0.5, 1e6));
}

}  // namespace cress::control
