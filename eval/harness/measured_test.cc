// Goal: the simulation reproduces measurements of real programs on the same recorded links. Method:
// every comparable row of <data>/reference/sprout-measured.csv is run and compared; a table is
// printed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "eval/harness/run.hh"
#include "traces/links.hh"

namespace cress::harness {
namespace {

namespace fs = std::filesystem;

const fs::path kData = CRESS_DATA;

struct Measured {
  std::string system, link, direction;
  double loss = 0;
  double from_s = 0;
  double to_s = 0;
  double throughput_kbps = 0;
  double omniscient95_ms = 0;
  double delay95_ms = 0;
  double self_inflicted_ms = 0;
  int repeats = 1;
};

/// Rows of `mode` one-way; repetitions of one measurement are averaged.
std::vector<Measured> read_measured() {
  std::ifstream file{kData / "reference" / "sprout-measured.csv"};
  std::string line;
  std::getline(file, line);
  std::map<std::string, Measured> rows;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream stream{line};
    for (std::string cell; std::getline(stream, cell, ',');) {
      cells.push_back(cell);
    }
    if (cells.at(1) != "one-way") {
      continue;
    }
    Measured row{.system = cells[0], .link = cells[2], .direction = cells[3]};
    row.loss = std::stod(cells[4]);
    row.from_s = std::stod(cells[5]);
    row.to_s = std::stod(cells[5].substr(cells[5].find('-') + 1));
    row.throughput_kbps = std::stod(cells[7]);
    row.delay95_ms = std::stod(cells[9]);
    row.omniscient95_ms = std::stod(cells[10]);
    row.self_inflicted_ms = std::stod(cells[11]);
    auto [found, is_new] = rows.try_emplace(cells[0] + cells[2] + cells[3] + cells[4], row);
    if (!is_new) {
      Measured& mean = found->second;
      const double n = ++mean.repeats;
      mean.throughput_kbps += (row.throughput_kbps - mean.throughput_kbps) / n;
      mean.delay95_ms += (row.delay95_ms - mean.delay95_ms) / n;
      mean.self_inflicted_ms += (row.self_inflicted_ms - mean.self_inflicted_ms) / n;
    }
  }
  std::vector<Measured> list;
  list.reserve(rows.size());
  for (auto& [key, row] : rows) {
    list.push_back(row);
  }
  return list;
}

class MeasuredPrograms : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kData / "reference" / "sprout-measured.csv")) {
      GTEST_SKIP() << "no data: measurements at " << kData << " (set CRESS_DATA)";
    }
  }

  /// `row`'s experiment, with `scheme` instead of the program.
  DirectionResult simulate(const Measured& row, const std::string& scheme, uint64_t seed = 1) {
    traces::NamedLink named = traces::resolve_link(row.link, kData);
    RunSpec spec;
    spec.scheme = scheme;
    spec.seed = seed;
    spec.link.name = row.link;
    spec.link.loss = row.loss;
    spec.link.down = std::make_shared<sim::DeliveryTrace>(std::move(named.down));
    spec.link.up = std::make_shared<sim::DeliveryTrace>(std::move(named.up));
    if (row.direction == "up") {
      std::swap(spec.link.down, spec.link.up);
    }
    spec.duration = from_seconds(row.to_s);
    spec.skip = from_seconds(row.from_s);
    return run(spec, context_).results.at(0);
  }

  static void print(const Measured& row, const DirectionResult& ours) {
    std::printf(
        "%-18s %-21s %-4s loss %.2f  kbit/s %5.0f / %5.0f = %.2f   self-inflicted ms %6.0f / "
        "%6.0f\n",
        row.system.c_str(), row.link.c_str(), row.direction.c_str(), row.loss, ours.throughput_kbps,
        row.throughput_kbps, ours.throughput_kbps / row.throughput_kbps,
        ours.self_inflicted_ms.value_or(-1), row.self_inflicted_ms);
  }

  static bool throughput_is_close(const Measured& row, const DirectionResult& ours) {
    return std::abs(ours.throughput_kbps / row.throughput_kbps - 1) <= 0.15;
  }
  static bool delay_is_close(const Measured& row, const DirectionResult& ours) {
    return std::abs(ours.self_inflicted_ms.value_or(1e9) - row.self_inflicted_ms) <=
           std::max(20.0, 0.2 * row.self_inflicted_ms);
  }

  schemes::SchemeContext context_;
};

TEST_F(MeasuredPrograms, SproutAndSproutEwmaMatchTheOriginalsOnMostLinks) {
  for (const auto& [system, scheme] :
       {std::pair{"sprout", "sprout"}, {"sprout-ewma-floor", "sprout-ewma"}}) {
    int links = 0;
    int close = 0;
    for (const Measured& row : read_measured()) {
      if (row.system != system || row.loss != 0) {
        continue;
      }
      const DirectionResult ours = simulate(row, scheme);
      print(row, ours);
      EXPECT_TRUE(throughput_is_close(row, ours)) << row.link << " " << row.direction;
      ++links;
      close += throughput_is_close(row, ours) && delay_is_close(row, ours) ? 1 : 0;
    }
    std::printf("%s: throughput and delay close on %d of %d links\n", system, close, links);
    EXPECT_EQ(links, 8);
    EXPECT_GE(close, 5) << system;
  }
}

TEST_F(MeasuredPrograms, ThroughputUnderRandomLossMatchesTheOriginals) {
  int rows = 0;
  for (const Measured& row : read_measured()) {
    if (row.loss == 0 || !row.system.starts_with("sprout")) {
      continue;
    }
    // Which datagrams are lost is random on both sides: the mean of five seeds.
    double mean = 0;
    DirectionResult ours;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      ours = simulate(row, row.system == "sprout" ? "sprout" : "sprout-ewma", seed);
      mean += ours.throughput_kbps / 5;
    }
    ours.throughput_kbps = mean;
    print(row, ours);
    EXPECT_TRUE(throughput_is_close(row, ours))
        << row.system << " " << row.direction << " " << row.loss;
    ++rows;
  }
  EXPECT_EQ(rows, 8);
}

TEST_F(MeasuredPrograms, TcpMatchesTheKernel) {
  int rows = 0;
  for (const Measured& row : read_measured()) {
    if (row.system != "tcp-cubic" && row.system != "tcp-reno") {
      continue;
    }
    const DirectionResult ours = simulate(row, row.system.substr(4));
    print(row, ours);
    EXPECT_GE(ours.utilization, 0.99) << row.link << " " << row.direction;
    EXPECT_NEAR(ours.delay95_ms.value_or(0) / row.delay95_ms, 1, 0.2)
        << row.link << " " << row.direction;
    ++rows;
  }
  EXPECT_EQ(rows, 16);
}

TEST_F(MeasuredPrograms, OmniscientDelayAgreesToTheMillisecond) {
  int rows = 0;
  for (const Measured& row : read_measured()) {
    if (row.system != "sprout" || row.loss != 0) {
      continue;
    }
    const DirectionResult ours = simulate(row, "cubic");
    // The table shows whole milliseconds, rounded down.
    EXPECT_EQ(std::floor(ours.omniscient95_ms.value_or(0)), row.omniscient95_ms)
        << row.link << " " << row.direction;
    ++rows;
  }
  EXPECT_EQ(rows, 8);
}

}  // namespace
}  // namespace cress::harness
