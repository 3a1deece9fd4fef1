// TCP over simulated links: no data is lost or duplicated whatever the link does, and the delay and
// throughput of a flow are those of the Linux kernel over the same recorded links.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "eval/metrics/delay_over_time.hh"
#include "eval/schemes/congestion/cubic.hh"
#include "eval/schemes/congestion/reno.hh"
#include "eval/schemes/tcp/tcp_receiver.hh"
#include "eval/schemes/tcp/tcp_sender.hh"
#include "transport/sim/queue_codel.hh"
#include "transport/sim/queue_red.hh"
#include "transport/sim/world.hh"

namespace cress::schemes {
namespace {

using Trace = std::shared_ptr<const sim::DeliveryTrace>;
using MakeControl = std::function<std::unique_ptr<CongestionControl>()>;

std::unique_ptr<CongestionControl> reno() { return std::make_unique<Reno>(); }
std::unique_ptr<CongestionControl> cubic() { return std::make_unique<Cubic>(); }

/// One opportunity every `gap`, for ten seconds, repeated.
Trace steady(Duration gap) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  for (Duration at = gap; at <= 10s; at += gap) {
    trace->opportunities.push_back({at});
  }
  return trace;
}

/// A receiver and an independent check of its state: the first segment that never arrived.
class Witness final : public Machine {
 public:
  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    const auto segment = parse_tcp_segment(bytes);
    ASSERT_TRUE(segment);
    const auto number = static_cast<size_t>(segment->sequence / kTcpPayloadMax.bytes());
    came_.resize(std::max(came_.size(), number + 1), false);
    came_[number] = true;
    while (missing_ < came_.size() && came_[missing_]) {
      ++missing_;
    }
    receiver.handle_datagram(now, from, bytes);
    ASSERT_EQ(receiver.received(), kTcpPayloadMax * static_cast<int64_t>(missing_));
  }
  void handle_timeout(TimePoint now) override { receiver.handle_timeout(now); }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    return receiver.poll_transmit(now);
  }
  TimePoint poll_timeout() const override { return receiver.poll_timeout(); }

  TcpReceiver receiver;

 private:
  std::vector<bool> came_;
  size_t missing_ = 0;
};

/// Everything for one flow. Loss is random (Bernoulli), in each direction.
struct Flow {
  struct Options {
    MakeControl control = cubic;
    Trace forward = nullptr;
    Trace reverse = nullptr;
    double loss_forward = 0;
    double loss_reverse = 0;
    std::unique_ptr<sim::Queue> queue = nullptr;
    uint64_t seed = 1;
  };

  explicit Flow(Options options)
      : sender(options.control()),
        forward({.trace = options.forward,
                 .loss = options.loss_forward,
                 .seed = 2 * options.seed,
                 .queue = std::move(options.queue)}),
        reverse({.trace = options.reverse,
                 .loss = options.loss_reverse,
                 .seed = 2 * options.seed + 1,
                 .queue = nullptr}),
        world({sender, witness, forward, reverse}) {}

  DataSize received() const { return witness.receiver.received(); }
  /// Bits that left the forward link in [from, to), as a share of what it could carry.
  double utilization(TimePoint from, TimePoint to) const {
    DataSize left;
    for (const sim::PacketRecord& record : forward.records()) {
      left += record.left >= from && record.left < to ? record.size : DataSize{};
    }
    return static_cast<double>(left.bytes()) /
           static_cast<double>(forward.options().trace->capacity(from, to).bytes());
  }
  /// The delay that d(t) = t - max{sent by t} does not exceed for a share `q` of the time.
  double delay_ms(TimePoint from, TimePoint to, double q) const;

  TcpSender sender;
  Witness witness;
  sim::Link forward;
  sim::Link reverse;
  sim::World world;
};

double Flow::delay_ms(TimePoint from, TimePoint to, double q) const {
  std::vector<metrics::Arrival> arrivals;
  arrivals.reserve(forward.records().size());
  for (const sim::PacketRecord& record : forward.records()) {
    arrivals.push_back({record.sent, record.arrived});
  }
  return to_milliseconds(*metrics::delay_quantile(arrivals, {from, to}, q));
}

TEST(TcpOverALink, DeliversEachByteOnceUnderTenPercentLossBothWays) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Flow flow{{.control = seed % 2 == 0 ? MakeControl(reno) : MakeControl(cubic),
               .forward = steady(3ms),
               .reverse = steady(3ms),
               .loss_forward = 0.1,
               .loss_reverse = 0.1,
               .seed = seed}};
    DataSize before;
    for (int step = 1; step <= 4; ++step) {
      flow.world.run_until(kTimeZero + step * 45s);
      ASSERT_GT(flow.received(), before + kTcpPayloadMax * 100)
          << "seed " << seed << " step " << step;
      before = flow.received();
    }
    ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "seed " << seed;
    EXPECT_GT(flow.sender.stats().retransmissions, 100U) << "seed " << seed;
  }
}

TEST(TcpOverALink, ComesThroughDrawnFaults) {
  // A swarm: rates, queues and loss are random; links go silent for seconds. One claim: the flow
  // continues.
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng{seed};
    const auto draw_trace = [&rng] {
      auto trace = std::make_shared<sim::DeliveryTrace>();
      Duration at{};
      const double gap = rng.uniform(0.001, 0.02);
      while (at < 20s) {
        at += from_seconds(rng.chance(0.002) ? rng.uniform(0.5, 4.0) : rng.exponential(gap));
        trace->opportunities.push_back({at});
      }
      return trace;
    };
    Flow flow{{.control = rng.chance(0.5) ? MakeControl(reno) : MakeControl(cubic),
               .forward = draw_trace(),
               .reverse = draw_trace(),
               .loss_forward = rng.uniform(0.0, 0.12),
               .loss_reverse = rng.uniform(0.0, 0.12),
               .queue = std::make_unique<sim::DropTailQueue>(
                   DataSize{static_cast<int64_t>(5'000 + rng.below(200'000))}),
               .seed = seed}};
    DataSize before;
    for (int step = 1; step <= 4; ++step) {
      flow.world.run_until(kTimeZero + step * 60s);
      ASSERT_GT(flow.received(), before) << "seed " << seed << " step " << step;
      before = flow.received();
    }
    ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "seed " << seed;
  }
}

TEST(TcpOverALink, RunsAlikeTwice) {
  const auto run = [] {
    Flow flow{{.forward = steady(2ms),
               .reverse = steady(2ms),
               .loss_forward = 0.02,
               .loss_reverse = 0.02,
               .seed = 5}};
    flow.world.run_until(kTimeZero + 30s);
    std::vector<TimePoint> arrivals;
    for (const sim::PacketRecord& record : flow.forward.records()) {
      arrivals.push_back(record.arrived);
    }
    return arrivals;
  };
  EXPECT_EQ(run(), run());
}

TEST(TcpOverALink, RenosRateFollowsTheRootOfTheLoss) {
  // Mathis et al. 1997: rate = (MSS / RTT) sqrt(3 / (2 p)); the window counts bytes, so b = 1.
  for (const double loss : {0.002, 0.01}) {
    Flow flow{{.control = reno,
               .forward = steady(100us),
               .reverse = steady(100us),
               .loss_forward = loss}};
    flow.world.run_until(kTimeZero + 300s);
    const double windows = static_cast<double>(flow.received().bytes()) / 300.0 * 0.0405 / 1448.0;
    const double formula = std::sqrt(1.5 / loss);
    EXPECT_NEAR(windows / formula, 1.0, 0.15) << "loss " << loss;
    EXPECT_EQ(flow.sender.stats().undone, 0U);
  }
}

TEST(TcpOverALink, CubicIsFairToRenoWhereRenoIsFast) {
  // 40 ms and 1 % loss: well inside the Reno-friendly region (RFC 9438 §4.3).
  DataSize received[2];
  for (const bool is_cubic : {false, true}) {
    Flow flow{{.control = is_cubic ? MakeControl(cubic) : MakeControl(reno),
               .forward = steady(100us),
               .reverse = steady(100us),
               .loss_forward = 0.01}};
    flow.world.run_until(kTimeZero + 300s);
    received[is_cubic ? 1 : 0] = flow.received();
  }
  EXPECT_NEAR(static_cast<double>(received[1].bytes()) / static_cast<double>(received[0].bytes()),
              1.0, 0.3);
}

TEST(TcpOverALink, FillsASmallDropTailQueue) {
  // 8 Mbit/s, 40 ms, a queue of one bandwidth-delay product.
  for (const MakeControl& control : {MakeControl(reno), MakeControl(cubic)}) {
    Flow flow{{.control = control,
               .forward = steady(1500us),
               .reverse = steady(1500us),
               .queue = std::make_unique<sim::DropTailQueue>(DataSize{42'000})}};
    flow.world.run_until(kTimeZero + 120s);
    EXPECT_GT(flow.utilization(kTimeZero + 20s, kTimeZero + 120s), 0.97);
    EXPECT_GT(flow.sender.stats().recoveries, 5U);
    EXPECT_EQ(flow.sender.stats().timeouts, 0U);
    EXPECT_EQ(flow.sender.stats().retransmissions, flow.forward.queue_stats().dropped);
  }
}

TEST(TcpOverALink, CodelKeepsTheDelayOfCubicLowAndTheLinkBusy) {
  const auto run = [](std::unique_ptr<sim::Queue> queue) {
    auto flow = std::make_unique<Flow>(Flow::Options{
        .forward = steady(1500us), .reverse = steady(1500us), .queue = std::move(queue)});
    flow->world.run_until(kTimeZero + 120s);
    return flow;
  };
  const TimePoint from = kTimeZero + 20s;
  const TimePoint to = kTimeZero + 120s;
  const auto bloated = run(nullptr);
  const auto codel = run(std::make_unique<sim::CodelQueue>());
  const auto red = run(std::make_unique<sim::RedQueue>(
      sim::RedOptions{.threshold_min = 15'000, .threshold_max = 45'000, .datagram_time = 1500us},
      Rng{1}));
  EXPECT_GT(bloated->delay_ms(from, to, 0.95), 2'000.0);
  for (const auto* managed : {codel.get(), red.get()}) {
    EXPECT_LT(managed->delay_ms(from, to, 0.95), 60.0);  // 20 ms of it is propagation
    EXPECT_GT(managed->utilization(from, to), 0.85);
    std::printf("U %f %f\n", managed->utilization(from, to), managed->delay_ms(from, to, .95));
    EXPECT_GT(managed->forward.queue_stats().dropped, 20U);
  }
}

// ---- The kernel's own flows over recorded links ----

struct MeasuredRow {
  std::string system;
  std::string link;
  std::string direction;
  int from_s = 0;
  int to_s = 0;
  double delay95_ms = 0;
};

std::vector<MeasuredRow> measured_rows(const std::filesystem::path& path) {
  std::vector<MeasuredRow> rows;
  std::ifstream file{path};
  std::string line;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::stringstream stream{line};
    for (std::string cell; std::getline(stream, cell, ',');) {
      cells.push_back(cell);
    }
    if (cells.size() > 12 && (cells[0] == "tcp-cubic" || cells[0] == "tcp-reno")) {
      const size_t dash = cells[5].find('-');
      rows.push_back({cells[0], cells[2], cells[3], std::stoi(cells[5].substr(0, dash)),
                      std::stoi(cells[5].substr(dash + 1)), std::stod(cells[9])});
    }
  }
  return rows;
}

TEST(TcpOverRecordedLinks, HasTheKernelsThroughputAndDelay) {
  const std::filesystem::path data{CRESS_DATA};
  const auto table = data / "reference" / "sprout-measured.csv";
  if (!std::filesystem::exists(table)) {
    GTEST_SKIP() << "no data: " << table << ": set CRESS_DATA to the folder with recorded links";
  }
  const std::vector<MeasuredRow> rows = measured_rows(table);
  ASSERT_EQ(rows.size(), 16U);
  for (const MeasuredRow& row : rows) {
    const auto load = [&](const std::string& direction) {
      return std::make_shared<sim::DeliveryTrace>(
          sim::load_trace(data / "traces" / "cellular" / (row.link + "." + direction)));
    };
    Flow flow{{.control = row.system == "tcp-reno" ? MakeControl(reno) : MakeControl(cubic),
               .forward = load(row.direction),
               .reverse = load(row.direction == "down" ? "up" : "down")}};
    const TimePoint from = kTimeZero + row.from_s * 1s;
    const TimePoint to = kTimeZero + row.to_s * 1s;
    flow.world.run_until(to);
    const std::string name = row.system + " " + row.link + " " + row.direction;
    const double ratio = flow.delay_ms(from, to, 0.95) / row.delay95_ms;
    EXPECT_GE(flow.utilization(from, to), 0.99) << name;
    EXPECT_NEAR(ratio, 1.0, 0.15) << name;
    std::printf("%-38s delay95 %6.0f ms, kernel %6.0f ms, ratio %.3f\n", name.c_str(),
                ratio * row.delay95_ms, row.delay95_ms, ratio);
  }
}

}  // namespace
}  // namespace cress::schemes
