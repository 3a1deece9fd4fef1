#include "traces/saturate/measurement.hh"

#include <gtest/gtest.h>

namespace cress::traces {
namespace {

TimePoint at(Duration t) { return kTimeZero + t; }

SaturateArrival arrival(uint64_t sequence, Duration sent, Duration arrived, int64_t bytes = 1500) {
  return {sequence, at(sent), at(arrived), DataSize{bytes}};
}

constexpr MeasuredWindow kSecond{.from = kTimeZero + 1s, .to = kTimeZero + 2s, .round_trip = 40ms};

TEST(Measurement, OpportunitiesAreBytesNotPackets) {
  std::vector<SaturateArrival> arrivals;
  for (uint64_t i = 0; i < 40; ++i) {
    arrivals.push_back(arrival(i, 0s, 1s + i * 10ms, 750));
  }
  const auto result = measure_direction(arrivals, kSecond);
  ASSERT_EQ(result.trace.opportunities.size(), 20U);
  EXPECT_EQ(result.trace.opportunities[0].at, 10ms);
  EXPECT_EQ(result.trace.opportunities[1].at, 30ms);
  EXPECT_EQ(result.capacity(), DataRate::kilobits_per_second(240));
}

TEST(Measurement, ArrivalsOutsideTheWindowDoNotCount) {
  const std::vector arrivals{arrival(0, 0s, 999ms), arrival(1, 0s, 1s), arrival(2, 0s, 1999ms),
                             arrival(3, 0s, 2s)};
  const auto result = measure_direction(arrivals, kSecond);
  EXPECT_EQ(result.arrived, 2U);
  EXPECT_EQ(result.trace.opportunities.front().at, 0ms);
  EXPECT_EQ(result.trace.opportunities.back().at, 999ms);
}

TEST(Measurement, QueueingProvesSaturationForItsTime) {
  // The fastest takes 20 ms; clocks are 5 s apart.
  const std::vector arrivals{arrival(0, 5s, 20ms), arrival(1, 5'900ms, 1'400ms),
                             arrival(2, 6'600ms, 2'120ms)};
  const auto result = measure_direction(arrivals, kSecond);
  const std::vector<Stretch> missing{{400ms, 620ms}};
  EXPECT_EQ(result.unsaturated, missing);
  EXPECT_NEAR(result.saturated_share, 0.78, 1e-9);
}

TEST(Measurement, PacketWithoutQueueingProvesNothing) {
  std::vector<SaturateArrival> arrivals;
  for (uint64_t i = 0; i < 1'000; ++i) {
    arrivals.push_back(arrival(i, 1s + i * 1ms, 1s + i * 1ms + 30ms));
  }
  const auto result = measure_direction(arrivals, kSecond);
  EXPECT_EQ(result.saturated_share, 0);
  const std::vector<Stretch> missing{{0ms, 1s}};
  EXPECT_EQ(result.unsaturated, missing);
}

TEST(Measurement, GapsReachToTheWindowsEnds) {
  const std::vector late{arrival(0, 0s, 1'700ms), arrival(1, 0s, 1'900ms)};
  EXPECT_EQ(measure_direction(late, kSecond).longest_gap, 700ms);
  const std::vector early{arrival(0, 0s, 1'100ms), arrival(1, 0s, 1'200ms)};
  EXPECT_EQ(measure_direction(early, kSecond).longest_gap, 800ms);
  EXPECT_EQ(measure_direction({}, kSecond).longest_gap, 1s);
}

TEST(Measurement, CountsLostAndLatePackets) {
  const std::vector arrivals{arrival(10, 0s, 1'100ms), arrival(13, 0s, 1'200ms),
                             arrival(11, 0s, 1'300ms), arrival(15, 0s, 1'400ms)};
  const auto result = measure_direction(arrivals, kSecond);
  EXPECT_EQ(result.arrived, 4U);
  EXPECT_EQ(result.lost, 2U);
  EXPECT_EQ(result.reordered, 1U);
}

TEST(Measurement, DelayOver750MsIsARoundTrip) {
  // 715 ms of waiting and 40 ms of path are over, 705 and 40 are not.
  std::vector<SaturateArrival> arrivals{arrival(0, 0s, 20ms)};
  arrivals.push_back(arrival(1, 500ms, 1'235ms + 0ms));
  arrivals.push_back(arrival(2, 1'000ms, 1'725ms));
  const auto result = measure_direction(arrivals, kSecond);
  EXPECT_NEAR(result.over_delay_share, 0.235, 1e-9);
  EXPECT_EQ(result.delay_p50, 705ms);
}

TEST(Measurement, NothingGivesNoTrace) {
  EXPECT_FALSE(measure_direction({}, kSecond).has_trace());
  const std::vector at_once{arrival(0, 0s, 1s)};
  EXPECT_FALSE(measure_direction(at_once, kSecond).has_trace()) << "a trace of no length";
  EXPECT_EQ(measure_direction({}, {}).length, Duration{});
}

}  // namespace
}  // namespace cress::traces
