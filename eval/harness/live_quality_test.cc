#include "eval/harness/live_quality.hh"

#include <gtest/gtest.h>

#include <memory>

#include "eval/metrics/picture_quality.hh"
#include "media/source/synthetic_camera.hh"

namespace cress::harness {
namespace {

constexpr metrics::Window kScored{kTimeZero + 1s, kTimeZero + 3s};

class Screen : public testing::Test {
 protected:
  /// Picture `number`, captured at number / 30 s, displayed later, as it was captured.
  void show(uint64_t number, Duration later) {
    const TimePoint captured = kTimeZero + camera.frame_rate().time_of(number);
    live.note({.number = number,
               .captured = captured,
               .displayed = captured + later,
               .ssim = 1,
               .picture = camera.picture(number)});
  }
  double similarity(uint64_t a, uint64_t b) {
    return metrics::ssim(*camera.picture(a), *camera.picture(b));
  }

  media::SyntheticCamera camera{{.width = 64, .height = 48, .seed = 3}};
  LiveQuality live{kScored, camera};
};

TEST_F(Screen, YoungFramesAreComparedWithTheirOwnOriginals) {
  for (uint64_t number = 0; number < 120; ++number) {
    show(number, 100ms);
  }
  live.advance(kTimeZero + 3s);
  EXPECT_NEAR(live.mean_ssim(), 1, 1e-12);
}

TEST_F(Screen, StillPictureIsComparedWithTheMovingCamera) {
  show(0, 50ms);
  live.advance(kTimeZero + 3s);
  double expected = 0;
  // At t the camera's picture of t - 150 ms is number floor(30 (t - 150 ms)).
  for (int millisecond = 1000; millisecond < 3000; ++millisecond) {
    expected += similarity(0, static_cast<uint64_t>((millisecond - 150) * 30 / 1000)) / 2000;
  }
  EXPECT_NEAR(live.mean_ssim(), expected, 2e-3);
  EXPECT_LT(live.mean_ssim(), 0.99);
}

TEST_F(Screen, LateFramesAreComparedWithNewerOnes) {
  for (uint64_t number = 0; number < 120; ++number) {
    show(number, 150ms + 4 * camera.frame_rate().time_of(1));
  }
  live.advance(kTimeZero + 3s);
  double expected = 0;
  for (uint64_t number = 22; number < 82; ++number) {
    expected += similarity(number, number + 4) / 60;
  }
  EXPECT_NEAR(live.mean_ssim(), expected, 5e-3);
}

TEST_F(Screen, EmptyScreenCountsAsNothing) {
  show(59, 2s - camera.frame_rate().time_of(59));
  live.advance(kTimeZero + 3s);
  double expected = 0;
  for (int millisecond = 2000; millisecond < 3000; ++millisecond) {
    const auto number = std::max(59, (millisecond - 150) * 30 / 1000);
    expected += similarity(59, static_cast<uint64_t>(number)) / 2000;
  }
  EXPECT_NEAR(live.mean_ssim(), expected, 2e-3);
}

TEST_F(Screen, StepsOfAdvanceDoNotMatter) {
  LiveQuality at_once{kScored, camera};
  for (uint64_t number = 0; number < 120; number += 1 + number % 17) {
    const TimePoint captured = kTimeZero + camera.frame_rate().time_of(number);
    const LiveQuality::Frame frame{number, captured, captured + 77ms, 0.9, camera.picture(number)};
    live.advance(frame.displayed);
    live.note(frame);
    at_once.note(frame);
  }
  live.advance(kTimeZero + 5s);
  at_once.advance(kTimeZero + 3s);
  EXPECT_NEAR(live.mean_ssim(), at_once.mean_ssim(), 1e-12);
}

}  // namespace
}  // namespace cress::harness
