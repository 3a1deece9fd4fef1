#include "transport/control/sprout/forecast_table.hh"

#include <algorithm>

#include "transport/base/check.hh"
#include "transport/control/sprout/kernels.hh"

namespace cress::control {
namespace {

using Matrix = std::vector<std::vector<double>>;

/// Row i: where the rate may be after one more tick, given it was in bin i at first; rows sum to 1.
Matrix evolved(const Matrix& from, std::span<const TransitionRow> transitions) {
  Matrix to(from.size(), std::vector<double>(from.size(), 0.0));
  for (size_t i = 0; i < from.size(); ++i) {
    for (size_t bin = 0; bin < from.size(); ++bin) {
      if (from[i][bin] != 0) {
        const TransitionRow& row = transitions[bin];
        add_scaled(std::span{to[i]}.subspan(row.first, row.weights.size()), from[i][bin],
                   row.weights);
      }
    }
    scale(to[i], 1.0 / sum(to[i]));
  }
  return to;
}

/// Row i: distribution of one tick's arrivals when the rate is spread as `rates[i]`.
Matrix arrivals_in_tick(const Matrix& rates, const BeliefDynamics& dynamics) {
  const int counts = dynamics.model().table_counts_per_tick;
  Matrix arrivals(rates.size(), std::vector<double>(static_cast<size_t>(counts)));
  for (size_t i = 0; i < rates.size(); ++i) {
    for (int count = 0; count < counts; ++count) {
      arrivals[i][static_cast<size_t>(count)] = dot(rates[i], dynamics.likelihoods(count));
    }
  }
  return arrivals;
}

std::vector<double> convolved(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> sums(a.size() + b.size() - 1, 0.0);
  for (size_t j = 0; j < b.size(); ++j) {
    add_scaled(std::span{sums}.subspan(j, a.size()), b[j], a);
  }
  return sums;
}

}  // namespace

ForecastTable::ForecastTable(const BeliefDynamics& dynamics) : model_(dynamics.model()) {
  check(model_.forecast_ticks >= 1 && model_.forecast_ticks <= kForecastTicksMax &&
            model_.forecast_quantile > 0 && model_.forecast_quantile < 1 &&
            model_.table_counts_per_tick >= 2 &&
            model_.table_counts_per_tick <= BeliefDynamics::kObservedPacketsMax,
        "ForecastTable: model out of range");
  const size_t bins = bin_count(model_);
  Matrix rates(bins, std::vector<double>(bins, 0.0));
  for (size_t i = 0; i < bins; ++i) {
    rates[i][i] = 1.0;
  }
  Matrix delivered(bins, {1.0});
  for (int horizon = 1; horizon <= model_.forecast_ticks; ++horizon) {
    const Matrix arrivals = arrivals_in_tick(rates, dynamics);
    const size_t counts = static_cast<size_t>(count_max(horizon)) + 1;
    horizon_start_.push_back(cumulative_.size());
    cumulative_.resize(cumulative_.size() + counts * bins);
    double* table = cumulative_.data() + horizon_start_.back();
    for (size_t i = 0; i < bins; ++i) {
      delivered[i] = convolved(delivered[i], arrivals[i]);
      double total = 0;
      for (size_t count = 0; count < counts; ++count) {
        total += delivered[i][count];
        table[count * bins + i] = total;
      }
    }
    if (horizon < model_.forecast_ticks) {
      rates = evolved(rates, dynamics.transitions());
    }
  }
}

std::span<const double> ForecastTable::cumulative(int horizon, int count) const {
  check(
      horizon >= 1 && horizon <= model_.forecast_ticks && count >= 0 && count <= count_max(horizon),
      "ForecastTable: index out of range");
  const size_t bins = bin_count(model_);
  const size_t start = horizon_start_[static_cast<size_t>(horizon) - 1];
  return std::span{cumulative_}.subspan(start + static_cast<size_t>(count) * bins, bins);
}

int ForecastTable::quantile(int horizon, std::span<const double> belief, int hint) const {
  const auto reached = [&](int count) {
    return dot(belief, cumulative(horizon, count)) >= model_.forecast_quantile;
  };
  const int last = count_max(horizon);
  int low = -1;         // not reached here...
  int high = last + 1;  // ...reached here, or never
  // Gallop from the hint: forecasts move little from tick to tick.
  int probe = std::clamp(hint, 0, last);
  int stride = 1;
  while (low + 1 < high) {
    if (reached(probe)) {
      high = probe;
      probe = std::max(low + 1, probe - stride);
    } else {
      low = probe;
      probe = std::min(high - 1, probe + stride);
    }
    if (low >= 0 && high <= last) {
      probe = low + (high - low) / 2;
    }
    stride *= 2;
  }
  return high > last ? last + 2 : high;
}

ForecastCounts ForecastTable::forecast(const RateBelief& belief,
                                       std::span<const uint32_t> hint) const {
  ForecastCounts counts;
  counts.reserve(static_cast<size_t>(model_.forecast_ticks));
  for (int horizon = 1; horizon <= model_.forecast_ticks; ++horizon) {
    const size_t index = static_cast<size_t>(horizon) - 1;
    const int start = index < hint.size() ? static_cast<int>(hint[index]) : 0;
    counts.push_back(static_cast<uint32_t>(quantile(horizon, belief.probabilities(), start)));
  }
  return counts;
}

}  // namespace cress::control
