// Every saturating scheme over the recorded links: BBR compared with the Linux kernel's, the order
// of the Sprout paper's introduction, and the cost of a run. A table is printed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "eval/metrics/delay_over_time.hh"
#include "eval/schemes/congestion/compound.hh"
#include "eval/schemes/registry.hh"
#include "eval/schemes/tcp/tcp_flow.hh"
#include "transport/sim/queue_codel.hh"
#include "transport/sim/queue_red.hh"
#include "transport/sim/world.hh"

namespace cress::schemes {
namespace {

namespace fs = std::filesystem;
const fs::path kData = CRESS_DATA;

struct NamedLink {
  std::string name;
  std::string direction;
  TimePoint from, to;  // scored

  std::shared_ptr<const sim::DeliveryTrace> load(bool forward) const {
    const bool down = (direction == "down") == forward;
    return std::make_shared<sim::DeliveryTrace>(
        sim::load_trace(kData / "traces" / "cellular" / (name + (down ? ".down" : ".up"))));
  }
};

std::vector<NamedLink> links() {
  std::vector<NamedLink> list;
  for (const char* name :
       {"Verizon-LTE-short", "ATT-LTE-driving", "TMobile-UMTS-driving", "Verizon-EVDO-driving"}) {
    const bool is_short = std::string_view{name} == "Verizon-LTE-short";
    for (const char* direction : {"down", "up"}) {
      list.push_back({name, direction, kTimeZero + (is_short ? 10s : 60s),
                      kTimeZero + (is_short ? 140s : 260s)});
    }
  }
  return list;
}

/// d(t) = t - max{sent by t}: the delay that it does not exceed for a share `q` of the time.
double delay_ms(const sim::Link& link, TimePoint from, TimePoint to, double q) {
  std::vector<metrics::Arrival> arrivals;
  arrivals.reserve(link.records().size());
  for (const sim::PacketRecord& record : link.records()) {
    arrivals.push_back({record.sent, record.arrived});
  }
  return to_milliseconds(*metrics::delay_quantile(arrivals, {from, to}, q));
}

struct Score {
  double throughput_kbps = 0;
  double utilization = 0;
  double delay95_ms = 0;
  double self_inflicted_ms = 0;
  double cpu_ms_per_s = 0;  // of simulated time
};

std::unique_ptr<sim::Queue> queue_of(std::string_view name) {
  if (name == "codel") {
    return std::make_unique<sim::CodelQueue>();
  }
  if (!name.empty()) {
    return std::make_unique<sim::RedQueue>(
        sim::RedOptions{.threshold_min = 7'500, .threshold_max = 22'500, .drop_chance_max = 0.1},
        Rng{1});
  }
  return nullptr;
}

Score score(const NamedLink& named, std::string_view queue, const FlowPair& pair) {
  const auto trace = named.load(true);
  sim::Link forward{{.trace = trace, .queue = queue_of(queue)}};
  sim::Link reverse{{.trace = named.load(false), .queue = queue_of(queue)}};
  sim::World world{{*pair.left, *pair.right, forward, reverse}};
  const std::clock_t began = std::clock();
  world.run_until(named.to + 20ms);
  const double cpu_s = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  DataSize left;
  for (const sim::PacketRecord& record : forward.records()) {
    left += record.left >= named.from && record.left < named.to ? record.size : DataSize{};
  }
  return {.throughput_kbps = DataRate::from(left, named.to - named.from).kilobits_per_second(),
          .utilization = static_cast<double>(left.bytes()) /
                         static_cast<double>(trace->capacity(named.from, named.to).bytes()),
          .delay95_ms = delay_ms(forward, named.from + 20ms, named.to + 20ms, 0.95),
          .cpu_ms_per_s = 1e3 * cpu_s / to_seconds(named.to)};
}

Score score(const std::string& scheme, const NamedLink& named, const SchemeContext& context) {
  const SchemeInfo& info = find_scheme(scheme);
  return score(named, info.queue,
               make_flow(scheme, context, 1, {.forward = named.load(true), .queue = info.queue}));
}

/// All eight links, in their order.
using Row = std::vector<Score>;

class SchemesMeasured : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kData / "traces" / "cellular")) {
      GTEST_SKIP() << "no data: recorded links in " << kData << ": set CRESS_DATA";
    }
  }
  const Row& row(const std::string& scheme) {
    static std::map<std::string, Row> rows;  // NOLINT: filled once, by whichever test is first
    auto [found, is_new] = rows.try_emplace(scheme);
    if (is_new) {
      const Row* omniscient = scheme == "omniscient" ? &found->second : &row("omniscient");
      for (const NamedLink& link : links()) {
        Score one = score(scheme, link, context());
        const size_t i = found->second.size();
        const double least = scheme == "omniscient" ? one.delay95_ms : (*omniscient)[i].delay95_ms;
        one.self_inflicted_ms = one.delay95_ms - least;
        found->second.push_back(one);
      }
    }
    return found->second;
  }
  double mean_self_inflicted_ms(const std::string& scheme) {
    double sum = 0;
    for (const Score& one : row(scheme)) {
      sum += one.self_inflicted_ms / static_cast<double>(row(scheme).size());
    }
    return sum;
  }
  double mean_utilization(const std::string& scheme) {
    double sum = 0;
    for (const Score& one : row(scheme)) {
      sum += one.utilization / static_cast<double>(row(scheme).size());
    }
    return sum;
  }

 private:
  static const SchemeContext& context() {
    static const SchemeContext shared;
    return shared;
  }
};

TEST_F(SchemesMeasured, EachOverEachRecordedLink) {
  for (const auto list : {schemes(), schemes_with_path()}) {
    for (const SchemeInfo& info : list) {
      if (!info.saturating || info.name.starts_with("cress") || info.name.ends_with("-like")) {
        continue;
      }
      const std::string name{info.name};
      std::string line = "| " + name;
      double cpu = 0;
      for (const Score& one : row(name)) {
        char cell[80];
        std::snprintf(cell, sizeof cell, " | %.0f, %.0f, %.0f", one.throughput_kbps, one.delay95_ms,
                      one.self_inflicted_ms);
        line += cell;
        cpu = std::max(cpu, one.cpu_ms_per_s);
        EXPECT_GT(one.utilization, 0.1) << name;
        EXPECT_LE(one.utilization, 1.0) << name;
        EXPECT_GE(one.self_inflicted_ms, -1.0) << name;
      }
      std::printf("%s | %.2f, %.0f | %.2f ms/s\n", line.c_str(), mean_utilization(name),
                  mean_self_inflicted_ms(name), cpu);
    }
  }
}

TEST_F(SchemesMeasured, OmniscientUsesAllAndAddsNothing) {
  for (const Score& one : row("omniscient")) {
    EXPECT_EQ(one.utilization, 1.0);
    EXPECT_EQ(one.self_inflicted_ms, 0.0);
  }
}

TEST_F(SchemesMeasured, TheOrderOfDelaysIsThatOfThePapersIntroduction) {
  // Average self-inflicted delays there: 0.32, 0.50, 0.67, 0.88, 1.53, 25 s.
  const std::vector<std::string> order = {"cubic-codel", "vegas", "ledbat", "compound", "cubic"};
  for (size_t i = 1; i < order.size(); ++i) {
    EXPECT_LT(mean_self_inflicted_ms(order[i - 1]), mean_self_inflicted_ms(order[i]))
        << order[i - 1] << " before " << order[i];
  }
  EXPECT_GT(mean_self_inflicted_ms("cubic"), 10 * mean_self_inflicted_ms("vegas"));
  EXPECT_GT(mean_utilization("cubic"), mean_utilization("sprout"));
}

TEST_F(SchemesMeasured, NoReceiveWindowMakesCompoundThePapers) {
  // 1.53 s there, with Sprout ahead by 1.3: it ran on Windows, with an unknown window. Ours has an
  // untuned Linux host's.
  double before_s = 1e9;
  for (const int64_t window_kb : {2750, 1024, 512, 256, 128, 64}) {
    double delay_s = 0;
    double sprout_over = 0;
    const auto all = links();
    for (size_t i = 0; i < all.size(); ++i) {
      const FlowPair pair{std::make_unique<TcpFlowSender>(std::make_unique<Compound>()),
                          std::make_unique<TcpFlowReceiver>(
                              TcpReceiver::Options{.window = DataSize{window_kb * 1000}})};
      const Score one = score(all[i], {}, pair);
      delay_s += (one.delay95_ms - row("omniscient")[i].delay95_ms) / 8000;
      sprout_over += row("sprout")[i].throughput_kbps / one.throughput_kbps / 8;
    }
    std::printf("compound, window %4ld kB: mean self-inflicted %.2f s, Sprout gets %.2f times\n",
                static_cast<long>(window_kb), delay_s, sprout_over);
    EXPECT_LE(delay_s, before_s) << window_kb;
    EXPECT_GT(delay_s, 1.53) << window_kb;
    EXPECT_LT(sprout_over, 1.0) << window_kb;
    before_s = delay_s;
  }
}

TEST_F(SchemesMeasured, LessConfidenceInTheForecastIsMoreThroughputAndMoreDelay) {
  // The paper's Figure 9, as means over the links.
  double utilization = 0;
  for (const char* name : {"sprout-95", "sprout-75", "sprout-50", "sprout-25", "sprout-5"}) {
    EXPECT_GT(mean_utilization(name), utilization) << name;
    utilization = mean_utilization(name);
  }
  EXPECT_GT(mean_self_inflicted_ms("sprout-5"), mean_self_inflicted_ms("sprout-95"));
}

TEST_F(SchemesMeasured, BbrIsTheKernels) {
  const fs::path table = kData / "reference" / "sprout-measured.csv";
  if (!fs::exists(table)) {
    GTEST_SKIP() << "no data: " << table;
  }
  std::map<std::string, std::pair<double, double>> kernel;  // utilization, delay95
  std::ifstream file{table};
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells;
    std::istringstream stream{line};
    for (std::string cell; std::getline(stream, cell, ',');) {
      cells.push_back(cell);
    }
    if (cells.size() > 12 && cells[0] == "tcp-bbr") {
      kernel[cells[2] + cells[3]] = {std::stod(cells[8]), std::stod(cells[9])};
    }
  }
  ASSERT_EQ(kernel.size(), 8U);
  const auto all = links();
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string name = all[i].name + " " + all[i].direction;
    const auto [utilization, delay95_ms] = kernel.at(all[i].name + all[i].direction);
    const Score& ours = row("bbr")[i];
    EXPECT_NEAR(ours.utilization, utilization, 0.05) << name;
    // On T-Mobile single outages determine the quantile, together with the phase of the flow's
    // cycle at each: single runs cannot agree there (docs/results.md).
    const bool decided_by_outages = all[i].name == "TMobile-UMTS-driving";
    EXPECT_GT(ours.delay95_ms / delay95_ms, decided_by_outages ? 0.4 : 0.7) << name;
    EXPECT_LT(ours.delay95_ms / delay95_ms, decided_by_outages ? 2.6 : 1.3) << name;
    std::printf("%-26s utilization %.3f, kernel %.3f; delay95 %6.0f ms, kernel %6.0f ms\n",
                name.c_str(), ours.utilization, utilization, ours.delay95_ms, delay95_ms);
  }
}

TEST_F(SchemesMeasured, ARunIsThirtyTimesFasterThanTheLinkAtLeast) {
  // A wide bound: it includes sanitizers and a busy machine; the numbers are in docs/results.md.
  for (const char* name : {"vegas", "compound", "ledbat", "bbr", "copa", "verus-r6", "cubic"}) {
    for (const Score& one : row(name)) {
      EXPECT_LT(one.cpu_ms_per_s, 30.0) << name;
    }
  }
}

}  // namespace
}  // namespace cress::schemes
