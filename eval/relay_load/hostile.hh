#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "eval/relay_load/child_process.hh"
#include "eval/relay_load/shared.hh"
#include "transport/base/address.hh"
#include "transport/secure/crypto/crypto.hh"

namespace cress::relay_load {

/// Attacks on a relay that could harm its other users.
enum class HostileKind {
  kNoise,     ///< a stranger: 20 000 invalid datagrams per second
  kProof,     ///< one network: 200 joins per second with the room's name and a wrong key
  kSlowJoin,  ///< one network: 100 joins per second that repeat their first flight as long as they
              ///< may
  kHalfOpen,  ///< one network: 1000 joins per second, started, with verified addresses, and
              ///< abandoned
  kProofSpread,     ///< like kProof from everywhere: each join from a network of its own
  kHalfOpenSpread,  ///< like kHalfOpen from everywhere
  kReplay,  ///< a member: repeats each of its datagrams five times, also from another address
  kFlood,   ///< a member: 10 000 authentic datagrams per second
  kForged,  ///< a member: 1000 datagrams per second with forged frames, layers, references and news
  kGhost,   ///< a member without a card: asks for the video of all, and for key frames
  kPingFlood,    ///< a member: 6000 pings per second
  kDecoderBomb,  ///< a member: 1000 key frames of 161 bytes per second
  kCardStorm,    ///< a member: 1000 cards per second
  kRoamStorm,    ///< a member: 6000 pings per second from 64 addresses in turn
  kProofStorm,   ///< a member: 1000 proofs and 10 000 secrets per second, of any contents
  kIdle,         ///< a member that does nothing wrong: the error of the measurement
};
struct HostileName {
  HostileKind kind;
  const char* name;
};
inline constexpr std::array<HostileName, 16> kHostileNames{
    {{HostileKind::kNoise, "noise"},
     {HostileKind::kProof, "proof"},
     {HostileKind::kSlowJoin, "slow-join"},
     {HostileKind::kHalfOpen, "half-open"},
     {HostileKind::kProofSpread, "proof-spread"},
     {HostileKind::kHalfOpenSpread, "half-open-spread"},
     {HostileKind::kReplay, "replay"},
     {HostileKind::kFlood, "flood"},
     {HostileKind::kForged, "forged"},
     {HostileKind::kGhost, "ghost"},
     {HostileKind::kPingFlood, "ping-flood"},
     {HostileKind::kDecoderBomb, "decoder-bomb"},
     {HostileKind::kCardStorm, "card-storm"},
     {HostileKind::kRoamStorm, "roam-storm"},
     {HostileKind::kProofStorm, "proof-storm"},
     {HostileKind::kIdle, "idle"}}};
/// nullopt: no attack of that name.
std::optional<HostileKind> find_hostile(std::string_view name);

struct HostileOptions {
  HostileKind kind = HostileKind::kNoise;
  Address relay{};
  secure::Secret access{};  ///< of the attacked room
  uint64_t seed = 1;
};

/// An attacker in a process of its own, so that its work costs processor time of the relay only.
/// Inactive until started. Threads: none inside; one owner, whose process must have only one
/// thread: it forks.
class HostileProcess {
 public:
  explicit HostileProcess(const HostileOptions& options);

  void set_active(bool active) { shared_->active = active; }
  uint64_t datagrams_sent() const { return shared_->datagrams; }
  /// For the kinds that join.
  uint64_t joins_begun() const { return shared_->joins; }

  /// Shared by both processes.
  struct Shared {
    std::atomic<bool> active = false;
    std::atomic<uint64_t> datagrams = 0;
    std::atomic<uint64_t> joins = 0;
  };

 private:
  SharedMemory<Shared> shared_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace cress::relay_load
