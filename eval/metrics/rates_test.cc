#include "eval/metrics/rates.hh"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::metrics {
namespace {

TimePoint at(Duration since_start) { return kTimeZero + since_start; }

TEST(Rates, TheWindowIsHalfOpen) {
  const std::vector<Delivery> deliveries{{.at = at(999ms), .size = DataSize{1}},
                                         {.at = at(1s), .size = DataSize{10}},
                                         {.at = at(1999ms), .size = DataSize{100}},
                                         {.at = at(2s), .size = DataSize{1000}}};
  const Window window{.from = at(1s), .to = at(2s)};
  EXPECT_EQ(delivered(deliveries, window), DataSize{110});
  EXPECT_EQ(throughput(deliveries, window), DataRate::bits_per_second(880));
}

TEST(Rates, CapacityRepeatsTheTrace) {
  const sim::DeliveryTrace trace{{{.at = 5ms}, {.at = 10ms}}};  // 1500 bytes every 5 ms
  EXPECT_EQ(capacity(trace, {.from = at(1s), .to = at(3s)}), DataRate::kilobits_per_second(2400));
}

TEST(Rates, UtilizationOfADeadLinkIsZero) {
  EXPECT_EQ(utilization(DataRate::kilobits_per_second(3), DataRate{}), 0.0);
  EXPECT_DOUBLE_EQ(utilization(DataRate::kilobits_per_second(3), DataRate::kilobits_per_second(4)),
                   0.75);
}

TEST(Rates, BinsHoldEverythingThatTheWindowHolds) {
  Rng rng{5};
  std::vector<Delivery> deliveries;
  deliveries.reserve(5000);
  for (int i = 0; i < 5000; ++i) {
    deliveries.push_back({.at = at(from_seconds(rng.uniform(0.0, 12.0))),
                          .size = DataSize{static_cast<int64_t>(rng.below(1500))}});
  }
  const Window window{.from = at(1s), .to = at(10'050ms)};
  const std::vector<DataRate> bins = throughput_per_bin(deliveries, window, 100ms);
  ASSERT_EQ(bins.size(), 91U);
  double bits = 0.0;
  for (size_t i = 0; i < bins.size(); ++i) {
    bits += static_cast<double>(bins[i].bits_per_second()) * (i + 1 < bins.size() ? 0.1 : 0.05);
  }
  // Each bin's rate is rounded to a bit per second.
  EXPECT_NEAR(bits, static_cast<double>(delivered(deliveries, window).bits()), 5.0);
}

TEST(Rates, CapacityBinsShowALinksSilence) {
  sim::DeliveryTrace trace;
  for (int ms = 1; ms <= 100; ++ms) {
    trace.opportunities.push_back({.at = ms * 1ms});
  }
  trace.opportunities.push_back({.at = 300ms});
  const std::vector<DataRate> bins =
      capacity_per_bin(trace, {.from = kTimeZero, .to = at(300ms)}, 100ms);
  ASSERT_EQ(bins.size(), 3U);
  EXPECT_EQ(bins[0], DataRate::kilobits_per_second(11'880));  // 1..99 ms; 100 ms is the next bin's
  EXPECT_EQ(bins[1], DataRate::kilobits_per_second(120));
  EXPECT_EQ(bins[2], DataRate{});
}

}  // namespace
}  // namespace cress::metrics
