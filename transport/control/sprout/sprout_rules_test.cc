// Goal: each rule of Sprout's window and control, at its limit and just beyond.

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "transport/control/sprout/kernels.hh"
#include "transport/control/sprout/sprout_control.hh"

namespace cress::control {
namespace {

const ForecastCounts kCounts{5, 12, 20, 27, 35, 43, 51, 59};
constexpr DataSize kPacket{1400};

TEST(SendWindow, LooksFiveTicksAhead) {
  SendWindow window{{}};
  window.handle_forecast(kTimeZero, kCounts, 0, 0);
  const std::vector<int> packets{38, 39, 39, 32, 24, 16, 8, 0};
  for (size_t tick = 0; tick < packets.size(); ++tick) {
    const TimePoint begin = kTimeZero + static_cast<int64_t>(tick) * 20ms;
    EXPECT_EQ(window.window(begin), packets[tick] * kPacket) << tick;
    EXPECT_EQ(window.window(begin + 20ms - 1ns), packets[tick] * kPacket) << tick;
  }
  EXPECT_EQ(window.window(kTimeZero + 1h), DataSize{0});
}

TEST(SendWindow, IsNeverNegative) {
  SendWindow window{{}};
  window.handle_forecast(kTimeZero, kCounts, 60'000, 0);
  EXPECT_EQ(window.window(kTimeZero), DataSize{0});
  EXPECT_EQ(window.in_network(kTimeZero), DataSize{60'000});
}

TEST(SendWindow, PeerCannotHaveReceivedWhatWasNotSent) {
  SendWindow window{{}};
  window.handle_forecast(kTimeZero, kCounts, 10'000, 10'001);
  EXPECT_EQ(window.in_network(kTimeZero), DataSize{0});
  EXPECT_EQ(window.window(kTimeZero), 38 * kPacket);
}

TEST(SendWindow, SentBytesDrainFromTheirTickOn) {
  SendWindow window{{.drain_cumulative_counts = false}};
  window.on_sent(kTimeZero, DataSize{100});
  EXPECT_EQ(window.in_network(kTimeZero), DataSize{100}) << "counted before any forecast";
  EXPECT_EQ(window.forecast_total(), DataSize{0});
  EXPECT_EQ(window.next_change(kTimeZero), kNever);
  window.handle_forecast(kTimeZero, kCounts, 20'000, 0);
  EXPECT_EQ(window.forecast_total(), 59 * kPacket);
  // Two ticks drain 12 packets; 3200 bytes are left, of which the third drains all.
  window.on_sent(kTimeZero + 40ms, DataSize{80'000});
  EXPECT_EQ(window.in_network(kTimeZero + 40ms), DataSize{3'200 + 80'000});
  EXPECT_EQ(window.in_network(kTimeZero + 60ms), DataSize{83'200} - 8 * kPacket);
  EXPECT_EQ(window.in_network(kTimeZero + 80ms), DataSize{83'200} - 15 * kPacket);
  EXPECT_EQ(window.in_network(kTimeZero + 1h), DataSize{83'200} - 39 * kPacket)
      << "the last count drains nothing: no tick follows it";
}

TEST(SendWindow, QueueIsEmptyAtTheLeast) {
  SendWindow window{{}};
  window.handle_forecast(kTimeZero, kCounts, 1'000, 0);
  window.on_sent(kTimeZero + 20ms, DataSize{2'000});
  EXPECT_EQ(window.in_network(kTimeZero + 20ms), DataSize{2'000});
}

TEST(SendWindow, ChangesWithEachTickButTheLast) {
  SendWindow window{{}};
  window.handle_forecast(kTimeZero, kCounts, 0, 0);
  EXPECT_EQ(window.next_change(kTimeZero + 20ms - 1ns), kTimeZero + 20ms);
  EXPECT_EQ(window.next_change(kTimeZero + 20ms), kTimeZero + 40ms);
  EXPECT_EQ(window.next_change(kTimeZero + 140ms - 1ns), kTimeZero + 140ms);
  EXPECT_EQ(window.next_change(kTimeZero + 140ms), kNever);
  window.handle_forecast(kTimeZero + 1s, {7}, 0, 0);
  EXPECT_EQ(window.next_change(kTimeZero + 1s), kNever);
  EXPECT_EQ(window.window(kTimeZero + 1s), DataSize{0});
}

/// Not a forecast of the model: counts the calls.
class CountingEstimator final : public TickEstimator {
 public:
  void skip_tick() override { ++skipped_; }
  void observe_tick(double) override { ++observed_; }
  ForecastCounts forecast() override { return {skipped_, observed_, 100}; }

 private:
  uint32_t skipped_ = 0;
  uint32_t observed_ = 0;
};

TEST(SproutControl, GivesItsForecastOnceATick) {
  SproutControl control{std::make_unique<CountingEstimator>()};
  const auto first = control.poll_feedback(kTimeZero + 5ms);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->counts, (ForecastCounts{49, 0, 100})) << "the prior has drifted";
  EXPECT_FALSE(control.poll_feedback(kTimeZero + 1s)) << "ticks begin with the first arrival";
  control.handle_arrival(kTimeZero + 2s, {.payload = DataSize{100}, .time_to_next = 50ms});
  ASSERT_TRUE(control.poll_feedback(kTimeZero + 2s));
  EXPECT_FALSE(control.poll_feedback(kTimeZero + 2s + 20ms));
  const auto next = control.poll_feedback(kTimeZero + 2s + 20ms + 1ns);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->made_at, kTimeZero + 2s + 20ms);
  EXPECT_EQ(next->counts, (ForecastCounts{49, 1, 100}));
  EXPECT_EQ(control.poll_feedback(kTimeZero + 2s + 41ms)->counts, (ForecastCounts{50, 1, 100}))
      << "silence was announced";
  EXPECT_EQ(control.feedback_due(), kNever);
}

TEST(SproutControl, SendsByThePeersForecasts) {
  SproutControl control{std::make_unique<CountingEstimator>()};
  EXPECT_EQ(control.forecast_rate(), std::nullopt);
  EXPECT_EQ(control.window(kTimeZero), DataSize{0});
  control.handle_feedback(kTimeZero, {.made_at = {}, .counts = kCounts, .arrivals = {}}, 3000,
                          1000);
  EXPECT_EQ(control.outstanding(kTimeZero), DataSize{2000});
  EXPECT_EQ(control.window(kTimeZero), 38 * kPacket - DataSize{2000});
  EXPECT_EQ(control.forecast_total(), 59 * kPacket);
  EXPECT_EQ(control.forecast_rate(), DataRate::from(59 * kPacket, 160ms));
  EXPECT_EQ(control.next_change(kTimeZero), kTimeZero + 20ms);
  control.on_sent(kTimeZero, 3000, DataSize{500});
  EXPECT_EQ(control.outstanding(kTimeZero), DataSize{2500});
  control.handle_feedback(kTimeZero + 10ms, {}, 3500, 3500);
  EXPECT_EQ(control.outstanding(kTimeZero + 10ms), DataSize{2500}) << "no counts, no news";
  EXPECT_EQ(control.message_overhead(), DataSize{0});
  EXPECT_EQ(control.heartbeat_interval(kTimeZero, 50ms), 50ms);
  EXPECT_EQ(control.patience(kTimeZero), Duration::max());
}

TEST(Forecaster, PriorDrifts49TicksBeforeTheFirstArrival) {
  Forecaster forecaster{std::make_unique<CountingEstimator>(), {}};
  EXPECT_EQ(forecaster.forecast(kTimeZero + 1h).counts, (ForecastCounts{49, 0, 100}));
}

TEST(Forecaster, AnnouncedSilenceCountsFromTheStartOfItsTick) {
  for (const auto& [silence, observed] : {std::pair<Duration, uint32_t>{40ms, 2}, {41ms, 1}}) {
    Forecaster forecaster{std::make_unique<CountingEstimator>(), {.prior_ticks = 0}};
    forecaster.handle_arrival(kTimeZero, kModelPacketSize, 0ms);
    forecaster.handle_arrival(kTimeZero + 15ms, kModelPacketSize, silence);
    // Ticks: the arrivals', a silent one, and one at 40.
    EXPECT_EQ(forecaster.forecast(kTimeZero + 61ms).counts[1], observed);
  }
}

TEST(Forecaster, RejectsInvalidInput) {
  const auto make = [](Forecaster::Options options) {
    return Forecaster{std::make_unique<CountingEstimator>(), options};
  };
  EXPECT_DEATH(make({.tick = 0ms}), "out of range");
  EXPECT_DEATH(make({.prior_ticks = -1}), "out of range");
  EXPECT_DEATH((Forecaster{nullptr, {.prior_ticks = 0}}), "out of range");
  Forecaster forecaster = make({.tick = 1ns, .prior_ticks = 0});
  EXPECT_DEATH(forecaster.handle_arrival(kTimeZero, DataSize{-1}, 0ms), "negative arrival");
  EXPECT_DEATH(forecaster.handle_arrival(kTimeZero, DataSize{0}, -1ns), "negative arrival");
  forecaster.handle_arrival(kTimeZero + 1s, DataSize{0}, 0ms);
  EXPECT_DEATH(forecaster.handle_arrival(kTimeZero + 1s - 1ns, DataSize{0}, 0ms), "time went back");
}

TEST(Ewma, SettingsAreThePapersAndTheFloorThatWasMeasured) {
  EwmaEstimator estimator{{}};
  EXPECT_EQ(estimator.forecast(), (ForecastCounts{1, 2, 3, 4, 5, 6, 7, 8}));
  estimator.observe_tick(9);  // to two a tick: an eighth of the way
  EXPECT_EQ(estimator.forecast(), (ForecastCounts{2, 4, 6, 8, 10, 12, 14, 16}));
  for (int i = 0; i < 1000; ++i) {
    estimator.observe_tick(0);
  }
  EXPECT_EQ(estimator.forecast(), (ForecastCounts{0, 0, 0, 1, 1, 1, 1, 2}));
}

TEST(ObservedPackets, AreBoundedAndNotNegative) {
  EXPECT_EQ(observed_packets(1), 1);
  EXPECT_EQ(observed_packets(2.49), 2);
  EXPECT_EQ(observed_packets(1e12), 1'000'000);
  EXPECT_DEATH(observed_packets(-1e-9), "negative arrivals");
}

TEST(Kernels, EqualThePlainLoopsAtEverySize) {
  for (size_t size = 0; size < 40; ++size) {
    std::vector<double> a(size);
    std::vector<double> b(size);
    for (size_t i = 0; i < size; ++i) {
      a[i] = static_cast<double>(1 + i * i);  // small integers: every order gives the same sum
      b[i] = static_cast<double>(3 + i);
    }
    EXPECT_EQ(sum(a), std::accumulate(a.begin(), a.end(), 0.0));
    EXPECT_EQ(dot(a, b), std::inner_product(a.begin(), a.end(), b.begin(), 0.0));
    std::vector<double> into = a;
    add_scaled(into, 2, b);
    for (size_t i = 0; i < size; ++i) {
      EXPECT_EQ(into[i], a[i] + 2 * b[i]);
    }
    into = a;
    multiply(into, b);
    scale(into, 4);
    for (size_t i = 0; i < size; ++i) {
      EXPECT_EQ(into[i], a[i] * b[i] * 4);
    }
  }
}

}  // namespace
}  // namespace cress::control
