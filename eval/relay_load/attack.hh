#pragma once

#include <memory>

#include "eval/relay_load/hostile.hh"
#include "transport/base/time.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/event_loop.hh"

namespace cress::relay_load {

/// One kind of attack. Each turn lasts kTurn on average. Threads: that of its process.
class Attack {
 public:
  static constexpr Duration kTurn = 10ms;

  Attack() = default;
  Attack(const Attack&) = delete;
  Attack& operator=(const Attack&) = delete;
  virtual ~Attack() = default;
  virtual void take_turn(TimePoint now, bool is_active) = 0;
};

/// What an attack works with; all borrowed.
struct AttackParts {
  const runtime::MonotonicClock& clock;
  runtime::EventLoop& loop;
  const HostileOptions& options;
  HostileProcess::Shared& shared;
};

/// A member with the room's link that does what the relay, or the other members, must bear: kGhost,
/// kPingFlood, kDecoderBomb, kCardStorm, kRoamStorm, kProofStorm; or that does nothing: kIdle.
std::unique_ptr<Attack> make_insider(const AttackParts& parts);

}  // namespace cress::relay_load
