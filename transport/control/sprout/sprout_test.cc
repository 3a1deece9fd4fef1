#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "transport/base/rng.hh"
#include "transport/control/sprout/forecaster.hh"
#include "transport/control/sprout/send_window.hh"
#include "transport/control/sprout/slow/slow_twin.hh"

namespace cress::control {
namespace {

SproutModel small_model() {
  SproutModel model;
  model.rate_bins = 32;
  model.forecast_ticks = 4;
  model.table_counts_per_tick = 12;
  model.rate_max = 400;
  return model;
}

double largest_difference(std::span<const double> fast, const slow::Vector& slow) {
  double largest = 0;
  for (size_t i = 0; i < fast.size(); ++i) {
    largest = std::max(largest, std::abs(fast[i] - static_cast<double>(slow[i])));
  }
  return largest;
}

TEST(RateBelief, FollowsItsSlowTwinThroughRandomTicks) {
  const SproutModel model;
  const BeliefDynamics dynamics{model};
  const slow::Matrix transition = slow::transition_matrix(model);
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Rng rng{seed};
    RateBelief belief{dynamics};
    slow::Vector twin = slow::uniform_belief(model);
    for (int tick = 0; tick < 60; ++tick) {
      belief.evolve();
      twin = slow::evolved(twin, transition);
      if (rng.chance(0.8)) {
        // Edge inputs on purpose: nothing, one, more than the table knows, far above the range.
        constexpr std::array kEdges = {0, 1, 29, 30, 60};
        const int packets =
            rng.chance(0.3) ? kEdges.at(rng.below(kEdges.size())) : static_cast<int>(rng.below(20));
        belief.observe(packets);
        twin = slow::observed(model, twin, packets);
      }
      ASSERT_LT(largest_difference(belief.probabilities(), twin), 1e-9)
          << "seed " << seed << " tick " << tick;
    }
  }
}

TEST(RateBelief, SumsToOneAfterEveryCallEvenUnderAbsurdArrivals) {
  const BeliefDynamics dynamics{SproutModel{}};
  RateBelief belief{dynamics};
  for (const int packets : {0, 1'000'000, 0, 300, 300, 300, 0, 0, 1}) {
    belief.evolve();
    belief.observe(packets);
    const auto p = belief.probabilities();
    EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1.0, 1e-9);
    EXPECT_GE(*std::min_element(p.begin(), p.end()), 0.0);
  }
}

TEST(ForecastTable, EqualsDirectConvolutionInEveryEntry) {
  const SproutModel model = small_model();
  const BeliefDynamics dynamics{model};
  const ForecastTable table{dynamics};
  const auto twin = slow::delivery_table(model, slow::transition_matrix(model));
  for (int horizon = 1; horizon <= model.forecast_ticks; ++horizon) {
    for (size_t bin = 0; bin < bin_count(model); ++bin) {
      long double total = 0;
      for (int count = 0; count <= table.count_max(horizon); ++count) {
        total += twin[static_cast<size_t>(horizon) - 1][bin][static_cast<size_t>(count)];
        ASSERT_NEAR(table.cumulative(horizon, count)[bin], static_cast<double>(total), 1e-12);
      }
    }
  }
}

TEST(ForecastTable, EqualsDirectConvolutionAtSproutsOwnSizeInSampledBins) {
  const SproutModel model;
  const BeliefDynamics dynamics{model};
  const ForecastTable table{dynamics};
  const slow::Matrix transition = slow::transition_matrix(model);
  for (const size_t bin : {size_t{0}, size_t{1}, size_t{77}, size_t{256}}) {
    const slow::Vector twin = slow::deliveries(model, transition, bin, kForecastTicks);
    long double total = 0;
    for (int count = 0; count <= table.count_max(kForecastTicks); ++count) {
      total += twin[static_cast<size_t>(count)];
      ASSERT_NEAR(table.cumulative(kForecastTicks, count)[bin], static_cast<double>(total), 1e-11);
    }
  }
}

TEST(ForecastTable, ForecastEqualsTheSlowTwinsAndDoesNotDependOnTheHint) {
  const SproutModel model = small_model();
  const BeliefDynamics dynamics{model};
  const ForecastTable table{dynamics};
  const slow::Matrix transition = slow::transition_matrix(model);
  const auto twin_table = slow::delivery_table(model, transition);
  Rng rng{7};
  RateBelief belief{dynamics};
  slow::Vector twin = slow::uniform_belief(model);
  for (int tick = 0; tick < 300; ++tick) {
    const int packets = static_cast<int>(rng.below(rng.chance(0.1) ? 40 : 6));
    belief.evolve();
    belief.observe(packets);
    twin = slow::observed(model, slow::evolved(twin, transition), packets);
    const ForecastCounts plain = table.forecast(belief);
    ForecastCounts hint(plain.size());
    std::generate(hint.begin(), hint.end(), [&] { return static_cast<uint32_t>(rng.below(60)); });
    ASSERT_EQ(plain, table.forecast(belief, hint));
    const auto slow_counts = slow::forecast(model, twin_table, twin);
    ASSERT_TRUE(std::equal(plain.begin(), plain.end(), slow_counts.begin())) << "tick " << tick;
  }
}

TEST(ForecastTable, NeverFallsWithTheHorizonNorWithTheQuantile) {
  SproutModel bold;
  bold.forecast_quantile = 0.5;
  const BeliefDynamics dynamics{SproutModel{}};
  const BeliefDynamics bold_dynamics{bold};
  const ForecastTable table{dynamics};
  const ForecastTable bold_table{bold_dynamics};
  Rng rng{3};
  RateBelief belief{dynamics};
  for (int tick = 0; tick < 200; ++tick) {
    belief.evolve();
    belief.observe(static_cast<int>(rng.below(25)));
    const ForecastCounts counts = table.forecast(belief);
    const ForecastCounts more = bold_table.forecast(belief);
    ASSERT_TRUE(std::is_sorted(counts.begin(), counts.end()));
    for (size_t i = 0; i < counts.size(); ++i) {
      ASSERT_LE(counts[i], more[i]);
    }
  }
}

TEST(ObservedPackets, RoundHalfUpButAnythingIsAtLeastOne) {
  EXPECT_EQ(observed_packets(0), 0);
  EXPECT_EQ(observed_packets(0.0192857), 1);  // a heartbeat
  EXPECT_EQ(observed_packets(1.49), 1);
  EXPECT_EQ(observed_packets(1.5), 2);
  EXPECT_EQ(observed_packets(17.51), 18);  // 17 packets of 1442 bytes
}

/// Records its calls: the forecaster's tick rules are tested with it.
class ScriptEstimator final : public TickEstimator {
 public:
  explicit ScriptEstimator(std::vector<double>& log) : log_(log) {}
  void skip_tick() override { log_.push_back(-1); }
  void observe_tick(double packets) override { log_.push_back(packets); }
  ForecastCounts forecast() override { return {static_cast<uint32_t>(log_.size())}; }

 private:
  std::vector<double>& log_;
};

TEST(Forecaster, SkipsEmptyTicksThatTheSenderAnnouncedAndObservesTheOthers) {
  std::vector<double> log;
  Forecaster forecaster{std::make_unique<ScriptEstimator>(log), {.prior_ticks = 0}};
  const TimePoint start = kTimeZero + 1s;
  forecaster.handle_arrival(start, kModelPacketSize, 50ms);
  forecaster.forecast(start + 81ms);
  // The arrival's own tick, two skipped, then an empty one that counts as "nothing arrived".
  EXPECT_EQ(log, (std::vector<double>{1, -1, -1, 0}));
}

TEST(Forecaster, ArrivalExactlyAtTheEndOfATickBelongsToIt) {
  std::vector<double> log;
  Forecaster forecaster{std::make_unique<ScriptEstimator>(log), {.prior_ticks = 0}};
  forecaster.handle_arrival(kTimeZero, kModelPacketSize, 0ms);
  forecaster.handle_arrival(kTimeZero + 20ms, kModelPacketSize, 0ms);
  forecaster.handle_arrival(kTimeZero + 21ms, kModelPacketSize, 0ms);
  forecaster.forecast(kTimeZero + 41ms);
  EXPECT_EQ(log, (std::vector<double>{2, 1}));
}

TEST(Forecaster, AnnouncedSilenceSurvivesALaterPacket) {
  std::vector<double> log;
  Forecaster forecaster{std::make_unique<ScriptEstimator>(log), {.prior_ticks = 0}};
  forecaster.handle_arrival(kTimeZero, kModelPacketSize, 50ms);
  forecaster.handle_arrival(kTimeZero + 1ms, kModelPacketSize, 0ms);
  forecaster.forecast(kTimeZero + 61ms);
  EXPECT_EQ(log, (std::vector<double>{2, -1, -1}));
}

TEST(Forecaster, ForecastIsMadeOncePerTick) {
  std::vector<double> log;
  Forecaster forecaster{std::make_unique<ScriptEstimator>(log), {.prior_ticks = 0}};
  forecaster.handle_arrival(kTimeZero, kModelPacketSize, 0ms);
  EXPECT_EQ(forecaster.forecast(kTimeZero + 20ms).tick_start, kTimeZero);
  EXPECT_EQ(forecaster.forecast(kTimeZero + 21ms).tick_start, kTimeZero + 20ms);
  EXPECT_EQ(forecaster.forecast(kTimeZero + 21ms).counts, ForecastCounts{1});
}

TEST(Ewma, ConstantInputConvergesToItsOwnRate) {
  EwmaEstimator estimator{{.initial = 0, .floor = 0}};
  for (int i = 0; i < 200; ++i) {
    estimator.observe_tick(10);
  }
  EXPECT_EQ(estimator.forecast(), (ForecastCounts{9, 19, 29, 39, 49, 59, 69, 79}));
}

TEST(Ewma, WithoutAFloorHeartbeatsAloneNeverStartIt) {
  EwmaEstimator shipped{{.initial = 0, .floor = 0}};
  EwmaEstimator floored{{.initial = 0, .floor = 0.25}};
  for (int i = 0; i < 1000; ++i) {
    shipped.observe_tick(0.02);
    floored.observe_tick(0.02);
  }
  EXPECT_EQ(shipped.forecast().back(), 0U);
  EXPECT_EQ(floored.forecast().back(), 2U);
}

TEST(SendWindow, CreditsTicksTwoToSixOfAFreshForecast) {
  SendWindow window{{}};
  EXPECT_EQ(window.window(kTimeZero + 1s), DataSize{});
  window.handle_forecast(kTimeZero, {5, 12, 20, 27, 35, 43, 51, 59}, 10'000, 3'000);
  EXPECT_EQ(window.window(kTimeZero), 38 * kModelPacketSize - DataSize{7'000});
  window.on_sent(kTimeZero, DataSize{1'402});
  EXPECT_EQ(window.window(kTimeZero), 38 * kModelPacketSize - DataSize{8'402});
}

TEST(SendWindow, DrainsByTheSumOfCumulativeCountsAsTheOriginalDoes) {
  SendWindow window{{}};
  window.handle_forecast(kTimeZero, {5, 12, 20, 27, 35, 43, 51, 59}, 100'000, 0);
  EXPECT_EQ(window.next_change(kTimeZero), kTimeZero + 20ms);
  EXPECT_EQ(window.in_network(kTimeZero + 39ms), DataSize{100'000} - 5 * kModelPacketSize);
  EXPECT_EQ(window.in_network(kTimeZero + 40ms), DataSize{100'000} - 17 * kModelPacketSize);
  SendWindow exact{{.drain_cumulative_counts = false}};
  exact.handle_forecast(kTimeZero, {5, 12, 20, 27, 35, 43, 51, 59}, 100'000, 0);
  EXPECT_EQ(exact.in_network(kTimeZero + 40ms), DataSize{100'000} - 12 * kModelPacketSize);
}

TEST(SendWindow, ClosesWhenForecastsStop) {
  SendWindow window{{}};
  window.handle_forecast(kTimeZero, {5, 12, 20, 27, 35, 43, 51, 59}, 0, 0);
  EXPECT_GT(window.window(kTimeZero + 100ms), DataSize{});
  EXPECT_EQ(window.window(kTimeZero + 140ms), DataSize{});
  EXPECT_EQ(window.next_change(kTimeZero + 140ms), kNever);
}

}  // namespace
}  // namespace cress::control
