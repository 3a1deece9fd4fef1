#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "transport/base/address.hh"
#include "transport/base/machine.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/runtime/clock.hh"

namespace cress::runtime {

/// The most datagrams that one system call moves.
inline constexpr size_t kBatchMax = 64;

/// A range of accepted first bytes, `least` to `most`.
struct FirstBytes {
  std::byte least{};
  std::byte most{};
};

struct UdpSocketOptions {
  /// All zero: every address of the machine, both families, any free port.
  Address bind{};
  /// Longer datagrams arrive truncated and are marked so. In 1..65535.
  DataSize datagram_max{2048};
  /// The size requested from the kernel; receive_buffer() returns the granted size. 4 MiB hold a
  /// fifth of a second at 100 Mbit/s, including the kernel's overhead for small datagrams: longer
  /// than any encoder keeps us busy.
  DataSize receive_buffer{4 << 20};
  DataSize send_buffer{1 << 20};
  /// Set automatically on a machine without IPv6.
  bool ipv4_only = false;
  /// On a machine with several addresses, a socket bound to all of them answers each peer from the
  /// address to which that peer wrote. For the called side; a caller leaves the choice to the
  /// routes, which change when the network does.
  bool answer_from_asked = true;
  /// Datagrams with another first byte, or empty ones, are useless: the kernel drops them before
  /// they take room in its buffer or wake the program.
  std::optional<FirstBytes> first_bytes{};
  /// Datagrams of one sender and one size that arrived together are carried through the kernel as
  /// one (UDP_GRO, where the kernel has it), for a fraction of the processor time. They share one
  /// arrival time. For sockets with many senders; takes 4 MiB of address space.
  bool takes_merged = false;
};

struct ReceivedDatagram {
  Address from;
  /// When the kernel received it, on our clock: ascending, never after the call's return.
  TimePoint arrival{};
  /// In the socket's buffers: valid until the next receive_batch.
  std::span<const std::byte> bytes;
  Ecn ecn = Ecn::kNotEct;  ///< of the IP packet
  bool truncated = false;  ///< it was longer than `datagram_max`
};

struct ReceiveBatch {
  /// At most kBatchMax, with takes_merged up to 64 times as many; the oldest first; owned by the
  /// socket, valid until the next receive_batch.
  std::span<const ReceivedDatagram> datagrams;
  bool more = false;  ///< the batch was full: the kernel may hold more
};

/// The result of sending a list of datagrams; the first `taken` of them are finished.
struct SendReport {
  size_t taken = 0;
  size_t sent = 0;        ///< of the taken: handed to the network
  size_t too_large = 0;   ///< of the taken: larger than the interface's or the path's MTU
  size_t unroutable = 0;  ///< of the taken: no route, no such address, forbidden by a firewall
  size_t no_buffer = 0;   ///< of the taken: the interface's queue was full
  bool blocked = false;   ///< the socket's buffer is full: the rest may be retried later
  friend bool operator==(const SendReport&, const SendReport&) = default;
};

/// One UDP socket for IPv6 and IPv4 (recvmmsg, sendmmsg), bound, non-blocking; datagrams are never
/// fragmented, and the kernel's own path MTU does not block probes (IP_PMTUDISC_PROBE). Errors: the
/// constructor throws std::runtime_error (what, where, what to do); afterwards nothing throws;
/// network errors are returned as values. Threads: none inside; one owner.
class UdpSocket {
 public:
  /// `clock` is borrowed and must outlive the socket.
  explicit UdpSocket(const MonotonicClock& clock, UdpSocketOptions options = {});
  ~UdpSocket();
  UdpSocket(UdpSocket&&) noexcept;
  UdpSocket& operator=(UdpSocket&&) noexcept;

  /// Datagrams that have arrived, at most `count_max` (1..kBatchMax), where datagrams merged by the
  /// kernel count once; empty if none waits.
  ReceiveBatch receive_batch(size_t count_max = kBatchMax);
  /// Sends in order. A datagram that cannot be sent is counted and the next one tried; only a full
  /// buffer stops it. Consecutive datagrams of one size to one address cost the kernel little more
  /// than one (UDP_SEGMENT).
  SendReport send_batch(std::span<const Transmit> datagrams);
  /// The next path error, oldest first. At most kPathErrorsMax wait; later ones are only counted.
  std::optional<PathError> poll_path_error();
  static constexpr size_t kPathErrorsMax = 64;

  /// After a network change: forgets to which address each peer wrote.
  void forget_asked_addresses();

  /// The bound address, with the assigned port.
  Address local_address() const;
  bool is_ipv4_only() const;
  /// The size that the kernel granted, for payload and its own overhead together (the kernel
  /// doubles the request for its overhead; this is half).
  DataSize receive_buffer() const;
  /// Datagrams that arrived while that buffer was full, or that had a wrong first byte, as far as
  /// later arrivals have reported.
  uint64_t dropped_by_kernel() const;
  /// Path errors beyond kPathErrorsMax.
  uint64_t path_errors_dropped() const;
  /// For the event loop: readable when datagrams or path errors wait.
  int handle() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::runtime
