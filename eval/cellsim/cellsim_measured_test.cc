// Goal: the emulation is exact: a link is used to the last opportunity, packets are on time, and
// the kernel's own TCP behaves over it as the simulated one does over the simulated link. Method:
// real programs in real time; if other load keeps the machine busy, the test says so.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string_view>

#include "eval/cellsim/cellsim.hh"
#include "eval/cellsim/cellsim_test_tools.hh"
#include "eval/harness/run.hh"
#include "traces/links.hh"
#include "transport/netns/namespace_process.hh"
#include "transport/runtime/clock_lateness_test_tools.hh"

namespace cress::cellsim {
namespace {

constexpr Duration kLateMax = 2ms;

class CellsimMeasured : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why = netns::namespaces_forbidden();
    if (!why.empty()) {
      GTEST_SKIP() << why;
    }
  }
  /// Runs and prints; nullopt if the machine was too busy to be exact.
  std::optional<CellsimReport> measure(const CellsimOptions& options) {
    std::ostringstream notes;
    runtime::ClockLateness lateness;
    const CellsimReport report = run_cellsim(options, notes);
    std::printf("%s%s%s", notes.str().c_str(), report_lines(report).c_str(),
                report.real_time ? "" : "not scheduled in real time\n");
    EXPECT_EQ(report.exit_code, 0);
    if (report.late_p99 > kLateMax && lateness.p99() > runtime::ClockLateness::kMax) {
      return std::nullopt;
    }
    EXPECT_LE(report.late_p99, kLateMax);
    return report;
  }
};

struct Constant {
  const char* name;
  std::shared_ptr<const sim::DeliveryTrace> trace;
  Duration interval;  // of the sender's full packets: a tenth more than the link carries
};

TEST_F(CellsimMeasured, ASaturatingSenderGetsTheWholeLinkAndPacketsAreOnTime) {
  for (const Constant& link :
       {Constant{"12 Mbit/s", every(1ms), 909us}, Constant{"100 Mbit/s", every(3ms, 25), 109us}}) {
    CellsimOptions o;
    o.path = {.name = link.name, .down = link.trace, .up = link.trace, .skip = 1s};
    o.path.make_queue = [](const Rng&) {
      return std::make_unique<sim::DropTailQueue>(2000 * DataSize{1500});
    };
    o.quiet = true;
    o.command.work = [interval = link.interval] {
      return flood(variable("CRESS_FAR") + ":9", static_cast<int>(10s / interval), 1472, interval,
                   0ms);
    };
    std::printf("%s: ", link.name);
    const auto report = measure(o);
    if (!report) {
      GTEST_SKIP() << "this machine is too busy: its timers are late";
    }
    EXPECT_GE(report->directions[0].score.utilization, 0.99) << link.name;
    EXPECT_LE(report->directions[0].score.utilization, 1.0001) << link.name;
    EXPECT_EQ(report->directions[0].packets_missed, 0U) << link.name;
  }
}

struct Against {
  const char* link;
  const char* queue;
};

// Links on which one outage does not determine the quantile; docs/results.md has others.
TEST_F(CellsimMeasured, TheKernelsCubicIsTheSimulatedCubic) {
  static constexpr Duration kLength = 60s;
  constexpr Duration kSkip = 10s;
  for (const Against& c :
       {Against{"3g", "infinite"}, Against{"Verizon-LTE-short", "droptail:100"}}) {
    if (!traces::is_embedded(c.link) &&
        !std::filesystem::exists(std::filesystem::path{CRESS_DATA} / "traces" / "cellular")) {
      GTEST_SKIP() << "no data: recorded links in " << CRESS_DATA;
    }
    const traces::NamedLink named = traces::resolve_link(c.link, CRESS_DATA);
    harness::RunSpec spec;
    spec.scheme = "cubic";
    spec.link.name = c.link;
    spec.link.down = std::make_shared<const sim::DeliveryTrace>(named.down);
    spec.link.up = std::make_shared<const sim::DeliveryTrace>(named.up);
    spec.link.queue = harness::QueueSpec::parse(c.queue);
    spec.duration = kLength;
    spec.skip = kSkip;
    const schemes::SchemeContext context;
    const harness::DirectionResult simulated = harness::run(spec, context).results.at(0);

    CellsimOptions o;
    // The simulated flow goes over the trace `down`; here, the sender's uplink is `up`.
    o.path = {.name = c.link, .down = spec.link.up, .up = spec.link.down};
    o.path.queue = c.queue;
    o.path.make_queue = [&](const Rng& rng) { return spec.link.queue.make(rng); };
    o.path.skip = kSkip;
    o.quiet = true;
    o.peer.work = [] { return sink_stream("0.0.0.0:7000"); };
    o.command.work = [] { return send_stream(variable("CRESS_FAR") + ":7000", kLength); };
    std::printf("%s, %s: simulated %.0f kbit/s, delay95 %.0f ms; the kernel's:\n", c.link, c.queue,
                simulated.throughput_kbps, *simulated.delay95_ms);
    const auto report = measure(o);
    if (!report) {
      GTEST_SKIP() << "this machine is too busy: its timers are late";
    }
    const Score& real = report->directions[0].score;
    EXPECT_NEAR(real.throughput_kbps, simulated.throughput_kbps, 0.03 * simulated.throughput_kbps)
        << c.link;
    EXPECT_NEAR(*real.delay95_ms, *simulated.delay95_ms, 0.20 * *simulated.delay95_ms) << c.link;
    // The same trace, over a window that ends when the sender does.
    EXPECT_NEAR(*real.omniscient95_ms, *simulated.omniscient95_ms,
                0.01 * *simulated.omniscient95_ms + 1)
        << c.link;
  }
}

}  // namespace
}  // namespace cress::cellsim
