#include "media/playout/playout_delay.hh"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "transport/base/rng.hh"

namespace cress::media {
namespace {

double target_ms(const PlayoutDelay& delay) { return to_milliseconds(*delay.target()); }

TEST(PlayoutDelay, KnowsNothingBeforeTheFirstFrame) {
  EXPECT_EQ(PlayoutDelay{}.target(), std::nullopt);
  EXPECT_EQ(PlayoutDelay{}.fastest(), std::nullopt);
}

TEST(PlayoutDelay, WithoutJitterOnlyTheMarginIsAdded) {
  PlayoutDelay delay;
  for (int i = 0; i < 200; ++i) {
    delay.observe(52ms);
  }
  EXPECT_EQ(*delay.target(), Duration{60ms}) << "the bin of 50 ms and 10 ms";
}

TEST(PlayoutDelay, AnOffsetOfTheClocksIsPartOfTheDelay) {
  PlayoutDelay near;
  PlayoutDelay far;
  Rng rng{1};
  for (int i = 0; i < 500; ++i) {
    const Duration jitter = from_seconds(rng.exponential(0.02));
    near.observe(50ms + jitter);
    far.observe(50ms + jitter - 1h);
  }
  EXPECT_EQ(*near.target(), *far.target() + 1h);
}

TEST(PlayoutDelay, ExponentialJitterGetsTheQuantileThatThePriceAsksFor) {
  // With mean m and price p the best share of late frames is m / p.
  for (const double mean : {0.010, 0.020, 0.040}) {
    PlayoutDelay delay{{.loss_price = 2s, .memory = 0.9998}};
    Rng rng{2};
    for (int i = 0; i < 20'000; ++i) {
      delay.observe(from_seconds(rng.exponential(mean)));
    }
    const double best = mean * std::log(2.0 / mean);
    EXPECT_NEAR(to_seconds(*delay.target()), best, 0.15 * best + 0.005) << mean;
  }
}

TEST(PlayoutDelay, OneFrameInFiveThatComesTwentyMillisecondsLaterIsWaitedFor) {
  PlayoutDelay delay;
  for (int i = 0; i < 500; ++i) {
    delay.observe(i % 5 == 0 ? 71ms : 31ms);
  }
  EXPECT_GE(target_ms(delay), 71);
  EXPECT_LE(target_ms(delay), 80);
}

TEST(PlayoutDelay, AnOutageOfSecondsDoesNotRaiseTheTarget) {
  PlayoutDelay delay;
  for (int i = 0; i < 500; ++i) {
    delay.observe(41ms);
  }
  const double before = target_ms(delay);
  for (int i = 100; i > 0; --i) {
    delay.observe(41ms + i * 20ms);  // 2 s of audio at once
  }
  EXPECT_LE(target_ms(delay), before + 10);
}

// 15 ms more with each eighth frame, as where somebody else's download fills the queue.
TEST(PlayoutDelay, AQueueThatGrowsIsFollowedAtOnce) {
  PlayoutDelay slow;
  PlayoutDelay quick{{.rise_frames = 8}};
  int late_of_slow = 0;
  int late_of_quick = 0;
  for (int i = 0; i < 800; ++i) {
    const Duration delay = 40ms + std::clamp((i - 400) / 8, 0, 25) * 15ms;
    if (i > 0) {
      late_of_slow += delay + 10ms > *slow.target() ? 1 : 0;
      late_of_quick += delay + 10ms > *quick.target() ? 1 : 0;
    }
    slow.observe(delay);
    quick.observe(delay);
  }
  EXPECT_GT(late_of_slow, 60);
  EXPECT_LE(late_of_quick, 12) << "until the second eight frames that rise";
  EXPECT_LE(target_ms(quick), 415 + 25) << "no higher than it needs once it has grown";
}

// What it needs lately counts beyond the maximum above the fastest that it remembers.
TEST(PlayoutDelay, AQueueOfHalfASecondIsWaitedFor) {
  PlayoutDelay delay{{.rise_frames = 8}};
  for (int i = 0; i < 400; ++i) {
    delay.observe(40ms + i * 1250us);
  }
  EXPECT_GT(target_ms(delay), 540);
  EXPECT_LT(target_ms(delay), 600);
}

TEST(PlayoutDelay, AnOutageIsNotTakenForAQueueThatGrows) {
  PlayoutDelay delay{{.rise_frames = 8}};
  for (int i = 0; i < 500; ++i) {
    delay.observe(41ms);
  }
  for (int i = 100; i > 0; --i) {
    delay.observe(41ms + i * 20ms);
    EXPECT_LE(target_ms(delay), 41 + 2000 + 20 + 2 * 20) << i;
  }
  for (int i = 0; i < 8; ++i) {
    delay.observe(41ms);
  }
  EXPECT_LE(target_ms(delay), 75);
}

TEST(PlayoutDelay, ForgetsAJitterThatIsOver) {
  PlayoutDelay delay;
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

TEST(PlayoutDelay, FollowsAPathThatBecomesLongerOrShorterForGood) {
  PlayoutDelay delay;
  for (const Duration path : {40ms, 240ms, 1'500ms, 20ms}) {
    for (int i = 0; i < 1'500; ++i) {
      delay.observe(path);
    }
    EXPECT_LE(*delay.target(), path + 30ms);
    EXPECT_GE(*delay.target(), path + 5ms);
  }
}

TEST(PlayoutDelay, StaysInItsBoundsWhateverItSees) {
  PlayoutDelay delay{{.margin_max = 300ms}};
  Rng rng{4};
  for (int i = 0; i < 20'000; ++i) {
    const double spread = rng.chance(0.01) ? 1e6 : 1.0;
    delay.observe(from_seconds(rng.uniform(-spread, spread)));
    ASSERT_GE(*delay.target(), *delay.fastest() + 10ms);
    ASSERT_LE(*delay.target(), *delay.fastest() + 300ms);
  }
}

TEST(PlayoutDelay, TheFirstHalfSecondHasAWiderMargin) {
  PlayoutDelay delay;
  for (int frames = 1; frames <= 30; ++frames) {
    delay.observe(52ms);
    EXPECT_EQ(*delay.target(), frames < 25 ? Duration{80ms} : Duration{60ms}) << frames;
  }
  delay.reset();
  EXPECT_EQ(delay.target(), std::nullopt);
  delay.observe(10ms);
  EXPECT_EQ(*delay.target(), Duration{40ms}) << "as if it had just begun";
}

TEST(PlayoutDelay, DelaysFallIntoBinsOfFiveMillisecondsBelowZeroToo) {
  for (const auto& [observed, bin] : {std::pair<Duration, Duration>{0ms, 0ms},
                                      {4'999us, 0ms},
                                      {5ms, 5ms},
                                      {-1us, -5ms},
                                      {-5ms, -5ms},
                                      {-5'001us, -10ms}}) {
    PlayoutDelay delay;
    delay.observe(observed);
    EXPECT_EQ(*delay.fastest(), bin) << to_milliseconds(observed);
  }
}

TEST(PlayoutDelay, AFewLuckyFramesAreForgottenBelowHalfAPercent) {
  PlayoutDelay delay{{.memory = 0.99999}};
  for (int i = 0; i < 150; ++i) {
    delay.observe(50ms);
  }
  delay.observe(0ms);
  EXPECT_EQ(*delay.fastest(), Duration{0ms}) << "one in 151";
  for (int i = 0; i < 47; ++i) {
    delay.observe(50ms);
  }
  EXPECT_EQ(*delay.fastest(), Duration{0ms}) << "one in 198";
  for (int i = 0; i < 4; ++i) {
    delay.observe(50ms);
  }
  EXPECT_EQ(*delay.fastest(), Duration{50ms}) << "one in 202";
}

TEST(PlayoutDelay, HalfIsForgottenInSevenSeconds) {
  // A longer path counts as such when less than half a per cent remembers the shorter one.
  PlayoutDelay delay;
  for (int i = 0; i < 1'000; ++i) {
    delay.observe(40ms);
  }
  int frames = 0;
  while (*delay.fastest() < 100ms && frames < 10'000) {
    delay.observe(102ms);
    ++frames;
  }
  EXPECT_NEAR(frames, std::log(0.005 / 0.865) / std::log(0.998), 30);
}

TEST(PlayoutDelay, ATargetIsNeverBeyondFourHundredMilliseconds) {
  PlayoutDelay delay;
  for (int i = 0; i < 1'200; ++i) {
    delay.observe(i % 120 * 5ms);
  }
  EXPECT_EQ(*delay.target(), Duration{400ms});
}

TEST(PlayoutDelay, NewPathIsAcceptedOnceHalfTheFramesUseIt) {
  PlayoutDelay delay{{.memory = 0.99999}};
  for (int i = 0; i < 100; ++i) {
    delay.observe(40ms);
  }
  for (int i = 0; i < 100; ++i) {
    delay.observe(1'500ms);
  }
  EXPECT_EQ(*delay.fastest(), Duration{40ms});
  delay.observe(1'500ms);
  EXPECT_EQ(*delay.fastest(), Duration{1'500ms});
  EXPECT_EQ(*delay.target(), Duration{1'530ms}) << "and begins again";
}

TEST(PlayoutDelay, ValuesBeyondTheHistogramStillCount) {
  // Half at 0, half at 630 ms, and then one at -50: the slow half lies beyond the last bin.
  PlayoutDelay delay{{.memory = 0.99999}};
  for (int i = 0; i < 100; ++i) {
    delay.observe(i < 45 ? 630ms : 0ms);
  }
  delay.observe(-50ms);
  EXPECT_EQ(*delay.fastest(), Duration{-50ms});
  for (int i = 0; i < 12; ++i) {
    delay.observe(1s);
  }
  EXPECT_EQ(*delay.fastest(), Duration{-50ms});
  delay.observe(1s);
  EXPECT_EQ(*delay.fastest(), Duration{1s}) << "58 of 114 were beyond";
}

}  // namespace
}  // namespace cress::media
