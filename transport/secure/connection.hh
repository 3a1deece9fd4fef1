#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/base/machine.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/secure/door.hh"
#include "transport/secure/handshake/handshake.hh"
#include "transport/secure/handshake/joining.hh"
#include "transport/secure/path/identity.hh"
#include "transport/secure/path/newcomer.hh"
#include "transport/secure/path/peer.hh"
#include "transport/secure/rendezvous/rendezvous_client.hh"

namespace cress::secure {

/// What happens to an end with the link that would take the place of a silent peer and does not
/// prove to be the same.
enum class Replacement : uint8_t {
  kAsk,     ///< it waits until admit() or refuse(): NewcomerWaits
  kRefuse,  ///< it is refused as busy
  kAdmit,   ///< it gets the place, after Closed{kReplaced}
};

struct ConnectionOptions {
  Role role = Role::kListener;
  /// The secret of the link; wiped once its keys are derived.
  std::vector<std::byte> secret{};
  /// Used instead of a key from `secret`: the credential of a room (room_credential).
  std::optional<Credential> credential{};
  /// Where the listener is; for a joiner only.
  Address listener{};
  /// Other possible addresses of the listener: each is tried too, a quarter of a second after the
  /// one before.
  std::vector<Address> other_listeners{};
  /// Possible addresses of a relay at which the two ends meet (RendezvousClient), instead of the
  /// listener's own; empty: none. Needs `secret`.
  std::vector<Address> relays{};
  PeerOptions peer{};
  /// The programs for people choose another: the window asks, headless ends refuse.
  Replacement replacement = Replacement::kAdmit;
  /// 32 random bytes that this end keeps over restarts, so that it can prove to be the same; empty:
  /// it proves that as long as this object lives. Unused with `credential`: a leg to a relay proves
  /// nothing, and whatever answers with the credential gets the place. Wiped as `secret`.
  std::vector<std::byte> identity_secret{};
  /// How long a joiner tries before it gives up, and a listener to reach its relay.
  Duration connect_max = 30s;
  /// After this much silence from the current peer, a newcomer with the right link replaces it if
  /// it proves to be the same end, or `replacement` allows it.
  Duration replace_after = 2s;
  /// After this much silence, although data was sent, a joiner starts a new handshake while the
  /// call continues: the listener may have restarted and then has no record of the call.
  Duration rejoin_after = 1s;
};

struct ConnectionStats : DoorStats {
  uint64_t wrong_secret = 0;
  uint64_t busy = 0;  ///< had the right link, but another peer is connected
  uint64_t replaced = 0;
  uint64_t forged_identities = 0;  ///< proofs that are none, of ends that have the link
  uint64_t not_connected = 0;      ///< datagrams of our Endpoint while no peer is connected
  friend bool operator==(const ConnectionStats&, const ConnectionStats&) = default;
};

/// One end of a call's security, without I/O: from the link's secret to datagrams that only the two
/// ends can read or write, over addresses that may change. A joiner connects once, and again by
/// itself when the listener has lost the call's state; a listener serves one peer at a time, then
/// the next, until it hangs up.
///
/// After each handle_* and each verb, poll_transmit, poll_datagram and poll_event until empty, then
/// sleep until poll_timeout. With each Connected event a new Endpoint starts; the one before is
/// over. Peer data never fails a check; everything refused is counted. Records of the current call
/// are processed before anything else, in time proportional to their size. Threads: none inside;
/// one owner. `now` never goes back. Throws std::runtime_error from the constructor if OpenSSL
/// cannot.
class Connection {
 public:
  Connection(TimePoint start, ConnectionOptions options);
  ~Connection();

  void handle_datagram(TimePoint now, const Address& from, std::span<const std::byte> bytes);
  void handle_timeout(TimePoint now);
  /// Our own address changed, or the machine resumed from suspend: notifies the other end at once.
  void handle_network_change(TimePoint now);
  /// The socket refused to send a datagram of this size (EMSGSIZE).
  void handle_too_big(TimePoint now, DataSize size);
  /// Of what ICMP says, only that a datagram was too large: the rest may be forged by anybody on
  /// the path, and silence says the same, reliably.
  void handle_path_error(TimePoint now, const PathError& error);

  /// Addresses and port of our own socket, the most likely first: with a relay the other end tries
  /// to reach us there.
  void set_local_addresses(TimePoint now, std::vector<Address> addresses);

  /// The answer to NewcomerWaits, with its code: one that came in between is not meant. Without
  /// effect after NewcomerGone. A refusal holds for kAskAgainAfter: until then nobody else is asked
  /// about.
  void admit(TimePoint now, std::string_view code);
  void refuse(TimePoint now);

  /// A plaintext datagram of the Endpoint, at most datagram_max(). Dropped before Connected.
  void send(TimePoint now, std::vector<std::byte> plain);
  /// Ends the call and the listening. Keep polling until is_finished(): the close is sent three
  /// times in 100 ms, and again to a peer that continues to send.
  void hang_up(TimePoint now);

  std::optional<Transmit> poll_transmit(TimePoint now);
  /// Authenticated plaintext datagrams for the Endpoint. When more than Peer::kInMax wait, the
  /// oldest is dropped.
  std::optional<std::vector<std::byte>> poll_datagram();
  std::optional<Event> poll_event();
  TimePoint poll_timeout() const;

  bool is_connected() const { return connected_; }
  /// What both people read when nobody with the link is between them; empty: no session. A joiner
  /// has it before it is connected, while the other end lets it wait.
  std::string code() const { return peer_ != nullptr ? peer_->code() : ""; }
  /// Connected, and datagrams pass through a relay.
  bool is_relayed() const { return is_connected() && peer_->is_relayed(); }
  bool is_ipv6() const { return is_connected() && !peer_->path().is_ipv4(); }
  /// Closed for good, and nothing is left to send.
  bool is_finished() const { return is_finished_ && leaving_.empty(); }
  /// Closed for good; the close may still have to be sent.
  bool has_ended() const { return is_finished_; }
  /// For the Endpoint: what fits the path in addition to the record's tag.
  DataSize datagram_max() const;
  const ConnectionStats& stats() const { return stats_; }
  /// Handshakes of other peers that are in progress or wait for a decision (listener).
  size_t pending() const { return pending_.size(); }

  static constexpr size_t kPendingMax = 16;
  /// Counted from a newcomer's first record: four of its proofs have to be lost.
  static constexpr Duration kProofMax = 1s;
  static constexpr Duration kAskAgainAfter = 10s;

 private:
  /// A handshake with a peer whose address is verified as `from`.
  struct Pending {
    Address from;
    HelloGate::HelloRandom random{};
    std::unique_ptr<Handshake> handshake{};
    std::optional<TimePoint> complete_at{};  // while it waits for acceptance
    std::optional<Newcomer> newcomer{};      // as well
    bool is_asked = false;
    std::optional<TimePoint> forget_at{};  // failed or accepted: kept to repeat its last flight

    void end_waiting() {
      complete_at.reset();
      newcomer.reset();
      is_asked = false;
    }
  };

  void handle_session(TimePoint now, const Address& from, std::span<const std::byte> bytes);
  void handle_heard(TimePoint now);
  bool handle_leaving(TimePoint now, const Address& from, std::span<const std::byte> bytes);
  void handle_handshake(TimePoint now, const Address& from, std::span<const std::byte> bytes);
  void begin_handshake(TimePoint now, const Address& from, const HelloGate::HelloRandom& random,
                       std::span<const std::byte> bytes);
  void begin_joining(TimePoint now);
  void settle_joining(TimePoint now);
  TimePoint rejoin_at() const;
  void delay_rejoin(TimePoint now, CloseReason because);
  void drain_next(TimePoint now);
  void decide_next(TimePoint now);
  void admit_next(TimePoint now, bool is_same);
  void refuse_next(TimePoint now);
  void drop_next(TimePoint now, CloseReason because);
  TimePoint next_timeout() const;
  std::unique_ptr<Peer> make_peer(TimePoint now, const SessionSecrets& secrets, const Address& path,
                                  std::optional<IdentityCheck> known = {});
  void set_own_addresses(TimePoint now);
  void step_rendezvous(TimePoint now);
  void settle_rendezvous(TimePoint now);
  CloseReason why_not_connected() const;
  void handle_close(TimePoint now, CloseReason reason);
  void settle_pending(TimePoint now, Pending& pending);
  bool handle_newcomer(TimePoint now, const Address& from, std::span<const std::byte> bytes);
  void decide_waiting(TimePoint now);
  void decide(TimePoint now, Pending& pending);
  TimePoint waiting_timeout(const Pending& pending) const;
  void let_in(TimePoint now, Pending& pending);
  void replace(TimePoint now, Pending& pending, bool is_same);
  void refuse(TimePoint now, Pending& pending);

  enum class Verdict { kWait, kSame, kOther };
  Verdict verdict(TimePoint now, std::optional<TimePoint> first_heard,
                  const std::optional<PublicKey>& proven) const;
  Replacement replacement() const;
  bool ask(TimePoint now, const std::string& code);
  void settle_question();
  void note_identity();
  void drain_peer(TimePoint now);
  void leave(TimePoint now, std::unique_ptr<Peer> peer, CloseCode code, Duration linger);
  void finish(CloseReason reason);
  /// When the other end is silent for so long that a joiner looks for it; kNever if it answers.
  TimePoint silent_at() const;
  TimePoint gives_up_at() const;

  static constexpr size_t kLeavingMax = 8;
  static constexpr Duration kLinger = 3s;  // the close may be lost
  /// A listener admits a newcomer, or reports that it is busy, in far less.
  static constexpr Duration kNextMax = 10s;
  static constexpr size_t kOutMax = 256;

  ConnectionOptions options_;
  std::optional<SigningKey> identity_;  // none: with a credential
  HandshakeContext context_;
  ConnectionStats stats_;
  Door door_;
  TimePoint last_now_;

  std::unique_ptr<RendezvousClient> rendezvous_;  // null: without a relay
  std::vector<Address> local_addresses_;

  // A joiner's handshakes: the first, and those started while a call has fallen silent.
  std::unique_ptr<Joining> joining_;
  TimePoint give_up_at_ = kNever;
  std::unique_ptr<Peer> next_;     // replaces peer_ once it proves to be the same, or is admitted
  TimePoint next_until_ = kNever;  // while nothing was heard of it
  TimePoint waiting_since_{};      // when the last handshake was complete
  std::optional<TimePoint> next_heard_{};  // first
  bool is_next_asked_ = false;
  TimePoint no_rejoin_before_;
  std::optional<CloseReason> rejoin_refusal_;
  TimePoint replaced_itself_until_{};  // a handshake of ours that was given up may still do so
  bool is_replaced_ = false;  // the old call; the handshake under way shows by which joiner

  // Peers in handshake with a listener.
  std::vector<Pending> pending_;  // oldest first, at most kPendingMax

  std::unique_ptr<Peer> peer_;
  bool connected_ = false;  // and the Connected event was reported
  bool was_connected_ = false;
  std::optional<PublicKey> pinned_;  // the key that peer_, or the one before it, has proven
  bool is_place_taken_ = false;      // peer_ was heard, or somebody before it in its place
  bool is_question_open_ = false;
  TimePoint ask_after_;
  std::vector<std::unique_ptr<Peer>> leaving_;  // close is being sent to them; at most kLeavingMax
  bool is_finished_ = false;

  std::deque<Event> events_;
};

}  // namespace cress::secure
