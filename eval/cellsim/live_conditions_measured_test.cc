// Goal: in the queue of a download, and on paths with jitter and loss bursts, a real call keeps
// moving. Method: two of the real program, one of which sends a clip and sound, each in a private
// network; between them the emulated path in real time, with the kernel's TCP in its queue. The
// same conditions as tools/conditions.py; the aims come from a real browser's calls.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "eval/cellsim/cellsim.hh"
#include "eval/cellsim/live_call_test_tools.hh"
#include "eval/harness/queue_spec.hh"
#include "traces/everyday_links.hh"
#include "transport/netns/namespace_process.hh"

namespace cress::cellsim {
namespace {

const fs::path kData = CRESS_DATA;
constexpr Duration kLength = 60s;
constexpr metrics::Window kScored{kTimeZero + 10s, kTimeZero + kLength};
constexpr int64_t kCaptured = 30 * 50;  // in the scored time

struct Condition {
  const char* name;
  const char* rate;
  const char* queue;
  const char* tcp = "";  // congestion control of the downloads
  size_t downloads = 0;
  Duration jitter{};
  sim::BurstLoss burst_loss{};
  // Aims.
  double displayed = 0.98;
  // In a queue with TCP and with bursts 0.9 of the browser's; with nothing else or jitter the
  // browser's own. No browser was measured in the queues that are kept short.
  double p95_ms = 0;
};

void PrintTo(const Condition& condition, std::ostream* out) { *out << condition.name; }

PathOptions path_of(const Condition& condition) {
  const traces::NamedLink link = traces::constant_link(std::string{"constant:"} + condition.rate);
  PathOptions path{.name = link.name,
                   .down = std::make_shared<const sim::DeliveryTrace>(link.down),
                   .up = std::make_shared<const sim::DeliveryTrace>(link.up),
                   .jitter = condition.jitter,
                   .burst_loss = condition.burst_loss};
  const auto queue = harness::QueueSpec::parse(condition.queue);
  path.make_queue = [queue](const Rng& rng) { return queue.make(rng); };
  return path;
}

/// The share of what was played since the scored time began that was concealed.
double concealed_share(const fs::path& stats) {
  std::ifstream file{stats};
  double played = 0;
  double concealed = 0;
  double played_before = 0;
  double concealed_before = 0;
  for (std::string line; std::getline(file, line);) {
    const auto sample = nlohmann::json::parse(line);
    played = sample.value("sound_played", 0.0);
    concealed = sample.value("sound_concealed", 0.0);
    if (sample.value("t_s", 0.0) <= to_seconds(kScored.from - kTimeZero)) {
      played_before = played;
      concealed_before = concealed;
    }
  }
  return (concealed - concealed_before) / std::max(1.0, played - played_before);
}

class LiveConditionsMeasured : public ::testing::TestWithParam<Condition> {
 protected:
  void SetUp() override {
    if (const std::string why = netns::namespaces_forbidden(); !why.empty()) {
      GTEST_SKIP() << why;
    }
    if (!fs::exists(kData / "video")) {
      GTEST_SKIP() << "no data: clips in " << kData;
    }
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  CellsimReport call(const Condition& condition) const {
    const std::string link = (folder_ / "link").string();
    CellsimOptions options;
    options.path = path_of(condition);
    options.quiet = true;
    options.peer.command = {"sh", "-c",
                            "exec " + call_command(kData, folder_, "far") +
                                "--listen $CRESS_FAR:4433 --link-file " + link};
    options.command.command = {
        "sh", "-c",
        "until [ -s " + link + " ]; do sleep 0.02; done; exec " + program_command("cress-call") +
            "--headless --frames " + (folder_ / "near.csv").string() + " --stats " +
            (folder_ / "near.jsonl").string() + " --duration 61s \"$(cat " + link + ")\""};
    if (condition.downloads > 0) {
      options.cross = {{condition.tcp, condition.downloads, 12s, 40s}};
    }
    std::ostringstream notes;
    const CellsimReport report = run_cellsim(options, notes);
    EXPECT_EQ(report.exit_code, 0) << notes.str();
    return report;
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("cress_conditions_" + std::to_string(::getpid()));
};

TEST_P(LiveConditionsMeasured, ACallKeepsMoving) {
  const Condition& condition = GetParam();
  const CellsimReport report = call(condition);
  const std::vector<Frame> frames =
      read_frames(folder_ / "near.csv", least_rtt(folder_ / "near.jsonl") / 2);
  std::vector<metrics::ShownFrame> shown;
  int64_t displayed = 0;
  for (const Frame& frame : frames) {
    shown.push_back({frame.captured, frame.shown});
    displayed += frame.shown >= kScored.from && frame.shown < kScored.to ? 1 : 0;
  }
  const Seen seen = seen_in(frames, kScored);
  double tcp_kbps = 0;
  for (const CrossReport& flow : report.cross) {
    tcp_kbps += flow.goodput_kbps;
  }
  std::printf(
      "%-22s displayed %4d, frozen %4.1f s, p95 %4.0f ms, video %4.0f kbit/s, concealed %4.1f %%, "
      "TCP %4.0f kbit/s\n",
      condition.name, static_cast<int>(displayed),
      to_seconds(metrics::freezes(shown, kScored).frozen), seen.delay_p95_ms, seen.rate_kbps,
      100 * concealed_share(folder_ / "near.jsonl"), tcp_kbps);
  EXPECT_GE(static_cast<double>(displayed), condition.displayed * kCaptured);
  EXPECT_LE(seen.delay_p95_ms, condition.p95_ms);
}

INSTANTIATE_TEST_SUITE_P(
    All, LiveConditionsMeasured,
    ::testing::Values(
        Condition{"one Cubic", "6Mbit/s", "droptail:64", "cubic", 1, {}, {}, 0.98, 284},
        Condition{"four Cubic", "6Mbit/s", "droptail:64", "cubic", 4, {}, {}, 0.98, 570},
        Condition{"one BBR", "6Mbit/s", "droptail:64", "bbr", 1, {}, {}, 0.98, 302},
        Condition{
            "one Cubic, deep queue", "6Mbit/s", "droptail:256", "cubic", 1, {}, {}, 0.95, 780},
        Condition{"nothing else", "12Mbit/s", "infinite", "", 0, {}, {}, 0.98, 78},
        Condition{"jitter 10 ms", "12Mbit/s", "infinite", "", 0, 10ms, {}, 0.98, 76},
        Condition{"jitter 30 ms", "12Mbit/s", "infinite", "", 0, 30ms, {}, 0.98, 97},
        Condition{"loss bursts", "12Mbit/s", "infinite", "", 0, {}, {0.01, 0.3}, 0.98, 105},
        Condition{"FQ-CoDel, four Cubic", "6Mbit/s", "fq-codel", "cubic", 4, {}, {}, 0.98, 100},
        Condition{"DualPI2, four Cubic", "6Mbit/s", "dualpi2", "cubic", 4, {}, {}, 0.98, 100}));

}  // namespace
}  // namespace cress::cellsim
