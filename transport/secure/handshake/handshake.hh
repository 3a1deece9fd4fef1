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

/// The listener made the link, the joiner was given it.
enum class Role : uint8_t { kListener, kJoiner };

/// First byte of a DTLS record (RFC 6347 §4.1): its content type.
inline bool is_handshake_kind(std::byte first) {
  return first >= std::byte{20} && first <= std::byte{25};
}

/// Names a session in the open where an address no longer does.
using SessionId = std::array<std::byte, 8>;

/// What both ends know after a handshake, and nobody else (RFC 5705 exporter).
struct SessionSecrets {
  DirectionSecrets records;
  DirectionSecrets control;
  SessionId id{};
  Role role = Role::kListener;
};

/// The key that an identity names, if there is one now. Called by the owner of a handshake, with
/// any text of 16 hexadecimal digits; must not throw.
using PskLookup = std::function<std::optional<Secret>(std::string_view identity)>;

/// Settings of all handshakes that use one link, or at a relay one set of rooms: DTLS 1.2,
/// ECDHE-PSK-CHACHA20-POLY1305 on X25519, nothing else.
/// The handshakes made with it must not outlive it. Throws std::runtime_error if OpenSSL cannot.
/// Threads: handshakes of one context may be made and computed in several.
class HandshakeContext {
 public:
  /// Of a call of two.
  HandshakeContext(Role role, std::span<const std::byte> link_secret);
  HandshakeContext(Role role, Credential credential);
  /// A listener with many keys, which may come and go.
  explicit HandshakeContext(PskLookup lookup);
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

/// One DTLS handshake as a sans-IO machine. OpenSSL computes; datagrams, time and repetition are
/// ours: OpenSSL's own timer reads the wall clock, so it is set so far off that it never runs, and
/// what it wrote last (one flight is one datagram here) is sent again as it was: 50 ms after the
/// first time, then after twice as long, up to 1 s (or `last_repeat`). The last flight, which is
/// the listener's, is repeated when the other end repeats its own, byte for byte. Gives up after 5
/// s: a listener's since it began, a joiner's since it last got on.
///
/// Alerts are not authenticated, so none ends a handshake: OpenSSL does not see them. A joiner that
/// was told twice that its link is unknown, and 400 ms after the first time still has no success,
/// believes it.
///
/// A listener's handshake begins with a ClientHello whose cookie the HelloGate has accepted.
/// Threads: none inside; one owner, who may lend it to another thread for a handle_datagram, after
/// look_up() of the same datagram here: then nothing but this and OpenSSL is touched there.
class Handshake {
 public:
  enum class State : uint8_t {
    kRunning,
    kComplete,     ///< both ends have the same secret
    kWrongSecret,  ///< the listener does not know the joiner's link (it says so, unauthenticated)
    kFailed,       ///< nonsense from the other end, or too long without progress
  };

  Handshake(TimePoint now, const HandshakeContext& context, Duration last_repeat = kLastRepeat);
  ~Handshake();

  /// A listener's: asks for the key that the datagram names, if it does. handle_datagram does so by
  /// itself where it was not done before.
  void look_up(std::span<const std::byte> datagram);
  /// False when the datagram cannot be of this handshake; nothing has changed then. This is what
  /// costs: 0.1 to 0.2 ms.
  bool handle_datagram(TimePoint now, std::span<const std::byte> datagram);
  void handle_timeout(TimePoint now);
  std::optional<std::vector<std::byte>> poll_transmit();
  TimePoint poll_timeout() const;

  State state() const { return state_; }
  /// Of a complete handshake.
  const SessionSecrets& secrets() const;
  TimePoint began() const { return began_; }
  /// A listener's: what the joiner called its key. Proven once complete; empty until it is said.
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
  bool was_verified_ = false;  // a joiner has its cookie
  int refusals_ = 0;           // alerts: unknown link
  TimePoint refused_at_;
  State state_ = State::kRunning;
  std::unique_ptr<Engine> engine_;  // gone once the handshake is over
  std::optional<SessionSecrets> secrets_;
  std::string identity_;
  std::vector<std::vector<std::byte>> flight_;
  std::vector<std::byte> last_heard_;  // what brought about the last flight
  std::deque<std::vector<std::byte>> out_;
  Duration last_repeat_;
  Duration repeat_after_;
  TimePoint repeat_at_ = kNever;
  TimePoint flight_left_at_;
  int answers_left_;
};

/// Stateless answer to a first ClientHello (RFC 6347 §4.2.1): whoever does not receive at the
/// address it writes from gets no further, costs no memory, and never reaches OpenSSL. The cookie
/// is a MAC (SipHash-2-4, twice) over the address, the hello's random number and the time, of 30 s
/// each, under keys that nobody else has.
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

  /// False: judge() will say kNoHello. Costs nothing.
  static bool may_be_hello(std::span<const std::byte> datagram);
  /// `address`: any bytes that name the sender.
  Outcome judge(TimePoint now, std::span<const std::byte> address,
                std::span<const std::byte> datagram) const;

 private:
  static constexpr size_t kCookieSize = 16;
  using Cookie = std::array<std::byte, kCookieSize>;
  Cookie cookie(int64_t period, std::span<const std::byte> address,
                const HelloRandom& random) const;

  // Half a cookie each: keys of 128 bits, and a tenth of what HMAC costs.
  KeyedHash first_ = KeyedHash::random();
  KeyedHash second_ = KeyedHash::random();
};

}  // namespace cress::secure
