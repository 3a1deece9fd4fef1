#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "eval/relay_load/hostile.hh"
#include "eval/relay_load/turn.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::relay_load {

struct RelayLoadOptions {
  int rooms = 4;
  int members = 5;  ///< in each room; all send and look at all others
  DataRate video = DataRate::kilobits_per_second(500);
  Duration duration = 20s;
  Duration skip = 5s;  ///< not counted: joins, ramps
  /// Members that leave, and others that come in their place, a minute; spread over all rooms.
  int churn_per_minute = 0;
  /// Somebody does this to the first room, or in its name, every second turn of the time that
  /// counts: what the other rooms notice is compared with the turns between.
  std::optional<HostileKind> hostile{};
  Duration turn = 5s;
  /// All members leave and come back before the counting begins, and leave at its end: memory is
  /// then that of a relay with nobody in it.
  bool empties = false;
  /// The relay, and who measures sounds, go before all else on the machine: for one that others
  /// use.
  bool goes_first = false;
  /// What the members were handed then goes once more through a TURN server.
  bool against_turn = false;
  uint64_t seed = 1;
};

/// Of sounds in rooms where two members do nothing but speak, in a process of their own: from the
/// hand-over at the sender to the kernel's receipt at the receiver, so the kernel twice, the relay
/// and nothing else.
struct SoundDelay {
  std::optional<Duration> p50{}, p99{}, p999{};
};
/// What a hostile did, and what came of it for rooms that it was not in.
struct HostileResult {
  uint64_t datagrams_sent = 0;
  uint64_t joins_begun = 0;
  SoundDelay calm{};      ///< all quiet turns together
  SoundDelay attacked{};  ///< all others
  /// The p99 of a turn of attack by that of the quiet one before it: the median of such pairs.
  double p99_growth = 0;
  int pairs = 0;
  /// What the relay refused meanwhile, and why, as its metrics call it.
  std::map<std::string, uint64_t> refused{};
};

/// Of the time that counted.
struct RelayLoadResult {
  int members = 0;     ///< that were in at the end
  int not_let_in = 0;  ///< or that lost their session
  uint64_t joins = 0;
  double streams = 0;              ///< sender to receiver, in which pictures came, at the end
  double stream_kbps = 0;          ///< of pictures, at the mean
  double datagrams_in_per_s = 0;   ///< to the relay
  double datagrams_out_per_s = 0;  ///< from the relay
  double relay_cpu = 0;            ///< of one core, 0..
  double streams_per_core = 0;
  double datagrams_out_per_core_s = 0;
  SoundDelay sound{};
  /// Within the relay: from the kernel's receipt until looked at (upper ends of classes).
  std::optional<Duration> wait_p50{}, wait_p99{};
  uint64_t resident_begin = 0;  ///< bytes, when the counting began
  uint64_t resident_most = 0;
  uint64_t resident_end = 0;
  std::optional<HostileResult> hostile{};
  std::optional<TurnResult> turn{};
};

/// A relay in a process of its own, members on sockets of theirs in this one. `progress`: told now
/// and then, 0..1. Errors: std::runtime_error. Must be called while the process has one thread: it
/// forks.
RelayLoadResult run_relay_load(const RelayLoadOptions& options,
                               const std::function<void(double)>& progress);

}  // namespace cress::relay_load
