// Goal: the scheme `gcc` behaves like a real browser, as measured over the same links. Method:
// every comparable row of <data>/reference/chromium-measured.csv is run and compared; a table of
// ours / measured is printed. docs/method-gcc.md explains the factors.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "eval/harness/run.hh"
#include "media/gst/gst_file_source.hh"
#include "media/gst/gst_runtime.hh"
#include "traces/links.hh"

namespace cress::harness {
namespace {

namespace fs = std::filesystem;

const fs::path kData = CRESS_DATA;

struct Measured {
  std::string link, clip, queue;
  double loss = 0;
  double p50_ms = 0;
  double p95_ms = 0;
  double ssim_db = 0;
  double bitrate_kbps = 0;
  double frozen_s = 0;
  double displayed = 0;
  int calls = 1;
};

/// Rows with the default rate limit and times at the decoder; repeats of one call are averaged.
std::vector<Measured> read_measured() {
  std::ifstream file{kData / "reference" / "chromium-measured.csv"};
  std::string line;
  std::getline(file, line);
  std::vector<Measured> rows;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream stream{line};
    for (std::string cell; std::getline(stream, cell, ',');) {
      cells.push_back(cell);
    }
    if (cells.at(4) != "default" || line.find("<video> element") != std::string::npos) {
      continue;
    }
    Measured row{.link = cells[0], .clip = cells[1], .queue = cells[2]};
    row.loss = std::stod(cells[3]);
    row.p50_ms = std::stod(cells[7]);
    row.p95_ms = std::stod(cells[8]);
    row.ssim_db = std::stod(cells[10]);
    row.bitrate_kbps = std::stod(cells[12]);
    row.frozen_s = std::stod(cells[14]);
    row.displayed = std::stod(cells[16]);
    const auto same = std::ranges::find_if(rows, [&](const Measured& other) {
      return other.link == row.link && other.clip == row.clip && other.queue == row.queue &&
             other.loss == row.loss;
    });
    if (same == rows.end()) {
      rows.push_back(row);
      continue;
    }
    const double n = ++same->calls;
    const auto average = [n](double& mean, double value) { mean += (value - mean) / n; };
    average(same->p50_ms, row.p50_ms);
    average(same->p95_ms, row.p95_ms);
    average(same->ssim_db, row.ssim_db);
    average(same->bitrate_kbps, row.bitrate_kbps);
    average(same->frozen_s, row.frozen_s);
    average(same->displayed, row.displayed);
  }
  return rows;
}

/// One opportunity every `gap`.
std::shared_ptr<const sim::DeliveryTrace> constant_link(Duration gap) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  for (Duration at = gap; at <= 6s; at += gap) {
    trace->opportunities.push_back({at});
  }
  return trace;
}

LinkSpec link_of(const Measured& row) {
  LinkSpec spec;
  spec.name = row.link;
  spec.loss = row.loss;
  if (row.queue != "unlimited") {
    spec.queue = QueueSpec::parse("droptail:" + row.queue);
  }
  if (row.link.starts_with("constant-")) {
    spec.down = spec.up = constant_link(row.link == "constant-12Mbit" ? 1ms : 24ms);
    return spec;
  }
  traces::NamedLink named = traces::resolve_link(row.link.substr(0, row.link.rfind('.')), kData);
  spec.down = std::make_shared<sim::DeliveryTrace>(std::move(named.down));
  spec.up = std::make_shared<sim::DeliveryTrace>(std::move(named.up));
  if (row.link.ends_with(".up")) {
    std::swap(spec.down, spec.up);  // the video goes over the recorded uplink
  }
  return spec;
}

/// Named like the other comparisons with measurements: runs that take minutes.
class MeasuredProgramsChromium : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kData / "reference" / "chromium-measured.csv")) {
      GTEST_SKIP() << "no data: measurements at " << kData << " (set CRESS_DATA)";
    }
  }

  std::shared_ptr<media::VideoSource> clip(const std::string& name) {
    auto& found = clips_[name];
    if (!found) {
      found = media::open_video(kData / "video" / (name + ".mp4"));
    }
    return found;
  }

  /// `row`'s experiment with `scheme` instead of the browser.
  Measured simulate(const Measured& row, const std::string& scheme) {
    RunSpec spec;
    spec.scheme = scheme;
    spec.link = link_of(row);
    spec.duration = 120s;
    spec.skip = 10s;
    spec.forward_video = clip(row.clip);
    const DirectionResult result = run(spec, context_).results.at(0);
    const VideoResult video = result.video.value_or(VideoResult{});
    Measured ours = row;
    ours.p50_ms = video.frame_delay_p50_ms.value_or(-1);
    ours.p95_ms = video.frame_delay_p95_ms.value_or(-1);
    ours.ssim_db = video.ssim_db.value_or(-1);
    ours.bitrate_kbps = result.throughput_kbps;
    ours.frozen_s = video.frozen_s;
    ours.displayed = static_cast<double>(video.frames_displayed);
    return ours;
  }

  static void print_head() {
    std::printf("%-25s %-7s %-5s %-4s  %-15s  %-15s  %-11s  %-11s  %-11s  %s\n", "link", "clip",
                "queue", "loss", "p50 ms", "p95 ms", "kbit/s", "SSIM dB", "frozen s", "shown");
  }
  static void print(const Measured& row, const Measured& ours) {
    std::printf(
        "%-25s %-7s %-5.5s %-4.2g  %6.0f / %6.0f  %6.0f / %6.0f  %4.0f / %4.0f  %4.1f / %4.1f  "
        "%4.1f / %4.1f  %4.0f / %4.0f\n",
        row.link.c_str(), row.clip.substr(0, row.clip.find('_')).c_str(), row.queue.c_str(),
        row.loss, ours.p50_ms, row.p50_ms, ours.p95_ms, row.p95_ms, ours.bitrate_kbps,
        row.bitrate_kbps, ours.ssim_db, row.ssim_db, ours.frozen_s, row.frozen_s, ours.displayed,
        row.displayed);
    std::fflush(stdout);
  }

  static void expect_within_factor(double ours, double measured, double factor) {
    EXPECT_GT(ours, measured / factor);
    EXPECT_LT(ours, measured * factor);
  }

  media::GstRuntime gstreamer_;
  schemes::SchemeContext context_;
  std::map<std::string, std::shared_ptr<media::VideoSource>> clips_;
};

TEST_F(MeasuredProgramsChromium, GccIsNearARealBrowserOverTheSameLinks) {
  print_head();
  int rows = 0;
  for (const Measured& row : read_measured()) {
    SCOPED_TRACE(row.link + " " + row.clip + " " + row.queue);
    const Measured ours = simulate(row, "gcc");
    print(row, ours);
    ++rows;
    expect_within_factor(ours.bitrate_kbps, row.bitrate_kbps, 2.1);
    expect_within_factor(ours.p95_ms, row.p95_ms, 2.75);
    // On the slowest link the browser's median picture is seconds old and ours is not: known, and
    // described in docs/method-gcc.md.
    if (!row.link.starts_with("Verizon-EVDO")) {
      expect_within_factor(ours.p50_ms, row.p50_ms, 1.9);
    }
    EXPECT_NEAR(ours.ssim_db, row.ssim_db, 4);
    EXPECT_NEAR(ours.frozen_s, row.frozen_s, 5 + 0.5 * row.frozen_s);
    expect_within_factor(ours.displayed, row.displayed, 1.3);
    if (row.link.starts_with("constant-")) {
      expect_within_factor(ours.bitrate_kbps, row.bitrate_kbps, 1.05);
      expect_within_factor(ours.p50_ms, row.p50_ms, 1.25);
      expect_within_factor(ours.p95_ms, row.p95_ms, 1.5);
    }
  }
  EXPECT_GE(rows, 21);
}

TEST_F(MeasuredProgramsChromium, TheDraftsFilterBuildsLongerQueuesThanTheBrowser) {
  print_head();
  for (const Measured& row : read_measured()) {
    if (row.clip != "gesture_man_640x480_30" || row.queue != "unlimited") {
      continue;
    }
    SCOPED_TRACE(row.link);
    const Measured ours = simulate(row, "gcc-draft");
    print(row, ours);
    if (row.link == "constant-500kbit" || (row.link == "Verizon-LTE-short.down" && row.loss == 0)) {
      EXPECT_GT(ours.p95_ms, 2 * row.p95_ms);
      EXPECT_GT(ours.bitrate_kbps, row.bitrate_kbps) << "that is what the queue is for";
    }
  }
}

}  // namespace
}  // namespace cress::harness
