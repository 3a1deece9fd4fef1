#include "media/playout/audio_delay.hh"

#include <gtest/gtest.h>

#include <cmath>

#include "transport/base/rng.hh"

namespace cress::media {
namespace {

double target_ms(const AudioDelay& delay) { return to_milliseconds(*delay.target()); }

TEST(AudioDelay, KnowsNothingBeforeTheFirstFrame) {
  EXPECT_EQ(AudioDelay{}.target(), std::nullopt);
  EXPECT_EQ(AudioDelay{}.fastest(), std::nullopt);
}

TEST(AudioDelay, WithoutJitterOnlyTheMarginIsAdded) {
  AudioDelay delay;
  for (int i = 0; i < 200; ++i) {
    delay.observe(52ms);
  }
  EXPECT_EQ(*delay.target(), Duration{70ms}) << "the bin of 50 ms and 20 ms";
}

TEST(AudioDelay, AnOffsetOfTheClocksIsPartOfTheDelay) {
  AudioDelay near;
  AudioDelay far;
  Rng rng{1};
  for (int i = 0; i < 500; ++i) {
    const Duration jitter = from_seconds(rng.exponential(0.02));
    near.observe(50ms + jitter);
    far.observe(50ms + jitter - 1h);
  }
  EXPECT_EQ(*near.target(), *far.target() + 1h);
}

TEST(AudioDelay, ExponentialJitterGetsTheQuantileThatThePriceAsksFor) {
  // With mean m and price p the best share of late frames is m / p.
  for (const double mean : {0.010, 0.020, 0.040}) {
    AudioDelay delay{{.loss_price = 2s, .memory = 0.9998}};
    Rng rng{2};
    for (int i = 0; i < 20'000; ++i) {
      delay.observe(from_seconds(rng.exponential(mean)));
    }
    const double best = mean * std::log(2.0 / mean) + 0.010;  // needed before its time
    EXPECT_NEAR(to_seconds(*delay.target()), best, 0.15 * best + 0.005) << mean;
  }
}

TEST(AudioDelay, OneFrameInFiveThatComesTwentyMillisecondsLaterIsWaitedFor) {
  AudioDelay delay;
  for (int i = 0; i < 500; ++i) {
    delay.observe(i % 5 == 0 ? 71ms : 31ms);
  }
  EXPECT_GE(target_ms(delay), 81);
  EXPECT_LE(target_ms(delay), 90);
}

TEST(AudioDelay, AnOutageOfSecondsDoesNotRaiseTheTarget) {
  AudioDelay delay;
  for (int i = 0; i < 500; ++i) {
    delay.observe(41ms);
  }
  const double before = target_ms(delay);
  for (int i = 100; i > 0; --i) {
    delay.observe(41ms + i * 20ms);  // 2 s of sound at once
  }
  EXPECT_LE(target_ms(delay), before + 10);
}

TEST(AudioDelay, ForgetsAJitterThatIsOver) {
  AudioDelay delay;
  Rng rng{3};
  for (int i = 0; i < 500; ++i) {
    delay.observe(from_seconds(0.04 + rng.exponential(0.05)));
  }
  const double rough = target_ms(delay);
  int calm = 0;
  while (target_ms(delay) > 75 && calm < 5'000) {
    delay.observe(42ms);
    ++calm;
  }
  EXPECT_GT(rough, 150);
  EXPECT_LT(calm * 20, 40'000) << "milliseconds";
}

TEST(AudioDelay, FollowsAPathThatBecomesLongerOrShorterForGood) {
  AudioDelay delay;
  for (const Duration path : {40ms, 240ms, 1'500ms, 20ms}) {
    for (int i = 0; i < 1'500; ++i) {
      delay.observe(path);
    }
    EXPECT_LE(*delay.target(), path + 30ms);
    EXPECT_GE(*delay.target(), path + 10ms);
  }
}

TEST(AudioDelay, StaysInItsBoundsWhateverItSees) {
  AudioDelay delay{{.margin_max = 300ms}};
  Rng rng{4};
  for (int i = 0; i < 20'000; ++i) {
    const double spread = rng.chance(0.01) ? 1e6 : 1.0;
    delay.observe(from_seconds(rng.uniform(-spread, spread)));
    ASSERT_GE(*delay.target(), *delay.fastest() + 20ms);
    ASSERT_LE(*delay.target(), *delay.fastest() + 300ms);
  }
}

}  // namespace
}  // namespace cress::media
