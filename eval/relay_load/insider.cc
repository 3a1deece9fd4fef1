#include "relay/members/insider.hh"

#include <memory>
#include <utility>
#include <vector>

#include "eval/relay_load/attack.hh"
#include "eval/relay_load/loopback.hh"
#include "transport/base/check.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::relay_load {
namespace {

constexpr size_t kRoamAddresses = 64;
static_assert(Attack::kTurn == relay::Insider::kTurn);

relay::InsiderKind kind_of(HostileKind kind) {
  switch (kind) {
    case HostileKind::kIdle:
      return relay::InsiderKind::kIdle;
    case HostileKind::kGhost:
      return relay::InsiderKind::kGhost;
    case HostileKind::kPingFlood:
      return relay::InsiderKind::kPingFlood;
    case HostileKind::kDecoderBomb:
      return relay::InsiderKind::kDecoderBomb;
    case HostileKind::kCardStorm:
      return relay::InsiderKind::kCardStorm;
    case HostileKind::kRoamStorm:
      return relay::InsiderKind::kRoamStorm;
    default:
      check(kind == HostileKind::kProofStorm, "make_insider: no insider");
      return relay::InsiderKind::kProofStorm;
  }
}

class InsiderAttack final : public Attack {
 public:
  explicit InsiderAttack(const AttackParts& parts)
      : parts_(parts),
        insider_(kind_of(parts.options.kind), parts.options.seed),
        socket_(parts.clock, {.bind = loopback_of(1)}),
        member_(parts.clock.now(), {.access = parts.options.access,
                                    .relay = parts.options.relay,
                                    .member = insider_.member(),
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
      driver_.wake([this](TimePoint now) {
        parts_.shared.datagrams += insider_.act(now, member_);
        roam(now);
      });
    }
  }

 private:
  // Each datagram from another address.
  void roam(TimePoint now) {
    while (!elsewhere_.empty()) {
      auto transmit = member_.connection().poll_transmit(now);
      if (!transmit) {
        return;
      }
      next_address_ = (next_address_ + 1) % elsewhere_.size();
      const std::vector<Transmit> one{*std::move(transmit)};
      (void)elsewhere_[next_address_]->send_batch(one);
    }
  }

  AttackParts parts_;
  relay::Insider insider_;
  size_t next_address_ = 0;
  std::vector<std::unique_ptr<runtime::UdpSocket>> elsewhere_;
  runtime::UdpSocket socket_;
  relay::LoadMember member_;
  runtime::Driver driver_;
};

}  // namespace

std::unique_ptr<Attack> make_insider(const AttackParts& parts) {
  return std::make_unique<InsiderAttack>(parts);
}

}  // namespace cress::relay_load
