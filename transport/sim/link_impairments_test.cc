#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "transport/sim/link.hh"

namespace cress::sim {
namespace {

constexpr int kSent = 20'000;

Datagram numbered(int number) {
  return {.bytes = std::vector<std::byte>(static_cast<size_t>(number)), .wire_size = DataSize{100}};
}

/// Pushes kSent datagrams a millisecond apart; their numbers as they arrive.
std::vector<int> arrivals(Link& link) {
  std::vector<int> order;
  for (int i = 0; i < kSent + 1000; ++i) {
    const TimePoint now = kTimeZero + i * 1ms;
    if (i < kSent) {
      link.push(now, numbered(i));
    }
    link.handle_timeout(now);
    while (const auto datagram = link.poll_delivered(now)) {
      order.push_back(static_cast<int>(datagram->bytes.size()));
    }
  }
  return order;
}

TEST(Link, WithoutATraceNothingQueues) {
  Link link{{.trace = nullptr, .propagation = 7ms, .queue = nullptr}};
  link.push(kTimeZero + 1s, numbered(0));
  link.push(kTimeZero + 1s, numbered(1));
  ASSERT_EQ(link.records().size(), 2U);
  EXPECT_EQ(link.records()[1].left, kTimeZero + 1s);
  EXPECT_EQ(link.records()[1].arrived, kTimeZero + 1s + 7ms);
  EXPECT_EQ(link.queued(), DataSize{});
  EXPECT_EQ(link.poll_timeout(), kTimeZero + 1s + 7ms);
}

TEST(Link, JitterDelaysByLessThanItsBoundAndReorders) {
  Link link{{.trace = nullptr, .propagation = 20ms, .jitter = 10ms, .seed = 3, .queue = nullptr}};
  const std::vector<int> order = arrivals(link);
  EXPECT_EQ(order.size(), static_cast<size_t>(kSent));
  EXPECT_FALSE(std::ranges::is_sorted(order));
  Duration least = 1s;
  Duration most{};
  for (const PacketRecord& record : link.records()) {
    least = std::min(least, record.arrived - record.left);
    most = std::max(most, record.arrived - record.left);
  }
  EXPECT_GE(least, 20ms);
  EXPECT_LT(least, 20ms + 100us);
  EXPECT_LT(most, 30ms);
  EXPECT_GT(most, 30ms - 100us);
}

TEST(Link, ADetourTakesLongerForItsTime) {
  Link link{{.trace = nullptr,
             .propagation = 20ms,
             .detours = {{.by = 40ms, .from = 1s, .until = 2s}, {.by = 5ms, .from = 1500ms}},
             .queue = nullptr}};
  for (const Duration at : std::array<Duration, 5>{1s - 1ns, 1s, 1500ms, 2s - 1ns, 2s}) {
    link.push(kTimeZero + at, {});
  }
  std::vector<Duration> took;
  for (const PacketRecord& record : link.records()) {
    took.push_back(record.arrived - record.left);
  }
  EXPECT_EQ(took, (std::vector<Duration>{20ms, 60ms, 65ms, 65ms, 25ms}));
}

TEST(Link, BurstsLoseRunsOfDatagrams) {
  // In the bad state for 0.01 / (0.01 + 0.3) of the time, for 1 / 0.3 datagrams at a time.
  Link link{{.trace = nullptr,
             .burst_loss = {.enter = 0.01, .leave = 0.3, .loss = 1},
             .seed = 5,
             .queue = nullptr}};
  const std::vector<int> order = arrivals(link);
  const double lost = 1 - static_cast<double>(order.size()) / kSent;
  EXPECT_NEAR(lost, 0.01 / 0.31, 0.007);  // three standard deviations
  EXPECT_EQ(link.lost(), kSent - order.size());
  int bursts = 0;
  for (size_t i = 1; i < order.size(); ++i) {
    bursts += order[i] != order[i - 1] + 1 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(link.lost()) / bursts, 1 / 0.3, 0.4);
}

TEST(Link, DuplicatesArriveTwiceInARow) {
  Link link{{.trace = nullptr, .duplicate = 0.1, .seed = 7, .queue = nullptr}};
  const std::vector<int> order = arrivals(link);
  EXPECT_NEAR(static_cast<double>(order.size()) / kSent, 1.1, 0.01);
  EXPECT_TRUE(std::ranges::is_sorted(order));
  EXPECT_EQ(link.records().size(), static_cast<size_t>(kSent)) << "the link carried each once";
}

TEST(Link, WhileDownItLosesEverything) {
  Link link{{.trace = nullptr, .propagation = 20ms, .queue = nullptr}};
  link.push(kTimeZero, numbered(1));
  link.set_down(true);
  link.push(kTimeZero, numbered(2));
  link.set_down(false);
  link.push(kTimeZero, numbered(3));
  EXPECT_EQ(link.lost(), 1U);
  std::vector<size_t> arrived;
  while (const auto datagram = link.poll_delivered(kTimeZero + 20ms)) {
    arrived.push_back(datagram->bytes.size());
  }
  EXPECT_EQ(arrived, (std::vector<size_t>{1, 3}));
}

TEST(Link, ConditionsMayChangeWhileItRuns) {
  Link link{{.trace = nullptr, .loss = 1, .queue = nullptr}};
  link.push(kTimeZero, numbered(1));
  link.set_conditions({.duplicate = 1, .mtu = DataSize{1280}});
  link.push(kTimeZero, numbered(2));
  link.push(kTimeZero, {.bytes = {}, .wire_size = DataSize{1281}});
  EXPECT_EQ(link.lost(), 2U);
  EXPECT_TRUE(link.poll_delivered(kTimeZero + 20ms));
  EXPECT_TRUE(link.poll_delivered(kTimeZero + 20ms));
}

TEST(Link, JitterMayBeForAShareOfTheDatagrams) {
  Link link{{.trace = nullptr, .jitter = 30ms, .jittered = 0.1, .seed = 3, .queue = nullptr}};
  (void)arrivals(link);
  const auto late = std::ranges::count_if(link.records(), [](const PacketRecord& record) {
    return record.arrived - record.left > 20ms;
  });
  EXPECT_NEAR(static_cast<double>(late) / kSent, 0.1, 0.01);
}

TEST(Link, PacketsBeyondTheMtuAreLost) {
  Link link{{.trace = nullptr, .mtu = DataSize{1280}, .queue = nullptr}};
  link.push(kTimeZero, {.bytes = {}, .wire_size = DataSize{1280}});
  link.push(kTimeZero, {.bytes = {}, .wire_size = DataSize{1281}});
  EXPECT_EQ(link.records().size(), 1U);
  EXPECT_EQ(link.lost(), 1U);
}

TEST(Link, ImpairmentsDoNotChangeWhichDatagramsAreLostAtRandom) {
  Link plain{{.trace = nullptr, .loss = 0.05, .seed = 9, .queue = nullptr}};
  Link jittery{{.trace = nullptr,
                .jitter = 5ms,
                .loss = 0.05,
                .duplicate = 0.01,
                .seed = 9,
                .queue = nullptr}};
  (void)arrivals(plain);
  (void)arrivals(jittery);
  EXPECT_EQ(plain.lost(), jittery.lost());
}

}  // namespace
}  // namespace cress::sim
