#include "relay/daemon/metrics.hh"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include "relay/daemon/json_log.hh"

namespace cress::relay {
namespace {

TEST(DurationHistogram, AValueOnABoundBelongsBelowIt) {
  DurationHistogram histogram;
  for (const Duration value :
       std::initializer_list<Duration>{0ns, 100us, 100us + 1ns, 5ms, 100ms, 100ms + 1ns, 1h}) {
    histogram.add(value);
  }
  const auto& counts = histogram.counts();
  EXPECT_EQ(counts[0], 2U);
  EXPECT_EQ(counts[1], 1U);
  EXPECT_EQ(counts[5], 1U);
  EXPECT_EQ(counts[9], 1U);
  EXPECT_EQ(counts[10], 2U);
  EXPECT_EQ(histogram.sum(), 200us + 5ms + 200ms + 2ns + 1h);
}

TEST(RelayMetrics, EachNumberHasALineOfItsOwn) {
  RelayMetrics metrics;
  metrics.members = 1;
  metrics.live_rooms = 2;
  metrics.open_rooms = 3;
  metrics.is_draining = true;
  metrics.resident_bytes = 5;
  metrics.rooms.joins = 10;
  metrics.rooms.leaves = 11;
  metrics.rooms.frames_left_out = 12;
  metrics.rooms.frames_missed = 13;
  metrics.rooms.fragments_in = 14;
  metrics.rooms.fragments_out = 15;
  metrics.rooms.fragments_repeated = 16;
  metrics.rooms.sounds_in = 17;
  metrics.rooms.sounds_out = 18;
  metrics.rooms.key_frame_requests = 19;
  metrics.rooms.refused_joins = 20;
  metrics.rooms.datagrams_over_limit = 21;
  metrics.rooms.datagrams_malformed = 22;
  metrics.rooms.messages_malformed = 23;
  metrics.rooms.control_over_limit = 24;
  metrics.rooms.fragments_refused = 25;
  metrics.rooms.sounds_left_out = 26;
  metrics.door.datagrams_received = 30;
  metrics.door.datagrams_sent = 31;
  metrics.door.bytes_received = 32;
  metrics.door.bytes_sent = 33;
  metrics.door.handshakes_begun = 34;
  metrics.door.bad_tag = 35;
  metrics.door.ignored = 36;
  metrics.door.over_limit = 38;
  metrics.rooms.frames_over_limit = 27;
  metrics.rooms.sounds_over_limit = 28;
  metrics.rooms.proofs_over_limit = 29;
  metrics.rooms.shares_over_limit = 55;
  metrics.rooms.chats_over_limit = 57;
  metrics.joins_refused = {
      .wrong_key = 50, .closed_room = 51, .room_full = 52, .relay_full = 53, .draining = 54};
  metrics.calls = 60;
  metrics.call_stats = {.begun = 61,
                        .datagrams = 62,
                        .bytes = 63,
                        .over_rate = 64,
                        .over_time = 65,
                        .without_other = 66,
                        .bad_signature = 67,
                        .malformed = 68,
                        .rate_limited = 69,
                        .refused_busy = 70,
                        .refused_full = 71};
  metrics.door.unknown_kind = 80;
  metrics.door.truncated = 81;
  metrics.door.unknown_key = 82;
  metrics.door.replayed = 83;
  metrics.door.without_session = 84;
  metrics.door.bad_handshake = 85;
  metrics.door.handshakes_failed = 86;
  metrics.door.rate_limited = 87;
  metrics.door.full = 88;
  metrics.network.send_too_large = 40;
  metrics.network.send_overflow = 41;
  metrics.network.send_unroutable = 42;
  metrics.network.send_no_buffer = 43;
  metrics.wait.add(200us);
  metrics.wait.add(2s);
  const std::string text = format_metrics(metrics);
  for (const char* line : {"members 1",
                           "live_rooms 2",
                           "open_rooms 3",
                           "draining 1",
                           "resident_bytes 5",
                           "joins_total 10",
                           "leaves_total 11",
                           "frames_left_out_total 12",
                           "frames_missed_total 13",
                           "fragments_received_total 14",
                           "fragments_forwarded_total 15",
                           "fragments_repeated_total 16",
                           "sounds_received_total 17",
                           "sounds_forwarded_total 18",
                           "key_frame_requests_total 19",
                           "member_refused_total{reason=\"joins\"} 20",
                           "member_refused_total{reason=\"datagrams_over_limit\"} 21",
                           "member_refused_total{reason=\"datagrams_malformed\"} 22",
                           "member_refused_total{reason=\"messages_malformed\"} 23",
                           "member_refused_total{reason=\"control_over_limit\"} 24",
                           "member_refused_total{reason=\"fragments\"} 25",
                           "member_refused_total{reason=\"sounds\"} 26",
                           "datagrams_received_total 30",
                           "datagrams_sent_total 31",
                           "bytes_received_total 32",
                           "bytes_sent_total 33",
                           "handshakes_total 34",
                           "refused_total{reason=\"bad_tag\"} 35",
                           "refused_total{reason=\"ignored\"} 36",
                           "refused_total{reason=\"over_limit\"} 38",
                           "refused_total{reason=\"unknown_kind\"} 80",
                           "refused_total{reason=\"truncated\"} 81",
                           "refused_total{reason=\"unknown_key\"} 82",
                           "refused_total{reason=\"replayed\"} 83",
                           "refused_total{reason=\"without_session\"} 84",
                           "refused_total{reason=\"bad_handshake\"} 85",
                           "refused_total{reason=\"handshake_failed\"} 86",
                           "refused_total{reason=\"rate_limited\"} 87",
                           "refused_total{reason=\"full\"} 88",
                           "member_refused_total{reason=\"frames_over_limit\"} 27",
                           "member_refused_total{reason=\"sounds_over_limit\"} 28",
                           "member_refused_total{reason=\"proofs_over_limit\"} 29",
                           "member_refused_total{reason=\"shares_over_limit\"} 55",
                           "member_refused_total{reason=\"chats_over_limit\"} 57",
                           "joins_refused_total{reason=\"wrong_key\"} 50",
                           "joins_refused_total{reason=\"closed_room\"} 51",
                           "joins_refused_total{reason=\"room_full\"} 52",
                           "joins_refused_total{reason=\"relay_full\"} 53",
                           "joins_refused_total{reason=\"draining\"} 54",
                           "calls 60",
                           "calls_begun_total 61",
                           "call_datagrams_forwarded_total 62",
                           "call_bytes_forwarded_total 63",
                           "call_refused_total{reason=\"over_rate\"} 64",
                           "call_refused_total{reason=\"over_time\"} 65",
                           "call_refused_total{reason=\"without_other\"} 66",
                           "call_refused_total{reason=\"bad_signature\"} 67",
                           "call_refused_total{reason=\"malformed\"} 68",
                           "call_refused_total{reason=\"rate_limited\"} 69",
                           "call_refused_total{reason=\"busy\"} 70",
                           "call_refused_total{reason=\"full\"} 71",
                           "send_failed_total{reason=\"too_large\"} 40",
                           "send_failed_total{reason=\"overflow\"} 41",
                           "send_failed_total{reason=\"unroutable\"} 42",
                           "send_failed_total{reason=\"no_buffer\"} 43",
                           "wait_seconds_bucket{le=\"0.0001\"} 0",
                           "wait_seconds_bucket{le=\"0.00025\"} 1",
                           "wait_seconds_bucket{le=\"0.1\"} 1",
                           "wait_seconds_bucket{le=\"+Inf\"} 2",
                           "wait_seconds_count 2",
                           "wait_seconds_sum 2.0002"}) {
    EXPECT_NE(text.find(std::string{"\ncress_relay_"} + line + "\n"), std::string::npos) << line;
  }
}

TEST(RelayMetrics, TheDashboardShowsOnlyWhatIsExported) {
  std::ifstream file{CRESS_SOURCE "/packaging/grafana/cress-relay.json"};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  ASSERT_FALSE(nlohmann::json::parse(text, nullptr, false).is_discarded());
  const std::string exported = format_metrics({});
  const std::regex name{"cress_relay_[a-z_]+"};
  std::set<std::string> shown;
  for (auto at = std::sregex_iterator{text.begin(), text.end(), name}; at != std::sregex_iterator{};
       ++at) {
    shown.insert(at->str());
    EXPECT_TRUE(exported.find("\n" + at->str() + " ") != std::string::npos ||
                exported.find("\n" + at->str() + "{") != std::string::npos)
        << at->str();
  }
  EXPECT_GE(shown.size(), 20U);
}

TEST(MetricsServer, ListensOnlyWhereItCan) {
  const MetricsServer server{"127.0.0.1:0"};
  EXPECT_GT(server.port(), 0);
  EXPECT_THROW(MetricsServer{"127.0.0.1:" + std::to_string(server.port())}, std::runtime_error);
}

// The server's complete answer to one request.
std::string answer_to(int port, const std::string& path) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  const std::string request =
      "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(::send(socket, request.data(), request.size(), 0),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  std::array<char, 4096> some{};
  for (ssize_t size = 0; (size = ::recv(socket, some.data(), some.size(), 0)) > 0;) {
    answer.append(some.data(), static_cast<size_t>(size));
  }
  ::close(socket);
  return answer;
}

constexpr const char* kAlive =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n"
    "Connection: close\r\n\r\nok\n";

TEST(MetricsServer, AnswersWithWhatWasPublishedLast) {
  MetricsServer server{"127.0.0.1:0"};
  EXPECT_EQ(answer_to(server.port(), "/metrics"),
            "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
  RelayMetrics metrics;
  metrics.members = 7;
  server.publish(metrics);
  const std::string text = format_metrics(metrics);
  EXPECT_EQ(answer_to(server.port(), "/metrics"),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
            "Content-Length: " +
                std::to_string(text.size()) + "\r\nConnection: close\r\n\r\n" + text);
  EXPECT_EQ(answer_to(server.port(), "/healthz"), kAlive);
  EXPECT_EQ(answer_to(server.port(), "/readyz"),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n"
            "Connection: close\r\n\r\nready\n");
  metrics.is_draining = true;
  server.publish(metrics);
  EXPECT_EQ(answer_to(server.port(), "/healthz"), kAlive) << "it drains, but it is alive";
  EXPECT_EQ(answer_to(server.port(), "/readyz"),
            "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\n"
            "Content-Length: 9\r\nConnection: close\r\n\r\ndraining\n");
}

Address of_ip(std::array<uint8_t, 16> ip) {
  Address address;
  address.ip = ip;
  address.port = 4000;
  return address;
}

TEST(JsonLog, AddressesLoseTheirEndUnlessTheOwnerSaysOtherwise) {
  std::ostringstream out;
  const Address four = of_ip({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 33});
  const Address six =
      of_ip({0x20, 0x01, 0x0d, 0xb8, 0x12, 0x34, 0x56, 0x78, 1, 2, 3, 4, 5, 6, 7, 8});
  const JsonLog masked{out, false};
  EXPECT_EQ(masked.shown(four), "192.0.2.0");
  EXPECT_EQ(masked.shown(six), "[2001:db8:1234::]");
  const JsonLog whole{out, true};
  EXPECT_EQ(whole.shown(four), "192.0.2.33:4000");
  EXPECT_EQ(whole.shown(six), "[2001:db8:1234:5678:102:304:506:708]:4000");
}

TEST(JsonLog, WhateverANameHoldsALineIsOneLineOfJson) {
  std::ostringstream out;
  JsonLog log{out, false};
  log.write("warning", "refused", {{"room", "a\"\n{}\xff"}, {"member", 7}});
  const std::string line = out.str();
  ASSERT_EQ(std::ranges::count(line, '\n'), 1);
  const auto parsed = nlohmann::json::parse(line);
  EXPECT_EQ(parsed["level"], "warning");
  EXPECT_EQ(parsed["event"], "refused");
  EXPECT_EQ(parsed["member"], 7);
  EXPECT_EQ(parsed["room"], "a\"\n{}\xef\xbf\xbd");
}

}  // namespace
}  // namespace cress::relay
