#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "relay/members/load_member.hh"
#include "transport/base/rng.hh"

namespace cress::relay {

/// What a member with the room's link may do to the relay and to the other members.
enum class InsiderKind {
  kIdle,         ///< nothing: what a measurement shows without an attack
  kGhost,        ///< has no card; asks for the video of all, and for key frames
  kPingFlood,    ///< 6000 pings per second
  kDecoderBomb,  ///< 1000 key frames of 161 bytes per second
  kCardStorm,    ///< 1000 cards per second
  kRoamStorm,    ///< 6000 pings per second; the caller sends them from many addresses in turn
  kProofStorm,   ///< 1000 proofs and 10 000 secrets per second, of any contents
};

/// Makes a LoadMember such a member. Threads: none inside; one owner.
class Insider {
 public:
  Insider(InsiderKind kind, uint64_t seed) : kind_(kind), rng_(seed) {}

  /// Of the member that it is to be.
  ModelMemberOptions member() const {
    return {.has_camera = kind_ != InsiderKind::kDecoderBomb,
            .has_card = kind_ != InsiderKind::kGhost};
  }
  /// What it does every kTurn, once `member` is in: poll the member's datagrams afterwards. Returns
  /// the number of messages or pings.
  uint64_t act(TimePoint now, LoadMember& member);

  static constexpr Duration kTurn = 10ms;

 private:
  uint64_t ask_for_everything(ModelMember& member);
  void send_bomb(TimePoint now, ModelMember& member);
  void send_card(TimePoint now, ModelMember& member);
  void send_proof(TimePoint now, ModelMember& member);
  void send_shares(TimePoint now, ModelMember& member);
  void fill(std::vector<std::byte>& bytes);

  InsiderKind kind_;
  Rng rng_;
  uint32_t revision_ = 0;
};

}  // namespace cress::relay
