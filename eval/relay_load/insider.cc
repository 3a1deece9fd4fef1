#include <memory>
#include <utility>
#include <vector>

#include "eval/relay_load/attack.hh"
#include "eval/relay_load/loopback.hh"
#include "media/frame/fragment.hh"
#include "relay/members/load_member.hh"
#include "transport/base/rng.hh"
#include "transport/room/media_head.hh"
#include "transport/room/room_message.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::relay_load {
namespace {

// In each turn of 10 ms.
constexpr int kPings = 60;  // the most that a connection keeps waiting is 64
constexpr int kCards = 10;
constexpr int kFrames = 10;
constexpr int kProofs = 10;
constexpr room::MemberNumber kMembersMax = 12;
constexpr size_t kRoamAddresses = 64;
/// What decodes to 4096 x 2304 in 11 ms. The relay sees its size alone.
constexpr size_t kBombSize = 161;

class Insider final : public Attack {
 public:
  explicit Insider(const AttackParts& parts)
      : parts_(parts),
        rng_(parts.options.seed),
        socket_(parts.clock, {.bind = loopback_of(1)}),
        member_(parts.clock.now(),
                {.access = parts.options.access,
                 .relay = parts.options.relay,
                 .member = {.has_camera = parts.options.kind != HostileKind::kDecoderBomb,
                            .has_card = parts.options.kind != HostileKind::kGhost},
                 .seed = parts.options.seed}),
        driver_({parts.clock, parts.loop, socket_, member_}) {
    const size_t addresses = parts.options.kind == HostileKind::kRoamStorm ? kRoamAddresses : 0;
    for (size_t i = 0; i < addresses; ++i) {
      elsewhere_.push_back(std::make_unique<runtime::UdpSocket>(
          parts.clock, runtime::UdpSocketOptions{.bind = loopback_of(2)}));
    }
  }

  void take_turn(TimePoint /*now*/, bool is_active) override {
    if (is_active && member_.member() != nullptr) {
      driver_.wake([this](TimePoint now) { act(now); });
    }
  }

 private:
  void act(TimePoint now) {
    switch (parts_.options.kind) {
      case HostileKind::kGhost:
        ask_for_everything();
        break;
      case HostileKind::kPingFlood:
        ping(now);
        break;
      case HostileKind::kDecoderBomb:
        for (int i = 0; i < kFrames; ++i) {
          send_bomb(now);
        }
        break;
      case HostileKind::kCardStorm:
        for (int i = 0; i < kCards; ++i) {
          say(now, session::kControlFlow,
              room::build_room_message(room::Card{
                  .revision = ++revision_, .sealed = std::vector<std::byte>(room::kCardSizeMax)}));
        }
        break;
      case HostileKind::kProofStorm:
        for (int i = 0; i < kProofs; ++i) {
          send_proof(now);
          send_shares(now);
        }
        break;
      default:
        roam(now);
        break;
    }
  }

  void ask_for_everything() {
    relay::ModelMember& member = *member_.member();
    member.put(room::View{
        .revision = ++revision_, .pictures = room::kPicturesMax, .height = room::kHeightMax});
    for (room::MemberNumber number = 1; number <= kMembersMax; ++number) {
      member.put(room::KeyFrameWanted{number});
    }
    parts_.shared.datagrams += 1;
  }

  // Each change of network is a ping with the session's id before it.
  void ping(TimePoint now) {
    for (int i = 0; i < kPings; ++i) {
      member_.connection().handle_network_change(now);
    }
    parts_.shared.datagrams += kPings;
  }

  // Such pings, each from another address.
  void roam(TimePoint now) {
    ping(now);
    while (auto transmit = member_.connection().poll_transmit(now)) {
      next_address_ = (next_address_ + 1) % elsewhere_.size();
      const std::vector<Transmit> one{*std::move(transmit)};
      (void)elsewhere_[next_address_]->send_batch(one);
    }
  }

  void send_bomb(TimePoint now) {
    const media::EncodedFrame frame{.id = ++revision_,
                                    .reference_id = revision_,
                                    .capture_time = now,
                                    .key_frame = true,
                                    .anchor = true,
                                    .data = std::vector<std::byte>(kBombSize)};
    say(now, session::kVideoFlow,
        room::build_member_message(room::kNobody, media::fragment(frame, DataSize{1000}).front()));
  }

  // Anybody's serial number, of the largest size. The relay cannot check what it says.
  void send_proof(TimePoint now) {
    room::Proof proof{.serial = static_cast<uint32_t>(rng_.next()),
                      .of_video = rng_.chance(0.5),
                      .bytes = std::vector<std::byte>(room::kProofSizeMax)};
    fill(proof.bytes);
    say(now, session::kControlFlow, room::build_room_message(proof));
  }

  // For those who may be there, several for one of them, and for nobody.
  void send_shares(TimePoint now) {
    room::Shares shares{.serial = static_cast<uint32_t>(rng_.next())};
    for (size_t i = 0; i < room::kSharesMax; ++i) {
      room::Share share{static_cast<room::MemberNumber>(1 + rng_.below(kMembersMax)),
                        std::vector<std::byte>(rng_.below(room::kShareSizeMax + 1))};
      fill(share.bytes);
      shares.shares.push_back(std::move(share));
    }
    say(now, session::kControlFlow, room::build_room_message(shares));
  }
  void fill(std::vector<std::byte>& bytes) {
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(rng_.next());
    }
  }

  void say(TimePoint now, session::FlowId flow, std::vector<std::byte> message) {
    member_.member()->endpoint().send(now, flow, std::move(message), session::Leave::kNow);
    ++parts_.shared.datagrams;
  }

  AttackParts parts_;
  Rng rng_;
  uint32_t revision_ = 0;
  size_t next_address_ = 0;
  std::vector<std::unique_ptr<runtime::UdpSocket>> elsewhere_;
  runtime::UdpSocket socket_;
  relay::LoadMember member_;
  runtime::Driver driver_;
};

}  // namespace

std::unique_ptr<Attack> make_insider(const AttackParts& parts) {
  return std::make_unique<Insider>(parts);
}

}  // namespace cress::relay_load
