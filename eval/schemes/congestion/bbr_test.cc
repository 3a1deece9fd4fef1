#include "eval/schemes/congestion/bbr.hh"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "eval/schemes/tcp/congestion_test_tools.hh"

namespace cress::schemes {
namespace {

using testing_tools::segments;
using testing_tools::SteadyFlow;

constexpr double kSegmentsPerSecond = 1e6 / 1500.0;  // one opportunity each 1.5 ms

const Bbr& bbr_of(const SteadyFlow& flow) {
  return dynamic_cast<const Bbr&>(flow.sender.control());
}

std::unique_ptr<SteadyFlow> steady_flow(uint64_t seed = 1) {
  return std::make_unique<SteadyFlow>(std::make_unique<Bbr>(seed), 1500us, false);
}

TEST(Bbr, GainsAreTwoOverLnTwoAndItsInverse) {
  EXPECT_NEAR(kBbrHighGain, 2.0 / std::log(2.0), 0.005);
  EXPECT_NEAR(kBbrDrainGain, std::log(2.0) / 2.0, 0.001);
  double sum = 0;
  for (const double gain : kBbrPacingCycle) {
    sum += gain;
  }
  EXPECT_EQ(sum, 8.0);  // a cycle neither builds nor drains a queue
}

TEST(Bbr, FindsTheRateAndTheRoundTripOfAConstantLink) {
  const auto flow = steady_flow();
  flow->world.run_until(kTimeZero + 5s);
  const Bbr& bbr = bbr_of(*flow);
  EXPECT_EQ(bbr.mode(), BbrMode::kProbeRate);
  EXPECT_NEAR(bbr.rate(), kSegmentsPerSecond, 0.02 * kSegmentsPerSecond);
  ASSERT_TRUE(bbr.least_round_trip());
  EXPECT_NEAR(to_milliseconds(*bbr.least_round_trip()), 40.0, 2.0);
}

TEST(Bbr, LeavesStartUpAfterThreeRoundsWithoutAQuarterMoreAndDrains) {
  const auto flow = steady_flow();
  std::vector<BbrMode> modes{BbrMode::kStartup};
  std::optional<TimePoint> full_at;
  for (TimePoint at = kTimeZero; at < kTimeZero + 3s; at += 5ms) {
    flow->world.run_until(at);
    const Bbr& bbr = bbr_of(*flow);
    if (bbr.mode() != modes.back()) {
      modes.push_back(bbr.mode());
    }
    if (!full_at && bbr.rate() > 0.95 * kSegmentsPerSecond) {
      full_at = at;
    }
    if (bbr.mode() == BbrMode::kStartup && full_at) {
      // Each of the three rounds has a queue of up to 2.89 - 1 times the path in it.
      EXPECT_LT(to_milliseconds(at - *full_at), 4 * 2.89 * 40);
    }
  }
  ASSERT_GE(modes.size(), 3U);
  EXPECT_EQ(modes[1], BbrMode::kDrain);
  EXPECT_EQ(modes[2], BbrMode::kProbeRate);
}

TEST(Bbr, CyclesThroughItsGainsInOrder) {
  const auto flow = steady_flow();
  flow->world.run_until(kTimeZero + 2s);
  std::vector<std::pair<double, Duration>> phases;
  for (TimePoint at = kTimeZero + 2s; at < kTimeZero + 9s; at += 1ms) {
    flow->world.run_until(at);
    const double gain = bbr_of(*flow).pacing_gain();
    if (phases.empty() || phases.back().first != gain) {
      phases.push_back({gain, 0ms});
    }
    phases.back().second += 1ms;
  }
  ASSERT_GT(phases.size(), 30U);
  for (size_t i = 1; i + 1 < phases.size(); ++i) {
    const auto [gain, length] = phases[i];
    if (gain == 1.25) {
      EXPECT_EQ(phases[i + 1].first, 0.75);
      EXPECT_GE(length, 40ms);  // and until a quarter more than the path is in flight
    } else if (gain == 0.75) {
      EXPECT_EQ(phases[i + 1].first, 1.0);
      EXPECT_LE(length, 60ms);
    } else {
      EXPECT_NEAR(to_milliseconds(length), 6 * 42, 30);  // six round trips and their queue
    }
  }
}

/// An acknowledgement `after` the start by a flow that keeps `in_flight` segments out.
AckEvent ack_at(Duration after, Duration round_trip, int64_t number, int64_t in_flight) {
  return {.now = kTimeZero + after,
          .delivered = kTcpPayloadMax,
          .in_flight = kTcpPayloadMax * (in_flight + 1),
          .acknowledged = kTcpPayloadMax * number,
          .sent = kTcpPayloadMax * (number + in_flight),
          .round_trip = round_trip,
          .delivery_rate = DataRate::from(kTcpPayloadMax, 10ms),
          .delivered_total = kTcpPayloadMax * number,
          .delivered_when_sent = kTcpPayloadMax * std::max<int64_t>(number - in_flight, 0),
          .in_flight_now = kTcpPayloadMax * in_flight};
}

TEST(Bbr, HoldsFourSegmentsFor200MsWhenTheRoundTripIsTenSecondsOld) {
  Bbr bbr{1};
  int64_t number = 0;
  Duration at{};
  bbr.on_ack(ack_at(at, 40ms, ++number, 8));
  while (bbr.mode() != BbrMode::kProbeRoundTrip) {  // the round trip is never as short again
    at += 10ms;
    bbr.on_ack(ack_at(at, 80ms, ++number, 8));
    ASSERT_LT(at, 11s);
  }
  EXPECT_GT(at, 10s);
  EXPECT_EQ(bbr.least_round_trip(), 80ms);  // the old one is out of its window
  EXPECT_EQ(segments(bbr.window()), 4);
  at += 10ms;
  bbr.on_ack(ack_at(at, 80ms, ++number, 4));  // the flight has fallen: the clock starts
  const Duration started = at;
  while (bbr.mode() == BbrMode::kProbeRoundTrip) {
    at += 10ms;
    bbr.on_ack(ack_at(at, 60ms, ++number, 4));
    ASSERT_LT(at, 12s);
  }
  EXPECT_GE(at - started, 200ms);
  EXPECT_LE(at - started, 250ms);
  EXPECT_EQ(bbr.least_round_trip(), 60ms);
  EXPECT_EQ(bbr.mode(), BbrMode::kProbeRate);
  EXPECT_GT(segments(bbr.window()), 4);  // what it had before
}

/// The rate in segments per second after the next acknowledgement of a flow of eight segments, each
/// of which arrived after `gap`.
double rate_after(Bbr& bbr, Duration& at, int64_t& number, Duration gap) {
  at += 10ms;
  AckEvent ack = ack_at(at, 80ms, ++number, 8);
  ack.delivery_rate = DataRate::from(kTcpPayloadMax, gap);
  bbr.on_ack(ack);
  return bbr.rate();
}

TEST(Bbr, ForgetsARateAfterTenRounds) {
  Bbr bbr{1};
  Duration at{};
  int64_t number = 0;
  while (number < 40) {
    EXPECT_NEAR(rate_after(bbr, at, number, 10ms), 100, 0.1);
  }
  int slower = 0;
  while (rate_after(bbr, at, number, 20ms) > 75) {
    ASSERT_LT(++slower, 200);
  }
  EXPECT_NEAR(bbr.rate(), 50, 0.1);
  // Eight segments and the one that is acknowledged are a round.
  EXPECT_GE(slower, 10 * 8);
  EXPECT_LE(slower, 11 * 9);
}

TEST(Bbr, SamplesOfAHeldFlightOnlyRaiseTheRate) {
  Bbr bbr{1};
  Duration at{};
  int64_t number = 0;
  bbr.on_ack(ack_at(at, 40ms, ++number, 8));
  while (bbr.mode() != BbrMode::kProbeRoundTrip) {
    rate_after(bbr, at, number, 10ms);
    ASSERT_LT(at, 11s);
  }
  for (int i = 0; i < 9; ++i) {  // segments sent before the flight was held count as usual
    rate_after(bbr, at, number, 10ms);
  }
  for (int i = 0; i < 300; ++i) {  // over thirty rounds of less: the flight was too small for more
    ASSERT_NEAR(rate_after(bbr, at, number, 20ms), 100, 0.1) << i;
  }
  EXPECT_EQ(bbr.mode(), BbrMode::kProbeRoundTrip);
  EXPECT_NEAR(rate_after(bbr, at, number, 5ms), 200, 0.1);
}

TEST(Bbr, KeepsAConstantLinkBusyWithLittleQueue) {
  const auto flow = steady_flow();
  flow->world.run_until(kTimeZero + 60s);
  const TimePoint from = kTimeZero + 2s;
  const TimePoint to = kTimeZero + 60s;
  EXPECT_GT(flow->utilization(from, to), 0.95);
  EXPECT_LT(flow->queueing_ms(from, to, 0.5), 15.0);
  EXPECT_LT(flow->queueing_ms(from, to, 0.95), 40.0);
}

TEST(Bbr, IgnoresTenPercentLoss) {
  sim::Link reverse{{.trace = testing_tools::steady(100us), .queue = nullptr}};
  sim::Link lossy{{.trace = testing_tools::steady(1500us), .loss = 0.1, .queue = nullptr}};
  TcpSender sender{std::make_unique<Bbr>(1)};
  TcpReceiver receiver;
  sim::World world{{sender, receiver, lossy, reverse}};
  world.run_until(kTimeZero + 60s);
  // 8 Mbit/s for a minute less what is lost.
  const double possible = 60.0 * kSegmentsPerSecond * 0.9;
  EXPECT_GT(segments(receiver.received()), 0.85 * possible);
}

TEST(Bbr, TheSeedDrawsWhereTheCycleBegins) {
  std::set<double> first_gains;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto flow = steady_flow(seed);
    for (TimePoint at = kTimeZero; bbr_of(*flow).mode() != BbrMode::kProbeRate; at += 1ms) {
      ASSERT_LT(at, kTimeZero + 5s);
      flow->world.run_until(at);
    }
    first_gains.insert(bbr_of(*flow).pacing_gain());
  }
  EXPECT_EQ(first_gains, (std::set<double>{1.0, 1.25}));  // never the phase that drains
}

TEST(BbrAggregation, IsTheMaximumExcessOverTheRate) {
  BbrAggregation aggregation;
  // 100 segments per second, but ten at a time every 100 ms: ten arrive when none was expected.
  for (int i = 1; i <= 50; ++i) {
    aggregation.observe(kTimeZero + i * 100ms, 10.0, 100.0, 1'000.0);
  }
  EXPECT_NEAR(aggregation.most(), 10.0, 0.01);
  for (int round = 0; round < 10; ++round) {
    aggregation.start_round();
  }
  EXPECT_EQ(aggregation.most(), 0.0);  // discarded after five to ten rounds
}

}  // namespace
}  // namespace cress::schemes
