#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "traces/emulate/path_emulator.hh"
#include "traces/links.hh"
#include "traces/saturate/saturate_end.hh"
#include "traces/saturate/saturate_test_tools.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::traces {
namespace {

constexpr Duration kPropagation = 20ms;
// This machine may be busy with other work; then the emulator is late, and the measurement shows
// the machine. Such runs are repeated.
constexpr Duration kLatenessMax = 4ms;
constexpr int kTries = 4;

struct Finding {
  SaturateMeasurement connector;
  SaturateMeasurement listener;
  TimePoint emulator_start{};
  Duration lateness{};
  bool done = false;
};

/// Two ends and the emulated path between them, in one loop, over real sockets in real time; a
/// second path that is not emulated carries feedback.
Finding measure(const NamedLink& link, const std::string& address, Duration duration) {
  const runtime::MonotonicClock clock;
  runtime::EventLoop loop{clock};
  const Address local = *runtime::parse_address(address);
  int ended = 0;
  const auto on_end = [&] {
    if (++ended == 2) {
      loop.stop();
    }
  };
  SaturateEnd listener{{.clock = clock, .loop = loop, .bind = local, .feedback_bind = local},
                       {.token = key_of_token("t"), .entropy = entropy_of(1), .duration = 60s},
                       on_end};
  runtime::UdpSocket path_socket{clock, {.bind = local}};
  const auto link_of = [](const sim::DeliveryTrace& trace) {
    return sim::LinkOptions{.trace = std::make_shared<sim::DeliveryTrace>(trace),
                            .propagation = kPropagation,
                            .queue = nullptr};
  };
  PathEmulator path{clock.now(),
                    {.server = listener.link_address(),
                     .forward = link_of(link.up),
                     .reverse = link_of(link.down)}};
  const runtime::Driver path_driver{{clock, loop, path_socket, path}};
  SaturateEnd connector{{.clock = clock, .loop = loop, .bind = local, .feedback_bind = local},
                        {.connects = true,
                         .token = key_of_token("t"),
                         .entropy = entropy_of(2),
                         .peer = path_socket.local_address(),
                         .feedback_peer = listener.feedback_address(),
                         .duration = duration},
                        on_end};
  runtime::EventLoop::Timer guard{loop, [&] { loop.stop(); }};
  guard.arm(clock.now() + duration + 40s);
  loop.run();
  return {connector.saturator().measurement(), listener.saturator().measurement(), path.start(),
          path_driver.stats().timeout_lateness_max, ended == 2};
}

struct Bar {
  DirectionMeasurement measured;
  Comparison comparison;
  bool is_met = false;
};

Bar judge(const Finding& finding, bool down, const sim::DeliveryTrace& replayed) {
  const SaturateMeasurement& m = finding.connector;
  const MeasuredWindow window{m.from, m.to, m.round_trip};
  Bar bar{measure_direction((down ? m.down : m.up).arrivals, window), {}, false};
  const Duration own = m.from - finding.emulator_start - kPropagation;
  bar.comparison = compare(replayed, bar.measured, down ? own : own + m.clock_offset);
  bar.is_met = bar.comparison.capacity_error_median <= 0.02 &&
               bar.comparison.capacity_error_total <= 0.02 &&
               bar.comparison.gap_error_worst <= 10ms && bar.measured.saturated_share >= 0.99;
  std::cout << (down ? "down: " : "up:   ") << bar.measured.capacity().kilobits_per_second()
            << " kbit/s, error median " << 100 * bar.comparison.capacity_error_median
            << " %, worst " << 100 * bar.comparison.capacity_error_worst << " %, total "
            << 100 * bar.comparison.capacity_error_total << " %; " << bar.comparison.gaps
            << " gaps, worst error " << to_milliseconds(bar.comparison.gap_error_worst)
            << " ms; saturated " << 100 * bar.measured.saturated_share << " %, lost "
            << bar.measured.lost << ", emulator at most " << to_milliseconds(finding.lateness)
            << " ms late\n";
  return bar;
}

/// The limit must be met by a run in which the emulator was punctual.
void expect_given_back(const NamedLink& link, const std::string& address, Duration duration) {
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const Finding finding = measure(link, address, duration);
    ASSERT_TRUE(finding.done) << "the two ends did not come to an end";
    ASSERT_TRUE(finding.connector.up.complete && finding.connector.down.complete);
    ASSERT_TRUE(finding.listener.up.complete && finding.listener.down.complete);
    EXPECT_EQ(finding.connector.up.arrivals.size(), finding.listener.up.arrivals.size());
    EXPECT_EQ(finding.connector.down.arrivals.size(), finding.listener.down.arrivals.size());
    const Bar down = judge(finding, true, link.down);
    const Bar up = judge(finding, false, link.up);
    if (finding.lateness > kLatenessMax && !(down.is_met && up.is_met)) {
      continue;
    }
    EXPECT_TRUE(down.is_met);
    EXPECT_TRUE(up.is_met);
    EXPECT_GT(down.comparison.gaps + up.comparison.gaps, 0U) << "no gap to find";
    return;
  }
  GTEST_SKIP() << "this machine is too busy to emulate a link in real time";
}

bool has_ipv6() {
  try {
    const runtime::MonotonicClock clock;
    const runtime::UdpSocket socket{clock, {.bind = *runtime::parse_address("[::1]:0")}};
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

TEST(SaturateInRealTime, GivesAnEmbeddedLinkBackOverRealSockets) {
  expect_given_back(
      {"", "", embedded_trace("outages", Direction::kDown), embedded_trace("3g", Direction::kUp)},
      "127.0.0.1:0", 10s);
}

TEST(SaturateInRealTime, GivesARecordedLinkBackOverRealSockets) {
  const std::filesystem::path folder{CRESS_DATA};
  if (!std::filesystem::exists(folder / "traces/cellular/Verizon-LTE-short.down")) {
    GTEST_SKIP() << "no data: recorded links in " << folder;
  }
  expect_given_back(resolve_link("Verizon-LTE-short", folder), "127.0.0.1:0", 12s);
}

// The link charges 20 bytes more for each packet's header than sim::World would: an IPv6 packet of
// 1500 bytes is one of 1452.
TEST(SaturateInRealTime, GivesALinkBackOverIpv6) {
  if (!has_ipv6()) {
    GTEST_SKIP() << "this machine has no IPv6";
  }
  expect_given_back(
      {"", "", embedded_trace("lte-slow", Direction::kDown), embedded_trace("3g", Direction::kUp)},
      "[::1]:0", 6s);
}

}  // namespace
}  // namespace cress::traces
