#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transport/control/control.hh"
#include "transport/control/sprout/model.hh"
#include "transport/control/sprout/rate_belief.hh"

namespace cress::control {

/// For each horizon and each bin the rate may be in now, the distribution of the packets delivered
/// by then (paper §3.3, "precomputed"): cumulative_[horizon][count][bin]. About 2 MB; made once, in
/// a few tens of milliseconds (`./cress bench`); immutable, any number of threads may read it.
///
/// Differs from the paper's text as the original code does: the ticks of a horizon are taken as
/// independent given today's rate (their marginals are convolved), and the first tick uses the rate
/// as it is, without evolution.
class ForecastTable {
 public:
  explicit ForecastTable(const BeliefDynamics& dynamics);

  /// P(at most `count` packets in the first `horizon` ticks | bin), for every bin.
  /// `horizon` in 1..forecast_ticks, `count` in 0..count_max(horizon).
  std::span<const double> cumulative(int horizon, int count) const;
  /// The largest count that a horizon's distribution reaches.
  int count_max(int horizon) const { return (model_.table_counts_per_tick - 1) * horizon; }
  const SproutModel& model() const { return model_; }

  /// The cautious forecast for `belief`: for each horizon the smallest count whose cumulative
  /// probability reaches forecast_quantile; count_max + 2 where none does (as in the original).
  /// `hint` (may be empty): an earlier forecast, where the search begins; it does not affect the
  /// result.
  ForecastCounts forecast(const RateBelief& belief, std::span<const uint32_t> hint = {}) const;

 private:
  int quantile(int horizon, std::span<const double> belief, int hint) const;

  SproutModel model_;
  std::vector<size_t> horizon_start_;  // index of cumulative_[horizon][0][0]
  std::vector<double> cumulative_;
};

}  // namespace cress::control
