#include "media/playout/audio_jitter_buffer.hh"

#include <gtest/gtest.h>

#include <chrono>

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
    EXPECT_GE(buffer.target(), loss > 0 ? 71ms : 70ms);
    EXPECT_LE(buffer.target(), loss > 0 ? 100ms : 75ms);
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

TEST(AudioJitterBuffer, ASenderThatBeganAnewIsFollowedFromItsSecondMessageOn) {
  AudioJitterBuffer buffer;
  for (uint32_t n = 0; n < 3'000; ++n) {
    arrive(buffer, n);
    buffer.drop_before(n);
  }
  const TimePoint now = kTimeZero + 61s;
  buffer.handle_message(now, sound(0, kTimeZero), false);  // its clock began anew, too
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

}  // namespace
}  // namespace cress::media
