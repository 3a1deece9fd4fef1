// Goal: online results equal those that the metrics compute from the whole list.

#include "eval/cellsim/link_score.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "eval/metrics/delay_over_time.hh"
#include "eval/metrics/rates.hh"
#include "transport/base/rng.hh"

namespace cress::cellsim {
namespace {

std::shared_ptr<const sim::DeliveryTrace> random_trace(Rng& rng) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  Duration at{};
  const bool has_outage = rng.chance(0.5);
  while (at < 7s) {
    const bool is_outage = has_outage && rng.chance(0.001);
    at += std::chrono::milliseconds{is_outage ? 2000 : rng.below(25)};
    trace->opportunities.push_back({at});
  }
  return trace;
}

/// Passes on its notifications, and records them.
class Keeper final : public sim::LinkObserver {
 public:
  explicit Keeper(LinkScore& score) : score_(score) {}
  void handle_queued(TimePoint, DataSize) override {}
  void handle_dropped(TimePoint, uint64_t count, DataSize) override {
    score_.handle_dropped(count);
  }
  void handle_left(const sim::PacketRecord& record) override {
    score_.handle_left(record);
    arrivals.push_back({record.sent, record.arrived});
    deliveries.push_back({record.left, record.size});
  }
  std::vector<metrics::Arrival> arrivals;
  std::vector<metrics::Delivery> deliveries;

 private:
  LinkScore& score_;
};

TEST(LinkScore, AgreesWithTheMetricsOverTheWholeList) {
  Rng rng{3};
  for (int round = 0; round < 20; ++round) {
    const auto trace = random_trace(rng);
    const Duration propagation = std::chrono::milliseconds{rng.below(50)};
    const Duration skip = std::chrono::milliseconds{rng.below(4000)};
    LinkScore score{trace, propagation, skip};
    Keeper keeper{score};
    sim::Link link{{.trace = trace,
                    .propagation = propagation,
                    .queue = std::make_unique<sim::DropTailQueue>(DataSize{60'000}),
                    .observer = &keeper}};
    TimePoint now = kTimeZero;
    const TimePoint end = kTimeZero + 20s;
    while (true) {
      now += Duration{static_cast<int64_t>(rng.below(30'000'000))};
      if (rng.chance(0.002)) {
        now += 1s;  // the sender pauses
      }
      if (now >= end) {
        break;
      }
      link.handle_timeout(now);
      score.advance(now);
      link.push(now, {{}, DataSize{100 + static_cast<int64_t>(rng.below(1400))}});
    }
    link.handle_timeout(end - Duration{1});
    const Score told = score.finish(end);
    const metrics::Window window{kTimeZero + skip, end};
    const metrics::Window there{window.from + propagation, window.to + propagation};
    EXPECT_NEAR(told.throughput_kbps,
                metrics::throughput(keeper.deliveries, window).kilobits_per_second(), 1e-9);
    EXPECT_NEAR(told.capacity_kbps, metrics::capacity(*trace, window).kilobits_per_second(), 1e-9);
    EXPECT_NEAR(*told.delay95_ms,
                to_milliseconds(*metrics::delay_quantile(keeper.arrivals, there, 0.95)), 0.1);
    EXPECT_NEAR(*told.omniscient95_ms,
                to_milliseconds(*metrics::delay_quantile(
                    metrics::omniscient_arrivals(*trace, propagation, there), there, 0.95)),
                0.1);
    EXPECT_EQ(told.packets_delivered, keeper.arrivals.size());
    EXPECT_EQ(told.packets_dropped, link.queue_stats().dropped);
  }
}

TEST(LinkScore, HasNoDelayWhenNothingArrived) {
  Rng rng{3};
  LinkScore score{random_trace(rng), 20ms, 0s};
  const Score told = score.finish(kTimeZero + 5s);
  EXPECT_FALSE(told.delay95_ms.has_value());
  EXPECT_TRUE(told.omniscient95_ms.has_value());
  EXPECT_EQ(told.throughput_kbps, 0);
  for (const Duration skip : {Duration{5s}, Duration{10s}}) {
    LinkScore unborn{random_trace(rng), 20ms, skip};
    EXPECT_EQ(unborn.finish(kTimeZero + 5s).capacity_kbps, 0);
  }
}

TEST(Histogram, QuantilesAreExactToABinAndMemoryIsBounded) {
  Rng rng{9};
  Histogram histogram{{.bin = 10us, .value_max = 1s}};
  std::vector<Duration> values;
  for (int i = 0; i < 10'000; ++i) {
    values.push_back(Duration{static_cast<int64_t>(rng.exponential(2e6))});
    histogram.add(values.back());
  }
  std::ranges::sort(values);
  for (const double q : {0.01, 0.5, 0.95, 0.99, 1.0}) {
    const auto rank = static_cast<size_t>(std::max(std::ceil(q * 10'000) - 1, 0.0));
    EXPECT_NEAR(static_cast<double>(histogram.quantile(q)->count()),
                static_cast<double>(values[rank].count()), 1e4);
  }
  histogram.add(-5s);
  histogram.add(24h, 1'000'000);
  histogram.add_rise(0s, 24h);
  EXPECT_NEAR(to_seconds(*histogram.quantile(0.99)), 1, 1e-5);
  EXPECT_EQ(histogram.value_max(), 1s);
  EXPECT_FALSE((Histogram{{.bin = 10us, .value_max = 1s}}.quantile(0.5).has_value()));
}

}  // namespace
}  // namespace cress::cellsim
