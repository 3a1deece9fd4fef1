#include "media/playout/audio_time_scale.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>

#include "transport/base/rng.hh"

namespace cress::media {
namespace {

std::vector<int16_t> tone(double frequency, size_t length, double amplitude = 10'000) {
  std::vector<int16_t> sound(length);
  for (size_t i = 0; i < length; ++i) {
    sound[i] =
        static_cast<int16_t>(std::lround(amplitude * std::sin(2 * std::numbers::pi * frequency *
                                                              static_cast<double>(i) / 48'000.0)));
  }
  return sound;
}

std::vector<int16_t> noise(size_t length, double amplitude) {
  Rng rng{8};
  std::vector<int16_t> sound(length);
  for (int16_t& sample : sound) {
    sample = static_cast<int16_t>(amplitude * rng.uniform(-1.0, 1.0));
  }
  return sound;
}

int step_max(const std::vector<int16_t>& sound) {
  int most = 0;
  for (size_t i = 1; i < sound.size(); ++i) {
    most = std::max(most, std::abs(sound[i] - sound[i - 1]));
  }
  return most;
}

TEST(FindPeriod, FindsAMultipleOfThePeriodOfEachPitchOfAVoice) {
  for (const double frequency : {70.0, 100.0, 151.3, 220.0, 390.0}) {
    const PitchPeriod period = find_period(tone(frequency, 2'000), kPitchPeriodMax);
    const double periods = static_cast<double>(period.samples) * frequency / 48'000.0;
    EXPECT_NEAR(periods, std::round(periods), 0.03) << frequency;
    EXPECT_GT(period.likeness, 0.98) << frequency;
    EXPECT_FALSE(period.is_quiet);
  }
}

TEST(FindPeriod, NoiseIsUnlikeItselfAndQuietIsQuiet) {
  EXPECT_LT(find_period(noise(2'000, 8'000), kPitchPeriodMax).likeness, 0.5);
  EXPECT_TRUE(find_period(noise(2'000, 60), kPitchPeriodMax).is_quiet);
  EXPECT_TRUE(find_period(std::vector<int16_t>(2'000), kPitchPeriodMax).is_quiet);
}

TEST(FindPeriod, FullScaleDoesNotOverflow) {
  const std::vector<int16_t> loudest(2'000, -32768);
  EXPECT_NEAR(find_period(loudest, kPitchPeriodMax).likeness, 1.0, 1e-9);
}

TEST(TimeScale, ToneIsTimeScaledWithoutSteps) {
  for (const double frequency : {83.0, 140.0, 333.0}) {
    const std::vector<int16_t> original = tone(frequency, 2'400);
    const size_t period = find_period(original, kPitchPeriodMax).samples;
    std::vector<int16_t> shorter = original;
    leave_out_period(shorter, period);
    std::vector<int16_t> longer = original;
    repeat_period(longer, period);
    EXPECT_EQ(shorter.size(), original.size() - period);
    EXPECT_EQ(longer.size(), original.size() + period);
    for (const auto* sound : {&shorter, &longer}) {
      EXPECT_LE(step_max(*sound), step_max(original) * 5 / 4) << frequency;
      EXPECT_EQ(sound->front(), original.front());
      EXPECT_EQ(sound->back(), original.back());
    }
  }
}

TEST(TimeScale, SamplesAfterTheSeamAreUnchanged) {
  const std::vector<int16_t> original = noise(2'000, 20'000);
  std::vector<int16_t> shorter = original;
  leave_out_period(shorter, 300);
  EXPECT_TRUE(std::equal(shorter.begin() + 300, shorter.end(), original.begin() + 600));
  std::vector<int16_t> longer = original;
  repeat_period(longer, 300);
  EXPECT_TRUE(std::equal(longer.begin(), longer.begin() + 300, original.begin()));
  EXPECT_TRUE(std::equal(longer.begin() + 600, longer.end(), original.begin() + 300));
}

TEST(TimeScale, EvenNoiseHasNoStepLargerThanItsOwnAtTheSeams) {
  std::vector<int16_t> sound = tone(97, 4'000, 30'000);
  const int before = step_max(sound);
  leave_out_period(sound, 415);  // no period at all: the worst seam there is
  EXPECT_LE(step_max(sound), 4 * before);
}

TEST(Fades, BeginAndEndWhereTheyShould) {
  std::vector<int16_t> to(101, 1'000);
  cross_fade(std::vector<int16_t>(101, -1'000), to);
  EXPECT_EQ(to.front(), -1'000);
  EXPECT_GT(to.back(), 950);
  std::vector<int16_t> faded(100, 1'000);
  fade(faded, 1.0, 0.0);
  EXPECT_EQ(faded.front(), 1'000);
  EXPECT_EQ(faded.back(), 10);
}

TEST(FindPeriod, APeriodThatRepeatsExactlyIsFoundToTheSample) {
  for (const size_t length : {120U, 121U, 122U, 123U, 299U, 437U, 718U, 719U, 720U}) {
    // Noise below some kHz, as a voice is.
    const std::vector<int16_t> source = noise(length, 20'000);
    std::vector<int16_t> sound(1'440);
    for (size_t i = 0; i < sound.size(); ++i) {
      int sum = 0;
      for (size_t j = 0; j < 16; ++j) {
        sum += source[(i + j) % length];
      }
      sound[i] = static_cast<int16_t>(sum / 16);
    }
    const PitchPeriod period = find_period(sound, kPitchPeriodMax);
    EXPECT_EQ(period.samples % length, 0U) << length;
    EXPECT_NEAR(period.likeness, 1.0, 1e-9) << length;
    EXPECT_EQ(find_period(sound, length).samples, length) << "at the limit";
  }
}

TEST(FindPeriod, SixtyFourOf32768IsQuietAndMoreIsNot) {
  EXPECT_TRUE(find_period(std::vector<int16_t>(1'440, 64), kPitchPeriodMax).is_quiet);
  EXPECT_FALSE(find_period(std::vector<int16_t>(1'440, 65), kPitchPeriodMax).is_quiet);
  std::vector<int16_t> later(240, 0);  // quiet only at first
  std::fill(later.begin() + 120, later.end(), int16_t{1'000});
  EXPECT_FALSE(find_period(later, 120).is_quiet);
  std::ranges::reverse(later);
  EXPECT_FALSE(find_period(later, 120).is_quiet);
}

TEST(TimeScale, SeamsAreLinearFades) {
  const std::vector<int16_t> original = noise(900, 20'000);
  std::vector<int16_t> shorter = original;
  leave_out_period(shorter, 300);
  std::vector<int16_t> longer = original;
  repeat_period(longer, 300);
  for (size_t i = 0; i < 300; ++i) {
    const double weight = static_cast<double>(i) / 300;
    const double first = original[i];
    const double second = original[300 + i];
    EXPECT_NEAR(shorter[i], first + weight * (second - first), 1) << i;
    EXPECT_NEAR(longer[300 + i], second + weight * (first - second), 1) << i;
  }
}

TEST(Fades, AreLinear) {
  std::vector<int16_t> to(100, 1'000);
  cross_fade(std::vector<int16_t>(100, -1'000), to);
  std::vector<int16_t> faded(100, 1'000);
  fade(faded, 0.2, 0.7);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(to[static_cast<size_t>(i)], -1'000 + 20 * i);
    EXPECT_NEAR(faded[static_cast<size_t>(i)], 200 + 5 * i, 1);
  }
}

}  // namespace
}  // namespace cress::media
