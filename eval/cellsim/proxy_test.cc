#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "eval/cellsim/cellsim.hh"
#include "eval/cellsim/cellsim_test_tools.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::cellsim {
namespace {

constexpr size_t kQuestions = 5;

/// Asks a server behind the proxy, which answers, and notes how long the first answer took.
std::optional<Duration> ask(runtime::UdpSocket& client, runtime::UdpSocket& server,
                            const Address& proxy, const runtime::MonotonicClock& clock) {
  std::optional<Duration> first;
  size_t asked = 0;
  size_t answered = 0;
  TimePoint sent{};
  sleep_for(300ms);  // the proxy opens its socket
  for (int i = 0; i < 3000 && answered < kQuestions; ++i) {
    if (asked == answered) {
      const Transmit question{proxy, std::vector<std::byte>(200 + asked)};
      sent = clock.now();
      client.send_batch(std::span{&question, 1});
      ++asked;
    }
    sleep_for(1ms);
    for (const auto& datagram : server.receive_batch().datagrams) {
      const Transmit answer{datagram.from, {datagram.bytes.begin(), datagram.bytes.end()}};
      server.send_batch(std::span{&answer, 1});
    }
    for (const auto& datagram : client.receive_batch().datagrams) {
      EXPECT_EQ(datagram.bytes.size(), 200 + answered);
      first = first.value_or(clock.now() - sent);
      ++answered;
    }
  }
  EXPECT_EQ(answered, kQuestions);
  return first;
}

TEST(Proxy, CarriesDatagramsBothWaysWithTheirDelayUntilItsTime) {
  const runtime::MonotonicClock clock;
  const auto any = *runtime::parse_address("127.0.0.1:0");
  runtime::UdpSocket server{clock, {.bind = any}};
  runtime::UdpSocket client{clock, {.bind = any}};
  ProxyOptions options;
  options.path = {.name = "test", .down = every(1ms), .up = every(2ms), .delay = 30ms};
  options.listen = runtime::UdpSocket{clock, {.bind = any}}.local_address();  // free now
  options.server = server.local_address();
  options.duration = 2s;
  std::ostringstream notes;
  std::optional<Duration> round_trip;
  CellsimReport report;
  {
    const std::jthread talk{[&] { round_trip = ask(client, server, options.listen, clock); }};
    report = run_proxy(options, notes);
  }
  ASSERT_TRUE(round_trip.has_value());
  EXPECT_GE(*round_trip, 60ms);
  EXPECT_GE(report.length, 2s);
  EXPECT_LT(report.length, 10s);
  EXPECT_TRUE(report.logs_complete);
  EXPECT_TRUE(report.late_p50 && report.late_p99 && *report.late_p50 <= *report.late_p99);
  EXPECT_LE(*report.late_p99, report.late_max + 10us);
  ASSERT_EQ(report.directions.size(), 2U);
  EXPECT_EQ(report.directions[0].direction, "uplink");
  for (const DirectionReport& direction : report.directions) {
    EXPECT_EQ(direction.score.packets_delivered, kQuestions) << direction.direction;
    EXPECT_EQ(direction.packets_lost, 0U);
    EXPECT_EQ(direction.packets_missed, 0U);
    EXPECT_GE(*direction.score.delay95_ms, 30);
  }
  EXPECT_EQ(notes.str(), "cellsim: test, 30 ms each way, queue infinite; listening on " +
                             runtime::format_address(options.listen) + ", on to " +
                             runtime::format_address(options.server) + "\n");
}

TEST(Proxy, WhatItLosesIsCounted) {
  const runtime::MonotonicClock clock;
  const auto any = *runtime::parse_address("127.0.0.1:0");
  runtime::UdpSocket client{clock, {.bind = any}};
  ProxyOptions options;
  options.path = {.name = "test", .down = every(1ms), .up = every(1ms), .loss = 1};
  options.listen = runtime::UdpSocket{clock, {.bind = any}}.local_address();
  options.server = client.local_address();
  options.duration = 600ms;
  options.quiet = true;
  std::ostringstream notes;
  CellsimReport report;
  {
    const std::jthread talk{[&] {
      sleep_for(300ms);
      const std::vector<Transmit> three(3, Transmit{options.listen, std::vector<std::byte>(100)});
      client.send_batch(three);
    }};
    report = run_proxy(options, notes);
  }
  EXPECT_EQ(report.directions[0].packets_lost + report.directions[1].packets_lost, 3U);
  EXPECT_EQ(notes.str(), "");
}

}  // namespace
}  // namespace cress::cellsim
