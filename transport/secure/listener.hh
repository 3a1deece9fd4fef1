#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/time.hh"
#include "transport/base/token_bucket.hh"
#include "transport/base/units.hh"
#include "transport/secure/crypto/keyed_hash.hh"
#include "transport/secure/door.hh"
#include "transport/secure/handshake/handshake.hh"
#include "transport/secure/handshake/handshake_limits.hh"
#include "transport/secure/path/peer.hh"
#include "transport/secure/timer_heap.hh"

namespace cress::secure {

/// One session of a Listener. Never reused after its end.
struct PeerId {
  uint64_t value = 0;
  /// Small and unique among current sessions: for indexing tables.
  size_t slot() const { return value & 0xFFFF'FFFFU; }
  friend auto operator<=>(PeerId, PeerId) = default;
};

struct ListenerOptions {
  /// Which identities may join now, and their keys (Credential: room_credential, link_credential).
  PskLookup lookup{};
  /// Asked for an identity that `lookup` does not know, where handshakes are computed: with
  /// hands_out_work in another thread. May be empty.
  PskLookup late_lookup{};
  /// Notified of each joiner whose identity neither knows, and its address. May be empty.
  std::function<void(std::string_view identity, const Address& from)> refused{};
  size_t peers_max = 1024;
  /// Handshakes in progress; when one more arrives the oldest is dropped.
  size_t pending_max = 128;
  /// Handshake computations are handed out to be run elsewhere (poll_work); otherwise they run at
  /// once.
  bool hands_out_work = false;
  /// Sessions that are being closed, in addition to the peers; beyond that the oldest is cut short.
  size_t leaving_max = 64;
  /// A handshake costs about 0.4 ms in whichever thread computes it; 20 000 stateless answers cost
  /// 3 % of a core. Many members may share one address of one office.
  HandshakeLimits::Options limits{.hellos = {.per_second = 40'000, .burst = 4'000},
                                  .answers = {.per_second = 20'000, .burst = 2'000},
                                  .handshakes = {.per_second = 200, .burst = 100},
                                  .handshakes_of_network = {.per_second = 10, .burst = 20},
                                  .networks = 1024};
  PeerOptions peer{};
  /// Control records of one peer (pings, pongs, challenges, probes); an ordinary peer sends about
  /// ten a second. Beyond the limit they are dropped before decryption.
  TokenBucket::Options control{.per_second = 50, .burst = 100};
  /// Datagrams of one peer that do not come from its current path: it is changing address, or
  /// somebody sends its datagrams from many. Beyond the limit they are dropped likewise.
  TokenBucket::Options elsewhere{.per_second = 100, .burst = 200};
};

struct ListenerStats : DoorStats {
  uint64_t routed = 0;            ///< datagrams that a peer was found for by its id
  uint64_t unknown_identity = 0;  ///< of no room that is open
  uint64_t joined = 0;
  uint64_t full = 0;           ///< had the right key, but there was no free place
  uint64_t ignored = 0;        ///< from peers that are being ignored; not decrypted
  uint64_t over_limit = 0;     ///< control records, or from elsewhere; not decrypted
  uint64_t not_connected = 0;  ///< datagrams to send to a peer that has gone
  friend bool operator==(const ListenerStats&, const ListenerStats&) = default;
};

/// Connected, PathChanged, Unreachable, Reachable, MtuChanged or Closed, of one peer.
struct PeerEvent {
  PeerId peer;
  std::string identity;  ///< with which it joined: identifies its room
  Event event;
  friend bool operator==(const PeerEvent&, const PeerEvent&) = default;
};
struct PeerDatagram {
  PeerId peer;
  std::vector<std::byte> bytes;
};

/// One step of a handshake, to be computed away from the Listener: OpenSSL's part of a join. It
/// holds everything it needs except the Listener's context, which must outlive it.
class HandshakeWork {
 public:
  /// Call once, in any thread. Throws nothing: a handshake that OpenSSL cannot begin counts as
  /// failed.
  void run();

 private:
  friend class Listener;
  const HandshakeContext* context_ = nullptr;
  TimePoint now_;
  size_t index_ = 0;
  uint64_t number_ = 0;
  std::unique_ptr<Handshake> handshake_;  // null: not begun yet, or could not begin
  std::vector<std::byte> datagram_;
  bool handshake_accepted_ = false;
};

/// Many sessions on one socket, without I/O: the counterpart of Connection for a relay. A peer is
/// found in constant time by its address, or by the id that it puts before its records when its
/// address has changed; the new address is then challenged (Peer). Sessions end independently.
///
/// After each handle_* and each verb, poll_transmit, poll_datagram and poll_event until empty, then
/// sleep until poll_timeout. Peer data never fails a check; everything refused is counted. Memory
/// is bounded by the options. The cost of a datagram depends on its size alone, not on the number
/// of peers; only its output is allocated, apart from queues that grow. Threads: none inside; one
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
  /// Work from poll_work that has been run. The handshake continues, unless it was abandoned
  /// meanwhile.
  void handle_work(TimePoint now, HandshakeWork work);

  /// A plaintext datagram of that peer's Endpoint, at most datagram_max(peer). Dropped if the peer
  /// has gone.
  void send(TimePoint now, PeerId peer, std::vector<std::byte> plain);
  /// The same for a caller that sends it at once, when poll_transmit is empty. nullopt: the peer
  /// has gone.
  std::optional<Transmit> seal(TimePoint now, PeerId peer, std::vector<std::byte> plain);
  /// Ends a session: its Closed event is available at once; the close is sent three times in 100
  /// ms, and for 3 s again in answer to datagrams from the peer. No effect if the peer has gone.
  void close(TimePoint now, PeerId peer, CloseCode code);
  /// Drops the peer's datagrams before decryption until `until`, because it sends more than it may.
  /// No effect if the peer has gone.
  void ignore(PeerId peer, TimePoint until);
  /// Closes all sessions and accepts no new ones. Keep polling until is_finished().
  void stop(TimePoint now, CloseCode code);

  std::optional<Transmit> poll_transmit(TimePoint now);
  std::optional<PeerDatagram> poll_datagram();
  std::optional<PeerEvent> poll_event();
  bool has_event() const { return !events_.empty(); }
  /// With hands_out_work: work to be run and returned, in any order and with any delay. At most
  /// pending_max are out or waiting; datagrams that would need more are dropped and counted
  /// (rate_limited).
  std::optional<HandshakeWork> poll_work();
  TimePoint poll_timeout() const { return timers_.next_due(); }

  bool is_connected(PeerId peer) const { return find(peer) != nullptr; }
  size_t peers() const { return peers_; }
  size_t pending() const { return pending_order_.size(); }
  /// Stopped, and all sessions have finished closing.
  bool is_finished() const { return is_stopped_ && peers_ == 0 && leaving_.empty(); }
  /// What fits the peer's path in addition to the record's tag.
  DataSize datagram_max(PeerId peer) const;
  /// The peer's current address; nullopt if the peer has gone.
  std::optional<Address> path(PeerId peer) const;
  const ListenerStats& stats() const { return stats_; }

 private:
  /// A session, or one that is being closed.
  struct Slot {
    uint32_t generation = 1;
    std::unique_ptr<Peer> peer;
    std::string identity;
    bool is_leaving = false;
    bool is_ready = false;  // is in ready_
    bool has_in = false;    // is in in_ready_
    TimePoint ignored_until{};
    TokenBucket control{{}};
    TokenBucket elsewhere{{}};
    std::vector<Address> addresses;  // of this peer, oldest first; its path is one of them
    // Kept to retransmit our last handshake flight, until `flight_until`.
    std::unique_ptr<Handshake> last_flight;
    HelloGate::HelloRandom random{};
    TimePoint flight_until = kNever;
  };
  struct Pending {
    Address from;
    HelloGate::HelloRandom random{};
    uint64_t number = 0;                   // counts all handshakes
    std::unique_ptr<Handshake> handshake;  // null while it is being computed elsewhere
    std::optional<TimePoint> forget_at;    // refused: kept to repeat the refusal
  };

  const Slot* find(PeerId peer) const;
  Slot* find(PeerId peer);
  PeerId id_of(size_t slot) const;

  void handle_session(TimePoint now, const Address& from, std::span<const std::byte> bytes);
  void deliver(TimePoint now, size_t slot, const Address& from, std::span<const std::byte> bytes,
               bool is_routed);
  bool is_within_limits(TimePoint now, Slot& at, const Address& from, std::byte kind);
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
  size_t peers_ = 0;            // not counting those that are closing
  std::deque<size_t> leaving_;  // oldest first
  std::unordered_map<Address, size_t, KeyedHash> by_address_;
  std::unordered_map<uint64_t, size_t>
      by_id_;  // ids are random, and verified before they are stored here

  std::vector<Pending> pending_;
  std::vector<size_t> free_pending_;
  std::deque<size_t> pending_order_;  // oldest first
  std::unordered_map<Address, size_t, KeyedHash> pending_by_address_;
  std::deque<HandshakeWork> work_;  // waiting to be handed out
  size_t work_out_ = 0;             // those waiting and those handed out

  TimerHeap timers_;         // slots, then pending handshakes; entries may be early, never late
  std::vector<size_t> due_;  // reused by handle_timeout

  std::deque<size_t> ready_;     // slots with something to send
  std::deque<size_t> in_ready_;  // slots with something received
  std::deque<PeerEvent> events_;
};

}  // namespace cress::secure
