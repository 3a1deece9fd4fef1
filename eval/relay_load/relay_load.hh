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
  int members = 5;  ///< in each room; each sends and requests all others
  DataRate video = DataRate::kilobits_per_second(500);
  Duration duration = 20s;
  Duration skip = 5s;  ///< not measured: joins, ramp-up
  /// Members per minute that leave and are replaced by new ones; over all rooms.
  int churn_per_minute = 0;
  /// This attack runs on the first room, or in its name, in every second interval of the measured
  /// time: what the other rooms experience is compared with the intervals between.
  std::optional<HostileKind> hostile{};
  Duration turn = 5s;
  /// All members leave and come back before measuring begins, and leave at its end: the memory is
  /// then that of a relay without members.
  bool empties = false;
  /// The relay, and the process that measures audio, get priority over everything else on the
  /// machine: for a machine that others use too.
  bool goes_first = false;
  /// Afterwards the datagrams that members received are sent again through a TURN server.
  bool against_turn = false;
  uint64_t seed = 1;
};

/// Delay of audio in rooms where two members only send audio, in a process of their own: from the
/// hand-over at the sender to the kernel's receipt at the receiver, so it contains the kernel
/// twice, the relay and nothing else.
struct SoundDelay {
  std::optional<Duration> p50{}, p99{}, p999{};
};
/// A quantile in an interval with attack divided by the same in the interval before it, over all
/// such pairs: the median, and the range of the middle half.
struct Growth {
  double median = 0;
  double low = 0;
  double high = 0;
};
/// An attack, and its effect on other rooms.
struct HostileResult {
  uint64_t datagrams_sent = 0;
  uint64_t joins_begun = 0;
  SoundDelay calm{};      ///< all intervals without attack
  SoundDelay attacked{};  ///< all intervals with attack
  Growth p99_growth{};
  /// The p95 of the delay of honest members' frames in all rooms, the attacked one included: from
  /// capture to display, encoder and decoder left out.
  std::optional<Duration> frames_calm{}, frames_attacked{};
  Growth frames_growth{};
  int pairs = 0;
  /// What the relay refused meanwhile, by the names in its metrics.
  std::map<std::string, uint64_t> refused{};
};

/// Over the measured time.
struct RelayLoadResult {
  int members = 0;     ///< present at the end
  int not_let_in = 0;  ///< members without a session at the end
  uint64_t joins = 0;
  double streams = 0;              ///< pairs of sender and receiver with video, at the end
  double stream_kbps = 0;          ///< mean video rate
  double datagrams_in_per_s = 0;   ///< to the relay
  double datagrams_out_per_s = 0;  ///< from the relay
  double relay_cpu = 0;            ///< of one core, 0..
  double streams_per_core = 0;
  double datagrams_out_per_core_s = 0;
  SoundDelay sound{};
  /// Within the relay: from the kernel's receipt to processing (upper ends of classes).
  std::optional<Duration> wait_p50{}, wait_p99{};
  uint64_t resident_begin = 0;  ///< bytes, when measuring began
  uint64_t resident_most = 0;
  uint64_t resident_end = 0;
  std::optional<HostileResult> hostile{};
  std::optional<TurnResult> turn{};
};

/// A relay in a process of its own, members with sockets of their own in this one. `progress`:
/// called from time to time, 0..1. Errors: std::runtime_error. Must be called while the process has
/// only one thread: it forks.
RelayLoadResult run_relay_load(const RelayLoadOptions& options,
                               const std::function<void(double)>& progress);

}  // namespace cress::relay_load
