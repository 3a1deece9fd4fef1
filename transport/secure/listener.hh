#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/secure/crypto/keyed_hash.hh"
#include "transport/secure/door.hh"
#include "transport/secure/handshake/handshake.hh"
#include "transport/secure/handshake/handshake_limits.hh"
#include "transport/secure/path/peer.hh"
#include "transport/secure/timer_heap.hh"

namespace cress::secure {

/// One session of a Listener. Never given twice, to nobody else after its end.
struct PeerId {
  uint64_t value = 0;
  /// Small, and nobody else's at the same time: for tables.
  size_t slot() const { return value & 0xFFFF'FFFFU; }
  friend auto operator<=>(PeerId, PeerId) = default;
};

struct ListenerOptions {
  /// Which identities may join now, and their keys (Credential: room_credential, link_credential).
  PskLookup lookup{};
  size_t peers_max = 1024;
  /// Handshakes under way; when one more comes the oldest is dropped.
  size_t pending_max = 128;
  /// What handshakes cost is somebody else's to compute (poll_work); else it is done at once.
  bool hands_out_work = false;
  /// Good-byes that are still being said, beside the peers; over that the oldest is cut short.
  size_t leaving_max = 64;
  /// A handshake costs about 0.4 ms, of whichever thread computes it; 20 000 stateless answers cost
  /// 3 % of a core. Many members may sit behind one address of one office.
  HandshakeLimits::Options limits{.hellos = {.per_second = 40'000, .burst = 4'000},
                                  .answers = {.per_second = 20'000, .burst = 2'000},
                                  .handshakes = {.per_second = 200, .burst = 100},
                                  .handshakes_of_network = {.per_second = 10, .burst = 20},
                                  .networks = 1024};
  PeerOptions peer{};
};

struct ListenerStats : DoorStats {
  uint64_t routed = 0;            ///< datagrams that a peer was found for by its id
  uint64_t unknown_identity = 0;  ///< of no room that is open
  uint64_t joined = 0;
  uint64_t full = 0;           ///< had the right key, but there was no place
  uint64_t ignored = 0;        ///< of peers that are not listened to, unopened
  uint64_t not_connected = 0;  ///< datagrams to send to somebody who is gone
  friend bool operator==(const ListenerStats&, const ListenerStats&) = default;
};

/// Connected, PathChanged, Unreachable, Reachable, MtuChanged or Closed, of one peer.
struct PeerEvent {
  PeerId peer;
  std::string identity;  ///< with which it joined: its room
  Event event;
  friend bool operator==(const PeerEvent&, const PeerEvent&) = default;
};
struct PeerDatagram {
  PeerId peer;
  std::vector<std::byte> bytes;
};

/// A step of one handshake, to be computed away from the Listener: OpenSSL's part of a join. It
/// holds all that it needs but the Listener's context, which must outlive it.
class HandshakeWork {
 public:
  /// Once, in any thread. Throws nothing: a handshake that OpenSSL cannot begin has failed.
  void run();

 private:
  friend class Listener;
  const HandshakeContext* context_ = nullptr;
  TimePoint now_;
  size_t index_ = 0;
  uint64_t number_ = 0;
  std::unique_ptr<Handshake> handshake_;  // null: is to begin, or could not
  std::vector<std::byte> datagram_;
  bool was_of_it_ = false;
};

/// Many sessions on one socket, without I/O: what Connection is for one peer, for a relay. A peer
/// is found by its address in constant time, or by the id that it puts before its records when its
/// address has changed; then it is challenged there (Peer). Each peer ends alone.
///
/// After each handle_* and each verb, poll_transmit, poll_datagram and poll_event until empty, then
/// sleep until poll_timeout. Peer data never fails a check; everything refused is counted. Memory
/// is bounded by the options. A datagram costs its own bytes, whatever the number of peers; it
/// allocates what is handed on, and no more but for a queue that grows. Threads: none inside; one
/// owner. `now` never goes back. Throws std::runtime_error from the constructor if OpenSSL cannot.
class Listener {
 public:
  Listener(TimePoint start, ListenerOptions options);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void handle_datagram(TimePoint now, const Address& from, std::span<const std::byte> bytes);
  void handle_timeout(TimePoint now);
  /// The socket refused to send a datagram of this size to that address (EMSGSIZE).
  void handle_too_big(TimePoint now, const Address& to, DataSize size);
  /// Work that poll_work gave, and that was run. The handshake goes on from there, unless it was
  /// given up meanwhile.
  void handle_work(TimePoint now, HandshakeWork work);

  /// A plain datagram of that peer's Endpoint, at most datagram_max(peer). To somebody who is gone
  /// it is dropped.
  void send(TimePoint now, PeerId peer, std::vector<std::byte> plain);
  /// The same for who sends it at once, when poll_transmit has nothing. Nothing: it is gone.
  std::optional<Transmit> seal(TimePoint now, PeerId peer, std::vector<std::byte> plain);
  /// Ends a session: its Closed event comes at once, the good-bye is said three times in 100 ms,
  /// and for 3 s again to who has not heard it. Of somebody who is gone: nothing.
  void close(TimePoint now, PeerId peer, CloseCode code);
  /// What comes from it before `until` is dropped unopened: it sends more than it may. Of somebody
  /// who is gone: nothing.
  void ignore(PeerId peer, TimePoint until);
  /// Closes all and lets nobody in any more. Poll on until is_finished().
  void stop(TimePoint now, CloseCode code);

  std::optional<Transmit> poll_transmit(TimePoint now);
  std::optional<PeerDatagram> poll_datagram();
  std::optional<PeerEvent> poll_event();
  bool has_event() const { return !events_.empty(); }
  /// With hands_out_work: to be run and handed back, in any order and however late; at most
  /// pending_max are out or wait, what would need more is dropped and counted (rate_limited).
  std::optional<HandshakeWork> poll_work();
  TimePoint poll_timeout() const { return timers_.next_due(); }

  bool is_connected(PeerId peer) const { return find(peer) != nullptr; }
  size_t peers() const { return peers_; }
  size_t pending() const { return pending_order_.size(); }
  /// Stopped, and all good-byes are said.
  bool is_finished() const { return is_stopped_ && peers_ == 0 && leaving_.empty(); }
  /// What fits the peer's path besides the record's tag.
  DataSize datagram_max(PeerId peer) const;
  /// Where it is now; nobody's: nothing.
  std::optional<Address> path(PeerId peer) const;
  const ListenerStats& stats() const { return stats_; }

 private:
  /// A session, or its good-bye.
  struct Slot {
    uint32_t generation = 1;
    std::unique_ptr<Peer> peer;
    std::string identity;
    bool is_leaving = false;
    bool is_ready = false;  // is in ready_
    bool has_in = false;    // is in in_ready_
    TimePoint ignored_until{};
    std::vector<Address> addresses;  // that lead here, oldest first; its path is one of them
    // For who did not get our last flight, until `flight_until`.
    std::unique_ptr<Handshake> last_flight;
    HelloGate::HelloRandom random{};
    TimePoint flight_until = kNever;
  };
  struct Pending {
    Address from;
    HelloGate::HelloRandom random{};
    uint64_t number = 0;                   // of all handshakes
    std::unique_ptr<Handshake> handshake;  // null while it is being worked on
    std::optional<TimePoint> forget_at;    // refused: kept to say so again
  };

  const Slot* find(PeerId peer) const;
  Slot* find(PeerId peer);
  PeerId id_of(size_t slot) const;

  void handle_session(TimePoint now, const Address& from, std::span<const std::byte> bytes);
  void deliver(TimePoint now, size_t slot, const Address& from, std::span<const std::byte> bytes,
               bool is_routed);
  void settle(TimePoint now, size_t slot);
  void schedule(size_t slot);
  void lead_here(size_t slot, const Address& address, bool is_path);
  void forget_address(size_t slot, const Address& address);
  void begin_leaving(TimePoint now, size_t slot, CloseCode code);
  void release(size_t slot);
  size_t take_slot();

  void handle_handshake(TimePoint now, const Address& from, std::span<const std::byte> bytes);
  bool is_repeat(const Address& from, const HelloGate::HelloRandom& random) const;
  void begin_handshake(TimePoint now, const Address& from, const HelloGate::HelloRandom& random,
                       std::span<const std::byte> bytes);
  bool may_work();
  void work_on(TimePoint now, size_t index, std::span<const std::byte> bytes);
  void settle_pending(TimePoint now, size_t index);
  void let_in(TimePoint now, size_t index);
  void forget_pending(size_t index);
  void handle_due(TimePoint now, size_t thing);

  static constexpr size_t kAddressesMax = 4;
  static constexpr size_t kOutMax = 1024;

  ListenerOptions options_;
  HandshakeContext context_;
  ListenerStats stats_;
  Door door_;
  TimePoint last_now_;
  bool is_stopped_ = false;

  std::vector<Slot> slots_;
  std::vector<size_t> free_;
  size_t peers_ = 0;            // not leaving
  std::deque<size_t> leaving_;  // oldest first
  std::unordered_map<Address, size_t, KeyedHash> by_address_;
  std::unordered_map<uint64_t, size_t> by_id_;  // ids are random, and proven before they get here

  std::vector<Pending> pending_;
  std::vector<size_t> free_pending_;
  std::deque<size_t> pending_order_;  // oldest first
  std::unordered_map<Address, size_t, KeyedHash> pending_by_address_;
  std::deque<HandshakeWork> work_;  // to be handed out
  size_t work_out_ = 0;             // of those, and those that are out

  TimerHeap timers_;         // slots, then pending handshakes; may be early, never late
  std::vector<size_t> due_;  // of one handle_timeout

  std::deque<size_t> ready_;     // slots with something to send
  std::deque<size_t> in_ready_;  // slots with something received
  std::deque<PeerEvent> events_;
};

}  // namespace cress::secure
