#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/result.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/secure/crypto/signature.hh"
#include "transport/secure/records/records.hh"

namespace cress::secure {

// docs/protocol/wire.md, "Control records": messages between two connections in addition to the
// Endpoints' datagrams, with keys and numbers of their own.

inline constexpr std::byte kControlKind{0x12};
/// A record or control record with the session's id before it, for a listener that does not know
/// its source address.
inline constexpr std::byte kRoutedKind{0x13};
inline constexpr DataSize kRoutedOverhead{1 + 8};

using PathToken = std::array<std::byte, 8>;

/// Are you reachable at this address?
struct PathChallenge {
  PathToken token{};
  friend bool operator==(const PathChallenge&, const PathChallenge&) = default;
};
/// The answer, sent to where the challenge came from.
struct PathResponse {
  PathToken token{};
  friend bool operator==(const PathResponse&, const PathResponse&) = default;
};
enum class CloseCode : uint8_t {
  kHangUp = 1,
  kBusy = 2,       ///< another peer is connected
  kReplaced = 3,   ///< another peer joined with the same link while you were silent
  kFull = 4,       ///< there is no free place
  kGoingAway = 5,  ///< this program is ending; its service may be back soon
  kRemoved = 6,    ///< an operator has ended the connection
};
inline constexpr CloseCode kLastCloseCode = CloseCode::kRemoved;
struct Close {
  CloseCode code = CloseCode::kHangUp;
  friend bool operator==(const Close&, const Close&) = default;
};
/// The whole datagram has this size.
struct MtuProbe {
  DataSize size;
  friend bool operator==(const MtuProbe&, const MtuProbe&) = default;
};
/// A probe of this size arrived.
struct MtuAcknowledgement {
  DataSize size;
  friend bool operator==(const MtuAcknowledgement&, const MtuAcknowledgement&) = default;
};
/// Keep-alive: requires an answer.
struct Ping {
  uint32_t id = 0;
  friend bool operator==(const Ping&, const Ping&) = default;
};
struct Pong {
  uint32_t id = 0;
  /// How many records over kDatagramBase bytes have arrived so far (modulo 2^32): the other end
  /// uses it to detect that a path no longer carries them.
  uint32_t large_received = 0;
  friend bool operator==(const Pong&, const Pong&) = default;
};
/// In a call through a relay: where the sender may be reached directly. Repeated until it is
/// acknowledged.
struct PathCandidates {
  static constexpr size_t kMax = 8;
  uint32_t revision = 0;  ///< of this list: 1, 2, ...
  std::vector<Address> addresses{};
  friend bool operator==(const PathCandidates&, const PathCandidates&) = default;
};
struct CandidatesAcknowledgement {
  uint32_t revision = 0;
  friend bool operator==(const CandidatesAcknowledgement&,
                         const CandidatesAcknowledgement&) = default;
};
/// Does a datagram pass between us on this path, in both directions? Opens the NAT on the way, too.
struct PathProbe {
  PathToken token{};
  /// Where it is sent: a probe that somebody passed on bears another address than the receiver's.
  Address to{};
  friend bool operator==(const PathProbe&, const PathProbe&) = default;
};
struct PathProbeAnswer {
  PathToken token{};
  friend bool operator==(const PathProbeAnswer&, const PathProbeAnswer&) = default;
};
/// Proves to the peer of this connection that the sender has the private half of a key
/// (path/identity.hh). Repeated until it is acknowledged.
struct IdentityProof {
  PublicKey key{};
  Signature signature{};
  friend bool operator==(const IdentityProof&, const IdentityProof&) = default;
};
struct IdentityAcknowledgement {
  friend bool operator==(const IdentityAcknowledgement&, const IdentityAcknowledgement&) = default;
};
/// A type that this version does not know; authentic, and ignored.
struct UnknownControl {
  friend bool operator==(const UnknownControl&, const UnknownControl&) = default;
};

using ControlMessage =
    std::variant<PathChallenge, PathResponse, Close, MtuProbe, MtuAcknowledgement, Ping, Pong,
                 PathCandidates, CandidatesAcknowledgement, PathProbe, PathProbeAnswer,
                 IdentityProof, IdentityAcknowledgement, UnknownControl>;

/// Kind, key phase, counter and tag around a message.
inline constexpr DataSize kControlOverhead{1 + 1 + 8 + kTagSize};

struct OpenedControl {
  ControlMessage message;
  bool newest = false;
};

/// Encrypts and decrypts the control records of one session. The owner calls handle_timeout at
/// poll_timeout. Threads: none inside; one owner.
class ControlRecords {
 public:
  ControlRecords(TimePoint start, const DirectionSecrets& secrets, KeyLimits limits = {});

  /// An MtuProbe is padded to its size (at least 64 bytes).
  std::vector<std::byte> seal(TimePoint now, const ControlMessage& message);
  /// Total. A message that is authentic but malformed is returned as UnknownControl.
  Result<OpenedControl, OpenError> open(TimePoint now, std::span<const std::byte> record);
  /// Nothing is sent: keys that have expired are forgotten.
  void handle_timeout(TimePoint now) { opening_.handle_timeout(now); }
  TimePoint poll_timeout() const { return opening_.poll_timeout(); }

 private:
  SealingKeys sealing_;
  OpeningKeys opening_;
  uint64_t next_counter_ = 0;
  static constexpr size_t kReplayKept = 64;  // control records are few
  ReplayWindow seen_{kReplayKept};
};

}  // namespace cress::secure
