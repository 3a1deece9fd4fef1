#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/secure/crypto/crypto.hh"
#include "transport/secure/crypto/keyed_hash.hh"
#include "transport/secure/handshake/credential.hh"
#include "transport/secure/records/records.hh"

namespace cress::secure {

/// The listener made the link, the joiner received it.
enum class Role : uint8_t { kListener, kJoiner };

/// First byte of a DTLS record (RFC 6347 §4.1): its content type.
inline bool is_handshake_kind(std::byte first) {
  return first >= std::byte{20} && first <= std::byte{25};
}

/// Identifies a session, unencrypted, when its address has changed.
using SessionId = std::array<std::byte, 8>;

/// The secrets that both ends share after a handshake, and no one else has (RFC 5705 exporter).
struct SessionSecrets {
  DirectionSecrets records;
  DirectionSecrets control;
  SessionId id{};
  Role role = Role::kListener;
  /// The same at both ends, and different in every other session (see comparison_code).
  std::string code{};
  /// What an end signs to bind its key to this handshake: the same at both ends, different in every
  /// other handshake, and neither end alone can choose it.
  Secret binding{};
};

/// Returns the key of an identity, if it currently has one. Called by the owner of a handshake,
/// with any text of 16 hexadecimal digits; must not throw.
using PskLookup = std::function<std::optional<Secret>(std::string_view identity)>;

/// Settings shared by all handshakes of one link, or of a relay's set of rooms: DTLS 1.2,
/// ECDHE-PSK-CHACHA20-POLY1305 on X25519, nothing else. The handshakes made with it must not
/// outlive it. Throws std::runtime_error if OpenSSL cannot. Threads: handshakes of one context may
/// be created and run in several threads.
class HandshakeContext {
 public:
  /// For a call of two.
  HandshakeContext(Role role, std::span<const std::byte> link_secret);
  HandshakeContext(Role role, Credential credential);
  /// For a listener with many keys, which may be added and removed. `late`, if any, is asked in
  /// handle_datagram for an identity that `lookup` does not know: it may take its time, but runs in
  /// whichever thread computes the handshake.
  explicit HandshakeContext(PskLookup lookup, PskLookup late = {});
  ~HandshakeContext();

  Role role() const { return role_; }

 private:
  friend class Handshake;
  struct Impl;
  HandshakeContext(Role role, std::unique_ptr<Impl> impl);
  Role role_;
  std::unique_ptr<Impl> impl_;
};

inline constexpr Duration kHandshakeMax = 5s;
inline constexpr Duration kFirstRepeat = 50ms;
inline constexpr Duration kLastRepeat = 1s;

/// One DTLS handshake as a sans-IO machine. OpenSSL does the cryptography; this class handles
/// datagrams, time and retransmission. OpenSSL's own timer reads the wall clock, so it is set so
/// far ahead that it never fires. The last flight (one datagram here) is retransmitted unchanged
/// after 50 ms, then after twice as long each time, up to 1 s (or `last_repeat`). The final flight,
/// which is the listener's, is repeated when the other end repeats its own, byte for byte. Gives up
/// after 5 s: a listener's counted from its start, a joiner's from its last progress.
///
/// Alerts are not authenticated, so none ends a handshake: OpenSSL does not see them. A joiner that
/// has received two alerts that its link is unknown, and 400 ms after the first still has no
/// success, accepts that.
///
/// A listener's handshake begins with a ClientHello whose cookie the HelloGate has accepted.
/// Threads: none inside; one owner, which may pass it to another thread for one handle_datagram,
/// after look_up() of the same datagram in the owner's thread: the call then uses only this object
/// and OpenSSL.
class Handshake {
 public:
  enum class State : uint8_t {
    kRunning,
    kComplete,     ///< both ends have the same secret
    kWrongSecret,  ///< the listener does not know the joiner's link (it says so, unauthenticated)
    kFailed,       ///< invalid data from the other end, or too long without progress
  };

  Handshake(TimePoint now, const HandshakeContext& context, Duration last_repeat = kLastRepeat);
  ~Handshake();

  /// Listener only: looks up the key that the datagram names, if it names one. handle_datagram does
  /// this itself if it was not called before.
  void look_up(std::span<const std::byte> datagram);
  /// False if the datagram cannot belong to this handshake; the state is unchanged then. This call
  /// is the expensive one: 0.1 to 0.2 ms.
  bool handle_datagram(TimePoint now, std::span<const std::byte> datagram);
  void handle_timeout(TimePoint now);
  std::optional<std::vector<std::byte>> poll_transmit();
  TimePoint poll_timeout() const;

  State state() const { return state_; }
  /// Joiner only: still running, but the listener may have all that it needs.
  bool may_be_complete_there() const;
  /// Of a completed handshake.
  const SessionSecrets& secrets() const;
  TimePoint began() const { return began_; }
  /// Listener only: the identity that the joiner sent, known here or not. Proven once complete;
  /// empty until it was received.
  const std::string& identity() const { return identity_; }

 private:
  friend class HandshakeContext;
  struct Engine;
  void step(TimePoint now);
  bool handle_alert(TimePoint now, std::span<const std::byte> datagram);
  bool is_refused(TimePoint now) const;
  void export_secrets();
  void finish(State state);
  void repeat_flight(TimePoint now);

  Role role_;
  TimePoint began_;
  TimePoint give_up_at_;
  bool was_verified_ = false;  // a joiner that has its cookie
  int refusals_ = 0;           // alerts received: unknown link
  TimePoint refused_at_;
  State state_ = State::kRunning;
  std::unique_ptr<Engine> engine_;  // null once the handshake is over
  std::optional<SessionSecrets> secrets_;
  std::string identity_;
  std::vector<std::vector<std::byte>> flight_;
  std::vector<std::byte> last_heard_;  // the datagram that triggered the last flight
  std::deque<std::vector<std::byte>> out_;
  Duration last_repeat_;
  Duration repeat_after_;
  TimePoint repeat_at_ = kNever;
  TimePoint flight_left_at_;
  int answers_left_;
};

/// Stateless answer to a first ClientHello (RFC 6347 §4.2.1): a sender that does not receive at its
/// source address gets no further, uses no memory, and never reaches OpenSSL. The cookie is a MAC
/// (SipHash-2-4, twice) over the address, the hello's random number and the time in steps of 30 s,
/// with keys that only this object has.
class HelloGate {
 public:
  using HelloRandom = std::array<std::byte, 32>;
  enum class Verdict : uint8_t {
    kNoHello,  ///< not a whole ClientHello in one record
    kAnswer,   ///< no cookie that is valid now: send `answer`, which is smaller than the hello
    kProven,   ///< the sender receives at that address
  };
  struct Outcome {
    Verdict verdict = Verdict::kNoHello;
    HelloRandom random{};
    std::vector<std::byte> answer;
  };

  /// False: judge() will return kNoHello. Cheap.
  static bool may_be_hello(std::span<const std::byte> datagram);
  /// `address`: any bytes that identify the sender.
  Outcome judge(TimePoint now, std::span<const std::byte> address,
                std::span<const std::byte> datagram) const;

 private:
  static constexpr size_t kCookieSize = 16;
  using Cookie = std::array<std::byte, kCookieSize>;
  Cookie cookie(int64_t period, std::span<const std::byte> address,
                const HelloRandom& random) const;

  // Each computes half a cookie: keys of 128 bits, and a tenth of HMAC's cost.
  KeyedHash first_ = KeyedHash::random();
  KeyedHash second_ = KeyedHash::random();
};

}  // namespace cress::secure
