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

/// What somebody may do to a relay to hurt the others on it.
enum class HostileKind {
  kNoise,     ///< a stranger: 20 000 datagrams a second of nothing
  kProof,     ///< one network: 200 joins a second with the room's name and a wrong key
  kSlowJoin,  ///< one network: 100 joins a second that repeat their first word as long as they may
  kHalfOpen,  ///< one network: 1000 joins a second, begun, proven to come from there, and left
  kProofSpread,     ///< the same from everywhere: each join from a network of its own
  kHalfOpenSpread,  ///< likewise
  kReplay,          ///< a member: each of its datagrams five times more, and again from elsewhere
  kFlood,           ///< a member: 10 000 authentic datagrams a second
  kForged,  ///< a member: 1000 datagrams a second of false frames, layers, references and news
};
struct HostileName {
  HostileKind kind;
  const char* name;
};
inline constexpr std::array<HostileName, 9> kHostileNames{
    {{HostileKind::kNoise, "noise"},
     {HostileKind::kProof, "proof"},
     {HostileKind::kSlowJoin, "slow-join"},
     {HostileKind::kHalfOpen, "half-open"},
     {HostileKind::kProofSpread, "proof-spread"},
     {HostileKind::kHalfOpenSpread, "half-open-spread"},
     {HostileKind::kReplay, "replay"},
     {HostileKind::kFlood, "flood"},
     {HostileKind::kForged, "forged"}}};
/// Nothing: none of that name.
std::optional<HostileKind> find_hostile(std::string_view name);

struct HostileOptions {
  HostileKind kind = HostileKind::kNoise;
  Address relay{};
  secure::Secret access{};  ///< of the room that it attacks
  uint64_t seed = 1;
};

/// Somebody hostile in a process of its own, so that what it does costs nobody else's time but the
/// relay's. Quiet until told. Threads: none inside; one owner, who has one thread: it forks.
class HostileProcess {
 public:
  explicit HostileProcess(const HostileOptions& options);

  void set_active(bool active) { shared_->active = active; }
  uint64_t datagrams_sent() const { return shared_->datagrams; }
  /// Of the kinds that try to.
  uint64_t joins_begun() const { return shared_->joins; }

  /// What both processes see.
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
