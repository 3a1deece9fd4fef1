#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress {

/// An ICMP answer from the network or the peer's host to a datagram sent earlier. Anybody on the
/// path, or anybody who guesses both ports, can forge one: it is evidence, never a reason to end a
/// session.
struct PathError {
  enum class Kind {
    kRefused,      ///< no socket listens on that port
    kUnreachable,  ///< no route to that host
    kTooLarge,     ///< larger than the MTU of a hop, and datagrams are never fragmented
  };
  Address to;
  Kind kind = Kind::kUnreachable;
  DataSize path_mtu{};  ///< for kTooLarge: the size of an IP packet that would pass; 0 if unknown
  friend bool operator==(const PathError&, const PathError&) = default;
};

/// The contract of everything here that exchanges datagrams over time. A machine does no I/O and
/// reads no clock; the code that steps it passes in the time:
///
///   handle_*        an outside event; poll_transmit until it is empty afterwards
///   verbs           what the application wants, by each machine's own names; likewise afterwards
///   poll_*          outputs
///   poll_timeout    when to call handle_timeout next
///
/// sim::World steps machines in virtual time, runtime::Driver steps one over a real socket, so a
/// live call and a simulated one run the same code. `now` never goes back between calls. Threads:
/// none inside; one owner. Peer data: any bytes are safe.
class Machine {
 public:
  virtual ~Machine() = default;
  /// `now`: when it was received. `bytes`: valid during the call.
  virtual void handle_datagram(TimePoint now, const Address& from,
                               std::span<const std::byte> bytes) = 0;
  /// The ECN field of the datagram that handle_datagram gets next. Without a call it is kNotEct.
  virtual void handle_ecn(Ecn /*ecn*/) {}
  virtual void handle_timeout(TimePoint now) = 0;
  /// Poll until empty after every change.
  virtual std::optional<Transmit> poll_transmit(TimePoint now) = 0;
  /// When handle_timeout is due next; kNever: only when a datagram arrives.
  virtual TimePoint poll_timeout() const = 0;
  /// Returns the buffer of a datagram that has been sent, for reuse.
  virtual void take_back(std::vector<std::byte>&& /*sent*/) {}
  /// Called when nothing is left to send: the time to take other outputs. Returns whether doing so
  /// may have produced something to send, which is then polled for.
  virtual bool drained(TimePoint /*now*/) { return false; }
  /// For machines that probe the path's MTU or report to the user why there is no answer.
  virtual void handle_path_error(TimePoint /*now*/, const PathError& /*error*/) {}
};

}  // namespace cress
