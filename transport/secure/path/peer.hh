#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/fifo.hh"
#include "transport/base/result.hh"
#include "transport/base/spare_buffers.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/secure/handshake/handshake.hh"
#include "transport/secure/path/mtu_search.hh"
#include "transport/secure/records/control_record.hh"
#include "transport/secure/records/records.hh"

namespace cress::secure {

enum class CloseReason : uint8_t {
  kHungUp,  ///< by us
  kPeerHungUp,
  kWrongSecret,  ///< the listener does not know our link (joiner)
  kBusy,         ///< the listener is in a call with somebody else (joiner)
  kReplaced,     ///< somebody joined with the same link while this one was silent
  kTimedOut,     ///< nothing was heard for as long as the options allow
  kNoAnswer,     ///< nobody, or nobody sensible, at the link's address (joiner)
  kFull,         ///< the other end has no place for one more
  kGoingAway,    ///< the other end's program ends
  kRemoved,      ///< the other end's owner put an end to it
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
/// Nothing has been heard for a while though something was said. Not the end of a call.
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
struct Closed {
  CloseReason reason = CloseReason::kHungUp;
  friend bool operator==(const Closed&, const Closed&) = default;
};
using Event = std::variant<Connected, PathChanged, Unreachable, Reachable, MtuChanged, Closed>;

struct PeerOptions {
  /// Silence that ends a call.
  Duration silence_max = 60s;
  Duration unreachable_after = 3s;
  /// Where the buffers of what was opened come from; null: the allocator.
  SpareBuffers* spare = nullptr;
};

/// The one at the other end of a call, known by its keys and not by its address. Seals and opens,
/// follows it from address to address (RFC 9000 §9, simplified: a new address is used once it has
/// answered a challenge), notices silence, searches the path's MTU, says good-bye. A joiner that is
/// not answered, or knows that its address changed, puts the session's id before its control
/// records until it hears something: a listener with many peers finds it by that.
/// Nothing unauthenticated changes it. Threads: none inside; one owner. `now` never goes back.
class Peer {
 public:
  Peer(TimePoint now, const SessionSecrets& secrets, const Address& path, PeerOptions options);

  /// A record or a control record from anywhere, with or without an id before it (whose id is not
  /// asked: the keys tell). An error: nothing has changed.
  Result<Unit, OpenError> handle_datagram(TimePoint now, const Address& from,
                                          std::span<const std::byte> bytes);
  void handle_timeout(TimePoint now);
  /// Our own address changed, or the machine woke up.
  void handle_network_change(TimePoint now);
  void handle_too_big(TimePoint now, DataSize size);
  /// Seals a datagram of the Endpoint. Over kOutMax of them wait: the oldest goes. Returns whether
  /// poll_timeout may be sooner now.
  bool send(TimePoint now, std::vector<std::byte> plain);
  /// The same for who sends it at once, before what waits. Nothing: it is over.
  struct Sealed {
    Transmit transmit;
    bool is_sooner = false;  ///< poll_timeout may be
  };
  std::optional<Sealed> seal(TimePoint now, std::vector<std::byte> plain);
  /// Asks for a sign of life at once.
  void ping(TimePoint now);
  /// Says so three times, and then for `linger` once more to whatever is still heard.
  void close(TimePoint now, CloseCode code, Duration linger);

  std::optional<Transmit> poll_transmit(TimePoint now);
  std::optional<std::vector<std::byte>> poll_datagram();
  std::optional<Event> poll_event();
  TimePoint poll_timeout() const;

  const Address& path() const { return path_; }
  const SessionId& id() const { return id_; }
  bool was_heard() const { return was_heard_; }
  TimePoint last_heard() const { return last_heard_; }
  /// Since when there is no sign of life though something was said; nothing: it was all answered.
  std::optional<TimePoint> unanswered_since() const { return unanswered_since_; }
  /// After close() and its lingering, or when the other end has closed or fallen silent.
  bool is_over() const { return is_over_; }
  bool is_closing() const { return closing_.has_value(); }
  DataSize datagram_max() const { return mtu_.size() - kRecordOverhead; }

  static constexpr size_t kOutMax = 512;
  static constexpr size_t kInMax = 512;

 private:
  /// An address that spoke with the right key but has not yet shown that it also listens.
  struct Candidate {
    Address address;
    PathToken token{};
    DataSize received;
    DataSize sent;
    TimePoint since;
    TimePoint challenge_at;
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
  void handle_close(CloseCode code);
  void handle_response(TimePoint now, const Address& from, const PathToken& token);
  void consider(TimePoint now, const Address& from, DataSize size);
  void send_challenges(TimePoint now);
  void send_control(TimePoint now, const Address& to, const ControlMessage& message);
  void send_pings(TimePoint now);
  void send_probes(TimePoint now);
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
  bool is_joiner_;
  Address path_;
  std::vector<Candidate> candidates_;
  MtuSearch mtu_;
  DataSize mtu_told_;

  TimePoint last_heard_;
  bool was_heard_ = false;
  std::optional<TimePoint> unanswered_since_;  // the first thing said since then
  bool is_unreachable_ = false;
  bool is_searching_ = false;  // a joiner: the listener may not know where we are
  bool is_over_ = false;
  std::optional<Closing> closing_;
  TimePoint ping_at_;
  Duration ping_interval_;
  uint32_t next_ping_id_ = 0;
  uint32_t large_received_ = 0;

  Fifo<std::vector<std::byte>> out_;  // records, for the path of the moment they leave
  Fifo<Transmit> control_out_;
  Fifo<std::vector<std::byte>> in_;
  Fifo<Event> events_;  // few: drained after each call
};

}  // namespace cress::secure
