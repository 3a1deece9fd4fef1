#include "eval/metrics/frames.hh"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "eval/metrics/picture_quality.hh"

namespace cress::metrics {
namespace {

TimePoint at(Duration since_start) { return kTimeZero + since_start; }

/// A frame every 40 ms in [from, to), on screen 60 ms after its capture.
std::vector<ShownFrame> steady(Duration from, Duration to) {
  std::vector<ShownFrame> frames;
  for (Duration t = from; t < to; t += 40ms) {
    frames.push_back({.captured = at(t - 60ms), .displayed = at(t), .ssim = 0.9, .psnr_db = 30.0});
  }
  return frames;
}

void append(std::vector<ShownFrame>& frames, const std::vector<ShownFrame>& more) {
  frames.insert(frames.end(), more.begin(), more.end());
}

TEST(FrameDelay, RunsFromCaptureToTheNextDisplay) {
  const Window window{.from = at(2s), .to = at(10s)};
  EXPECT_EQ(frame_delay_quantile(steady(1s, 12s), window, 0.0), Duration{60ms});
  EXPECT_EQ(frame_delay_quantile(steady(1s, 12s), window, 0.95), Duration{98ms});
}

TEST(Freezes, ASteadyPictureHasNone) {
  EXPECT_EQ(freezes(steady(1s, 12s), {.from = at(2s), .to = at(10s)}), Freezes{});
}

TEST(Freezes, AGapOverThreeMeanGapsAndOver150MillisecondsMoreCounts) {
  // δ stays near 40 ms, so the limit is near 190 ms, by the second rule.
  std::vector<ShownFrame> frames = steady(1s, 5s);  // the last one at 4.96 s
  append(frames, steady(5140ms, 7s));               // 180 ms: no freeze; the last one at 6.98 s
  append(frames, steady(7380ms, 12s));              // 400 ms: one
  EXPECT_EQ(freezes(frames, {.from = at(2s), .to = at(10s)}),
            (Freezes{.count = 1, .frozen = 400ms}));
}

/// Frames on screen every `pace`, with one gap after the 51st; the window ends right after the
/// last.
Freezes with_one_gap(Duration pace, int gaps, Duration gap) {
  std::vector<ShownFrame> frames{{.captured = at(2s - pace), .displayed = at(2s - pace)}};
  Duration t{2s};
  for (int i = 0; i <= gaps; ++i) {
    frames.push_back({.captured = at(t), .displayed = at(t)});
    t += i == 50 ? gap : pace;
  }
  const TimePoint last = frames.back().displayed;
  frames.push_back({.captured = last + 1ms, .displayed = last + 1ms});
  return freezes(frames, {.from = at(2s), .to = last + 1ms});
}

TEST(Freezes, BeginBeyondTheMeanGapAnd150Milliseconds) {
  // 150 gaps of 40 ms and one of 191: their mean is 41 ms, so the limit is 191 ms.
  EXPECT_EQ(with_one_gap(40ms, 151, 191ms), Freezes{});
  EXPECT_EQ(with_one_gap(40ms, 151, 192ms), (Freezes{.count = 1, .frozen = 192ms}));
}

TEST(Freezes, BeginBeyondThreeMeanGapsOfSlowVideo) {
  // 102 gaps of a second and one of 3.06: their mean is 1.02 s.
  EXPECT_EQ(with_one_gap(1s, 103, 3060ms), Freezes{});
  EXPECT_EQ(with_one_gap(1s, 103, 3061ms), (Freezes{.count = 1, .frozen = 3061ms}));
}

TEST(Freezes, TwoFramesDefineAnInterval) {
  const Window window{.from = at(2s), .to = at(3s)};
  const auto shown = [](Duration t) { return ShownFrame{.captured = at(t), .displayed = at(t)}; };
  EXPECT_EQ(freezes(std::vector{shown(1900ms), shown(2s), shown(2500ms)}, window), Freezes{});
  EXPECT_EQ(freezes(std::vector{shown(1900ms), shown(2s)}, window),
            (Freezes{.count = 1, .frozen = 1s}));
}

TEST(Freezes, SlowVideoIsMeasuredAgainstItsOwnPace) {
  // One frame a second: three seconds are its limit, not 150 ms.
  std::vector<ShownFrame> frames;
  for (int s = 0; s <= 100; ++s) {
    if (s != 50 && s != 51) {
      frames.push_back({.captured = at(s * 1s), .displayed = at(s * 1s)});
    }
  }
  EXPECT_EQ(freezes(frames, {.from = at(1s), .to = at(100s)}).count, 0);  // 3 s < 3 · 1.02 s
  std::erase_if(frames, [](const ShownFrame& f) { return f.displayed == at(52s); });
  EXPECT_EQ(freezes(frames, {.from = at(1s), .to = at(100s)}), (Freezes{.count = 1, .frozen = 4s}));
}

TEST(Freezes, APictureThatStopsForGoodIsFrozenToTheEnd) {
  const Window window{.from = at(2s), .to = at(10s)};
  EXPECT_EQ(freezes(steady(1s, 5s), window), (Freezes{.count = 1, .frozen = 5040ms}));
}

TEST(Freezes, LateFirstPictureIsFrozenUntilThen) {
  const Window window{.from = at(2s), .to = at(10s)};
  EXPECT_EQ(freezes(steady(6s, 12s), window), (Freezes{.count = 1, .frozen = 4s}));
}

TEST(Freezes, AWindowWithoutPictureIsOneFreeze) {
  const Window window{.from = at(2s), .to = at(10s)};
  EXPECT_EQ(freezes(std::vector<ShownFrame>{}, window), (Freezes{.count = 1, .frozen = 8s}));
  EXPECT_EQ(freezes(steady(1s, 1500ms), window), (Freezes{.count = 1, .frozen = 8s}));
}

TEST(Freezes, CountOnlyTheirPartInsideTheWindow) {
  std::vector<ShownFrame> frames = steady(0s, 1500ms);  // the last one at 1.48 s
  append(frames, steady(3s, 9s));                       // the last one at 8.96 s
  append(frames, steady(11s, 12s));
  EXPECT_EQ(freezes(frames, {.from = at(2s), .to = at(10s)}),
            (Freezes{.count = 2, .frozen = 1s + 1040ms}));
}

TEST(MeanQuality, WeighsByTimeOnScreen) {
  // A bad picture for 3 s of the window's 4 s (it was displayed before), a good one for the last
  // second; listed in the wrong order.
  const std::vector<ShownFrame> frames{
      {.captured = at(8s), .displayed = at(9s), .ssim = 0.99, .psnr_db = 40.0},
      {.captured = at(1s), .displayed = at(2s), .ssim = 0.75, .psnr_db = 24.0}};
  const MeanQuality mean =
      mean_quality(frames, {.from = at(6s), .to = at(10s)}).value_or(MeanQuality{});
  EXPECT_DOUBLE_EQ(mean.ssim, 0.81);
  EXPECT_DOUBLE_EQ(mean.ssim_db, -10.0 * std::log10(1.0 - 0.81));
  EXPECT_DOUBLE_EQ(mean.psnr_db, 28.0);
  EXPECT_EQ(mean.on_screen, Duration{4s});
}

TEST(MeanQuality, TimeBeforeTheFirstPictureHasNoWeight) {
  const std::vector<ShownFrame> frames{
      {.captured = at(7s), .displayed = at(8s), .ssim = 0.9, .psnr_db = 30.0}};
  const MeanQuality mean =
      mean_quality(frames, {.from = at(6s), .to = at(10s)}).value_or(MeanQuality{});
  EXPECT_DOUBLE_EQ(mean.ssim_db, ssim_to_db(0.9));
  EXPECT_EQ(mean.on_screen, Duration{2s});
  EXPECT_FALSE(mean_quality(frames, {.from = at(1s), .to = at(8s)}));
}

}  // namespace
}  // namespace cress::metrics
