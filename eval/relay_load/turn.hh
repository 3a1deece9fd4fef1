#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "transport/base/time.hh"

namespace cress::relay_load {

/// One datagram that a relay sent to a member.
struct RelayedDatagram {
  Duration at{};  ///< since the first
  uint32_t leg = 0;
  uint32_t size = 0;  ///< bytes of UDP payload
};

struct TurnResult {
  uint64_t sent = 0;
  uint64_t delivered = 0;
  double cpu = 0;  ///< of one core, 0..
  double datagrams_per_core_s = 0;
  /// From the hand-over at the sender to the kernel's receipt at the receiver.
  std::optional<Duration> p50{}, p99{};
};

/// Whether a TURN server (coturn's `turnserver`) is installed.
bool has_turn_server();
/// Sends the same datagrams through a TURN server in a process of its own (RFC 8656): each leg is a
/// client with an allocation and a channel, to which its datagrams are sent again at their times.
/// `traffic` is in order of time. Errors: std::runtime_error. The caller must have only one thread:
/// it forks.
TurnResult run_turn(const std::vector<RelayedDatagram>& traffic);

}  // namespace cress::relay_load
