#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/base/units.hh"
#include "transport/room/member_number.hh"

namespace cress::room {

// The heads of audio and video messages in a room: docs/protocol/room.md, "A leg" and "Audio".
// Values and pure functions; spans are borrowed from the message. Threads: none inside.

/// Before every sound and video message: the number of the member who recorded it.
inline constexpr DataSize kMemberHeadSize{2};
/// A datagram that fits one leg fits them all.
inline constexpr DataSize kLegDatagramMax{1200};

struct MemberMessage {
  MemberNumber member = kNobody;
  std::span<const std::byte> body;
};
/// Nothing: too short. Upwards the number means nothing.
std::optional<MemberMessage> parse_member_message(std::span<const std::byte> message);
/// Writes the number over the head of a message that has one.
void set_member(std::span<std::byte> message, MemberNumber member);
std::vector<std::byte> build_member_message(MemberNumber member, std::span<const std::byte> body);

/// How loud a frame of sound is: -dBov of its loudest sample (RFC 6464 §3), 0 loudest.
inline constexpr uint8_t kSilentLevel = 127;
/// The head of a sound message that is told in the clear (docs/protocol/media.md, "Audio").
inline constexpr DataSize kSoundClearSize{10};

struct SoundBody {
  uint8_t level = kSilentLevel;       ///< 0..kSilentLevel
  std::span<const std::byte> clear;   ///< kSoundClearSize bytes: version, sequence, capture time
  std::span<const std::byte> sealed;  ///< the rest, by SFrame; not empty
};
/// The body of a message of the sound flow. Nothing: too short, or a level that is none.
std::optional<SoundBody> parse_sound_body(std::span<const std::byte> body);
/// The level and the clear head are what is authenticated with the sealed rest.
std::vector<std::byte> build_sound_body(const SoundBody& body);

}  // namespace cress::room
