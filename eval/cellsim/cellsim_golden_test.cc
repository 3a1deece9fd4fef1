// Goal: scores, logs and reports of an emulated link stay as they were. Method: seeded packets over
// simulated links, observed by the monitors that observe real ones; a report written by hand.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "eval/cellsim/cellsim.hh"
#include "eval/cellsim/direction_monitor.hh"
#include "eval/cellsim/histogram.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"
#include "transport/base/text_file.hh"

namespace cress::cellsim {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<const sim::DeliveryTrace> seeded_trace(uint64_t seed) {
  Rng rng{seed};
  auto trace = std::make_shared<sim::DeliveryTrace>();
  Duration at{};
  while (at < 3s) {
    at += std::chrono::milliseconds{rng.chance(0.01) ? 400 : rng.below(20)};
    trace->opportunities.push_back({at});
  }
  return trace;
}

std::string optional_text(std::optional<double> value) {
  return value ? fmt::format("{:.3f}", *value) : "-";
}

/// A log without what depends on the machine: its path and the program's version.
std::string log_of(const fs::path& path) {
  std::string text = load_text(path, DataSize{1 << 20});
  for (const std::string& variable : {path.string(), std::string{CRESS_VERSION}}) {
    const size_t at = text.find(variable);
    EXPECT_NE(at, std::string::npos) << variable;
    if (at != std::string::npos) {
      text.erase(at, variable.size());
    }
  }
  return text;
}

TEST(CellsimGolden, MonitorsScoreAndLogAsRecorded) {
  std::string golden;
  const fs::path folder = fs::path{testing::TempDir()} / "cress_cellsim_golden";
  fs::create_directories(folder);
  for (const auto way : {DirectionMonitor::Way::kUp, DirectionMonitor::Way::kDown}) {
    for (const Duration skip : {Duration{0s}, Duration{2s}}) {
      PathOptions path;
      path.name = "seeded";
      path.down = seeded_trace(1);
      path.up = seeded_trace(2);
      path.delay = 13ms;
      path.loss = 0.05;
      path.seed = 3;
      path.queue = "droptail:12";
      path.skip = skip;
      path.log_folder = folder;
      path.command_line = "cress-eval cellsim";
      path.make_queue = [](const Rng&) {
        return std::make_unique<sim::DropTailQueue>(DataSize{18'000});
      };
      DirectionMonitor monitor{path, way, Duration{1'600'000'000'123'456'789}};
      sim::Link link{monitor.link_options()};
      Rng rng{7};
      TimePoint now = kTimeZero;
      while (now < kTimeZero + 8s) {
        now += rng.chance(0.004) ? Duration{700ms}
                                 : Duration{static_cast<int64_t>(rng.below(22'000'000))};
        link.handle_timeout(now);
        monitor.advance(now);
        link.push(now, {{}, DataSize{60 + static_cast<int64_t>(rng.below(1440))}});
      }
      const DirectionReport report = monitor.finish(now);
      const Score& score = report.score;
      golden += fmt::format("{} {:.3f} of {:.3f}, {:.5f}, {} {} {}, {} {}\n", report.direction,
                            score.throughput_kbps, score.capacity_kbps, score.utilization,
                            optional_text(score.delay95_ms), optional_text(score.omniscient95_ms),
                            optional_text(score.self_inflicted_ms), score.packets_delivered,
                            score.packets_dropped);
      const std::string log = log_of(folder / (report.direction + ".log"));
      golden += golden_digest(log) + "\n" + log.substr(0, 500) + "\n";
    }
  }
  fs::remove_all(folder);
  expect_golden("monitors", golden);
}

TEST(CellsimGolden, HistogramsCountAsRecorded) {
  std::string golden;
  Rng rng{5};
  for (const Duration bin : {Duration{1us}, Duration{100us}, Duration{7ms}}) {
    Histogram histogram{{.bin = bin, .value_max = 40ms}};
    for (int i = 0; i < 60; ++i) {
      const Duration low{static_cast<int64_t>(rng.uniform(-2e6, 42e6))};
      if (rng.chance(0.5)) {
        histogram.add(low, static_cast<int64_t>(1 + rng.below(3'000'000)));
      } else {
        histogram.add_rise(low, low + Duration{static_cast<int64_t>(rng.below(9'000'000))});
      }
      golden += fmt::format("{} {}", histogram.total(), histogram.value_max().count());
      for (const double q : {0.0, 0.3, 0.95, 1.0}) {
        golden += fmt::format(" {}", histogram.quantile(q).value_or(Duration{-1}).count());
      }
      golden += "\n";
    }
  }
  expect_golden("histograms", golden_digest(golden) + "\n" + golden.substr(golden.size() - 900));
}

TEST(CellsimGolden, ReportsAreWrittenAsRecorded) {
  CellsimReport report{.exit_code = 3,
                       .length = 12'345ms,
                       .real_time = true,
                       .logs_complete = false,
                       .late_p50 = 50us,
                       .late_p99 = 2ms,
                       .late_max = 7'250us,
                       .directions = {{.direction = "uplink",
                                       .score = {.capacity_kbps = 4000.4,
                                                 .throughput_kbps = 1234.5678,
                                                 .utilization = 0.30861,
                                                 .delay95_ms = 123.44,
                                                 .omniscient95_ms = 41.06,
                                                 .self_inflicted_ms = 82.38,
                                                 .packets_delivered = 900,
                                                 .packets_dropped = 8},
                                       .packets_lost = 7,
                                       .packets_missed = 6},
                                      {.direction = "downlink", .score = {}}}};
  PathOptions path;
  path.name = "lte";
  path.delay = 35ms;
  path.loss = 0.25;
  path.seed = 9;
  path.skip = 1500ms;
  std::string golden = report_lines(report);
  const auto json = [&] {
    std::string text = report_json(report, path);
    const size_t at = text.find(CRESS_VERSION);
    return text.erase(at, std::string_view{CRESS_VERSION}.size());
  };
  golden += json();
  report.late_p99 = 2ms + Duration{1};
  golden += report_lines(report);
  report.late_p50.reset();
  report.late_p99.reset();
  golden += report_lines(report) + json();
  expect_golden("reports", golden);
}

}  // namespace
}  // namespace cress::cellsim
