#include "relay/members/insider.hh"

#include <utility>

#include "media/frame/fragment.hh"
#include "transport/room/media_head.hh"
#include "transport/room/room_message.hh"

namespace cress::relay {
namespace {

// In each turn.
constexpr int kPings = 60;  // the most that a connection keeps waiting is 64
constexpr int kMessages = 10;
constexpr room::MemberNumber kMembersMax = 12;
/// What decodes to 4096 x 2304 in 11 ms. The relay sees its size alone.
constexpr size_t kBombSize = 161;

void say(TimePoint now, ModelMember& member, session::FlowId flow, std::vector<std::byte> message) {
  member.endpoint().send(now, flow, std::move(message), session::Leave::kNow);
}

}  // namespace

uint64_t Insider::act(TimePoint now, LoadMember& member) {
  uint64_t sent = 0;
  switch (kind_) {
    case InsiderKind::kIdle:
      break;
    case InsiderKind::kGhost:
      return ask_for_everything(*member.member());
    case InsiderKind::kPingFlood:
    case InsiderKind::kRoamStorm:
      // Each change of network is a ping with the session's id before it.
      for (; sent < kPings; ++sent) {
        member.connection().handle_network_change(now);
      }
      break;
    case InsiderKind::kDecoderBomb:
      for (; sent < kMessages; ++sent) {
        send_bomb(now, *member.member());
      }
      break;
    case InsiderKind::kCardStorm:
      for (; sent < kMessages; ++sent) {
        send_card(now, *member.member());
      }
      break;
    case InsiderKind::kProofStorm:
      for (; sent < uint64_t{2} * kMessages; sent += 2) {
        send_proof(now, *member.member());
        send_shares(now, *member.member());
      }
      break;
  }
  return sent;
}

uint64_t Insider::ask_for_everything(ModelMember& member) {
  member.put(room::View{
      .revision = ++revision_, .pictures = room::kPicturesMax, .height = room::kHeightMax});
  for (room::MemberNumber number = 1; number <= kMembersMax; ++number) {
    member.put(room::KeyFrameWanted{number});
  }
  return 1;
}

void Insider::send_bomb(TimePoint now, ModelMember& member) {
  const media::EncodedFrame frame{.id = ++revision_,
                                  .reference_id = revision_,
                                  .capture_time = now,
                                  .key_frame = true,
                                  .anchor = true,
                                  .data = std::vector<std::byte>(kBombSize)};
  say(now, member, session::kVideoFlow,
      room::build_member_message(room::kNobody, media::fragment(frame, DataSize{1000}).front()));
}

void Insider::send_card(TimePoint now, ModelMember& member) {
  say(now, member, session::kControlFlow,
      room::build_room_message(room::Card{.revision = ++revision_,
                                          .sealed = std::vector<std::byte>(room::kCardSizeMax)}));
}

// Anybody's serial number, of the largest size. The relay cannot check what it says.
void Insider::send_proof(TimePoint now, ModelMember& member) {
  room::Proof proof{.serial = static_cast<uint32_t>(rng_.next()),
                    .of_video = rng_.chance(0.5),
                    .bytes = std::vector<std::byte>(room::kProofSizeMax)};
  fill(proof.bytes);
  say(now, member, session::kControlFlow, room::build_room_message(proof));
}

// For those who may be there, several for one of them, and for nobody.
void Insider::send_shares(TimePoint now, ModelMember& member) {
  room::Shares shares{.serial = static_cast<uint32_t>(rng_.next())};
  for (size_t i = 0; i < room::kSharesMax; ++i) {
    room::Share share{static_cast<room::MemberNumber>(1 + rng_.below(kMembersMax)),
                      std::vector<std::byte>(rng_.below(room::kShareSizeMax + 1))};
    fill(share.bytes);
    shares.shares.push_back(std::move(share));
  }
  say(now, member, session::kControlFlow, room::build_room_message(shares));
}

void Insider::fill(std::vector<std::byte>& bytes) {
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(rng_.next());
  }
}

}  // namespace cress::relay
