#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "transport/base/address.hh"
#include "transport/base/machine.hh"
#include "transport/base/time.hh"
#include "transport/sim/link.hh"

namespace cress::traces {

/// An emulated path between two UDP programs, in real time: datagrams that one sends to the
/// emulator's socket pass through a link of the simulator and then go to the other. The client is
/// the last program that sent; the other is the server, which sees the emulator's address instead
/// of the client's. As a machine it needs a Driver, and one socket for both sides.
///
/// A link's time begins at `start`; links charge whole IP packets, as a World does. If the process
/// is late, all datagrams still leave the queue at their own times, in order; only their delivery
/// is late (Driver::stats().timeout_lateness_max gives the delay). Bounded: a link's queue, by its
/// own limit; each link keeps a record of every datagram it delivered. Threads: none inside; one
/// owner.
class PathEmulator final : public Machine {
 public:
  struct Options {
    Address server;
    sim::LinkOptions forward;  ///< to the server
    sim::LinkOptions reverse;  ///< from it
  };

  PathEmulator(TimePoint start, Options options);

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;

  const sim::Link& forward() const { return forward_; }
  const sim::Link& reverse() const { return reverse_; }
  /// The time of the links' kTimeZero.
  TimePoint start() const { return start_; }

 private:
  TimePoint link_time(TimePoint now) const { return kTimeZero + (now - start_); }

  TimePoint start_;
  Address server_;
  std::optional<Address> client_;
  sim::Link forward_;
  sim::Link reverse_;
};

}  // namespace cress::traces
