// Goal: the real call equals the simulated one. Method: two of the real program, each in a private
// network connected only by a recorded link in real time, with files as camera and microphone; the
// frames that each displays, by its own table, compared with those of the simulator's ends over the
// same link.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "eval/cellsim/cellsim.hh"
#include "eval/cellsim/live_call_test_tools.hh"
#include "eval/harness/run.hh"
#include "media/gst/gst_audio_source.hh"
#include "media/gst/gst_file_source.hh"
#include "media/gst/gst_runtime.hh"
#include "traces/links.hh"
#include "transport/netns/namespace_process.hh"
#include "transport/runtime/clock_lateness_test_tools.hh"

namespace cress::cellsim {
namespace {

const fs::path kData = CRESS_DATA;
const fs::path kClip = kData / "video" / "gesture_man_640x480_30.mp4";
const fs::path kVoice = kData / "audio" / "gesture_man.flac";
constexpr Duration kLength = 40s;
constexpr metrics::Window kScored{kTimeZero + 5s, kTimeZero + kLength};

class LiveCallMeasured : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string why = netns::namespaces_forbidden(); !why.empty()) {
      GTEST_SKIP() << why;
    }
    if (!fs::exists(kClip) || !fs::exists(kData / "traces" / "cellular")) {
      GTEST_SKIP() << "no data: clips or recorded links in " << kData;
    }
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// The frames that the near end received from the far one, and the reverse.
  std::vector<Seen> live(const PathOptions& path, CellsimReport& report) const {
    const std::string link = (folder_ / "link").string();
    CellsimOptions options;
    options.path = path;
    options.quiet = true;
    options.peer.command = {"sh", "-c",
                            "exec " + call_command(kData, folder_, "far") +
                                "--listen $CRESS_FAR:4433 --link-file " + link};
    options.command.command = {"sh", "-c",
                               "until [ -s " + link + " ]; do sleep 0.02; done; exec " +
                                   call_command(kData, folder_, "near") +
                                   "--duration 41s \"$(cat " + link + ")\""};
    std::ostringstream notes;
    report = run_cellsim(options, notes);
    EXPECT_EQ(report.exit_code, 0) << notes.str();
    return both_seen(folder_, kScored);
  }

 private:
  const fs::path folder_ = fs::temp_directory_path() / ("cress_call_" + std::to_string(::getpid()));
};

std::vector<Seen> simulated(const harness::LinkSpec& link) {
  harness::RunSpec spec;
  spec.scheme = "cress";
  spec.link = link;
  spec.duration = kLength;
  spec.forward_video = spec.reverse_video = media::open_video(kClip);
  spec.forward_sound = media::open_audio(kVoice);
  spec.reverse_sound = media::open_audio(kVoice);
  const schemes::SchemeContext context;
  std::vector<Frame> forward;
  std::vector<Frame> reverse;
  for (const harness::FrameRow& row : harness::run(spec, context).frames) {
    if (row.shown) {
      (row.direction == "forward" ? forward : reverse)
          .push_back({kTimeZero + row.captured, kTimeZero + *row.shown, DataSize{row.size_bytes}});
    }
  }
  return {seen_in(forward, kScored), seen_in(reverse, kScored)};
}

TEST_P(LiveCallMeasured, EqualsTheSimulatedCall) {
  const media::GstRuntime gstreamer;
  const traces::NamedLink named = traces::resolve_link(GetParam(), kData);
  harness::LinkSpec link;
  link.name = named.name;
  link.down = std::make_shared<const sim::DeliveryTrace>(named.down);
  link.up = std::make_shared<const sim::DeliveryTrace>(named.up);
  CellsimReport report;
  runtime::ClockLateness lateness;
  const std::vector<Seen> there =
      live({.name = named.name, .down = link.down, .up = link.up}, report);
  const Duration lateness_p99 = lateness.p99();
  const std::vector<Seen> here = simulated(link);
  std::cout << report_lines(report);
  for (size_t i = 0; i < here.size(); ++i) {
    std::printf(
        "%-22s %-8s live %5.0f kbit/s, p95 %5.0f ms; simulated %5.0f kbit/s, p95 %5.0f ms\n",
        GetParam(), i == 0 ? "forward" : "reverse", there[i].rate_kbps, there[i].delay_p95_ms,
        here[i].rate_kbps, here[i].delay_p95_ms);
  }
  constexpr Duration kLateMax = 2ms;
  if (report.late_p99 > kLateMax && lateness_p99 > runtime::ClockLateness::kMax) {
    GTEST_SKIP() << "this machine is too busy: its timers are late";
  }
  EXPECT_LE(report.late_p99, kLateMax) << "the link itself was late";
  for (size_t i = 0; i < here.size(); ++i) {
    EXPECT_NEAR(there[i].rate_kbps, here[i].rate_kbps, 0.1 * here[i].rate_kbps);
    EXPECT_NEAR(there[i].delay_p95_ms, here[i].delay_p95_ms,
                std::max(25.0, 0.2 * here[i].delay_p95_ms));
  }
}

INSTANTIATE_TEST_SUITE_P(Links, LiveCallMeasured,
                         ::testing::Values("Verizon-LTE-short", "hsdpa-tram"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace cress::cellsim
