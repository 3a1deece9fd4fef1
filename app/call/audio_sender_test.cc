#include "app/call/audio_sender.hh"

#include <gtest/gtest.h>

#include "media/codec/opus_packet.hh"
#include "media/source/audio_synthetic_voice.hh"

namespace cress::app {
namespace {

constexpr DataRate kbps(int64_t rate) { return DataRate::kilobits_per_second(rate); }

TimePoint end_of(uint64_t frame) {
  return kTimeZero + static_cast<int64_t>(frame + 1) * media::kAudioFrameLength;
}

double rate_kbps(AudioSender& sender, uint64_t frames) {
  media::SyntheticVoice voice;
  const DataSize before = sender.stats().bytes;
  for (uint64_t i = 0; i < frames; ++i) {
    (void)sender.capture(end_of(sender.stats().frames), voice.frame(i));
  }
  return static_cast<double>((sender.stats().bytes - before).bits()) /
         (20.0 * static_cast<double>(frames));
}

TEST(SoundRate, SpeechHasPriorityOnEveryLink) {
  EXPECT_EQ(sound_rate(kbps(0)), kbps(8));
  EXPECT_EQ(sound_rate(kbps(100)), kbps(20));
  EXPECT_EQ(sound_rate(kbps(240)), kSoundRateMax);
  EXPECT_EQ(sound_rate(kbps(960)), kSoundRateMax);
  EXPECT_EQ(sound_rate(kbps(1'500)), kbps(75));
  EXPECT_EQ(sound_rate(kbps(5'000)), kCopiedSoundRateMax);
  for (int64_t link = 0; link < 1'000; link += 10) {
    EXPECT_LE(sound_rate(kbps(link)), sound_rate(kbps(link + 10)));
  }
}

TEST(AudioSender, MessagesCarryTheirCaptureTime) {
  media::SyntheticVoice voice;
  AudioSender sender;
  const auto message = sender.capture(kTimeZero + 20ms, voice.frame(0));
  ASSERT_TRUE(message);
  const auto parsed = media::parse_sound(*message);
  ASSERT_TRUE(parsed);
  // A decoder's first output was captured before the frame: the coder looks ahead by 6.5 ms.
  EXPECT_EQ(parsed->captured, kTimeZero - 6'500us);
  EXPECT_EQ(parsed->sequence, 0U);
}

TEST(AudioSender, FollowsTheRateItIsGivenBetweenItsBounds) {
  AudioSender sender;
  sender.set_rate(kbps(48));
  const double high = rate_kbps(sender, 600);
  sender.set_rate(kbps(12));
  const double low = rate_kbps(sender, 600);
  EXPECT_LT(high, 48 + 4);
  EXPECT_LT(low, 12 + 4);
  EXPECT_LT(low, 0.5 * high);
  sender.set_rate(kbps(1));
  EXPECT_EQ(sender.rate(), kSoundRateMin);
  sender.set_rate(kbps(500));
  EXPECT_EQ(sender.rate(), kCopiedSoundRateMax);
}

TEST(AudioSender, SilenceIsReportedTwiceAndThenFiveTimesASecond) {
  AudioSender sender;
  const media::AudioFrame nothing{};
  int marks = 0;
  int refreshes = 0;
  uint64_t last_told = 0;
  for (uint64_t i = 0; i < 500; ++i) {
    const auto message = sender.capture(end_of(i), nothing);
    if (!message) {
      continue;
    }
    const auto parsed = media::parse_sound(*message);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->sequence, i);
    if (i > 50) {
      EXPECT_TRUE(parsed->silence);
      EXPECT_LE(i - last_told, 10U) << "200 ms";
      (parsed->payload.empty() ? marks : refreshes) += 1;
    }
    last_told = i;
  }
  EXPECT_GT(marks, 20);
  EXPECT_GT(refreshes, 10);
  EXPECT_LT(marks + refreshes, 100);
}

TEST(AudioSender, FirstAudioAfterSilenceIsMarked) {
  media::SyntheticVoice voice;
  AudioSender sender;
  bool was_silent = false;
  int beginnings = 0;
  for (uint64_t i = 0; i < 1'200; ++i) {
    const auto message = sender.capture(end_of(i), voice.frame(i));
    if (!message) {
      was_silent = true;
      continue;
    }
    const auto parsed = media::parse_sound(*message);
    ASSERT_TRUE(parsed);
    if (!parsed->silence) {
      EXPECT_EQ(parsed->after_silence, was_silent) << i;
      beginnings += parsed->after_silence ? 1 : 0;
    }
    was_silent = parsed->silence;
  }
  EXPECT_GT(beginnings, 3);
}

TEST(AudioSender, LossTurnsOnFecAndCopiesOnlyWhereTheRateAllows) {
  for (const int64_t rate : {12, 48}) {
    media::SyntheticVoice voice;
    AudioSender sender;
    sender.set_rate(kbps(rate));
    sender.handle_loss(0.1);
    int fec = 0;
    for (uint64_t i = 0; i < 600; ++i) {
      const auto message = sender.capture(end_of(i), voice.frame(i));
      if (message) {
        const auto parsed = media::parse_sound(*message);
        ASSERT_TRUE(parsed);
        const auto info = media::inspect_opus(parsed->payload);
        fec += info && info->has_fec ? 1 : 0;
      }
    }
    EXPECT_EQ(sender.sends_copies(), rate == 48);
    EXPECT_EQ(sender.stats().copies > 300, rate == 48);
    if (rate == 48) {
      EXPECT_GT(fec, 150);
    }
    EXPECT_LT(static_cast<double>(sender.stats().bytes.bits()) / 12'000.0,
              static_cast<double>(rate) + 5);
  }
}

TEST(AudioSender, CopiesThatCostNothingBeginAtAHundredthLost) {
  AudioSender sender;
  sender.set_rate(kCopiedSoundRateMax);
  sender.handle_loss(0.009);
  EXPECT_FALSE(sender.sends_copies());
  sender.handle_loss(0.011);
  EXPECT_TRUE(sender.sends_copies());
  for (int i = 0; i < 3; ++i) {
    sender.handle_loss(0);  // 0.0088, 0.0070, 0.0056
    EXPECT_TRUE(sender.sends_copies());
  }
  sender.handle_loss(0);
  EXPECT_FALSE(sender.sends_copies());
  sender.set_rate(kCopiedSoundRateMax - kbps(1));
  sender.handle_loss(0.07);
  EXPECT_FALSE(sender.sends_copies()) << "they would cost the audio itself";
  sender.handle_loss(0.08);
  EXPECT_TRUE(sender.sends_copies());
}

TEST(AudioSender, TheAudioItselfNeverHasMoreThanItsMost) {
  for (const double loss : {0.0, 0.02}) {
    media::SyntheticVoice voice;
    AudioSender sender;
    sender.set_rate(kCopiedSoundRateMax);
    sender.handle_loss(loss);
    DataSize payloads;
    for (uint64_t i = 0; i < 600; ++i) {
      if (const auto message = sender.capture(end_of(i), voice.frame(i))) {
        payloads += DataSize{static_cast<int64_t>(media::parse_sound(*message)->payload.size())};
      }
    }
    EXPECT_LT(payloads, (kSoundRateMax + kbps(4)) * 12s);
    EXPECT_EQ(sender.stats().copies > 300, loss > 0);
  }
}

TEST(AudioSender, CopiesEqualTheirOriginalFrames) {
  media::SyntheticVoice voice;
  AudioSender sender;
  sender.set_rate(kbps(48));
  sender.handle_loss(0.2);
  std::vector<media::SoundMessage> sent(300);
  int compared = 0;
  for (uint64_t i = 0; i < sent.size(); ++i) {
    if (const auto message = sender.capture(end_of(i), voice.frame(i))) {
      sent[i] = *media::parse_sound(*message);
      if (!sent[i].copy.empty()) {
        EXPECT_EQ(sent[i].copy, sent[i - sent[i].copy_distance].payload);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 100);
}

TEST(AudioSender, CopiesStartAtEightPercentLossAndStopBelowFive) {
  AudioSender sender;
  sender.set_rate(kbps(48));
  const auto settle = [&sender](double share) {
    for (int i = 0; i < 100; ++i) {
      sender.handle_loss(share);
    }
    return sender.sends_copies();
  };
  EXPECT_FALSE(settle(0.0799));
  EXPECT_TRUE(settle(0.08));
  EXPECT_TRUE(settle(0.051)) << "what has begun goes on with less";
  EXPECT_FALSE(settle(0.0499));
  EXPECT_FALSE(settle(0.0799)) << "and does not begin again before it is needed";
}

TEST(AudioSender, CopiesNeedThirtyTwoKilobits) {
  AudioSender sender;
  sender.handle_loss(0.3);
  EXPECT_FALSE(sender.sends_copies()) << "it begins with 24";
  sender.set_rate(DataRate::bits_per_second(31'999));
  EXPECT_FALSE(sender.sends_copies());
  sender.set_rate(kbps(32));
  EXPECT_TRUE(sender.sends_copies());
  sender.set_rate(DataRate::bits_per_second(31'999));
  EXPECT_FALSE(sender.sends_copies());
}

TEST(AudioSender, ACopyIsTheFrameBeforeTheLastAndNeverSilence) {
  media::SyntheticVoice voice;
  AudioSender sender;
  sender.set_rate(kbps(48));
  sender.handle_loss(0.2);
  std::vector<bool> spoken;
  for (uint64_t i = 0; i < 1'200; ++i) {
    const uint64_t silent = sender.stats().silent;
    const auto message = sender.capture(end_of(i), voice.frame(i));
    spoken.push_back(sender.stats().silent == silent);
    if (message) {
      const auto parsed = media::parse_sound(*message);
      ASSERT_TRUE(parsed);
      ASSERT_EQ(!parsed->copy.empty(), i >= 2 && spoken[i - 2]) << i;
      ASSERT_TRUE(parsed->copy.empty() || parsed->copy_distance == 2);
    }
  }
  EXPECT_GT(sender.stats().silent, 50U);
}

TEST(AudioSender, RisingLossCountsAtOnceAndFallingLossGradually) {
  AudioSender sender;
  sender.handle_loss(0.2);
  EXPECT_EQ(sender.expected_loss(), 0.2);
  sender.handle_loss(0.0);
  EXPECT_NEAR(sender.expected_loss(), 0.16, 1e-9);
  for (int i = 0; i < 30; ++i) {
    sender.handle_loss(0.0);
  }
  EXPECT_LT(sender.expected_loss(), 0.001);
  EXPECT_FALSE(sender.sends_copies());
}

}  // namespace
}  // namespace cress::app
