#include "media/source/audio_source.hh"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numeric>

#include "media/source/audio_clip.hh"
#include "media/source/audio_synthetic_voice.hh"

namespace cress::media {
namespace {

double loudness(const AudioFrame& frame) {
  double sum = 0;
  for (const int16_t sample : frame) {
    sum += static_cast<double>(sample) * sample;
  }
  return std::sqrt(sum / static_cast<double>(frame.size()));
}

TEST(AudioTime, SamplesAndDurationsConvertWithoutDrift) {
  EXPECT_EQ(audio_duration(kAudioSampleRate * 3600), Duration{1h});
  EXPECT_EQ(audio_samples(kAudioFrameLength), 960);
  EXPECT_EQ(audio_samples(audio_duration(312)), 312);
}

TEST(AudioClip, LoopMayRestartInTheMiddleOfAFrame) {
  std::vector<int16_t> ramp(1'000);
  std::iota(ramp.begin(), ramp.end(), int16_t{0});
  AudioClip clip{"ramp", ramp};
  EXPECT_EQ(clip.frame(0)[959], 959);
  EXPECT_EQ(clip.frame(1)[39], 999);
  EXPECT_EQ(clip.frame(1)[40], 0);
  EXPECT_EQ(clip.frame(25), clip.frame(0)) << "24 loops later";
  EXPECT_EQ(clip.frame(uint64_t{1} << 63U)[0],
            static_cast<int16_t>((uint64_t{1} << 63U) % 25 * 960 % 1'000));
}

TEST(AudioClip, ALoopShorterThanAFrameFillsIt) {
  AudioClip clip{"two", {7, -7}};
  EXPECT_EQ(clip.frame(3)[0], 7);
  EXPECT_EQ(clip.frame(3)[959], -7);
}

TEST(SyntheticVoice, TheSameSeedSaysTheSameAndAnotherSomethingElse) {
  SyntheticVoice one;
  SyntheticVoice again;
  SyntheticVoice other{{.seed = 2}};
  int different = 0;
  for (uint64_t i = 0; i < 600; ++i) {
    ASSERT_EQ(one.frame(i), again.frame(i)) << i;
    different += one.frame(i) != other.frame(i) ? 1 : 0;
  }
  EXPECT_GT(different, 590);
  EXPECT_EQ(one.frame(3), one.frame(603)) << "a loop of 12 s";
}

TEST(SyntheticVoice, SpeaksLoudEnoughAndPauses) {
  for (const uint64_t seed : {1U, 2U, 3U, 4U}) {
    SyntheticVoice voice{{.seed = seed}};
    int loud = 0;
    int quiet = 0;
    int clipped = 0;
    for (uint64_t i = 0; i < 600; ++i) {
      const AudioFrame frame = voice.frame(i);
      loud += loudness(frame) > 500 ? 1 : 0;
      quiet += loudness(frame) < 30 ? 1 : 0;
      for (const int16_t sample : frame) {
        clipped += std::abs(sample) >= 32'000 ? 1 : 0;
      }
    }
    EXPECT_GT(loud, 240) << "seed " << seed;
    EXPECT_GT(quiet, 60) << "seed " << seed;
    EXPECT_EQ(clipped, 0) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cress::media
