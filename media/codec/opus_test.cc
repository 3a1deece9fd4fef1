#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "media/codec/opus_decoder.hh"
#include "media/codec/opus_encoder.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "transport/base/rng.hh"

namespace cress::media {
namespace {

constexpr DataRate kbps(int64_t rate) { return DataRate::kilobits_per_second(rate); }

double energy(std::span<const int16_t> samples) {
  double sum = 0;
  for (const int16_t sample : samples) {
    sum += static_cast<double>(sample) * sample;
  }
  return sum;
}

std::vector<CodedSound> encode(OpusEncoder& encoder, AudioSource& source, uint64_t frames) {
  std::vector<CodedSound> coded;
  for (uint64_t i = 0; i < frames; ++i) {
    coded.push_back(encoder.encode(source.frame(i)));
  }
  return coded;
}

double rate_kbps(const std::vector<CodedSound>& coded) {
  DataSize sum;
  for (const CodedSound& sound : coded) {
    sum += sound.size();
  }
  return static_cast<double>(sum.bits()) / 1000.0 / (0.02 * static_cast<double>(coded.size()));
}

AudioFrame tone(uint64_t index, double frequency = 440, double amplitude = 8000) {
  AudioFrame frame;
  for (size_t i = 0; i < frame.size(); ++i) {
    const double t = static_cast<double>(index * frame.size() + i) / 48'000.0;
    frame[i] = static_cast<int16_t>(amplitude * std::sin(2 * std::numbers::pi * frequency * t));
  }
  return frame;
}

TEST(Opus, ToneKeepsItsLoudnessWithTheReportedDelay) {
  OpusEncoder encoder{{.target = kbps(48), .dtx = false}};
  OpusDecoder decoder;
  std::vector<int16_t> in;
  std::vector<int16_t> out;
  for (uint64_t i = 0; i < 50; ++i) {
    const AudioFrame frame =
        tone(i, 300.0 + 3.0 * static_cast<double>(i));  // a sweep: one lag fits
    in.insert(in.end(), frame.begin(), frame.end());
    const auto decoded = decoder.decode(encoder.encode(frame).data);
    ASSERT_TRUE(decoded);
    out.insert(out.end(), decoded->begin(), decoded->end());
  }
  EXPECT_NEAR(energy(out) / energy(in), 1.0, 0.15);
  size_t best_lag = 0;
  double best = 0;
  for (size_t lag = 0; lag < 960; ++lag) {
    double product = 0;
    for (size_t i = 20'000; i < 40'000; ++i) {
      product += static_cast<double>(out[i]) * in[i - lag];
    }
    if (product > best) {
      best = product;
      best_lag = lag;
    }
  }
  EXPECT_NEAR(static_cast<double>(best_lag), static_cast<double>(audio_samples(encoder.delay())),
              10);
}

TEST(Opus, SameAudioGivesSameBytes) {
  SyntheticVoice voice;
  OpusEncoder one;
  OpusEncoder two;
  for (uint64_t i = 0; i < 200; ++i) {
    ASSERT_EQ(one.encode(voice.frame(i)).data, two.encode(voice.frame(i)).data) << i;
  }
}

TEST(Opus, SpeechTakesNoMoreThanItsTargetAtEveryRateOfACall) {
  SyntheticVoice voice;
  double last = 0;
  for (const int64_t target : {8, 12, 16, 24, 32, 48}) {
    OpusEncoder encoder{{.target = kbps(target), .dtx = false}};
    const double rate = rate_kbps(encode(encoder, voice, 600));
    EXPECT_LT(rate, 1.05 * static_cast<double>(target));
    EXPECT_GT(rate, last) << "a higher target is used";
    last = rate;
  }
}

TEST(Opus, ATargetMayChangeBetweenFrames) {
  SyntheticVoice voice;
  OpusEncoder encoder{{.target = kbps(48), .dtx = false}};
  const double high = rate_kbps(encode(encoder, voice, 300));
  encoder.set_target(kbps(10));
  const double low = rate_kbps(encode(encoder, voice, 300));
  EXPECT_LT(low, 0.4 * high);
  encoder.set_target(kbps(1));
  EXPECT_EQ(encoder.target(), kOpusRateMin);
}

TEST(Opus, SilenceNeedsOnlyOccasionalPackets) {
  OpusEncoder encoder;
  Rng rng{3};
  int sent = 0;
  for (int i = 0; i < 500; ++i) {
    AudioFrame frame;
    for (int16_t& sample : frame) {
      sample = static_cast<int16_t>(20.0 * (rng.uniform() - 0.5));
    }
    sent += encoder.encode(frame).is_silence() ? 0 : 1;
  }
  EXPECT_LT(sent, 100);
  EXPECT_GT(sent, 10) << "the background is described anew";
}

TEST(Opus, PacketsShowWhetherTheyHoldACopy) {
  SyntheticVoice voice;
  OpusEncoder plain;
  OpusEncoder safe;
  safe.set_expected_loss(0.1);
  int plain_copies = 0;
  int copies = 0;
  int active = 0;
  for (uint64_t i = 0; i < 600; ++i) {
    plain_copies += plain.encode(voice.frame(i)).info.has_fec ? 1 : 0;
    const CodedSound coded = safe.encode(voice.frame(i));
    copies += coded.info.has_fec ? 1 : 0;
    active += coded.info.active ? 1 : 0;
  }
  EXPECT_EQ(plain_copies, 0);
  EXPECT_GT(copies, active / 2);
}

TEST(Opus, CopyIsCloserToTheLostFrameThanConcealment) {
  SyntheticVoice voice;
  OpusEncoder encoder{{.target = kbps(32), .dtx = false}};
  encoder.set_expected_loss(0.2);
  const std::vector<CodedSound> coded = encode(encoder, voice, 600);
  double error_of_copies = 0;
  double error_concealed = 0;
  for (size_t lost = 10; lost + 1 < coded.size(); lost += 10) {
    if (!coded[lost + 1].info.has_fec || !coded[lost].info.active) {
      continue;
    }
    OpusDecoder truth;
    OpusDecoder with_copy;
    OpusDecoder without;
    for (size_t i = lost - 10; i < lost; ++i) {
      for (OpusDecoder* decoder : {&truth, &with_copy, &without}) {
        ASSERT_TRUE(decoder->decode(coded[i].data));
      }
    }
    const AudioFrame right = *truth.decode(coded[lost].data);
    const auto copy = with_copy.decode_fec(coded[lost + 1].data);
    ASSERT_TRUE(copy);
    const AudioFrame concealed = without.conceal();
    for (size_t i = 0; i < right.size(); ++i) {
      error_of_copies += std::pow((*copy)[i] - right[i], 2);
      error_concealed += std::pow(concealed[i] - right[i], 2);
    }
  }
  EXPECT_GT(error_concealed, 0.0);
  EXPECT_LT(error_of_copies, 0.5 * error_concealed);
}

TEST(Opus, ConcealmentFadesOut) {
  OpusEncoder encoder{{.dtx = false}};
  OpusDecoder decoder;
  AudioFrame last{};
  for (uint64_t i = 0; i < 20; ++i) {
    last = *decoder.decode(encoder.encode(tone(i)).data);
  }
  EXPECT_GT(energy(decoder.conceal()), 0.3 * energy(last));
  AudioFrame later{};
  for (int i = 0; i < 50; ++i) {
    later = decoder.conceal();
  }
  EXPECT_LT(energy(later), 0.05 * energy(last));
}

TEST(Opus, HostilePacketsGiveAnErrorAndTheNextGoodOneDecodes) {
  OpusEncoder encoder{{.dtx = false}};
  OpusDecoder decoder;
  const std::vector<std::byte> good = encoder.encode(tone(0)).data;
  EXPECT_EQ(decoder.decode({}).error(), OpusError::kEmpty);
  EXPECT_EQ(decoder.decode(std::vector<std::byte>(kOpusPacketMax + 1)).error(),
            OpusError::kTooLarge);
  EXPECT_EQ(decoder.decode(std::vector<std::byte>(20)).error(), OpusError::kNotOneFrame)
      << "10 ms of narrowband";
  EXPECT_EQ(decoder.decode_fec(good).error(), OpusError::kNoFec);
  Rng rng{9};
  int decoded = 0;
  for (int i = 0; i < 3'000; ++i) {
    std::vector<std::byte> noise(1 + rng.below(kOpusPacketMax));
    for (std::byte& b : noise) {
      b = static_cast<std::byte>(rng.below(256));
    }
    decoded += decoder.decode(noise).has_value() ? 1 : 0;
    decoded += decoder.decode_fec(noise).has_value() ? 1 : 0;
  }
  EXPECT_GT(decoded, 0) << "Opus makes sound of most packets of the right shape";
  EXPECT_LT(decoded, 2'000);
  EXPECT_TRUE(decoder.decode(good));
}

TEST(Opus, AfterAResetADecoderIsAsNew) {
  OpusEncoder encoder{{.dtx = false}};
  OpusDecoder used;
  ASSERT_TRUE(used.decode(encoder.encode(tone(0)).data));
  used.reset();
  const CodedSound next = encoder.encode(tone(1));
  EXPECT_EQ(*used.decode(next.data), *OpusDecoder{}.decode(next.data));
}

}  // namespace
}  // namespace cress::media
