#include "media/playout/audio_jitter_buffer.hh"

#include <gtest/gtest.h>

#include <chrono>
#include <utility>

#include "transport/base/rng.hh"

namespace cress::media {
namespace {

SoundMessage sound(uint32_t sequence, TimePoint captured) {
  return {.sequence = sequence & kSoundSequenceMask,
          .captured = captured,
          .payload = {std::byte{static_cast<unsigned char>(sequence)}}};
}

/// Frame `n` of a sender that began at time 0, arriving 50 ms after its capture.
void arrive(AudioJitterBuffer& buffer, uint32_t n, Duration delay = 50ms) {
  const TimePoint captured = kTimeZero + n * kSoundFrameLength;
  buffer.handle_message(captured + delay, sound(n, captured), false);
}

TEST(AudioJitterBuffer, HoldsFramesInOrderHoweverTheyArrive) {
  AudioJitterBuffer buffer;
  arrive(buffer, 0);
  arrive(buffer, 3);
  arrive(buffer, 1, 90ms);
  EXPECT_EQ(buffer.first(), 0);
  EXPECT_EQ(buffer.newest(), 3);
  EXPECT_EQ(buffer.find(2), nullptr);
  buffer.drop_before(1);
  EXPECT_EQ(buffer.first(), 1);
  EXPECT_EQ(buffer.capture_time(2), kTimeZero + 40ms);
}

TEST(AudioJitterBuffer, DuplicatesAndLateFramesAreCountedAndIgnored) {
  AudioJitterBuffer buffer;
  arrive(buffer, 0);
  arrive(buffer, 2);
  arrive(buffer, 2, 51ms);
  EXPECT_EQ(buffer.stats().duplicates, 1U);
  buffer.drop_before(3);
  arrive(buffer, 1, 100ms);
  arrive(buffer, 2, 101ms);
  EXPECT_EQ(buffer.stats().late, 1U);
  EXPECT_EQ(buffer.stats().duplicates, 2U);
  EXPECT_EQ(buffer.held(), 0U);
}

TEST(AudioJitterBuffer, ACopyStandsInUntilTheFrameItselfComes) {
  AudioJitterBuffer buffer;
  arrive(buffer, 0);
  SoundMessage message = sound(3, kTimeZero + 60ms);
  message.copy_distance = 2;
  message.copy = {std::byte{99}};
  buffer.handle_message(kTimeZero + 110ms, message, false);
  ASSERT_NE(buffer.find(1), nullptr);
  EXPECT_TRUE(buffer.find(1)->is_copy);
  EXPECT_EQ(buffer.find(1)->payload[0], std::byte{99});
  arrive(buffer, 1, 95ms);
  EXPECT_FALSE(buffer.find(1)->is_copy);
  EXPECT_EQ(buffer.find(1)->payload[0], std::byte{1});
  EXPECT_EQ(buffer.stats().duplicates, 0U);
}

TEST(AudioJitterBuffer, TheTargetWaitsForCopiesWhereManyAreNeeded) {
  for (const double loss : {0.0, 0.2}) {
    AudioJitterBuffer buffer;
    Rng rng{1};
    for (uint32_t n = 0; n < 1'000; ++n) {
      if (n == 0 || !rng.chance(loss)) {
        const TimePoint captured = kTimeZero + n * kSoundFrameLength;
        buffer.handle_message(captured + 51ms, sound(n, captured), true);
      }
      buffer.drop_before(n);
    }
    // 51 ms, and with losses 20 ms until the next message.
    EXPECT_GE(buffer.target(), loss > 0 ? 71ms : 60ms);
    EXPECT_LE(buffer.target(), loss > 0 ? 90ms : 65ms);
  }
}

TEST(AudioJitterBuffer, SequenceNumbersWrap) {
  AudioJitterBuffer buffer;
  for (uint32_t i = 0; i < 100; ++i) {
    const TimePoint captured = kTimeZero + i * kSoundFrameLength;
    buffer.handle_message(captured + 50ms, sound(kSoundSequenceMask - 50 + i, captured), false);
    ASSERT_EQ(*buffer.newest() - *buffer.first(), i);
  }
}

TEST(AudioJitterBuffer, HoldsABoundedNumberAndTheNewest) {
  AudioJitterBuffer buffer;
  for (uint32_t n = 0; n < 1'000; ++n) {
    arrive(buffer, n);
  }
  EXPECT_EQ(buffer.held(), AudioJitterBuffer::kHeldMax);
  EXPECT_EQ(buffer.newest(), 999);
  EXPECT_EQ(buffer.stats().overflowed, 1'000 - AudioJitterBuffer::kHeldMax);
}

TEST(AudioJitterBuffer, RestartedSenderIsFollowedFromItsSecondMessage) {
  AudioJitterBuffer buffer;
  for (uint32_t n = 0; n < 3'000; ++n) {
    arrive(buffer, n);
    buffer.drop_before(n);
  }
  const TimePoint now = kTimeZero + 61s;
  buffer.handle_message(now, sound(0, kTimeZero), false);  // its clock restarted, too
  EXPECT_EQ(buffer.stream(), 1U);
  buffer.handle_message(now + 20ms, sound(1, kTimeZero + 20ms), false);
  EXPECT_EQ(buffer.stream(), 2U);
  EXPECT_EQ(buffer.first(), 0);
  EXPECT_EQ(buffer.held(), 2U);
  EXPECT_LT(buffer.target(), 61s + 60ms) << "by the new clock";
}

TEST(AudioJitterBuffer, AnOutageOfHalfAMinuteIsTheSameStream) {
  AudioJitterBuffer buffer;
  arrive(buffer, 0);
  arrive(buffer, 1'500);
  EXPECT_EQ(buffer.stream(), 1U);
  EXPECT_EQ(buffer.newest(), 1'500);
}

TEST(AudioJitterBuffer, LoneStrangersChangeNothing) {
  AudioJitterBuffer buffer;
  Rng rng{7};
  for (uint32_t n = 0; n < 500; ++n) {
    arrive(buffer, n);
    buffer.drop_before(n);
    const TimePoint now = kTimeZero + n * kSoundFrameLength + 50ms;
    buffer.handle_message(
        now, sound(static_cast<uint32_t>(rng.next()), now + from_seconds(rng.uniform(10, 1000))),
        false);
  }
  EXPECT_EQ(buffer.stream(), 1U);
  EXPECT_EQ(buffer.stats().strangers, 500U);
}

/// Fifty frames in order, 50 ms after their capture.
AudioJitterBuffer after_fifty_frames() {
  AudioJitterBuffer buffer;
  for (uint32_t n = 0; n < 50; ++n) {
    arrive(buffer, n);
  }
  return buffer;
}

TEST(AudioJitterBuffer, AClockMayBeOffByASecond) {
  for (const Duration sign : {1us, -1us}) {
    for (const auto& [off, strangers] :
         {std::pair<int64_t, uint64_t>{1'000'000, 0}, {1'000'001, 1}}) {
      AudioJitterBuffer buffer = after_fifty_frames();
      const TimePoint captured = kTimeZero + 1s + off * sign;
      buffer.handle_message(kTimeZero + 3s, sound(50, captured), false);
      EXPECT_EQ(buffer.stats().strangers, strangers) << off * sign.count();
    }
  }
}

TEST(AudioJitterBuffer, FrameASecondFasterThanTheFastestIsAStranger) {
  // The fastest so far took 50 ms.
  for (const auto& [delay, strangers] : {std::pair<Duration, uint64_t>{-950ms, 0}, {-951ms, 1}}) {
    AudioJitterBuffer buffer = after_fifty_frames();
    arrive(buffer, 100, delay);
    EXPECT_EQ(buffer.stats().strangers, strangers) << to_milliseconds(delay);
  }
}

TEST(AudioJitterBuffer, FramesOlderThanFiveSecondsAreStrangers) {
  for (const auto& [back, strangers] : {std::pair<uint32_t, uint64_t>{250, 0}, {251, 1}}) {
    AudioJitterBuffer buffer;
    arrive(buffer, 1'000);
    arrive(buffer, 1'000 - back, 6s);
    EXPECT_EQ(buffer.stats().strangers, strangers) << back;
    EXPECT_EQ(buffer.stats().late, 1 - strangers) << back;
  }
}

TEST(AudioJitterBuffer, TwoStrangersThatDisagreeAreNoNewSender) {
  struct Second {
    const char* what;
    uint32_t ahead;
    Duration later;
    bool begins;
  };
  for (const Second& second : {Second{"the same number", 0, 0ms, false},
                               {"the next", 1, 20ms, true},
                               {"as far ahead as may be", 250, 5s, true},
                               {"too far ahead", 251, 5'020ms, false},
                               {"before", kSoundSequenceMask, -20ms, false},
                               {"a second late", 1, 1'020ms, true},
                               {"later", 1, 1'021ms, false},
                               {"a second early", 1, -980ms, true},
                               {"earlier", 1, -981ms, false}}) {
    SCOPED_TRACE(second.what);
    AudioJitterBuffer buffer = after_fifty_frames();
    const TimePoint now = kTimeZero + 100s;
    buffer.handle_message(now, sound(500'000, kTimeZero), false);
    buffer.handle_message(now + 1ms, sound(500'000 + second.ahead, kTimeZero + second.later),
                          false);
    EXPECT_EQ(buffer.stream(), second.begins ? 2U : 1U);
    EXPECT_EQ(buffer.stats().restarts, second.begins ? 1U : 0U);
    EXPECT_EQ(buffer.stats().strangers, 2U);
  }
}

TEST(AudioJitterBuffer, AMessageOfTheStreamSeparatesTwoStrangers) {
  AudioJitterBuffer buffer = after_fifty_frames();
  const TimePoint now = kTimeZero + 1'100ms;
  buffer.handle_message(now, sound(500'000, kTimeZero + 1h), false);
  arrive(buffer, 60);
  buffer.handle_message(now + 200ms, sound(500'001, kTimeZero + 1h + 20ms), false);
  EXPECT_EQ(buffer.stream(), 1U);
}

TEST(AudioJitterBuffer, ABurstAfterAnOutageIsHardlyLearntFrom) {
  AudioJitterBuffer buffer = after_fifty_frames();
  EXPECT_EQ(buffer.target(), Duration{60ms});
  for (uint32_t n = 50; n < 150; ++n) {  // two seconds of frames at once
    arrive(buffer, n, 50ms + (150 - n) * kSoundFrameLength);
  }
  EXPECT_EQ(buffer.target(), Duration{60ms}) << "15 frames, all of them too late for any bin";
  for (uint32_t n = 150; n < 650; ++n) {
    arrive(buffer, n, 152ms);
  }
  EXPECT_GT(buffer.target(), Duration{150ms}) << "what comes in its time is learnt from in full";
}

TEST(AudioJitterBuffer, FifteenFramesOfABurstAreLearntFrom) {
  // Until 25 delays are known the target keeps a margin of its own: it shows how many were learnt.
  for (const uint32_t known : {9U, 10U}) {
    AudioJitterBuffer buffer;
    for (uint32_t n = 0; n < known; ++n) {
      arrive(buffer, n);
    }
    const Duration first = buffer.target();
    const TimePoint captured = kTimeZero + 480 * kSoundFrameLength;
    for (uint32_t n = 480; n < 580; ++n) {
      buffer.handle_message(captured + 50ms, sound(n, captured), false);
    }
    EXPECT_EQ(buffer.target() == first, known == 9) << known;
  }
}

TEST(AudioJitterBuffer, ACopyInsideAPacketCountsUnlessItFollowsSilence) {
  for (const bool after_silence : {false, true}) {
    AudioJitterBuffer buffer;
    for (uint32_t n = 0; n < 600; n += 2) {  // every other message is lost
      SoundMessage message = sound(n, kTimeZero + n * kSoundFrameLength);
      message.after_silence = after_silence;
      buffer.handle_message(message.captured + 51ms, message, true);
      buffer.drop_before(n);
    }
    EXPECT_EQ(buffer.target(), after_silence ? Duration{60ms} : Duration{75ms});
  }
}

TEST(AudioJitterBuffer, ACopyIsNotHeldWhereTheFrameIsOrItsTimeIsOver) {
  AudioJitterBuffer buffer;
  for (uint32_t n = 0; n < 4; ++n) {
    arrive(buffer, n);
  }
  buffer.drop_before(2);
  for (const uint32_t n : {3U, 4U}) {
    SoundMessage message = sound(n, kTimeZero + n * kSoundFrameLength);
    message.copy_distance = 3;
    message.copy = {std::byte{99}};
    buffer.handle_message(kTimeZero + 130ms, message, false);
  }
  EXPECT_EQ(buffer.find(1), nullptr) << "over";
  EXPECT_EQ(buffer.stats().late, 0U) << "and no message was late";
  SoundMessage message = sound(5, kTimeZero + 100ms);
  message.copy_distance = 3;
  message.copy = {std::byte{99}};
  buffer.handle_message(kTimeZero + 150ms, message, false);
  EXPECT_FALSE(buffer.find(2)->is_copy) << "the frame itself is there";
  EXPECT_EQ(buffer.find(2)->captured, kTimeZero + 40ms);
}

TEST(AudioJitterBuffer, ACopyOfTheNextFrameToBePlayedIsHeld) {
  AudioJitterBuffer buffer;
  arrive(buffer, 0);
  buffer.drop_before(1);
  SoundMessage message = sound(4, kTimeZero + 80ms);
  message.copy_distance = 3;
  message.copy = {std::byte{99}};
  buffer.handle_message(kTimeZero + 130ms, message, false);
  ASSERT_NE(buffer.find(1), nullptr);
  EXPECT_EQ(buffer.find(1)->captured, kTimeZero + 20ms);
}

TEST(AudioJitterBuffer, AFrameBeforeTheFirstIsLateWhateverItsNumber) {
  AudioJitterBuffer buffer;
  arrive(buffer, 0);
  buffer.handle_message(kTimeZero + 60ms, sound(kSoundSequenceMask, kTimeZero - 20ms), false);
  EXPECT_EQ(buffer.stats().late, 1U);
  EXPECT_EQ(buffer.first(), 0);
  EXPECT_EQ(buffer.newest(), 0);
  EXPECT_EQ(buffer.capture_time(-1), kTimeZero - 20ms);
}

TEST(AudioJitterBuffer, TheNewestFrameTiesNumbersToTheClock) {
  AudioJitterBuffer buffer = after_fifty_frames();
  buffer.handle_message(kTimeZero + 1'100ms, sound(40, kTimeZero + 1s), false);
  EXPECT_EQ(buffer.capture_time(49), kTimeZero + 980ms);
}

TEST(AudioJitterBuffer, RelearningBeginsWithTheDelayGiven) {
  AudioJitterBuffer buffer = after_fifty_frames();
  buffer.relearn(400ms);
  EXPECT_EQ(buffer.target(), Duration{430ms});
}

}  // namespace
}  // namespace cress::media
