#include "media/playout/audio_message.hh"

#include "transport/base/big_endian.hh"
#include "transport/base/check.hh"

namespace cress::media {
namespace {

// docs/protocol/media.md, "Audio": offsets in bytes, all numbers big-endian.
constexpr size_t kVersionAndFlagsAt = 0;
constexpr size_t kSequenceAt = 1;
constexpr size_t kSequenceBytes = 3;
constexpr size_t kCaptureTimeAt = 4;
constexpr size_t kCaptureTimeBytes = 6;
constexpr size_t kHeaderBytes = 10;
constexpr size_t kCopyHeaderBytes = 2;
static_assert(kSoundHeaderSize == DataSize{kHeaderBytes});
static_assert(kSoundCopyHeaderSize == DataSize{kCopyHeaderBytes});
static_assert(kCaptureTimeAt + kCaptureTimeBytes == kHeaderBytes);
static_assert(kSequenceAt + kSequenceBytes == kCaptureTimeAt);
static_assert(kSoundSequenceBits == 8 * kSequenceBytes);

constexpr unsigned kSilenceFlag = 1;
constexpr unsigned kAfterSilenceFlag = 2;
constexpr unsigned kCopyFlag = 4;
constexpr unsigned kFlagsKnown = kSilenceFlag | kAfterSilenceFlag | kCopyFlag;

TimePoint time_from(uint64_t bits) {
  constexpr unsigned kUnused = 64 - 8 * kCaptureTimeBytes;
  const auto microseconds = static_cast<int64_t>(bits << kUnused) >> kUnused;  // keeps the sign
  return TimePoint{std::chrono::microseconds{microseconds}};
}

}  // namespace

const char* describe(SoundMessageError error) {
  switch (error) {
    case SoundMessageError::kTruncated:
      return "sound message shorter than it says";
    case SoundMessageError::kBadVersion:
      return "sound message of an unknown version";
    case SoundMessageError::kBadFlags:
      return "sound message with a reserved flag";
    case SoundMessageError::kBadCopy:
      return "sound message with an impossible copy";
    case SoundMessageError::kBadPayload:
      return "sound message without a proper frame";
  }
  return "unknown sound message error";
}

Result<SoundMessage, SoundMessageError> parse_sound(std::span<const std::byte> message) {
  if (message.size() < kHeaderBytes) {
    return SoundMessageError::kTruncated;
  }
  const auto first = static_cast<unsigned>(number_at(message, kVersionAndFlagsAt, 1));
  if (first >> 4U != kSoundVersion) {
    return SoundMessageError::kBadVersion;
  }
  const unsigned flags = first & 15U;
  if ((flags & ~kFlagsKnown) != 0) {
    return SoundMessageError::kBadFlags;
  }
  SoundMessage sound;
  sound.silence = (flags & kSilenceFlag) != 0;
  sound.after_silence = (flags & kAfterSilenceFlag) != 0;
  sound.sequence = static_cast<uint32_t>(number_at(message, kSequenceAt, kSequenceBytes));
  sound.captured = time_from(number_at(message, kCaptureTimeAt, kCaptureTimeBytes));
  std::span<const std::byte> rest = message.subspan(kHeaderBytes);
  if ((flags & kCopyFlag) != 0) {
    if (rest.size() < kCopyHeaderBytes) {
      return SoundMessageError::kTruncated;
    }
    sound.copy_distance = static_cast<uint32_t>(number_at(rest, 0, 1));
    const auto length = static_cast<size_t>(number_at(rest, 1, 1));
    rest = rest.subspan(kCopyHeaderBytes);
    if (sound.copy_distance < 1 || sound.copy_distance > kSoundCopyDistanceMax || length == 0) {
      return SoundMessageError::kBadCopy;
    }
    if (rest.size() < length) {
      return SoundMessageError::kTruncated;
    }
    sound.copy.assign(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(length));
    rest = rest.subspan(length);
  }
  if (rest.size() > kSoundPayloadMax || (rest.empty() && !sound.silence)) {
    return SoundMessageError::kBadPayload;
  }
  sound.payload.assign(rest.begin(), rest.end());
  return sound;
}

std::vector<std::byte> format_sound(const SoundMessage& message) {
  const auto microseconds =
      std::chrono::floor<std::chrono::microseconds>(message.captured.time_since_epoch());
  check(microseconds <= kSoundTimeMax && microseconds >= -kSoundTimeMax,
        "format_sound: capture time out of range");
  check(message.sequence <= kSoundSequenceMask, "format_sound: sequence out of range");
  check(message.copy.size() <= kSoundCopyMax && message.payload.size() <= kSoundPayloadMax,
        "format_sound: too large");
  check(message.silence || !message.payload.empty(), "format_sound: sound without a payload");
  std::vector<std::byte> out;
  out.reserve(kHeaderBytes + kCopyHeaderBytes + message.copy.size() + message.payload.size());
  const unsigned flags = (message.silence ? kSilenceFlag : 0U) |
                         (message.after_silence ? kAfterSilenceFlag : 0U) |
                         (message.copy.empty() ? 0U : kCopyFlag);
  append_number(unsigned{kSoundVersion} << 4U | flags, 1, out);
  append_number(message.sequence, kSequenceBytes, out);
  append_number(static_cast<uint64_t>(microseconds.count()), kCaptureTimeBytes, out);
  if (!message.copy.empty()) {
    check(message.copy_distance >= 1 && message.copy_distance <= kSoundCopyDistanceMax,
          "format_sound: copy from too far back");
    append_number(message.copy_distance, 1, out);
    append_number(message.copy.size(), 1, out);
    out.insert(out.end(), message.copy.begin(), message.copy.end());
  }
  out.insert(out.end(), message.payload.begin(), message.payload.end());
  return out;
}

}  // namespace cress::media
