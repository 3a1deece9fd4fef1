#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

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
  /// One more member in the first room that floods it with what the relay must refuse.
  bool hostile = false;
  uint64_t seed = 1;
};

/// Of the time that counted.
struct RelayLoadResult {
  int members = 0;     ///< that were in at the end
  int not_let_in = 0;  ///< or that lost their session
  uint64_t joins = 0;
  double streams = 0;              ///< sender to receiver, in which pictures came, at the mean
  double stream_kbps = 0;          ///< of pictures, at the mean
  double datagrams_in_per_s = 0;   ///< to the relay
  double datagrams_out_per_s = 0;  ///< from the relay
  double relay_cpu = 0;            ///< of one core, 0..
  double streams_per_core = 0;
  double datagrams_out_per_core_s = 0;
  /// Of sounds, which wait for nothing but machines: from the hand-over at the sender to that at
  /// the receiver, through both of their stacks, the kernel's twice and the relay.
  std::optional<Duration> sound_p50{}, sound_p99{}, sound_p999{};
  /// Within the relay: from the kernel's receipt until looked at (upper ends of classes).
  std::optional<Duration> wait_p50{}, wait_p99{};
  uint64_t resident_begin = 0;  ///< bytes, when the counting began
  uint64_t resident_end = 0;
  uint64_t hostile_sent = 0;  ///< datagrams
};

/// A relay in a process of its own, members on sockets of theirs in this one. `progress`: told now
/// and then, 0..1. Errors: std::runtime_error. Must be called while the process has one thread: it
/// forks.
RelayLoadResult run_relay_load(const RelayLoadOptions& options,
                               const std::function<void(double)>& progress);

}  // namespace cress::relay_load
