// Goal: the scheme `gcc` behaves as a real browser was measured to over the same links.
// Method: every row of <data>/reference/chromium-measured.csv is run and compared; a table is
// printed.

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
  return spec;
}

/// The name begins as that of the other comparisons with measurements: runs that take minutes.
class MeasuredProgramsChromium : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kData / "reference" / "chromium-measured.csv")) {
      GTEST_SKIP() << "no measurements at " << kData << " (set CRESS_DATA)";
    }
  }

  std::shared_ptr<media::VideoSource> clip(const std::string& name) {
    auto& found = clips_[name];
    if (!found) {
      found = media::open_video(kData / "video" / (name + ".mp4"));
    }
    return found;
  }

  media::GstRuntime gstreamer_;
  schemes::SchemeContext context_;
  std::map<std::string, std::shared_ptr<media::VideoSource>> clips_;
};

TEST_F(MeasuredProgramsChromium, GccIsNearARealBrowserOverTheSameLinks) {
  std::printf("%-26s %-8s %-5s %-4s  %-15s  %-15s  %-11s  %-11s  %-11s  %s\n", "link", "clip",
              "queue", "loss", "p50 ms", "p95 ms", "kbit/s", "SSIM dB", "frozen s", "shown");
  for (const Measured& row : read_measured()) {
    RunSpec spec;
    spec.scheme = "gcc";
    spec.link = link_of(row);
    spec.duration = 120s;
    spec.skip = 10s;
    spec.forward_video = clip(row.clip);
    const DirectionResult ours = run(spec, context_).results.at(0);
    ASSERT_TRUE(ours.video.has_value());
    const VideoResult video = ours.video.value_or(VideoResult{});
    const double p50 = video.frame_delay_p50_ms.value_or(-1);
    const double p95 = video.frame_delay_p95_ms.value_or(-1);
    const double ssim = video.ssim_db.value_or(-1);
    std::printf(
        "%-26s %-8s %-5.5s %-4.2g  %6.0f / %6.0f  %6.0f / %6.0f  %4.0f / %4.0f  %4.1f / %4.1f  "
        "%4.1f / %4.1f  %4d / %4.0f\n",
        row.link.c_str(), row.clip.substr(0, row.clip.find('_')).c_str(), row.queue.c_str(),
        row.loss, p50, row.p50_ms, p95, row.p95_ms, ours.throughput_kbps, row.bitrate_kbps, ssim,
        row.ssim_db, video.frozen_s, row.frozen_s, static_cast<int>(video.frames_displayed),
        row.displayed);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace cress::harness
