// Goal: two real programs at the ends of an emulated link experience that link, both address
// families, both directions. Method: real namespaces and sockets, each end in a process of its own;
// skipped where the machine allows none.

#include "eval/cellsim/cellsim.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

#include "eval/cellsim/cellsim_test_tools.hh"
#include "eval/cellsim/cross_flows.hh"
#include "transport/netns/namespace_process.hh"
#include "transport/netns/packet.hh"

namespace cress::cellsim {
namespace {

namespace fs = std::filesystem;

class Cellsim : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why = netns::namespaces_forbidden();
    if (!why.empty()) {
      GTEST_SKIP() << why;
    }
  }

  static CellsimOptions options(Duration delay) {
    CellsimOptions made;
    made.path = {.name = "test", .down = every(1ms), .up = every(2ms), .delay = delay};
    made.head_start = 100ms;
    made.quiet = true;
    return made;
  }
  std::ostringstream notes_;
};

TEST_F(Cellsim, ReportHasCommandsExitCode) {
  CellsimOptions o = options(1ms);
  o.command.command = {"sh", "-c", "exit 23"};
  const CellsimReport report = run_cellsim(o, notes_);
  EXPECT_EQ(report.exit_code, 23);
  EXPECT_TRUE(report.logs_complete);
  o.command.command = {"no-such-program-at-all"};
  o.path.log_folder = fs::path{testing::TempDir()} / "cellsim-not-begun";
  EXPECT_THROW(run_cellsim(o, notes_), std::runtime_error);
  EXPECT_FALSE(fs::exists(o.path.log_folder)) << "looked for before anything is made";
}

TEST_F(Cellsim, RoundTripTakesBothDelaysInBothFamilies) {
  for (const bool ipv6 : {false, true}) {
    CellsimOptions o = options(50ms);
    o.peer.work = [ipv6] { return echo_datagrams(ipv6 ? "[::]:7000" : "0.0.0.0:7000"); };
    o.command.work = [ipv6] {
      return ping_datagrams(
          (ipv6 ? "[" + variable("CRESS_FAR6") + "]" : variable("CRESS_FAR")) + ":7000", 5, 100ms,
          250ms);
    };
    const CellsimReport report = run_cellsim(o, notes_);
    EXPECT_EQ(report.exit_code, 0) << notes_.str();
    ASSERT_EQ(report.directions.size(), 2U);
    for (const DirectionReport& direction : report.directions) {
      EXPECT_EQ(direction.score.packets_delivered, 5U) << direction.direction;
      EXPECT_EQ(direction.packets_missed, 0U);
    }
  }
}

TEST_F(Cellsim, PrivateNetworkUsesOnlyPermittedCongestionControl) {
  CellsimOptions o = options(1ms);
  o.congestion_control = "reno";  // always permitted
  o.command.command = {"sh", "-c", "[ $(cat /proc/sys/net/ipv4/tcp_congestion_control) = reno ]"};
  EXPECT_EQ(run_cellsim(o, notes_).exit_code, 0);
  o.congestion_control = "no-such";
  try {
    run_cellsim(o, notes_);
    FAIL();
  } catch (const std::runtime_error& error) {
    const std::string what = error.what();
    EXPECT_TRUE(what.starts_with("TCP's \"no-such\" is not among what this machine allows ("))
        << what;
    EXPECT_NE(what.find("reno"), std::string::npos) << what;
  }
}

TEST_F(Cellsim, LossDependsOnTheSeedAndIsCounted) {
  CellsimOptions o = options(1ms);
  o.path.loss = 0.3;
  o.path.seed = 5;
  const auto lost = [&] {
    o.command.work = [] { return flood(variable("CRESS_FAR") + ":9", 300, 1000, 1ms); };
    const CellsimReport report = run_cellsim(o, notes_);
    EXPECT_EQ(report.directions[0].packets_lost + report.directions[0].score.packets_delivered,
              300U);
    return report.directions[0].packets_lost;
  };
  const uint64_t once = lost();
  EXPECT_NEAR(static_cast<double>(once), 90, 30);
  EXPECT_EQ(lost(), once);
  o.path.seed = 6;
  EXPECT_NE(lost(), once);
}

TEST_F(Cellsim, AFullDropTailDropsAndItsPacketsWait) {
  CellsimOptions o = options(1ms);
  o.path.up = every(20ms);
  o.path.make_queue = [](const Rng&) {
    return std::make_unique<sim::DropTailQueue>(DataSize{15'000});
  };
  // 100 packets at once into room for ten: the last of these waits a fifth of a second.
  o.command.work = [] {
    const int code = flood(variable("CRESS_FAR") + ":9", 100, 1472, 0ms);
    sleep_for(400ms);
    return code;
  };
  const CellsimReport report = run_cellsim(o, notes_);
  EXPECT_NEAR(static_cast<double>(report.directions[0].score.packets_dropped), 89, 3);
  EXPECT_GT(*report.directions[0].score.delay95_ms, 150);
}

TEST_F(Cellsim, LogHasTheLinksEventsInOrder) {
  const fs::path folder = fs::path{testing::TempDir()} / "cellsim-log";
  fs::remove_all(folder);
  CellsimOptions o = options(1ms);
  o.path.up = every(5ms);
  o.path.log_folder = folder;
  o.path.make_queue = [](const Rng&) {
    return std::make_unique<sim::DropTailQueue>(DataSize{20'000});
  };
  o.command.work = [] { return flood(variable("CRESS_FAR") + ":9", 200, 1400, 2ms); };
  const CellsimReport report = run_cellsim(o, notes_);
  const LoggedLink up = read_log(folder / "uplink.log");
  EXPECT_TRUE(up.has_head && up.is_in_order);
  EXPECT_EQ(up.packets_in, 200);
  EXPECT_EQ(up.packets_out, static_cast<int64_t>(report.directions[0].score.packets_delivered));
  EXPECT_EQ(up.packets_dropped, static_cast<int64_t>(report.directions[0].score.packets_dropped));
  EXPECT_GT(up.packets_dropped, 10);
  EXPECT_EQ(up.bytes_out, up.packets_out * 1428);
  // Every opportunity is listed, also those before the first packet.
  EXPECT_NEAR(static_cast<double>(up.opportunities), to_milliseconds(report.length) / 5, 2);
  EXPECT_LE(up.bytes_out, up.opportunities * 1500);
  // Two of three arrivals do not fit: most of those that do wait for a full queue, 14 packets.
  EXPECT_NEAR(static_cast<double>(up.waited_ms_max), 75, 25);
  const LoggedLink down = read_log(folder / "downlink.log");
  EXPECT_LE(down.packets_in, 20) << "the far side's refusals, as many as its kernel sends";
  EXPECT_EQ(down.packets_out, down.packets_in);
  EXPECT_GT(down.opportunities, 50);
}

TEST_F(Cellsim, CrossTrafficRunsForItsTimeInItsDirection) {
  CellsimOptions o = options(5ms);
  o.path.make_queue = [](const Rng&) {
    return std::make_unique<sim::DropTailQueue>(64 * DataSize{1500});
  };
  o.cross = {{.kind = "reno", .count = 2, .start = 200ms, .length = 1500ms},
             {.kind = "reno", .start = 200ms, .length = 1s, .up = true},
             {.kind = "web"},
             {.kind = "reno", .start = 1h}};
  o.command.command = {"sleep", "2"};
  const CellsimReport report = run_cellsim(o, notes_);
  ASSERT_EQ(report.cross.size(), 5U);
  const double down = report.cross[0].goodput_kbps + report.cross[1].goodput_kbps;
  // 12 Mbit/s down, part of it for the web, 6 up.
  EXPECT_GT(down, 500) << report_lines(report);
  EXPECT_GT(down + report.cross[3].goodput_kbps, 5000) << report_lines(report);
  EXPECT_LT(down, 12'100);
  EXPECT_GT(report.cross[2].goodput_kbps, 2000) << report_lines(report);
  EXPECT_LT(report.cross[2].goodput_kbps, 6100);
  EXPECT_EQ(report.cross[2].direction, "uplink");
  EXPECT_EQ(report.cross[2].end, 1200ms);
  EXPECT_GT(report.cross[3].goodput_kbps, 50);
  EXPECT_EQ(report.cross[4].goodput_kbps, 0);
  EXPECT_NE(report_json(report, o.path).find("\"goodput_kbps\""), std::string::npos);
}

TEST_F(Cellsim, CrossTrafficIsTheKernelsTcpOrWeb) {
  EXPECT_THROW(check_cross_kind("gcc"), std::invalid_argument);
  EXPECT_THROW(check_cross_kind(""), std::invalid_argument);
  check_cross_kind("reno");
  check_cross_kind("web");
}

TEST_F(Cellsim, BurstsJitterAndDuplicatesAreThePaths) {
  CellsimOptions o = options(1ms);
  o.path.burst_loss = {.enter = 0.05, .leave = 0.2, .loss = 1};
  o.path.duplicate = 0.5;
  o.path.jitter = 20ms;
  o.command.work = [] { return flood(variable("CRESS_FAR") + ":9", 500, 1000, 1ms); };
  const CellsimReport report = run_cellsim(o, notes_);
  EXPECT_GT(report.directions[0].packets_lost, 20U);
  EXPECT_LT(report.directions[0].packets_lost, 300U);
}

TEST_F(Cellsim, PeerIsTerminatedAfterCommandAndKilledIfNeeded) {
  CellsimOptions o = options(1ms);
  o.command.command = {"true"};
  const fs::path told = fs::path{testing::TempDir()} / "cellsim-peer-told";
  fs::remove(told);
  o.peer.command = {
      "sh", "-c",
      "trap 'echo asked >" + told.string() + "; exit' TERM; while :; do sleep 0.05; done"};
  run_cellsim(o, notes_);
  EXPECT_TRUE(fs::exists(told));
  o.peer.command = {"sh", "-c", "trap '' TERM; while :; do sleep 1; done"};
  EXPECT_EQ(run_cellsim(o, notes_).exit_code, 0);
}

/// Runs a cellsim whose far side is its host, in a network namespace as host, so that this
/// machine's network stays as it is.
netns::NamespaceOptions as_host(const CellsimOptions& options) {
  netns::NamespaceOptions host;
  host.work = [options] {
    const CellsimReport report = run_cellsim(options, std::cerr);
    return report.exit_code;
  };
  return host;
}

TEST_F(Cellsim, PrivilegedUserGetsTheHostAsFarSide) {
  CellsimOptions o = options(50ms);
  o.far = FarSide::kHost;
  // No listener: the answer is an ICMP message from the host, there and back over the link.
  o.command.work = [] {
    const int code = expect_refusal(variable("CRESS_FAR") + ":9", 100ms);
    return code != 0 ? code : expect_refusal("[" + variable("CRESS_FAR6") + "]:9", 100ms);
  };
  EXPECT_EQ(netns::run_in_namespace(as_host(o)), 0);
}

/// Answers every datagram that leaves the device, with its source.
std::string answer_until_end(netns::NamespaceProcess& process) {
  std::string from;
  for (int i = 0; i < 1000 && !process.poll_exit(); ++i) {
    sleep_for(5ms);
    while (const auto packet = process.tun().read()) {
      const auto header = netns::parse_packet(*packet);
      if (!header || header->flow.protocol != IPPROTO_UDP || header->version != 4) {
        continue;
      }
      std::vector<std::byte> answer{packet->begin(), packet->end()};
      std::swap_ranges(answer.begin() + 12, answer.begin() + 16, answer.begin() + 16);
      std::swap_ranges(answer.begin() + 20, answer.begin() + 22, answer.begin() + 22);
      process.tun().write(answer);
      from = runtime::format_address(header->flow.source);
    }
  }
  return from.substr(0, from.find(':'));
}

TEST_F(Cellsim, TheInternetIsReachedThroughTheHostsAddress) {
  CellsimOptions o = options(50ms);
  o.far = FarSide::kHost;
  o.internet = true;
  o.command.work = [] { return ping_datagrams("198.51.100.7:7000", 3, 100ms, 300ms); };
  netns::NamespaceOptions host = as_host(o);
  host.settings = {{"net/ipv4/ip_forward", "1"}};
  host.interface =
      netns::InterfaceOptions{.name = "cress0",
                              .addresses = {{*runtime::parse_address("192.0.2.2:0"), 24}},
                              .routes = {{*runtime::parse_address("0.0.0.0:0"), 0}}};
  netns::NamespaceProcess process{std::move(host)};
  process.start();
  EXPECT_EQ(answer_until_end(process), "192.0.2.2");
  EXPECT_EQ(process.wait(), 0);
}

TEST_F(Cellsim, HostWithoutForwardingIsReported) {
  CellsimOptions o = options(1ms);
  o.far = FarSide::kHost;
  o.internet = true;
  o.command.command = {"true"};
  netns::NamespaceOptions host = as_host(o);
  host.settings = {{"net/ipv4/ip_forward", "0"}};
  host.work = [o] {
    try {
      run_cellsim(o, std::cerr);
      return 1;
    } catch (const std::runtime_error& error) {
      return std::string{error.what()}.find("ip_forward=1") == std::string::npos ? 2 : 0;
    }
  };
  EXPECT_EQ(netns::run_in_namespace(std::move(host)), 0);
}

}  // namespace
}  // namespace cress::cellsim
