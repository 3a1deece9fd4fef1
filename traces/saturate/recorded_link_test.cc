#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "traces/links.hh"
#include "traces/saturate/saturate_test_tools.hh"

namespace cress::traces {
namespace {

constexpr Duration kPropagation = 20ms;

struct Plan {
  std::string name;
  sim::DeliveryTrace down;
  sim::DeliveryTrace up;
  bool feedback = true;
  bool measures_down = true;
  bool measures_up = true;
  Duration duration = 60s;
  double loss = 0;
};

struct Outcome {
  Saturator::State state{};
  SaturateMeasurement connector;
  SaturateMeasurement listener;
};

SaturatorOptions options_of(const Plan& plan, bool connects) {
  SaturatorOptions options{.connects = connects,
                           .token = key_of_token("secret"),
                           .entropy = entropy_of(connects ? 1 : 2),
                           .duration = connects ? plan.duration : 3600s};
  if (connects) {
    options.peer = listener_address();
    options.up = plan.measures_up;
    options.down = plan.measures_down;
    if (plan.feedback) {
      options.feedback_peer = listener_address();
    }
  }
  return options;
}

sim::LinkOptions link_of(const sim::DeliveryTrace& trace, const Plan& plan, uint64_t seed) {
  return {.trace = std::make_shared<sim::DeliveryTrace>(trace),
          .propagation = kPropagation,
          .loss = plan.loss,
          .seed = seed,
          .queue = nullptr};
}

Outcome run(const Plan& plan) {
  FeedbackWire wire;
  FeedbackWire* const second = plan.feedback ? &wire : nullptr;
  SaturatorHost connector{options_of(plan, true), second};
  SaturatorHost listener{options_of(plan, false), second};
  sim::Link up{link_of(plan.up, plan, 1)};
  sim::Link down{link_of(plan.down, plan, 2)};
  sim::World world{{connector, listener, up, down}};
  const TimePoint limit = kTimeZero + plan.duration + 200s;
  while (world.now() < limit && (connector.saturator().state() != Saturator::State::kDone ||
                                 listener.saturator().state() != Saturator::State::kDone)) {
    world.run_until(world.now() + 1s);
  }
  return {connector.saturator().state(), connector.saturator().measurement(),
          listener.saturator().measurement()};
}

struct Found {
  DirectionMeasurement measured;
  Comparison comparison;
};

/// The trace's time at the measurement's 0. Each end knows the other's clock only within half of a
/// round trip, and reports by how much it may have shifted what the other end received: in here
/// both clocks are one.
Duration offset_of(const SaturateMeasurement& measurement, bool received_here) {
  const Duration from = measurement.from - kTimeZero - kPropagation;
  return received_here ? from : from + measurement.clock_offset;
}

Found found(const SaturateMeasurement& measurement, bool down, const sim::DeliveryTrace& replayed,
            bool connector = true) {
  const MeasuredWindow window{measurement.from, measurement.to, measurement.round_trip};
  Found result{measure_direction((down ? measurement.down : measurement.up).arrivals, window), {}};
  result.comparison = compare(replayed, result.measured, offset_of(measurement, down == connector));
  return result;
}

struct Second {
  Duration from{};
  DataSize missing;
};
/// How far each measured second is below the trace.
std::vector<Second> seconds_of(const SaturateMeasurement& measurement, bool down,
                               const sim::DeliveryTrace& replayed) {
  const auto& arrivals = (down ? measurement.down : measurement.up).arrivals;
  const Duration shift = offset_of(measurement, down) - (measurement.from - kTimeZero);
  std::vector<Second> seconds;
  for (Duration t{}; measurement.from + t + 1s <= measurement.to; t += 1s) {
    const TimePoint from = measurement.from + t;
    DataSize missing = replayed.capacity(from + shift, from + shift + 1s);
    for (const SaturateArrival& arrival : arrivals) {
      if (arrival.arrived >= from && arrival.arrived < from + 1s) {
        missing -= arrival.size;
      }
    }
    seconds.push_back({t, missing});
  }
  return seconds;
}

void print(const std::string& name, const Found& f) {
  std::cout << name << ": " << f.measured.capacity().kilobits_per_second() << " kbit/s, seconds "
            << f.comparison.seconds << ", error median " << 100 * f.comparison.capacity_error_median
            << " %, worst " << 100 * f.comparison.capacity_error_worst << " %, total "
            << 100 * f.comparison.capacity_error_total << " %, " << f.comparison.gaps
            << " gaps, worst error " << to_milliseconds(f.comparison.gap_error_worst)
            << " ms; saturated " << 100 * f.measured.saturated_share << " %, over 750 ms "
            << 100 * f.measured.over_delay_share << " %, p50 "
            << to_milliseconds(f.measured.delay_p50) << " p95 "
            << to_milliseconds(f.measured.delay_p95) << " ms, lost " << f.measured.lost
            << ", unsaturated " << f.measured.unsaturated.size() << '\n';
}

void expect_trace_back(const std::string& what, const Found& f) {
  print(what, f);
  EXPECT_GE(f.comparison.seconds, 100U) << what;
  EXPECT_LE(f.comparison.capacity_error_median, 0.02) << what;
  EXPECT_LE(f.comparison.capacity_error_total, 0.01) << what;
  EXPECT_LE(f.comparison.gap_error_worst, 10ms) << what;
  EXPECT_GT(f.comparison.gaps, 0U) << what << ": this link has no gaps to find";
  EXPECT_GE(f.measured.saturated_share, 0.999) << what;
  EXPECT_EQ(f.measured.lost, 0U) << what;
}

class RecordedLink : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::filesystem::path folder{CRESS_DATA};
    if (!std::filesystem::exists(folder / "traces/cellular" /
                                 (std::string{GetParam()} + ".down"))) {
      GTEST_SKIP() << "no data: recorded links in " << folder;
    }
    const NamedLink link = resolve_link(GetParam(), folder);
    plan_.down = link.down;
    plan_.up = link.up;
  }
  Plan plan_{.name = GetParam(), .down = {}, .up = {}, .duration = 120s};
};
INSTANTIATE_TEST_SUITE_P(Recorded, RecordedLink,
                         ::testing::Values("ATT-LTE-driving", "TMobile-UMTS-driving",
                                           "Verizon-EVDO-driving", "Verizon-LTE-short"));

TEST_P(RecordedLink, IsReproducedBothWaysWithASeparateFeedbackPath) {
  const Outcome outcome = run(plan_);
  ASSERT_EQ(outcome.state, Saturator::State::kDone);
  for (const SaturateMeasurement* end : {&outcome.connector, &outcome.listener}) {
    ASSERT_TRUE(end->up.complete && end->down.complete);
  }
  expect_trace_back("down", found(outcome.connector, true, plan_.down));
  expect_trace_back("up  ", found(outcome.connector, false, plan_.up));
  expect_trace_back("down, told by the listener", found(outcome.listener, true, plan_.down, false));
  expect_trace_back("up, told by the listener  ", found(outcome.listener, false, plan_.up, false));
}

TEST_P(RecordedLink, IsReproducedOneWayWithoutAFeedbackPath) {
  plan_.feedback = false;
  for (const bool down : {true, false}) {
    plan_.measures_down = down;
    plan_.measures_up = !down;
    const Outcome outcome = run(plan_);
    ASSERT_EQ(outcome.state, Saturator::State::kDone);
    expect_trace_back(down ? "down" : "up",
                      found(outcome.connector, down, down ? plan_.down : plan_.up));
  }
}

// Goal: where feedback itself waits in the queues, the link's queue may become empty; then the
// summary must report it. Method: seconds in which less arrived than the trace could have delivered
// must be in a listed interval.
TEST_P(RecordedLink, UnsaturatedTimeIsReportedWithQueuedFeedback) {
  plan_.feedback = false;
  const Outcome outcome = run(plan_);
  ASSERT_EQ(outcome.state, Saturator::State::kDone);
  for (const bool down : {true, false}) {
    const Found f = found(outcome.connector, down, down ? plan_.down : plan_.up);
    print(down ? "down" : "up", f);
    EXPECT_GE(f.measured.saturated_share, 0.6);
    for (const Second& second : seconds_of(outcome.connector, down, down ? plan_.down : plan_.up)) {
      const bool told = std::ranges::any_of(f.measured.unsaturated, [&](const Stretch& s) {
        return s.from < second.from + 1s && s.to > second.from;
      });
      EXPECT_TRUE(told || second.missing <= 2 * sim::kOpportunitySize)
          << "at " << to_seconds(second.from) << " s " << second.missing.bytes()
          << " bytes are missing, and nobody says so";
    }
  }
}

TEST_P(RecordedLink, RandomLossTakesNothingFromTheLink) {
  plan_.loss = 0.05;
  const Outcome outcome = run(plan_);
  ASSERT_EQ(outcome.state, Saturator::State::kDone);
  const Found f = found(outcome.connector, true, plan_.down);
  print("down", f);
  EXPECT_LE(f.comparison.capacity_error_median, 0.02);
  EXPECT_LE(f.comparison.gap_error_worst, 10ms);
  EXPECT_GE(f.measured.saturated_share, 0.999);
  EXPECT_NEAR(static_cast<double>(f.measured.lost) /
                  static_cast<double>(f.measured.lost + f.measured.arrived),
              0.05, 0.01);
}

}  // namespace
}  // namespace cress::traces
