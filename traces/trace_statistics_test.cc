#include "traces/trace_statistics.hh"

#include <gtest/gtest.h>

#include <cmath>

#include "transport/base/rng.hh"

namespace cress::traces {
namespace {

using std::chrono::milliseconds;

sim::DeliveryTrace trace_at(const std::vector<int64_t>& times_ms) {
  sim::DeliveryTrace trace;
  for (const int64_t ms : times_ms) {
    trace.opportunities.push_back({milliseconds{ms}});
  }
  return trace;
}

TEST(TraceStatistics, InterarrivalsAddUpToThePeriod) {
  Rng rng{1};
  std::vector<int64_t> times;
  int64_t at = 0;
  for (int i = 0; i < 5000; ++i) {
    at += static_cast<int64_t>(rng.below(30));
    times.push_back(at);
  }
  int64_t sum = 0;
  for (const int64_t gap : interarrivals_ms(trace_at(times))) {
    EXPECT_GE(gap, 0);
    sum += gap;
  }
  EXPECT_EQ(sum, at);
}

TEST(TraceStatistics, WindowsCountEachOpportunityOnceAndLeaveThePartialOneOut) {
  EXPECT_EQ(opportunities_per_window(trace_at({0, 5, 19, 20, 45, 61}), 20ms),
            (std::vector<int64_t>{3, 1, 1}));
  EXPECT_TRUE(opportunities_per_window(trace_at({5}), 20ms).empty());
}

TEST(TraceStatistics, QuantileIsTheNearestRank) {
  const std::vector<int64_t> values{50, 10, 40, 20, 30};
  EXPECT_EQ(quantile(values, 0), 10);
  EXPECT_EQ(quantile(values, 0.2), 10);
  EXPECT_EQ(quantile(values, 0.5), 30);
  EXPECT_EQ(quantile(values, 0.81), 50);
  EXPECT_EQ(quantile(values, 1), 50);
}

TEST(TraceStatistics, ARegularClockHasNoSpreadNoOutageAndNoDispersion) {
  std::vector<int64_t> times;
  for (int64_t ms = 5; ms <= 60'000; ms += 5) {
    times.push_back(ms);
  }
  const TraceStatistics s = statistics(trace_at(times));
  EXPECT_EQ(s.opportunities, 12'000U);
  EXPECT_EQ(s.length, 60s);
  EXPECT_EQ(s.mean_rate, DataRate::kilobits_per_second(2400));
  EXPECT_NEAR(s.spread_1s, 0, 0.001);
  EXPECT_EQ(s.outages, 0U);
  EXPECT_EQ(s.outage_share, 0);
  EXPECT_LT(s.dispersion_20ms, 0.01);
  EXPECT_EQ(s.same_millisecond_share, 0);
  EXPECT_EQ(s.tail_exponent, 0);
}

TEST(TraceStatistics, OutagesAreSilencesOverTwoHundredMilliseconds) {
  // 200 ms is none, 201 ms is one; the one after a single opportunity is a repeat.
  const TraceStatistics s = statistics(trace_at({0, 200, 401, 1000}));
  EXPECT_EQ(s.outages, 2U);
  EXPECT_DOUBLE_EQ(s.outage_share, 0.8);
  EXPECT_EQ(s.outage_mean, 400ms);
  EXPECT_EQ(s.outage_longest, 599ms);
  EXPECT_DOUBLE_EQ(s.stall_share, 0.2);
  EXPECT_DOUBLE_EQ(s.outage_repeat_share, 0.5);
  EXPECT_DOUBLE_EQ(s.slipped_mean, 1);
}

TEST(TraceStatistics, PoissonArrivalsHaveDispersionOne) {
  Rng rng{2};
  std::vector<int64_t> times;
  for (int64_t ms = 0; ms < 200'000; ++ms) {
    times.insert(times.end(), rng.poisson(0.3), ms);
  }
  EXPECT_NEAR(statistics(trace_at(times)).dispersion_20ms, 1, 0.03);
}

TEST(TraceStatistics, RecoversTheExponentOfAPowerLaw) {
  for (const double exponent : {2.0, 3.27, 4.5}) {
    Rng rng{3};
    std::vector<int64_t> times;
    double at = 0;
    for (int i = 0; i < 50'000; ++i) {
      at += std::round(19.5 * std::pow(1 - rng.uniform(), -1 / (exponent - 1)));
      times.push_back(static_cast<int64_t>(at));
    }
    EXPECT_NEAR(statistics(trace_at(times)).tail_exponent, exponent, 0.06);
  }
}

// Method: two rates that change with a chance of 1 in 10 each second: correlation (1 - 0.2)^lag,
// which falls below 1/e at 4.5 s.
TEST(TraceStatistics, CorrelationTimeIsThatOfASwitchingRate) {
  Rng rng{4};
  std::vector<int64_t> times;
  bool fast = false;
  for (int64_t second = 0; second < 40'000; ++second) {
    fast = rng.chance(0.1) != fast;
    for (int64_t i = 0; i < (fast ? 40 : 10); ++i) {
      times.push_back(second * 1000 + i * 25);
    }
  }
  const TraceStatistics s = statistics(trace_at(times));
  EXPECT_NEAR(to_seconds(s.correlation_time), 4.5, 0.4);
  EXPECT_NEAR(s.spread_1s, std::log(4.0) / 2, 0.02);
}

}  // namespace
}  // namespace cress::traces
