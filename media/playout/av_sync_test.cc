#include "media/playout/av_sync.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "transport/base/rng.hh"

namespace cress::media {
namespace {

TEST(AvHold, NothingIsHeldWithinTheTolerance) {
  for (const Duration picture : {60ms, 100ms, 200ms, 229ms}) {
    EXPECT_EQ(av_hold(185ms, picture), AvHold{}) << to_milliseconds(picture);
  }
}

TEST(AvHold, EarlyAudioWaitsUntilWithinTheTolerance) {
  EXPECT_EQ(av_hold(100ms, 165ms), (AvHold{.sound = 20ms}));
}

TEST(AvHold, SpeechNeverWaitsForThePictureBeyondItsBound) {
  EXPECT_EQ(av_hold(100ms, 5s), (AvHold{.sound = 40ms}));
  EXPECT_EQ(av_hold(100ms, 5s, {.sound_hold_max = 0ms}), AvHold{});
}

TEST(AvHold, EarlyVideoWaitsWithinItsBound) {
  EXPECT_EQ(av_hold(300ms, 100ms), (AvHold{.picture = 75ms}));
  EXPECT_EQ(av_hold(3s, 100ms), (AvHold{.picture = 200ms}));
}

TEST(AvHold, EarlierStreamIsHeldToTheToleranceOrItsBound) {
  for (Duration sound = 0ms; sound <= 1s; sound += 7ms) {
    for (Duration picture = 0ms; picture <= 1s; picture += 11ms) {
      const AvHold hold = av_hold(sound, picture);
      ASSERT_TRUE(hold.sound == 0ms || hold.picture == 0ms);
      const Duration ahead = picture + hold.picture - sound - hold.sound;
      ASSERT_TRUE(ahead <= kSoundAheadMax || hold.sound == 40ms);
      ASSERT_TRUE(ahead >= -kSoundBehindMax || hold.picture == 200ms);
    }
  }
}

TEST(AvSync, HoldsNothingBeforeItHasSeenBoth) {
  AvSync sync;
  EXPECT_EQ(sync.hold(), AvHold{});
  sync.handle_sound(500ms, 0ms);
  EXPECT_EQ(sync.hold(), AvHold{});
  sync.handle_picture(100ms, 0ms);
  EXPECT_EQ(sync.hold(), (AvHold{.picture = 200ms}));
}

TEST(AvSync, DriftingDelaysStayWithinTheTolerance) {
  AvSync sync;
  Rng rng{4};
  AvHold last;
  Duration ahead_most{};
  for (int i = 0; i < 6'000; ++i) {  // two minutes; the picture falls back and catches up
    const double swing = std::sin(i / 500.0);
    const Duration sound = 90ms + from_seconds(0.005 * rng.uniform());
    const Duration picture =
        90ms + from_seconds(0.07 * (1.0 + swing) * (0.9 + 0.2 * rng.uniform()));
    sync.handle_sound(sound + last.sound, last.sound);
    sync.handle_picture(picture + last.picture, last.picture);
    const AvHold hold = sync.hold();
    if (i > 100) {
      EXPECT_LE(std::max(hold.sound - last.sound, last.sound - hold.sound), 2ms) << i;
      ahead_most = std::max(ahead_most, picture - sound - hold.sound);
    }
    last = hold;
  }
  EXPECT_LE(ahead_most, 115ms) << "up to 154 ms without, and sound waits 40 ms at most";
}

TEST(AvSync, OneFrameMovesTheMeanByAThirtySecond) {
  AvSync sync;
  for (int i = 0; i < 32; ++i) {
    sync.handle_sound(140ms, 40ms);
    sync.handle_picture(265ms, 100ms);
  }
  EXPECT_EQ(sync.hold(), (AvHold{.sound = 20ms})) << "holds do not count as delay";
  sync.handle_picture(165ms + 64ms, 0ms);
  EXPECT_EQ(sync.hold(), (AvHold{.sound = 22ms}));
  sync.handle_sound(100ms + 64ms, 0ms);
  EXPECT_EQ(sync.hold(), (AvHold{.sound = 20ms}));
}

TEST(AvSync, TheFirstFramesAreAPlainMean) {
  AvSync sync;
  for (const Duration delay : {160ms, 170ms, 180ms}) {
    sync.handle_sound(100ms, 0ms);
    sync.handle_picture(delay, 0ms);
  }
  EXPECT_EQ(sync.hold(), (AvHold{.sound = 25ms}));
}

}  // namespace
}  // namespace cress::media
