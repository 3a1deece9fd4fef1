#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/base/result.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::media {

/// One message of the audio flow: one frame of 20 ms, or an indication of silence. The layout is
/// drawn in docs/protocol/media.md, "Audio".
inline constexpr uint8_t kSoundVersion = 1;
/// Every message is about one frame of this length.
inline constexpr Duration kSoundFrameLength = 20ms;
inline constexpr DataSize kSoundHeaderSize{10};
/// Header of the copy of an earlier frame: its distance and its length.
inline constexpr DataSize kSoundCopyHeaderSize{2};
inline constexpr uint32_t kSoundSequenceBits = 24;
inline constexpr uint32_t kSoundSequenceMask = (1U << kSoundSequenceBits) - 1;
inline constexpr size_t kSoundCopyMax = 255;
inline constexpr size_t kSoundPayloadMax = 1276;
inline constexpr uint32_t kSoundCopyDistanceMax = 8;
/// Capture times have 48 bits of microseconds, two's complement: plus or minus four years.
inline constexpr Duration kSoundTimeMax = std::chrono::microseconds{(int64_t{1} << 47) - 1};

struct SoundMessage {
  /// Counts captured frames, including silent ones; modulo 2^24.
  uint32_t sequence = 0;
  /// When the microphone captured the first sample that a decoder gives for this frame, on the
  /// sender's clock; whole microseconds.
  TimePoint captured{};
  /// The frame is silence. A payload, if any, describes the background noise.
  bool silence = false;
  /// The frame before this one was silence that was not sent.
  bool after_silence = false;
  /// A copy of the frame `copy_distance` (1..kSoundCopyDistanceMax) before this one; empty if there
  /// is none.
  uint32_t copy_distance = 0;
  std::vector<std::byte> copy{};
  /// The encoded frame; empty only for silence.
  std::vector<std::byte> payload{};
  friend bool operator==(const SoundMessage&, const SoundMessage&) = default;
};

/// Why bytes from the peer are not an audio message.
enum class SoundMessageError {
  kTruncated,   ///< shorter than what it announces
  kBadVersion,  ///< not kSoundVersion
  kBadFlags,    ///< a reserved flag is set
  kBadCopy,     ///< a copy of no bytes, of this frame itself, or from too far back
  kBadPayload,  ///< no payload although it is not silence, a payload that is too large, or not one
                ///< Opus frame of 20 ms
};
const char* describe(SoundMessageError error);

/// Total: any bytes give a message or one error.
Result<SoundMessage, SoundMessageError> parse_sound(std::span<const std::byte> message);
/// The inverse. `message` keeps the bounds above; its capture time is floored to microseconds.
std::vector<std::byte> format_sound(const SoundMessage& message);

}  // namespace cress::media
