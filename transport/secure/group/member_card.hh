#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/base/result.hh"
#include "transport/secure/crypto/agreement.hh"
#include "transport/secure/crypto/signature.hh"

namespace cress::secure {

/// One presence of one member: random for each join, so that no two joins share a key.
using InstanceId = std::array<std::byte, 16>;
/// The first bytes of an instance: unique except by chance (2^-64).
using CardGreeting = std::array<std::byte, 8>;

/// Space in a card in addition to keys: a name, whether the microphone is open.
inline constexpr size_t kCardBodyMax = 128;
inline constexpr size_t kCardSizeMax = 672;
/// The number of other members that a card can greet, and so the maximum number of others in a
/// room.
inline constexpr size_t kRoomOthersMax = 40;
inline constexpr uint32_t kEpochMax = 65'535;

enum class CardError {
  kTruncated,
  kTooLong,
  kBadVersion,
  kBadTag,        ///< not from a member with the room's link, or modified in transit
  kBadSignature,  ///< not from the owner of the key in it
  kMalformed,     ///< authentic, but it cannot be parsed
  kWrongMember,   ///< from another member than the relay says
  kOwn,           ///< our own card returned to us, or one under our own number
  kOver,          ///< of a presence that has ended
  kStale,         ///< older than the card already known
  kFull,          ///< more than kRoomOthersMax
};

/// The sealed part of a card (docs/protocol/wire.md, "Member cards").
struct CardText {
  uint16_t member = 0;
  PublicKey key{};                      ///< of the member, with which it signs
  AgreementPublic agreement{};          ///< with which others seal secrets for it
  uint64_t next_counter = 0;            ///< of the frame that it seals next
  std::vector<CardGreeting> greetings;  ///< at most kRoomOthersMax
  std::vector<std::byte> body;          ///< at most kCardBodyMax
  Signature signature{};                ///< of everything before it in the card
  friend bool operator==(const CardText&, const CardText&) = default;
};

/// Appends.
void append_card_text(const CardText& text, std::vector<std::byte>& out);
/// Total: kMalformed unless append_card_text wrote it.
Result<CardText, CardError> parse_card_text(std::span<const std::byte> bytes);

}  // namespace cress::secure
