#include <benchmark/benchmark.h>

#include "transport/base/rng.hh"
#include "transport/control/sprout/forecaster.hh"
#include "transport/control/sprout/slow/slow_twin.hh"

namespace cress::control {
namespace {

void forecast_table(benchmark::State& state) {
  for (auto _ : state) {
    const BeliefDynamics dynamics{SproutModel{}};
    const ForecastTable table{dynamics};
    benchmark::DoNotOptimize(table.cumulative(1, 0).data());
  }
}
BENCHMARK(forecast_table)->Unit(benchmark::kMillisecond);

void forecast_table_slow_twin(benchmark::State& state) {
  // One bin in 64: the whole table takes the twin minutes.
  const SproutModel model;
  const auto transition = slow::transition_matrix(model);
  size_t bins = 0;
  for (auto _ : state) {
    bins = 0;
    for (size_t bin = 0; bin < bin_count(model); bin += 64, ++bins) {
      for (int horizon = 1; horizon <= kForecastTicks; ++horizon) {
        benchmark::DoNotOptimize(slow::deliveries(model, transition, bin, horizon).data());
      }
    }
  }
  state.SetLabel(std::to_string(bins) + " of 257 bins");
}
BENCHMARK(forecast_table_slow_twin)->Unit(benchmark::kMillisecond)->Iterations(1);

void tick(benchmark::State& state) {
  const BeliefDynamics dynamics{SproutModel{}};
  const ForecastTable table{dynamics};
  BayesianEstimator estimator{dynamics, table};
  Rng rng{1};
  for (auto _ : state) {
    estimator.observe_tick(static_cast<double>(8 + rng.below(5)));
    benchmark::DoNotOptimize(estimator.forecast().data());
  }
}
BENCHMARK(tick)->Unit(benchmark::kMicrosecond);

void tick_slow_twin(benchmark::State& state) {
  const SproutModel model;
  const auto transition = slow::transition_matrix(model);
  // Random numbers in the table's place: the walk costs the same.
  std::vector<std::vector<slow::Vector>> table(kForecastTicks);
  for (size_t h = 0; h < table.size(); ++h) {
    table[h].assign(bin_count(model),
                    slow::Vector(29 * (h + 1) + 1, 1.0L / static_cast<double>(29 * (h + 1) + 1)));
  }
  auto belief = slow::uniform_belief(model);
  Rng rng{1};
  for (auto _ : state) {
    belief = slow::observed(model, slow::evolved(belief, transition),
                            static_cast<int>(8 + rng.below(5)));
    benchmark::DoNotOptimize(slow::forecast(model, table, belief).data());
  }
}
BENCHMARK(tick_slow_twin)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cress::control
