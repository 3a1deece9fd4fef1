#include "media/playout/audio_message.hh"

#include <gtest/gtest.h>

#include "transport/base/rng.hh"

namespace cress::media {
namespace {

std::vector<std::byte> random_bytes(Rng& rng, size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& b : bytes) {
    b = static_cast<std::byte>(rng.below(256));
  }
  return bytes;
}

SoundMessage random_message(Rng& rng) {
  SoundMessage message;
  message.sequence = static_cast<uint32_t>(rng.below(kSoundSequenceMask + 1));
  message.captured = TimePoint{std::chrono::microseconds{
      static_cast<int64_t>(rng.below(uint64_t{1} << 47U)) * (rng.chance(0.5) ? 1 : -1)}};
  message.silence = rng.chance(0.3);
  message.after_silence = rng.chance(0.3);
  if (rng.chance(0.5)) {
    message.copy_distance = 1 + static_cast<uint32_t>(rng.below(kSoundCopyDistanceMax));
    message.copy = random_bytes(rng, 1 + rng.below(kSoundCopyMax));
  }
  message.payload = random_bytes(rng, rng.below(kSoundPayloadMax) + (message.silence ? 0 : 1));
  return message;
}

TEST(SoundMessage, EveryMessageComesBackAsItWas) {
  Rng rng{1};
  for (int i = 0; i < 2'000; ++i) {
    const SoundMessage message = random_message(rng);
    const auto parsed = parse_sound(format_sound(message));
    ASSERT_TRUE(parsed) << describe(parsed.error());
    ASSERT_EQ(*parsed, message);
  }
}

TEST(SoundMessage, TruncatedMessagesAreNeverReadBeyondTheirEnd) {
  Rng rng{2};
  SoundMessage message = random_message(rng);
  message.copy_distance = 2;
  message.copy = random_bytes(rng, 30);
  message.silence = false;
  message.payload = random_bytes(rng, 40);
  const std::vector<std::byte> bytes = format_sound(message);
  for (size_t size = 0; size < bytes.size(); ++size) {
    // A copy of its own, so that the sanitizer sees a read beyond it.
    const std::vector<std::byte> piece(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    const auto parsed = parse_sound(piece);
    EXPECT_EQ(parsed.has_value(), size > 10 + 2 + 30) << size;
  }
}

TEST(SoundMessage, ASilentFrameCostsTenBytes) {
  EXPECT_EQ(format_sound({.sequence = 5, .silence = true}).size(), 10U);
}

TEST(SoundMessage, EachFaultHasItsName) {
  std::vector<std::byte> bytes = format_sound(
      {.sequence = 1, .copy_distance = 1, .copy = {std::byte{7}}, .payload = {std::byte{9}}});
  const auto with = [bytes](size_t at, unsigned value) {
    std::vector<std::byte> changed = bytes;
    changed[at] = static_cast<std::byte>(value);
    return parse_sound(changed);
  };
  EXPECT_TRUE(with(0, 0x14));
  EXPECT_EQ(with(0, 0x24).error(), SoundMessageError::kBadVersion);
  EXPECT_EQ(with(0, 0x1C).error(), SoundMessageError::kBadFlags);
  EXPECT_EQ(with(10, 0).error(), SoundMessageError::kBadCopy);
  EXPECT_EQ(with(10, 9).error(), SoundMessageError::kBadCopy);
  EXPECT_EQ(with(11, 0).error(), SoundMessageError::kBadCopy);
  EXPECT_EQ(with(11, 3).error(), SoundMessageError::kTruncated);
  EXPECT_EQ(with(11, 2).error(), SoundMessageError::kBadPayload);
  bytes.resize(9);
  EXPECT_EQ(parse_sound(bytes).error(), SoundMessageError::kTruncated);
}

TEST(SoundMessage, HasTheDocumentedLayout) {
  const std::vector<std::byte> bytes =
      format_sound({.sequence = 0x010203,
                    .captured = TimePoint{std::chrono::microseconds{0x0A0B0C0D0E0F}},
                    .after_silence = true,
                    .copy_distance = 2,
                    .copy = {std::byte{7}, std::byte{8}},
                    .payload = {std::byte{9}}});
  std::vector<int> found;
  for (const std::byte b : bytes) {
    found.push_back(std::to_integer<int>(b));
  }
  EXPECT_EQ(found,
            (std::vector<int>{0x16, 1, 2, 3, 0x0A, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F, 2, 2, 7, 8, 9}));
  EXPECT_EQ(format_sound({.silence = true}).at(0), std::byte{0x11});
}

TEST(SoundMessage, LimitsAreThoseOfTheFormat) {
  std::vector<std::byte> bytes = format_sound(
      {.copy_distance = 8, .copy = {std::byte{7}}, .payload = std::vector<std::byte>(1'276)});
  ASSERT_TRUE(parse_sound(bytes));
  EXPECT_EQ(parse_sound(bytes)->copy_distance, 8U);
  bytes.push_back({});
  EXPECT_EQ(parse_sound(bytes).error(), SoundMessageError::kBadPayload);
  bytes[0] = std::byte{0x18};
  EXPECT_EQ(parse_sound(bytes).error(), SoundMessageError::kBadFlags);
  EXPECT_DEATH(format_sound({.sequence = kSoundSequenceMask + 1, .silence = true}), "sequence");
  EXPECT_DEATH(
      format_sound({.copy_distance = 9, .copy = {std::byte{7}}, .payload = {std::byte{1}}}),
      "too far back");
  EXPECT_DEATH(format_sound({.payload = std::vector<std::byte>(1'277)}), "too large");
  EXPECT_DEATH(format_sound({}), "without a payload");
  EXPECT_DEATH(format_sound({.captured = TimePoint{kSoundTimeMax + 1us}, .silence = true}), "time");
}

}  // namespace
}  // namespace cress::media
