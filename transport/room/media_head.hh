#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/base/units.hh"
#include "transport/room/member_number.hh"

namespace cress::room {

// The headers of audio and video messages in a room: docs/protocol/room.md, "A leg" and "Audio".
// Values and pure functions; spans are borrowed from the message. Threads: none inside.

/// Precedes every audio and video message: the number of the member that recorded it.
inline constexpr DataSize kMemberHeadSize{2};
/// A datagram of this size fits every leg.
inline constexpr DataSize kLegDatagramMax{1200};

struct MemberMessage {
  MemberNumber member = kNobody;
  std::span<const std::byte> body;
};
/// nullopt: too short. From a member to the relay the number has no meaning.
std::optional<MemberMessage> parse_member_message(std::span<const std::byte> message);
/// Overwrites the number in the header of a message that has one.
void set_member(std::span<std::byte> message, MemberNumber member);
std::vector<std::byte> build_member_message(MemberNumber member, std::span<const std::byte> body);

/// Loudness of an audio frame: -dBov of its loudest sample (RFC 6464 §3), 0 is loudest.
inline constexpr uint8_t kSilentLevel = 127;
/// The part of an audio message's header that is not encrypted (docs/protocol/media.md, "Audio").
inline constexpr DataSize kSoundClearSize{10};

struct SoundBody {
  uint8_t level = kSilentLevel;       ///< 0..kSilentLevel
  std::span<const std::byte> clear;   ///< kSoundClearSize bytes: version, sequence, capture time
  std::span<const std::byte> sealed;  ///< the rest, encrypted by SFrame; not empty
};
/// The body of a message of the audio flow. nullopt: too short, or an invalid level.
std::optional<SoundBody> parse_sound_body(std::span<const std::byte> body);
/// The level and the clear header are authenticated together with the sealed rest.
std::vector<std::byte> build_sound_body(const SoundBody& body);

}  // namespace cress::room
