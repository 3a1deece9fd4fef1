#include "eval/harness/run.hh"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "eval/harness/outputs.hh"
#include "media/codec/versions.hh"
#include "media/source/synthetic_camera.hh"
#include "traces/links.hh"
#include "transport/base/golden_test_tools.hh"

namespace cress::harness {
namespace {

LinkSpec embedded_link(const std::string& name) {
  LinkSpec link;
  link.name = name;
  link.down =
      std::make_shared<sim::DeliveryTrace>(traces::embedded_trace(name, traces::Direction::kDown));
  link.up =
      std::make_shared<sim::DeliveryTrace>(traces::embedded_trace(name, traces::Direction::kUp));
  return link;
}

RunSpec flow(const std::string& scheme, const std::string& link) {
  RunSpec spec;
  spec.scheme = scheme;
  spec.link = embedded_link(link);
  spec.duration = 20s;
  spec.skip = 5s;
  return spec;
}

RunSpec call(const std::string& scheme, const std::string& link) {
  RunSpec spec = flow(scheme, link);
  spec.duration = 8s;
  spec.skip = 2s;
  spec.forward_video = std::make_shared<media::SyntheticCamera>(
      media::SyntheticCameraOptions{.width = 320, .height = 180, .seed = 1});
  spec.reverse_video = std::make_shared<media::SyntheticCamera>(
      media::SyntheticCameraOptions{.width = 320, .height = 180, .seed = 2});
  return spec;
}

std::string bytes_of(const RunOutput& output) {
  std::string bytes = results_json(output.results) + timeline_csv(output.timeline) +
                      frames_csv(output.frames) + worst_json(output.moments);
  for (const MomentRow& row : output.moments) {
    const media::Picture& picture = *row.worst.moment.picture;
    bytes.append(reinterpret_cast<const char*>(picture.y()), picture.luma_size());
  }
  return bytes;
}

/// A run of each scheme that can be a flow, or a call, on a lossy link.
std::vector<RunSpec> runs_of_all(bool video) {
  std::vector<schemes::SchemeInfo> all{schemes::schemes().begin(), schemes::schemes().end()};
  all.insert(all.end(), schemes::schemes_with_path().begin(), schemes::schemes_with_path().end());
  std::vector<RunSpec> specs;
  for (const schemes::SchemeInfo& info : all) {
    if (video ? info.call : info.saturating) {
      const std::string name{info.name};
      specs.push_back(video ? call(name, "lte-slow") : flow(name, "lte-slow"));
      specs.back().link.loss = 0.02;
    }
  }
  return specs;
}

/// A run's statistics, one line per direction, and a digest of all its output.
std::string golden_lines(const RunOutput& output) {
  std::string text;
  for (const DirectionResult& result : output.results) {
    text +=
        fmt::format("{} {}: {:.1f} kbit/s, good {:.1f}, delay95 {:.2f} ms, lost {}, dropped {}",
                    result.scheme, result.direction, result.throughput_kbps, result.goodput_kbps,
                    result.delay95_ms.value_or(-1), result.packets_lost, result.packets_dropped);
    if (result.video) {
      text +=
          fmt::format("; displayed {}, p95 {:.1f} ms, SSIM {:.2f} dB, frozen {:.2f} s",
                      result.video->frames_displayed, result.video->frame_delay_p95_ms.value_or(-1),
                      result.video->ssim_db.value_or(-1), result.video->frozen_s);
    }
    text += "\n";
  }
  return text + "  " +
         golden_digest(results_json(output.results) + timeline_csv(output.timeline) +
                       frames_csv(output.frames)) +
         "\n";
}

// One test, because the runs take most of its time: each is compared with the recorded one; flows,
// and one call, with another seed's; flows, and calls by other codecs than the recorded, with a
// second run too.
TEST(Run, SameSeedSameBytesAsRecordedForEveryFlow) {
  const schemes::SchemeContext context;
  const schemes::SchemeContext other_context;
  std::string golden;
  for (RunSpec& spec : runs_of_all(false)) {
    const RunOutput output = run(spec, context);
    golden += golden_lines(output);
    EXPECT_EQ(bytes_of(output), bytes_of(run(spec, other_context))) << spec.scheme;
    spec.seed = 2;
    EXPECT_NE(bytes_of(output), bytes_of(run(spec, context)))
        << spec.scheme << ": the seed does nothing";
  }
  expect_golden("flows", golden);
}

TEST(Run, SameSeedSameBytesAsRecordedForEveryCall) {
  const schemes::SchemeContext context;
  const schemes::SchemeContext other_context;
  const bool is_recorded = golden_begins("calls", media::codec_versions());
  std::string golden = media::codec_versions() + "\n";
  for (RunSpec& spec : runs_of_all(true)) {
    const RunOutput output = run(spec, context);
    golden += golden_lines(output);
    if (!is_recorded) {
      EXPECT_EQ(bytes_of(output), bytes_of(run(spec, other_context))) << spec.scheme;
    }
    if (spec.scheme == "cress") {  // the schemes' own are in the flows above
      spec.seed = 2;
      EXPECT_NE(bytes_of(output), bytes_of(run(spec, context))) << "the seed does nothing";
    }
  }
  if (!is_recorded) {
    GTEST_SKIP() << "golden calls were recorded with other codecs than " << media::codec_versions();
  }
  expect_golden("calls", golden);
}

TEST(Run, ProgressIsTheShareOfTheTimeThatHasPassed) {
  const schemes::SchemeContext context;
  std::vector<double> told;
  (void)run(flow("cubic", "lte-slow"), context, [&](double share) { told.push_back(share); });
  ASSERT_GT(told.size(), 10U);
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_EQ(told.front(), 0);
  EXPECT_NEAR(told[told.size() / 2], 0.5, 0.05);
  EXPECT_GT(told.back(), 0.9);
  EXPECT_LT(told.back(), 1);
}

TEST(Run, CallDisplaysAndScoresVideoBothWays) {
  const schemes::SchemeContext context;
  for (const char* scheme :
       {"sprout", "sprout-ewma", "skype-like", "hangouts-like", "facetime-like"}) {
    const RunOutput output = run(call(scheme, "lte-fast"), context);
    ASSERT_EQ(output.results.size(), 2U) << scheme;
    for (const DirectionResult& result : output.results) {
      ASSERT_TRUE(result.video.has_value());
      EXPECT_NEAR(static_cast<double>(result.video->frames_captured), 180, 2) << scheme;
      EXPECT_GT(result.video->frames_displayed, 60) << scheme << " " << result.direction;
      EXPECT_GT(result.video->ssim_db.value_or(0), 8) << scheme;
      EXPECT_GT(result.goodput_kbps, 50) << scheme;
      EXPECT_LT(result.goodput_kbps, result.throughput_kbps) << scheme;
      EXPECT_GE(result.video->frame_delay_p95_ms.value_or(0), to_milliseconds(Duration{20ms}))
          << scheme;
    }
    // Both ends capture 30 per second for 8 s; the end of the run may or may not include one more.
    EXPECT_NEAR(static_cast<double>(output.frames.size()), 480, 2) << scheme;
  }
}

TEST(Run, CallThatKnowsTheLinkIsFresherThanOneThatForecasts) {
  const schemes::SchemeContext context;
  const auto video_of = [&](const char* scheme) {
    return *run(call(scheme, "lte-slow"), context).results.at(0).video;
  };
  const VideoResult knows = video_of("omniscient");
  const VideoResult forecasts = video_of("cress");
  EXPECT_GT(knows.frames_displayed, 60);
  EXPECT_LT(*knows.frame_delay_p95_ms, *forecasts.frame_delay_p95_ms);
  EXPECT_GT(knows.bitrate_kbps, forecasts.bitrate_kbps);
}

TEST(Run, OneWayCallCarriesMediaForwardOnly) {
  const schemes::SchemeContext context;
  RunSpec spec = call("sprout", "lte-fast");
  spec.reverse_video.reset();
  const RunOutput output = run(spec, context);
  ASSERT_EQ(output.results.size(), 1U);
  EXPECT_EQ(output.results[0].direction, "forward");
  EXPECT_GT(output.results[0].video->frames_displayed, 60);
}

TEST(Run, CallSurvivesRandomLossWithoutFreezes) {
  const schemes::SchemeContext context;
  for (const char* scheme : {"sprout", "skype-like"}) {
    RunSpec spec = call(scheme, "lte-fast");
    spec.link.loss = 0.05;
    const RunOutput output = run(spec, context);
    EXPECT_GT(output.results[0].video->frames_displayed, 20) << scheme;
    EXPECT_GT(output.results[0].packets_lost, 5) << scheme;
  }
}

// Where only the least delay of the last 20 s counts, every datagram then seems to wait in a queue.
TEST(Run, ACallOnALongerPathKeepsItsRate) {
  const schemes::SchemeContext context;
  const auto kbps = [&](Duration longer) {
    RunSpec spec = call("cress", "wifi");
    spec.link.down = spec.link.up =
        std::make_shared<sim::DeliveryTrace>(traces::resolve_link("constant:6Mbit/s", {}).down);
    spec.link.jitter = 20ms;
    spec.link.detours = {{.by = longer, .from = 4s}};
    spec.duration = 12s;
    spec.skip = 6s;
    spec.reverse_video.reset();
    return run(spec, context).results.at(0).video->bitrate_kbps;
  };
  EXPECT_GT(kbps(40ms), 0.7 * kbps({}));
}

TEST(Run, FrozenSenderDoesNotLookGood) {
  const schemes::SchemeContext context;
  RunSpec spec = flow("sprout", "lte-fast");
  // A link that carries nothing for the second half: the delay grows with the silence.
  auto dead = std::make_shared<sim::DeliveryTrace>();
  for (int ms = 1; ms <= 10'000; ++ms) {
    dead->opportunities.push_back({ms * Duration{1ms}});
  }
  dead->opportunities.push_back({60s});
  spec.link.down = dead;
  const DirectionResult result = run(spec, context).results.at(0);
  EXPECT_GT(result.delay95_ms.value_or(0), 9'000);
}

TEST(Run, UnknownAndUnsuitableSchemesAreRefusedByName) {
  const schemes::SchemeContext context;
  EXPECT_THROW(run(flow("sprotu", "lte-fast"), context), std::invalid_argument);
  EXPECT_THROW(run(flow("gcc", "lte-fast"), context), std::invalid_argument);
  EXPECT_THROW(run(call("cubic", "lte-fast"), context), std::invalid_argument);
  try {
    run(flow("sprotu", "lte-fast"), context);
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string{error.what()}.find("did you mean \"sprout\""), std::string::npos);
  }
}

TEST(QueueSpec, ParsesEveryKindAndRefusesTheRest) {
  EXPECT_EQ(QueueSpec::parse("infinite").kind, QueueSpec::Kind::kInfinite);
  EXPECT_EQ(QueueSpec::parse("codel").kind, QueueSpec::Kind::kCodel);
  EXPECT_EQ(QueueSpec::parse("droptail:100").packets, 100);
  EXPECT_EQ(QueueSpec::parse("red:5,15,0.1").red_max, 15);
  for (const char* bad :
       {"", "droptail", "droptail:", "droptail:-1", "droptail:1x", "red:5,15", "red:15,5,0.1",
        "red:5,15,2", "red:5,15,0.1,1", "codel2", "droptail:99999999999999999999"}) {
    EXPECT_THROW((void)QueueSpec::parse(bad), std::invalid_argument) << bad;
  }
}

TEST(Run, QueuesBoundTheDelayOfCubic) {
  const schemes::SchemeContext context;
  std::map<std::string, double> delays;
  for (const char* queue : {"infinite", "droptail:50", "codel", "red:5,15,0.1"}) {
    RunSpec spec = flow("cubic", "lte-slow");
    spec.link.queue = QueueSpec::parse(queue);
    delays[queue] = run(spec, context).results.at(0).delay95_ms.value_or(1e9);
  }
  EXPECT_LT(delays["droptail:50"], delays["infinite"]);
  EXPECT_LT(delays["codel"], delays["droptail:50"]);
  EXPECT_LT(delays["red:5,15,0.1"], delays["infinite"]);
}

TEST(OutputFolder, FinishedRunsAreOnDiskAtOnceAndWhole) {
  const auto folder = std::filesystem::path{testing::TempDir()} / "cress-output-test";
  std::filesystem::remove_all(folder);
  const schemes::SchemeContext context;
  OutputFolder out{folder};
  out.add(run(flow("reno", "3g"), context));
  const auto size_one = std::filesystem::file_size(folder / "results.json");
  out.add(run(flow("cubic", "3g"), context));
  EXPECT_GT(std::filesystem::file_size(folder / "results.json"), size_one);
  EXPECT_TRUE(std::filesystem::exists(folder / "timeline.csv"));
  EXPECT_FALSE(std::filesystem::exists(folder / "frames.csv"));
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    EXPECT_NE(entry.path().extension(), ".part");
  }
}

TEST(OutputFolder, UnwritableFolderIsReportedAtOnce) {
  try {
    OutputFolder out{"/proc/cress-cannot-write-here"};
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string{error.what()}.find("/proc/cress-cannot-write-here"), std::string::npos);
  }
}

TEST(ResultsJson, HoldsAllDocumentedKeys) {
  const schemes::SchemeContext context;
  const auto list =
      nlohmann::json::parse(results_json(run(call("sprout", "wifi"), context).results));
  ASSERT_EQ(list.size(), 2U);
  for (const char* key : {"scheme",
                          "link",
                          "direction",
                          "seed",
                          "window_s",
                          "capacity_kbps",
                          "throughput_kbps",
                          "goodput_kbps",
                          "utilization",
                          "delay95_ms",
                          "omniscient95_ms",
                          "self_inflicted_ms",
                          "bitrate_kbps",
                          "frame_delay_p50_ms",
                          "frame_delay_p95_ms",
                          "frame_delay_p99_ms",
                          "ssim_db",
                          "psnr_db",
                          "frames_captured",
                          "frames_displayed",
                          "freezes",
                          "frozen_s",
                          "key_frames"}) {
    EXPECT_TRUE(list[0].contains(key)) << key;
  }
}

TEST(Run, SchemeThatNeedsAQueueGetsIt) {
  const schemes::SchemeContext context;
  RunSpec over_codel = flow("cubic", "lte-slow");
  over_codel.link.queue = QueueSpec::parse("codel");
  const RunOutput by_queue = run(over_codel, context);
  RunOutput by_name = run(flow("cubic-codel", "lte-slow"), context);
  EXPECT_GT(by_name.results.at(0).packets_dropped, 0);
  by_name.results.at(0).scheme = "cubic";
  EXPECT_EQ(results_json(by_name.results), results_json(by_queue.results));
}

TEST(Run, OmniscientFillsTheLinkWithoutAnyQueue) {
  const schemes::SchemeContext context;
  const DirectionResult result = run(flow("omniscient", "lte-slow"), context).results.at(0);
  EXPECT_GT(result.utilization, 0.999);
  EXPECT_LT(result.self_inflicted_ms.value(), 1.0);
}

}  // namespace
}  // namespace cress::harness
