// Goal: result files, tables and queues stay as they were. Method: rows from a seed, written; every
// form of --queue, parsed.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "eval/harness/outputs.hh"
#include "eval/harness/queue_spec.hh"
#include "eval/harness/worst_moments.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"

namespace cress::harness {
namespace {

std::optional<double> some(Rng& rng, double high) {
  const double value = rng.uniform(0, high);
  return rng.chance(0.8) ? std::optional{value} : std::nullopt;
}

DirectionResult seeded_result(Rng& rng, bool video, bool audio) {
  DirectionResult r;
  r.scheme = rng.chance(0.5) ? "cress" : "skype-like";
  r.link = "lte-slow";
  r.direction = rng.chance(0.5) ? "forward" : "reverse";
  r.seed = rng.below(9);
  r.window = {kTimeZero + 2s, kTimeZero + 12'500ms};
  r.capacity_kbps = rng.uniform(100, 9000);
  r.throughput_kbps = rng.uniform(100, 9000);
  r.goodput_kbps = rng.uniform(100, 9000);
  r.utilization = rng.uniform();
  r.delay95_ms = some(rng, 900);
  r.omniscient95_ms = some(rng, 100);
  r.self_inflicted_ms = some(rng, 900);
  r.delay50_ms = some(rng, 100);
  r.packets_delivered = static_cast<int64_t>(rng.below(99'999));
  r.packets_lost = static_cast<int64_t>(rng.below(99));
  r.packets_dropped = static_cast<int64_t>(rng.below(99));
  if (video) {
    r.video = {.bitrate_kbps = rng.uniform(0, 3000),
               .frame_delay_p50_ms = some(rng, 200),
               .frame_delay_p95_ms = some(rng, 900),
               .frame_delay_p99_ms = some(rng, 2000),
               .ssim_db = some(rng, 20),
               .psnr_db = some(rng, 45),
               .frames_captured = static_cast<int64_t>(rng.below(999)),
               .frames_displayed = static_cast<int64_t>(rng.below(999)),
               .freezes = static_cast<int64_t>(rng.below(9)),
               .frozen_s = rng.uniform(0, 9),
               .key_frames = static_cast<int64_t>(rng.below(4)),
               .freezes_w3c = static_cast<int64_t>(r.packets_lost % 7),
               .frozen_w3c_s = r.capacity_kbps / 1000,
               .gaps_500ms = static_cast<int64_t>(r.packets_lost % 5),
               .harmonic_fps = r.utilization * 30,
               .live_ssim_db = r.utilization * 20};
  }
  if (audio) {
    r.sound = {.mouth_to_ear_p50_ms = some(rng, 300),
               .mouth_to_ear_p95_ms = some(rng, 900),
               .concealed = some(rng, 1)};
  }
  return r;
}

TEST(OutputsGolden, ResultsAndTheirTableAreAsRecorded) {
  Rng rng{3};
  std::string golden;
  for (const auto& [video, audio] :
       {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
    std::vector<DirectionResult> results;
    for (int i = 0; i < 6; ++i) {
      results.push_back(seeded_result(rng, video && i != 2, audio && i != 4));
    }
    golden += results_table(results) + golden_digest(results_json(results)) + "\n";
    golden += results_json({results[0]});
  }
  expect_golden("results", golden + results_table({}) + results_json({}));
}

TEST(OutputsGolden, CoursesFramesAndMomentsAreAsRecorded) {
  Rng rng{4};
  std::vector<TimelineRow> timeline;
  std::vector<FrameRow> frames;
  for (int i = 0; i < 40; ++i) {
    timeline.push_back(
        {.scheme = "cress",
         .link = "3g",
         .direction = "forward",
         .time = i * kTimelineBin,
         .capacity_kbps = rng.uniform(0, 5000),
         .throughput_kbps = rng.uniform(0, 5000),
         .delay_ms = some(rng, 500),
         .window_bytes = rng.chance(0.5) ? std::optional<int64_t>{i * 999} : std::nullopt,
         .forecast_kbps = some(rng, 4000)});
    FrameRow row{.scheme = "cress", .link = "3g", .direction = "forward"};
    row.frame = static_cast<uint32_t>(i);
    row.captured = i * Duration{33'333'333};
    if (rng.chance(0.7)) {
      row.shown = row.captured + from_seconds(rng.exponential(0.2));
    }
    row.size_bytes = rng.chance(0.8) ? static_cast<int64_t>(rng.below(5000)) : i % 2;
    if (rng.chance(0.6)) {
      row.budget_bytes = static_cast<int64_t>(rng.below(5000));
    }
    row.quantizer = static_cast<int>(rng.below(64));
    row.key_frame = rng.chance(0.1);
    row.ssim_db = some(rng, 20);
    row.psnr_db = some(rng, 40);
    frames.push_back(row);
  }
  std::string golden = timeline_csv(timeline) + frames_csv(frames);
  for (int round = 0; round < 6; ++round) {
    WorstMoments worst{{kTimeZero + 1s, kTimeZero + 3s}};
    TimePoint shown = kTimeZero;
    for (uint32_t frame = 0; frame < 120; ++frame) {
      shown += from_seconds(rng.exponential(round == 5 ? 3 : 0.04));
      // Few values, so that some are equal: the first of them is kept.
      worst.note({.frame = frame,
                  .captured = shown - std::chrono::milliseconds{40 + 10 * rng.below(30)},
                  .shown = shown,
                  .ssim = 0.5 + 0.01 * static_cast<double>(rng.below(40)),
                  .picture = nullptr});
    }
    std::vector<MomentRow> rows;
    for (const WorstMoment& moment : worst.finish()) {
      rows.push_back({"cress", "3g", "reverse", moment});
    }
    golden += round < 2 ? worst_json(rows) : golden_digest(worst_json(rows)) + "\n";
    golden += fmt::format("{} then {}\n", rows.size(), worst.finish().size());
  }
  expect_golden("courses", golden);
}

TEST(OutputsGolden, EveryFormOfAQueueIsReadAsRecorded) {
  std::string golden;
  for (const char* text : {"infinite",
                           "codel",
                           "droptail:1",
                           "droptail:0",
                           "droptail:-1",
                           "droptail:1000000",
                           "droptail:1000001",
                           "droptail:99999999999999999999",
                           "droptail:",
                           "droptail",
                           "droptail:5x",
                           "red:1,2,0.5",
                           "red:1,2,1",
                           "red:1,2,1.01",
                           "red:1,2,0",
                           "red:2,2,0.5",
                           "red:3,2,0.5",
                           "red:0,2,0.5",
                           "red:-1,2,0.5",
                           "red:1,2",
                           "red:1,2,0.5,6",
                           "red:1,2,x",
                           "red:1,2,nan",
                           "red:,2,0.5",
                           "red:1,1000001,0.5",
                           "red:5,1000000,0.5",
                           "red",
                           "",
                           "codel:5",
                           "infinite:1",
                           "CODEL",
                           "drop tail:5"}) {
    try {
      const QueueSpec spec = QueueSpec::parse(text);
      golden += fmt::format("{}: {} {} {} {} {}\n", text, static_cast<int>(spec.kind), spec.packets,
                            spec.red_min, spec.red_max, spec.red_chance);
      const auto queue = spec.make(Rng{3});
      EXPECT_NE(queue, nullptr);
    } catch (const std::invalid_argument& error) {
      golden += fmt::format("{}: {}\n", text, error.what());
    }
  }
  expect_golden("queues", golden);
}

}  // namespace
}  // namespace cress::harness
