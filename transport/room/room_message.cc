#include "transport/room/room_message.hh"

#include <algorithm>
#include <iterator>
#include <optional>

#include "room.pb.h"
#include "transport/base/check.hh"
#include "transport/base/clean_text.hh"

namespace cress::room {
namespace {

using Parsed = Result<RoomMessage, RoomMessageError>;
constexpr RoomMessageError kOutOfRange = RoomMessageError::kOutOfRange;
// Ten Tbit/s in kbit/s would not fit; such rates do not occur.
constexpr uint32_t kKbpsMax = 1U << 30U;

uint32_t kbps_of(DataRate rate) {
  const int64_t kbps = rate.bits_per_second() / 1000;
  check(kbps >= 0 && kbps <= kKbpsMax, "room message: rate out of range");
  return static_cast<uint32_t>(kbps);
}

std::string to_string(std::span<const std::byte> bytes) {
  check(bytes.size() <= std::max({kCardSizeMax, kProofSizeMax, kChatSizeMax}),
        "room message: too long");
  std::string text(bytes.size(), '\0');
  std::ranges::transform(bytes, text.begin(), [](std::byte b) { return static_cast<char>(b); });
  return text;
}

std::vector<std::byte> to_bytes(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::ranges::transform(text, bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

std::string to_string(const PresenceToken& token) {
  return token == PresenceToken{} ? std::string{} : to_string(std::span{token});
}

/// nullopt: neither a token nor none.
std::optional<PresenceToken> to_token(const std::string& text) {
  PresenceToken token{};
  if (!text.empty() && text.size() != token.size()) {
    return std::nullopt;
  }
  std::ranges::transform(text, token.begin(), [](char c) { return static_cast<std::byte>(c); });
  return token;
}

bool is_number(uint32_t value) { return value > 0 && value <= UINT16_MAX; }

// One overload each way per message: fill() into the oneof, parse() out of it.

void fill(pb::RoomMessage& out, const Card& card) {
  out.mutable_card()->set_revision(card.revision);
  out.mutable_card()->set_sealed(to_string(card.sealed));
}
void fill(pb::RoomMessage& out, const View& view) {
  pb::View& to = *out.mutable_view();
  to.set_revision(view.revision);
  to.set_pinned(view.pinned);
  to.set_pictures(std::min(view.pictures, kPicturesMax));
  to.set_height(std::min(view.height, kHeightMax));
}
void fill(pb::RoomMessage& out, const KeyFrameWanted& wanted) {
  out.mutable_key_frame_request()->set_member(wanted.of);
}
void fill(pb::RoomMessage& out, const Leaving& /*leaving*/) { out.mutable_leave(); }
void fill(pb::RoomMessage& out, const Audience& audience) {
  check(std::ssize(audience.members) <= kPresentMax, "room message: audience too large");
  out.mutable_audience()->set_revision(audience.revision);
  out.mutable_audience()->mutable_members()->Assign(audience.members.begin(),
                                                    audience.members.end());
}
void fill(pb::RoomMessage& out, const Replacing& replacing) {
  out.mutable_replace()->set_member(replacing.number);
  out.mutable_replace()->set_token(to_string(replacing.token));
}
void fill(pb::RoomMessage& out, const Welcome& welcome) {
  check(welcome.room.size() <= kRoomNameSizeMax, "room message: name too long");
  pb::Welcome& to = *out.mutable_welcome();
  to.set_number(welcome.number);
  to.set_members_max(welcome.members_max);
  to.set_video_kbps_max(kbps_of(welcome.video_rate_max));
  to.set_datagram_max(narrow<uint32_t>(welcome.datagram_max.bytes()));
  to.set_room(welcome.room);
  check(std::ssize(welcome.present) <= kPresentMax, "room message: too many present");
  to.set_epoch(welcome.epoch);
  to.set_token(to_string(welcome.token));
  to.mutable_present()->Assign(welcome.present.begin(), welcome.present.end());
}
void fill(pb::RoomMessage& out, const MemberNews& news) {
  pb::Member& to = *out.mutable_member();
  to.set_number(news.number);
  to.set_revision(news.card.revision);
  to.set_sealed(to_string(news.card.sealed));
}
void fill(pb::RoomMessage& out, const MemberLeft& left) {
  out.mutable_left()->set_number(left.number);
  out.mutable_left()->set_reason(static_cast<uint32_t>(left.reason));
  out.mutable_left()->set_epoch(left.epoch);
}
void fill(pb::RoomMessage& out, const SpeakerNews& news) {
  out.mutable_speaker()->set_revision(news.revision);
  out.mutable_speaker()->set_number(news.number);
}
void fill(pb::RoomMessage& out, const VideoRate& rate) {
  out.mutable_video_rate()->set_revision(rate.revision);
  out.mutable_video_rate()->set_kbps(kbps_of(rate.rate));
}
void fill(pb::RoomMessage& out, const Farewell& farewell) {
  check(farewell.again_in >= Duration{} && farewell.again_in <= kAgainInMax,
        "room message: time out of range");
  out.mutable_farewell()->set_reason(static_cast<uint32_t>(farewell.reason));
  out.mutable_farewell()->set_again_ms(static_cast<uint32_t>(
      std::chrono::floor<std::chrono::milliseconds>(farewell.again_in).count()));
}
void fill(pb::RoomMessage& out, const Shares& shares) {
  check(shares.shares.size() <= kSharesMax, "room message: too many shares");
  out.mutable_shares()->set_serial(shares.serial);
  for (const Share& share : shares.shares) {
    pb::Share& to = *out.mutable_shares()->add_shares();
    to.set_to(share.to);
    to.set_share(to_string(share.bytes));
  }
}
void fill(pb::RoomMessage& out, const MemberShare& share) {
  out.mutable_member_share()->set_number(share.number);
  out.mutable_member_share()->set_share(to_string(share.bytes));
}
void fill(pb::Proof& to, const Proof& proof) {
  to.set_serial(proof.serial);
  to.set_of_video(proof.of_video);
  to.set_proof(to_string(proof.bytes));
}
void fill(pb::RoomMessage& out, const Proof& proof) { fill(*out.mutable_proof(), proof); }
void fill(pb::RoomMessage& out, const MemberProof& news) {
  out.mutable_member_proof()->set_number(news.number);
  fill(*out.mutable_member_proof()->mutable_proof(), news.proof);
}
void fill(pb::Chat& to, const Chat& chat) {
  to.set_serial(chat.serial);
  to.set_line(to_string(chat.line));
}
void fill(pb::RoomMessage& out, const Chat& chat) { fill(*out.mutable_chat(), chat); }
void fill(pb::RoomMessage& out, const MemberChat& news) {
  out.mutable_member_chat()->set_number(news.number);
  fill(*out.mutable_member_chat()->mutable_chat(), news.chat);
}

Parsed parse(const pb::Card& from) {
  if (from.sealed().size() > kCardSizeMax) {
    return kOutOfRange;
  }
  return RoomMessage{Card{.revision = from.revision(), .sealed = to_bytes(from.sealed())}};
}
Parsed parse(const pb::View& from) {
  if (from.pinned() > UINT16_MAX) {
    return kOutOfRange;
  }
  return RoomMessage{View{.revision = from.revision(),
                          .pinned = static_cast<MemberNumber>(from.pinned()),
                          .pictures = std::min(from.pictures(), kPicturesMax),
                          .height = std::min(from.height(), kHeightMax)}};
}
Parsed parse(const pb::KeyFrameRequest& from) {
  if (!is_number(from.member())) {
    return kOutOfRange;
  }
  return RoomMessage{KeyFrameWanted{static_cast<MemberNumber>(from.member())}};
}
Parsed parse(const pb::Audience& from) {
  if (from.members().size() > kPresentMax || !std::ranges::all_of(from.members(), is_number)) {
    return kOutOfRange;
  }
  return RoomMessage{Audience{.revision = from.revision(),
                              .members = {from.members().begin(), from.members().end()}}};
}
Parsed parse(const pb::Replace& from) {
  const auto token = to_token(from.token());
  if (!is_number(from.member()) || !token) {
    return kOutOfRange;
  }
  return RoomMessage{Replacing{static_cast<MemberNumber>(from.member()), *token}};
}
Parsed parse(const pb::Welcome& from) {
  const auto token = to_token(from.token());
  if (!is_number(from.number()) || from.members_max() > UINT16_MAX ||
      from.video_kbps_max() > kKbpsMax || from.datagram_max() > UINT16_MAX ||
      from.room().size() > kRoomNameSizeMax || from.present().size() > kPresentMax ||
      !std::ranges::all_of(from.present(), is_number) || from.epoch() > kEpochMax || !token) {
    return kOutOfRange;
  }
  return RoomMessage{Welcome{.number = static_cast<MemberNumber>(from.number()),
                             .members_max = from.members_max(),
                             .video_rate_max = DataRate::kilobits_per_second(from.video_kbps_max()),
                             .datagram_max = DataSize{from.datagram_max()},
                             .room = clean_text(from.room(), kRoomNameSizeMax),
                             .present = {from.present().begin(), from.present().end()},
                             .epoch = from.epoch(),
                             .token = *token}};
}
Parsed parse(const pb::Member& from) {
  if (!is_number(from.number()) || from.sealed().size() > kCardSizeMax) {
    return kOutOfRange;
  }
  return RoomMessage{
      MemberNews{.number = static_cast<MemberNumber>(from.number()),
                 .card = {.revision = from.revision(), .sealed = to_bytes(from.sealed())}}};
}
Parsed parse(const pb::Left& from) {
  if (!is_number(from.number()) || from.reason() < 1 || from.reason() > 3 ||
      from.epoch() > kEpochMax) {
    return kOutOfRange;
  }
  return RoomMessage{MemberLeft{.number = static_cast<MemberNumber>(from.number()),
                                .reason = static_cast<LeaveReason>(from.reason()),
                                .epoch = from.epoch()}};
}
Parsed parse(const pb::Speaker& from) {
  if (from.number() > UINT16_MAX) {
    return kOutOfRange;
  }
  return RoomMessage{
      SpeakerNews{.revision = from.revision(), .number = static_cast<MemberNumber>(from.number())}};
}
Parsed parse(const pb::VideoRate& from) {
  if (from.kbps() > kKbpsMax) {
    return kOutOfRange;
  }
  return RoomMessage{
      VideoRate{.revision = from.revision(), .rate = DataRate::kilobits_per_second(from.kbps())}};
}
Parsed parse(const pb::Farewell& from) {
  const Duration again_in = std::chrono::milliseconds{from.again_ms()};
  if (from.reason() < 1 || from.reason() > 5 || again_in > kAgainInMax) {
    return kOutOfRange;
  }
  return RoomMessage{
      Farewell{.reason = static_cast<FarewellReason>(from.reason()), .again_in = again_in}};
}
Parsed parse(const pb::Shares& from) {
  Shares shares{.serial = from.serial()};
  for (const pb::Share& share : from.shares()) {
    if (!is_number(share.to()) || share.share().size() > kShareSizeMax ||
        shares.shares.size() == kSharesMax) {
      return kOutOfRange;
    }
    shares.shares.push_back({static_cast<MemberNumber>(share.to()), to_bytes(share.share())});
  }
  return RoomMessage{std::move(shares)};
}
Parsed parse(const pb::MemberShare& from) {
  if (!is_number(from.number()) || from.share().size() > kShareSizeMax) {
    return kOutOfRange;
  }
  return RoomMessage{MemberShare{static_cast<MemberNumber>(from.number()), to_bytes(from.share())}};
}
std::optional<Proof> to_proof(const pb::Proof& from) {
  if (from.proof().size() > kProofSizeMax) {
    return std::nullopt;
  }
  return Proof{
      .serial = from.serial(), .of_video = from.of_video(), .bytes = to_bytes(from.proof())};
}
Parsed parse(const pb::Proof& from) {
  auto proof = to_proof(from);
  return proof ? Parsed{RoomMessage{*std::move(proof)}} : kOutOfRange;
}
Parsed parse(const pb::MemberProof& from) {
  auto proof = to_proof(from.proof());
  if (!is_number(from.number()) || !proof) {
    return kOutOfRange;
  }
  return RoomMessage{MemberProof{static_cast<MemberNumber>(from.number()), *std::move(proof)}};
}
Parsed parse(const pb::Chat& from) {
  if (from.line().size() > kChatSizeMax) {
    return kOutOfRange;
  }
  return RoomMessage{Chat{.serial = from.serial(), .line = to_bytes(from.line())}};
}
Parsed parse(const pb::MemberChat& from) {
  const auto chat = parse(from.chat());
  if (!is_number(from.number()) || !chat) {
    return kOutOfRange;
  }
  return RoomMessage{MemberChat{static_cast<MemberNumber>(from.number()), std::get<Chat>(*chat)}};
}

}  // namespace

std::vector<std::byte> build_room_message(const RoomMessage& message) {
  pb::RoomMessage out;
  std::visit([&out](const auto& one) { fill(out, one); }, message);
  const std::string body = out.SerializeAsString();
  std::vector<std::byte> bytes{kRoomMessageByte};
  bytes.reserve(1 + body.size());
  for (const char c : body) {
    bytes.push_back(static_cast<std::byte>(c));
  }
  return bytes;
}

Parsed parse_room_message(std::span<const std::byte> bytes) {
  if (bytes.empty() || bytes[0] != kRoomMessageByte) {
    return RoomMessageError::kNotARoomMessage;
  }
  pb::RoomMessage message;
  if (!message.ParseFromArray(bytes.data() + 1, static_cast<int>(bytes.size() - 1))) {
    return RoomMessageError::kMalformed;
  }
  switch (message.message_case()) {
    case pb::RoomMessage::kCard:
      return parse(message.card());
    case pb::RoomMessage::kView:
      return parse(message.view());
    case pb::RoomMessage::kKeyFrameRequest:
      return parse(message.key_frame_request());
    case pb::RoomMessage::kLeave:
      return RoomMessage{Leaving{}};
    case pb::RoomMessage::kAudience:
      return parse(message.audience());
    case pb::RoomMessage::kReplace:
      return parse(message.replace());
    case pb::RoomMessage::kWelcome:
      return parse(message.welcome());
    case pb::RoomMessage::kMember:
      return parse(message.member());
    case pb::RoomMessage::kLeft:
      return parse(message.left());
    case pb::RoomMessage::kSpeaker:
      return parse(message.speaker());
    case pb::RoomMessage::kVideoRate:
      return parse(message.video_rate());
    case pb::RoomMessage::kFarewell:
      return parse(message.farewell());
    case pb::RoomMessage::kShares:
      return parse(message.shares());
    case pb::RoomMessage::kMemberShare:
      return parse(message.member_share());
    case pb::RoomMessage::kProof:
      return parse(message.proof());
    case pb::RoomMessage::kMemberProof:
      return parse(message.member_proof());
    case pb::RoomMessage::kChat:
      return parse(message.chat());
    case pb::RoomMessage::kMemberChat:
      return parse(message.member_chat());
    case pb::RoomMessage::MESSAGE_NOT_SET:
      return RoomMessageError::kMalformed;
  }
  return RoomMessageError::kMalformed;
}

}  // namespace cress::room
