#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "transport/base/result.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/room/member_number.hh"

namespace cress::room {

// Messages between a member and the relay on the control flow: docs/protocol/room.md, "Control".
// Values; the Outbox repeats them. Threads: none inside.

/// A control message that begins with this byte or above is a room message; one below it is a call
/// message.
inline constexpr std::byte kRoomMessageByte{16};
inline constexpr size_t kCardSizeMax = 672;
inline constexpr size_t kProofSizeMax = 875;
inline constexpr size_t kShareSizeMax = 64;
inline constexpr size_t kSharesMax = 10;
inline constexpr size_t kChatSizeMax = 997;
inline constexpr size_t kRoomNameSizeMax = 64;
inline constexpr int kPresentMax = 64;
/// Bounds on a request for video: the number of members listed and the frame height; larger values
/// are clamped.
inline constexpr uint32_t kPicturesMax = 64;
inline constexpr uint32_t kHeightMax = 4320;
/// Of the epochs of a room's keys (docs/protocol/security.md, "Rooms").
inline constexpr uint32_t kEpochMax = 65'535;
/// The longest time for which a member may be asked to stay away.
inline constexpr Duration kAgainInMax = 24h;

// From a member to the relay.

/// A member's identity, sealed for the other members.
struct Card {
  uint32_t revision = 0;  ///< from 1; 0: no card yet
  std::vector<std::byte> sealed{};
  friend bool operator==(const Card&, const Card&) = default;
};
/// Which members' video this member requests.
struct View {
  uint32_t revision = 0;
  MemberNumber pinned = kNobody;
  uint32_t pictures = 0;  ///< number at the same time, at most kPicturesMax
  uint32_t height = 0;    ///< of the tallest frame, pixels, at most kHeightMax
  friend bool operator==(const View&, const View&) = default;
};
/// No video of that member can be displayed before a key frame.
struct KeyFrameWanted {
  MemberNumber of = kNobody;
  friend bool operator==(const KeyFrameWanted&, const KeyFrameWanted&) = default;
};
struct Leaving {
  friend bool operator==(const Leaving&, const Leaving&) = default;
};
/// The members whose presence this member has verified: its media goes to them and to nobody else.
struct Audience {
  uint32_t revision = 0;                ///< from 1
  std::vector<MemberNumber> members{};  ///< at most kPresentMax
  friend bool operator==(const Audience&, const Audience&) = default;
};
/// Known to one member and the relay; all zero: none.
using PresenceToken = std::array<std::byte, 16>;
/// This member was in the room before, under that number, which ends.
struct Replacing {
  MemberNumber number = kNobody;
  PresenceToken token{};
  friend bool operator==(const Replacing&, const Replacing&) = default;
};
/// A member's secret, sealed for one other member.
struct Share {
  MemberNumber to = kNobody;
  std::vector<std::byte> bytes{};
  friend bool operator==(const Share&, const Share&) = default;
};
struct Shares {
  uint32_t serial = 0;          ///< each is another message: none replaces the one before
  std::vector<Share> shares{};  ///< at most kSharesMax
  friend bool operator==(const Shares&, const Shares&) = default;
};
/// A member's signature of frames that it sent, for those who received them.
struct Proof {
  uint32_t serial = 0;    ///< each is another message: none replaces the one before
  bool of_video = false;  ///< else of audio
  std::vector<std::byte> bytes{};
  friend bool operator==(const Proof&, const Proof&) = default;
};
/// A line of chat, sealed for the other members and signed.
struct Chat {
  uint32_t serial = 0;  ///< each is another message: none replaces the one before
  std::vector<std::byte> line{};
  friend bool operator==(const Chat&, const Chat&) = default;
};

// From the relay to a member.

struct Welcome {
  MemberNumber number = kNobody;
  uint32_t members_max = 0;
  DataRate video_rate_max{};  ///< sent in whole kbit/s
  DataSize datagram_max{};
  std::string room{};  ///< at most kRoomNameSizeMax bytes, as clean_text returns it
  std::vector<MemberNumber> present{};  ///< the members already present; at most kPresentMax
  uint32_t epoch = 0;                   ///< that the room is in; at most kEpochMax
  PresenceToken token{};                ///< for Replacing, after this presence
  friend bool operator==(const Welcome&, const Welcome&) = default;
};
struct MemberNews {
  MemberNumber number = kNobody;
  Card card{};
  friend bool operator==(const MemberNews&, const MemberNews&) = default;
};
enum class LeaveReason : uint8_t { kLeft = 1, kLost = 2, kKicked = 3 };
struct MemberLeft {
  MemberNumber number = kNobody;
  LeaveReason reason = LeaveReason::kLeft;
  uint32_t epoch = 0;  ///< that the room is in since then; at most kEpochMax
  friend bool operator==(const MemberLeft&, const MemberLeft&) = default;
};
struct SpeakerNews {
  uint32_t revision = 0;
  MemberNumber number = kNobody;  ///< kNobody: no one has spoken yet, or the last speaker has left
  friend bool operator==(const SpeakerNews&, const SpeakerNews&) = default;
};
/// Upper bound for the video rate; zero: no member requests the video.
struct VideoRate {
  uint32_t revision = 0;
  DataRate rate{};  ///< sent in whole kbit/s
  friend bool operator==(const VideoRate&, const VideoRate&) = default;
};
enum class FarewellReason : uint8_t {
  kKicked = 1,
  kClosed = 2,
  kExpired = 3,
  kFull = 4,
  kDraining = 5
};
struct Farewell {
  FarewellReason reason = FarewellReason::kClosed;
  Duration again_in{};  ///< sent in whole milliseconds; at most kAgainInMax
  friend bool operator==(const Farewell&, const Farewell&) = default;
};
struct MemberShare {
  MemberNumber number = kNobody;  ///< of its sender
  std::vector<std::byte> bytes{};
  friend bool operator==(const MemberShare&, const MemberShare&) = default;
};
struct MemberProof {
  MemberNumber number = kNobody;
  Proof proof{};
  friend bool operator==(const MemberProof&, const MemberProof&) = default;
};
struct MemberChat {
  MemberNumber number = kNobody;  ///< of its writer
  Chat chat{};
  friend bool operator==(const MemberChat&, const MemberChat&) = default;
};

using RoomMessage = std::variant<Card, View, KeyFrameWanted, Leaving, Audience, Replacing, Welcome,
                                 MemberNews, MemberLeft, SpeakerNews, VideoRate, Farewell, Shares,
                                 MemberShare, Proof, MemberProof, Chat, MemberChat>;

enum class RoomMessageError {
  kNotARoomMessage,  ///< does not begin with kRoomMessageByte
  kMalformed,        ///< not protobuf, or none of the known messages
  kOutOfRange,       ///< a field beyond what the layout allows
};

/// The message with kRoomMessageByte before it. A card, share, proof, line or name beyond its size,
/// or a number, rate or duration that cannot be encoded, is a check failure: it is our own data.
std::vector<std::byte> build_room_message(const RoomMessage& message);
/// Total: any bytes give a message or one error. The members validate the content of a card.
Result<RoomMessage, RoomMessageError> parse_room_message(std::span<const std::byte> bytes);

}  // namespace cress::room
