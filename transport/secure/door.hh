#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "transport/base/address.hh"
#include "transport/base/machine.hh"
#include "transport/base/time.hh"
#include "transport/secure/handshake/handshake.hh"
#include "transport/secure/handshake/handshake_limits.hh"
#include "transport/secure/path/peer.hh"
#include "transport/secure/rendezvous/rendezvous_message.hh"

namespace cress::secure {

/// The first byte of each datagram of a session lies from kRecordKind to here.
inline constexpr std::byte kLastKind = kRendezvousKind;

/// Everything that was refused, and why; and what was asked.
struct DoorStats {
  uint64_t datagrams_received = 0;
  uint64_t datagrams_sent = 0;
  uint64_t bytes_received = 0;
  uint64_t bytes_sent = 0;
  uint64_t records_opened = 0;   ///< control records too
  uint64_t unknown_kind = 0;     ///< no Cress datagram at all
  uint64_t truncated = 0;        ///< a record shorter than its header and tag
  uint64_t bad_tag = 0;          ///< not of the peer of that address, or changed in transit
  uint64_t unknown_key = 0;      ///< of a key phase that is not in use
  uint64_t replayed = 0;         ///< or too old to be known
  uint64_t without_session = 0;  ///< a record while nobody is connected there
  uint64_t bad_handshake = 0;    ///< a handshake datagram that belongs to none
  uint64_t cookies_sent = 0;     ///< stateless answers
  uint64_t handshakes_begun = 0;
  uint64_t handshakes_failed = 0;  ///< nonsense, dropped, or not finished in time
  uint64_t rate_limited = 0;       ///< handshake datagrams beyond what the budgets allow
  friend bool operator==(const DoorStats&, const DoorStats&) = default;

  void count_refused(OpenError error);
  void count_sent(const Transmit& transmit);
};

/// What Connection and Listener both do with a datagram before they look up its sender: determine
/// its kind, answer hellos without state (HelloGate), apply the limits for unknown senders. Queues
/// what handshakes send. Threads: none inside; one owner.
class Door {
 public:
  /// `stats` is borrowed and must outlive it. Over `out_max` waiting datagrams the newest is lost.
  Door(const HandshakeLimits::Options& limits, size_t out_max, DoorStats& stats)
      : limits_(limits), out_max_(out_max), stats_(stats) {}

  enum class Kind { kRecord, kHandshake, kRendezvous, kUnknown };
  /// Counts the datagram. Of kRendezvous, the owner decides whether it is one that it knows.
  Kind handle_datagram(std::span<const std::byte> bytes);
  /// For a datagram of kind kHandshake. nullopt: it was answered or refused here. Otherwise the
  /// verdict is kNoHello (it belongs to a running handshake, or to none), or kProven (it may begin
  /// one).
  std::optional<HelloGate::Outcome> judge(TimePoint now, const Address& from,
                                          std::span<const std::byte> bytes);
  /// Whether a sender whose address a cookie has proven may begin a handshake now.
  bool allow_handshake(TimePoint now, const Address& from);

  void send(Transmit transmit);
  void drain(Handshake& handshake, const Address& to);
  std::optional<Transmit> poll_transmit();

 private:
  HelloGate gate_;
  HandshakeLimits limits_;
  size_t out_max_;
  DoorStats& stats_;
  std::deque<Transmit> out_;
};

}  // namespace cress::secure
