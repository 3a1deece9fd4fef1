#include "app/room/sound_mixer.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "transport/base/rng.hh"

namespace cress::room {
namespace {

media::AudioFrame tone(double amplitude, double period, int frame) {
  media::AudioFrame samples{};
  for (size_t i = 0; i < samples.size(); ++i) {
    const auto at = static_cast<double>(static_cast<size_t>(frame) * samples.size() + i);
    samples[i] = static_cast<int16_t>(amplitude * std::sin(2 * M_PI * at / period));
  }
  return samples;
}

TEST(SoundMixer, OneVoiceIsUnchangedAndNoVoiceIsSilence) {
  SoundMixer mixer;
  EXPECT_EQ(mixer.take(), media::AudioFrame{});
  for (int frame = 0; frame < 20; ++frame) {
    const media::AudioFrame voice = tone(32'000, 113.7, frame);
    mixer.add(voice);
    ASSERT_EQ(mixer.take(), voice);
  }
}

TEST(SoundMixer, QuietVoicesAreAddedSampleBySample) {
  Rng rng{3};
  SoundMixer mixer;
  media::AudioFrame expected{};
  for (int voice = 0; voice < 4; ++voice) {
    media::AudioFrame samples{};
    std::ranges::generate(samples, [&] { return static_cast<int16_t>(rng.below(16'000)) - 8'000; });
    for (size_t i = 0; i < samples.size(); ++i) {
      expected[i] = static_cast<int16_t>(expected[i] + samples[i]);
    }
    mixer.add(samples);
  }
  EXPECT_EQ(mixer.take(), expected);
}

TEST(SoundMixer, LoudVoicesAreAttenuatedNotClipped) {
  SoundMixer mixer;
  for (int frame = 0; frame < 50; ++frame) {
    const media::AudioFrame a = tone(30'000, 100, frame);
    for (int voice = 0; voice < 3; ++voice) {
      mixer.add(a);
    }
    const media::AudioFrame mixed = mixer.take();
    // Clipped, a sine of three times the range would stay at its bound for most of the time.
    const auto at_bound = std::ranges::count_if(
        mixed, [](int16_t sample) { return std::abs(sample) >= INT16_MAX - 1; });
    EXPECT_LT(at_bound, static_cast<int64_t>(mixed.size() / 10)) << "frame " << frame;
    EXPECT_GT(*std::ranges::max_element(mixed), 30'000);
  }
}

TEST(SoundMixer, LoudnessComesBackWithinHalfASecondWithoutAJump) {
  SoundMixer mixer;
  for (int voice = 0; voice < 4; ++voice) {
    mixer.add(tone(32'000, 100, 0));
  }
  mixer.take();
  const double turned_down = mixer.gain();
  EXPECT_LT(turned_down, 0.3);
  double before = turned_down;
  for (int frame = 1; frame <= 25; ++frame) {
    mixer.add(tone(8'000, 100, frame));
    mixer.take();
    EXPECT_GE(mixer.gain(), before);
    EXPECT_LE(mixer.gain() - before, 0.06);
    before = mixer.gain();
  }
  EXPECT_GT(before, 0.8);
  for (int frame = 0; frame < 100; ++frame) {
    mixer.add(tone(8'000, 100, frame));
    mixer.take();
  }
  EXPECT_EQ(mixer.gain(), 1.0);
}

}  // namespace
}  // namespace cress::room
