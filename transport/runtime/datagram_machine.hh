#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::runtime {

/// What the network or the peer's host answered (ICMP) to a datagram sent earlier. Anybody on the
/// way, or who guesses both ports, can say it: evidence, never a reason to end a session.
struct PathError {
  enum class Kind {
    kRefused,      ///< nobody listens at that port
    kUnreachable,  ///< no way to that host
    kTooLarge,     ///< larger than the MTU of a hop, and datagrams are never fragmented
  };
  Address to;
  Kind kind = Kind::kUnreachable;
  DataSize path_mtu{};  ///< of kTooLarge: the size of an IP packet that would pass; 0 if not told
  friend bool operator==(const PathError&, const PathError&) = default;
};

/// A machine that talks datagrams with whomever it likes: what a Driver steps, as sim::World steps
/// a sim::Host. `now` never goes back between calls.
class DatagramMachine {
 public:
  virtual ~DatagramMachine() = default;
  /// `now`: when the kernel received it. `bytes`: good for the call.
  virtual void handle_datagram(TimePoint now, const Address& from,
                               std::span<const std::byte> bytes) = 0;
  virtual void handle_timeout(TimePoint now) = 0;
  /// Polled until empty after every change.
  virtual std::optional<Transmit> poll_transmit(TimePoint now) = 0;
  /// A datagram of poll_transmit has gone: its buffer may serve again.
  virtual void take_back(std::vector<std::byte>&& /*sent*/) {}
  /// When handle_timeout is wanted next; kNever for "only when a datagram arrives".
  virtual TimePoint poll_timeout() const = 0;
  /// Nothing is left to send: the time to take other outputs. Changes made in here are drained in
  /// turn.
  virtual void drained(TimePoint now) { (void)now; }
  /// News for who probes the path's MTU or wants to tell a person why nobody answers.
  virtual void handle_path_error(TimePoint now, const PathError& error) {
    (void)now;
    (void)error;
  }
};

}  // namespace cress::runtime
