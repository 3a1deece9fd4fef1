#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/fifo.hh"
#include "transport/base/result.hh"
#include "transport/base/spare_buffers.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/secure/handshake/handshake.hh"
#include "transport/secure/path/direct_path.hh"
#include "transport/secure/path/identity.hh"
#include "transport/secure/path/mtu_search.hh"
#include "transport/secure/records/control_record.hh"
#include "transport/secure/records/records.hh"

namespace cress::secure {

enum class CloseReason : uint8_t {
  kHungUp,  ///< by this end
  kPeerHungUp,
  kWrongSecret,  ///< the listener does not know our link (joiner)
  kBusy,         ///< the listener is in a call with another peer (joiner)
  kReplaced,     ///< another peer joined with the same link while this one was silent
  kTimedOut,     ///< nothing was received for as long as the options allow
  kNoAnswer,     ///< no valid answer from the link's address (joiner)
  kFull,         ///< the other end has no free place
  kGoingAway,    ///< the other end's program is ending
  kRemoved,      ///< the other end's owner ended the session
  kRelayFull,    ///< the relay between the ends has no place for one more call
  kNoCallRelay,  ///< it forwards no calls of two at all
  kRelayOver,    ///< it forwards this one no longer
  kNoRelay,      ///< it does not answer
  kNobodyThere,  ///< the other end has not come to the relay (joiner)
};
/// One clear sentence for a person.
const char* describe(CloseReason reason);

struct Connected {
  Address peer;
  friend bool operator==(const Connected&, const Connected&) = default;
};
struct PathChanged {
  Address peer;
  friend bool operator==(const PathChanged&, const PathChanged&) = default;
};
/// Nothing has been received for a while although data was sent. Not the end of a call.
struct Unreachable {
  friend bool operator==(const Unreachable&, const Unreachable&) = default;
};
struct Reachable {
  friend bool operator==(const Reachable&, const Reachable&) = default;
};
/// The largest plain datagram that an Endpoint should make from now on.
struct MtuChanged {
  DataSize datagram_max;
  friend bool operator==(const MtuChanged&, const MtuChanged&) = default;
};
/// Nothing is heard from the present peer, and another end with the link, which does not prove to
/// be the same, would take its place: Connection::admit or refuse decides.
struct NewcomerWaits {
  std::string code;  ///< of the newcomer's session
  friend bool operator==(const NewcomerWaits&, const NewcomerWaits&) = default;
};
/// It waits no longer, for whatever reason.
struct NewcomerGone {
  friend bool operator==(const NewcomerGone&, const NewcomerGone&) = default;
};
struct Closed {
  CloseReason reason = CloseReason::kHungUp;
  friend bool operator==(const Closed&, const Closed&) = default;
};
using Event = std::variant<Connected, PathChanged, Unreachable, Reachable, MtuChanged,
                           NewcomerWaits, NewcomerGone, Closed>;

struct PeerOptions {
  /// After this much silence a call ends.
  Duration silence_max = 60s;
  Duration unreachable_after = 3s;
  /// Source of the buffers for decrypted datagrams; null: the allocator.
  SpareBuffers* spare = nullptr;
};

/// The other end of a call, identified by its keys and not by its address. Encrypts and decrypts,
/// follows the peer from address to address (RFC 9000 §9, simplified: a new address is used once it
/// has answered a challenge), detects silence, searches the path's MTU, closes. A joiner without an
/// answer, or whose address changed, puts the session's id before its control records (except MTU
/// probes) until a pong or a challenge arrives; before pongs, path responses and closes always. A
/// listener with many peers finds the session by the id. Unauthenticated data never changes the
/// state. Threads: none inside; one owner. `now` never goes back.
class Peer {
 public:
  Peer(TimePoint now, const SessionSecrets& secrets, const Address& path, PeerOptions options);

  /// A record or a control record from any address, with or without an id before it (the id is not
  /// checked: the keys identify the peer). On error the state is unchanged.
  Result<Unit, OpenError> handle_datagram(TimePoint now, const Address& from,
                                          std::span<const std::byte> bytes);
  void handle_timeout(TimePoint now);
  /// Our own address changed, or the machine resumed from suspend.
  void handle_network_change(TimePoint now);
  void handle_too_big(TimePoint now, DataSize size);
  /// Datagrams from and to `relay` pass through a relay: a direct path is searched from now on, and
  /// used while datagrams pass there in both directions. The joiner decides when; the listener
  /// follows. Either returns to the relay when the direct path is silent.
  void set_relay(TimePoint now, const Address& relay);
  /// Our candidates (DirectPath::set_own); without effect before set_relay().
  void set_own_addresses(TimePoint now, std::vector<Address> addresses);
  /// Encrypts a datagram of the Endpoint. When more than kOutMax wait, the oldest is dropped.
  /// Returns whether poll_timeout may be sooner now.
  bool send(TimePoint now, std::vector<std::byte> plain);
  /// The same for a caller that sends it at once, ahead of waiting datagrams. nullopt: the session
  /// is over.
  struct Sealed {
    Transmit transmit;
    bool is_sooner = false;  ///< poll_timeout may be sooner
  };
  std::optional<Sealed> seal(TimePoint now, std::vector<std::byte> plain);
  /// Sends `own` (prove_identity) until it is acknowledged, for about 10 s at most: an end of an
  /// older version ignores it. The other end's proofs are taken from now on; one that `others` has
  /// already is acknowledged.
  void prove(TimePoint now, const IdentityProof& own, IdentityCheck others);
  /// Requests an answer from the peer at once.
  void ping(TimePoint now);
  /// Sends the close three times, and then for `linger` again in answer to each datagram received.
  void close(TimePoint now, CloseCode code, Duration linger);

  std::optional<Transmit> poll_transmit(TimePoint now);
  std::optional<std::vector<std::byte>> poll_datagram();
  std::optional<Event> poll_event();
  TimePoint poll_timeout() const;

  const Address& path() const { return path_; }
  /// Whether datagrams pass through the relay of set_relay().
  bool is_relayed() const { return direct_ && path_ == direct_->relay(); }
  const SessionId& id() const { return id_; }
  const std::string& code() const { return code_; }
  bool was_heard() const { return was_heard_; }
  /// The key that the other end has proven; nullopt: none, or prove() was not called.
  std::optional<PublicKey> proven() const;
  TimePoint last_heard() const { return last_heard_; }
  /// The time since which data has been sent without any answer; nullopt: everything was answered.
  std::optional<TimePoint> unanswered_since() const { return unanswered_since_; }
  /// True after close() and its lingering, or when the other end has closed or fallen silent.
  bool is_over() const { return is_over_; }
  bool is_closing() const { return closing_.has_value(); }
  DataSize datagram_max() const { return mtu_.size() - kRecordOverhead; }

  static constexpr size_t kOutMax = 512;
  static constexpr size_t kInMax = 512;

 private:
  /// An address that sent with the right key but has not yet proven that it also receives.
  struct Candidate {
    Address address;
    PathToken token{};
    DataSize received;
    DataSize sent;
    TimePoint since;
    TimePoint challenge_at;
    Duration interval;
  };
  struct Proving {
    IdentityProof own;
    IdentityCheck others;
    int left;
    TimePoint next;
    Duration interval;
  };
  struct Closing {
    CloseCode code = CloseCode::kHangUp;
    int left = 0;
    TimePoint next;
    TimePoint until;
  };

  void handle_heard(TimePoint now, const Address& from, DataSize size, bool newest);
  void handle_message(TimePoint now, const Address& from, const ControlMessage& message,
                      DataSize size);
  bool handle_direct(TimePoint now, const Address& from, const ControlMessage& message);
  void handle_found(TimePoint now, const Address& path);
  void send_direct(TimePoint now);
  bool is_silent(TimePoint now) const;
  void search_direct_again(TimePoint now);
  void search_direct_later(TimePoint now);
  bool is_left_behind(TimePoint now, const Address& from) const;
  TimePoint direct_timeout() const;
  void move_to(TimePoint now, const Address& path);
  void handle_close(CloseCode code);
  void handle_response(TimePoint now, const Address& from, const PathToken& token);
  void consider(TimePoint now, const Address& from, DataSize size);
  void send_challenges(TimePoint now);
  void send_control(TimePoint now, const Address& to, const ControlMessage& message);
  void send_pings(TimePoint now);
  void send_probes(TimePoint now);
  void send_proof(TimePoint now);
  void handle_identity(TimePoint now, const Address& from, const ControlMessage& message);
  void note_sent(TimePoint now);
  TimePoint search_at() const;
  void note_mtu();
  DataSize largest_payload() const;

  static constexpr size_t kCandidatesMax = 4;
  static constexpr size_t kControlMax = 64;

  PeerOptions options_;
  Records records_;
  ControlRecords control_;
  SessionId id_;
  std::string code_;
  bool is_joiner_;
  Address path_;
  std::vector<Candidate> candidates_;
  std::optional<DirectPath> direct_;
  std::optional<TimePoint> moved_at_;  // to a direct path, by our own decision
  int searches_ = 0;  // for a direct path, without lasting success: the next waits the longer
  MtuSearch mtu_;
  DataSize mtu_told_;

  TimePoint last_heard_;
  bool was_heard_ = false;
  std::optional<TimePoint> unanswered_since_;  // when the first datagram since then was sent
  bool is_unreachable_ = false;
  bool is_searching_ = false;  // a joiner: the listener may not know our address
  bool is_over_ = false;
  std::optional<Closing> closing_;
  std::optional<Proving> proving_;
  TimePoint ping_at_;
  Duration ping_interval_;
  uint32_t next_ping_id_ = 0;
  uint32_t large_received_ = 0;

  Fifo<std::vector<std::byte>> out_;  // records, for the path current when they leave
  Fifo<Transmit> control_out_;
  Fifo<std::vector<std::byte>> in_;
  Fifo<Event> events_;  // few: drained after each call
};

}  // namespace cress::secure
