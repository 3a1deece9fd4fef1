#include "eval/metrics/motion.hh"

#include <gtest/gtest.h>

#include <vector>

#include "transport/base/rng.hh"

namespace cress::metrics {
namespace {

std::vector<ShownFrame> displayed_at(std::initializer_list<Duration> times) {
  std::vector<ShownFrame> frames;
  for (const Duration time : times) {
    frames.push_back({.captured = kTimeZero + time, .displayed = kTimeZero + time});
  }
  return frames;
}

/// One every 40 ms from 0 to 10 s, but none in (from, to).
std::vector<ShownFrame> steady_but(Duration from, Duration to) {
  std::vector<ShownFrame> frames;
  for (Duration at{}; at <= 10s; at += 40ms) {
    if (at <= from || at >= to) {
      frames.push_back({.captured = kTimeZero + at, .displayed = kTimeZero + at});
    }
  }
  return frames;
}

constexpr Window kAll{kTimeZero, kTimeZero + 10s};

TEST(FreezesW3c, GapOfMeanAndOneFiftyIsAFreezeOneShorterIsNot) {
  EXPECT_EQ(freezes_w3c(steady_but(4s, 4s + 200ms), kAll), (Freezes{1, 200ms})) << "40 + 150 ms";
  EXPECT_EQ(freezes_w3c(steady_but(4s, 4s + 160ms), kAll), (Freezes{}));
}

TEST(FreezesW3c, EqualToTheLimitCounts) {
  EXPECT_EQ(freezes_w3c(displayed_at({0s, 40ms, 230ms}), kAll), (Freezes{1, 190ms}));
  EXPECT_EQ(freezes_w3c(displayed_at({0s, 40ms, 229ms}), kAll), (Freezes{}));
  EXPECT_EQ(freezes_w3c(displayed_at({0s, 100ms, 400ms}), kAll), (Freezes{1, 300ms})) << "3 times";
  EXPECT_EQ(freezes_w3c(displayed_at({0s, 100ms, 399ms}), kAll), (Freezes{}));
}

TEST(FreezesW3c, MeanIsOfTheLastThirtyGaps) {
  std::vector<ShownFrame> frames;
  TimePoint at = kTimeZero;
  const auto add = [&](int count, Duration gap) {
    for (int i = 0; i < count; ++i) {
      frames.push_back({.captured = at, .displayed = at});
      at += gap;
    }
  };
  add(40, 200ms);  // the limit is 600 ms
  add(29, 20ms);   // one of 200 and 29 of 20: mean 26 ms
  add(1, 180ms);   // 176 ms and more is a freeze
  add(1, 20ms);
  EXPECT_EQ(freezes_w3c(frames, {kTimeZero, kTimeZero + 20s}), (Freezes{1, 180ms}));
}

TEST(FreezesW3c, GapBelongsToTheFrameThatEndsItWithItsWholeLength) {
  const auto frames = steady_but(4s, 5s);
  EXPECT_EQ(freezes_w3c(frames, {kTimeZero, kTimeZero + 4'500ms}), (Freezes{}));
  EXPECT_EQ(freezes_w3c(frames, {kTimeZero + 4'500ms, kTimeZero + 10s}), (Freezes{1, 1s}));
}

TEST(FreezesW3c, GapThatNothingEndsNeverCounts) {
  EXPECT_EQ(freezes_w3c(displayed_at({1s, 2s}), kAll), (Freezes{}));
  EXPECT_EQ(freezes_w3c({}, kAll), (Freezes{}));
}

TEST(GapsOver, CountsCutGapsAtBothEnds) {
  EXPECT_EQ(gaps_over(displayed_at({501ms, 1s, 9'500ms}), kAll, 500ms), 2);
  EXPECT_EQ(gaps_over(displayed_at({501ms, 1s, 9'499ms}), kAll, 500ms), 3);
  EXPECT_EQ(gaps_over({}, kAll, 500ms), 1);
  EXPECT_EQ(gaps_over(steady_but(4s, 4'480ms), kAll, 500ms), 0);
  EXPECT_EQ(gaps_over(steady_but(4s, 5s), {kTimeZero + 4'400ms, kTimeZero + 4'500ms}, 500ms), 1);
}

TEST(HarmonicFps, IsTheRateOfEvenFrames) {
  EXPECT_NEAR(harmonic_fps(steady_but(0s, 0s), kAll), 25, 1e-9);
}

TEST(HarmonicFps, OneLongGapWeighsByItsSquare) {
  // 9 s of 40 ms gaps and one of a second: 10 / (9 * 0.04 + 1).
  EXPECT_NEAR(harmonic_fps(steady_but(4s, 5s), kAll), 10 / 1.36, 1e-9);
  EXPECT_NEAR(harmonic_fps({}, kAll), 0.1, 1e-9);
  EXPECT_NEAR(harmonic_fps(displayed_at({5s}), kAll), 0.2, 1e-9);
}

TEST(HarmonicFps, IsNeverAboveTheMeanRate) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng{seed};
    std::vector<ShownFrame> frames;
    int64_t inside = 0;
    for (TimePoint at = kTimeZero; at < kAll.to; at += from_seconds(rng.exponential(0.05))) {
      frames.push_back({.captured = at, .displayed = at});
      ++inside;
    }
    EXPECT_LE(harmonic_fps(frames, kAll), static_cast<double>(inside + 1) / 10) << seed;
  }
}

}  // namespace
}  // namespace cress::metrics
