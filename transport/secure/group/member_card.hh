#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/base/result.hh"

namespace cress::secure {

/// One presence of one member: drawn anew at each join, so that no two joins share a key.
using InstanceId = std::array<std::byte, 16>;
/// The first bytes of an instance: nobody's by chance (2^-64).
using CardGreeting = std::array<std::byte, 8>;

/// What fits beside keys in a card: a name, whether the microphone is open.
inline constexpr size_t kCardBodyMax = 128;
inline constexpr size_t kCardSizeMax = 512;
/// How many others a card has place to greet, and so how many there may be in a room.
inline constexpr size_t kRoomOthersMax = 40;
inline constexpr uint32_t kEpochMax = 65'535;

enum class CardError {
  kTruncated,
  kTooLong,
  kBadVersion,
  kBadTag,       ///< not of somebody with the room's link, or changed on the way
  kMalformed,    ///< authentic, but not to be read
  kWrongMember,  ///< of another member than the relay says
  kOwn,          ///< our own, come back, or under our own number
  kOver,         ///< of a presence that is over
  kStale,        ///< an older card than the one that is known
  kFull,         ///< more than kRoomOthersMax
};

/// The sealed part of a card (docs/protocol/wire.md, "Member cards").
struct CardText {
  uint16_t member = 0;
  uint32_t epoch = 0;                   ///< at most kEpochMax
  std::vector<CardGreeting> greetings;  ///< at most kRoomOthersMax
  std::vector<std::byte> body;          ///< at most kCardBodyMax
  friend bool operator==(const CardText&, const CardText&) = default;
};

/// Appends.
void append_card_text(const CardText& text, std::vector<std::byte>& out);
/// Total: kMalformed unless it is what append_card_text writes.
Result<CardText, CardError> parse_card_text(std::span<const std::byte> bytes);

}  // namespace cress::secure
