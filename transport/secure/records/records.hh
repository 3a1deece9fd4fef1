#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/base/result.hh"
#include "transport/base/spare_buffers.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/secure/crypto/crypto.hh"
#include "transport/secure/records/replay_window.hh"

namespace cress::secure {

// docs/protocol/wire.md, "Records".

/// Measured by secure_bench: with AES in hardware it is twice as fast as ChaCha20-Poly1305.
inline constexpr Aead kRecordAead = Aead::kAes128Gcm;
/// Bytes that encryption adds to a datagram.
inline constexpr DataSize kRecordOverhead{kTagSize};
inline constexpr std::byte kRecordKind{0x11};
inline constexpr std::byte kPlainKind{0x10};

enum class OpenError {
  kTruncated,   ///< shorter than header and tag
  kWrongKind,   ///< not of the kind that this object opens
  kUnknownKey,  ///< a key phase that is neither the current, the previous nor the next one
  kReplayed,    ///< its sequence was used, or is too old to decide
  kBadTag,      ///< not from the peer, not for us, or modified in transit
};

/// When to change to the next key. RFC 9001 §6.6 allows a GCM key 2^23 datagrams; one hour bounds
/// what a leaked key can decrypt.
struct KeyLimits {
  uint64_t datagrams = 1U << 20U;
  Duration age = 1h;
  /// How long the previous key still opens datagrams that were reordered; then it is overwritten.
  Duration keep_previous = 10s;
};

/// The sender's half of one direction's keys: secret -> HKDF-Expand -> next secret.
class SealingKeys {
 public:
  SealingKeys(TimePoint start, Aead aead, const Secret& secret, KeyLimits limits);

  /// The key for one more datagram; switches to the next key when it is due.
  AeadKey& take(TimePoint now);
  uint8_t phase() const { return phase_; }
  /// A datagram from the peer arrived, so it can follow a key update. Without that keys stay, so
  /// that a sender does not get two keys ahead of a suspended peer.
  void handle_heard() { heard_since_update_ = true; }

 private:
  Aead aead_;
  Secret secret_;
  KeyLimits limits_;
  AeadKey key_;
  TimePoint since_;
  uint64_t sealed_ = 0;
  uint8_t phase_ = 0;
  bool heard_since_update_ = false;
};

/// The receiver's half. The next key is derived before it is used, so a forged key phase costs no
/// more than any other forgery. Call handle_timeout at poll_timeout: the previous key must not stay
/// in memory, whatever arrives.
class OpeningKeys {
 public:
  OpeningKeys(Aead aead, const Secret& secret, KeyLimits limits);

  /// The key of that phase, or nullptr.
  AeadKey* find(TimePoint now, uint8_t phase);
  /// A datagram of that phase was authentic: if it is the next phase, the direction switches to it.
  void handle_authentic(TimePoint now, uint8_t phase);
  void handle_timeout(TimePoint now);
  /// When the previous key is to be forgotten; kNever: there is none.
  TimePoint poll_timeout() const { return forget_previous_at_; }

 private:
  Aead aead_;
  Secret next_secret_;
  KeyLimits limits_;
  std::optional<AeadKey> previous_;
  AeadKey current_;
  AeadKey next_;
  TimePoint forget_previous_at_ = kNever;
  uint8_t phase_ = 0;
};

/// Data encrypted with `send` at one end is decrypted with `receive` at the other.
struct DirectionSecrets {
  Secret send;
  Secret receive;
};

struct OpenedRecord {
  std::vector<std::byte> plain;  ///< the datagram as the peer's Endpoint made it
  bool newest = false;           ///< its sequence is larger than all before
};

/// AEAD on an Endpoint's datagrams. The header stays readable and is authenticated, the frames are
/// encrypted, the widened sequence is the nonce. A datagram changes nothing unless its tag is
/// correct. The owner calls handle_timeout at poll_timeout. Threads: none inside; one owner.
class Records {
 public:
  Records(TimePoint start, const DirectionSecrets& secrets, Aead aead = kRecordAead,
          KeyLimits limits = {});

  /// `plain`: a datagram of an Endpoint. Its sequence must be above the previous one (a check
  /// failure otherwise): no nonce is used twice with one key.
  std::vector<std::byte> seal(TimePoint now, std::vector<std::byte> plain);
  /// The inverse at the other end. Total. `spare`: may supply a buffer for it.
  Result<OpenedRecord, OpenError> open(TimePoint now, std::span<const std::byte> record,
                                       SpareBuffers* spare = nullptr);
  /// Nothing is sent: keys that have expired are forgotten.
  void handle_timeout(TimePoint now) { opening_.handle_timeout(now); }
  TimePoint poll_timeout() const { return opening_.poll_timeout(); }

 private:
  SealingKeys sealing_;
  OpeningKeys opening_;
  std::optional<uint64_t> last_sealed_;
  // 2048 datagrams are 2 s at 10 Mbit/s: a datagram delayed by more is useless to a call.
  static constexpr size_t kReplayKept = 2048;
  ReplayWindow seen_{kReplayKept};
};

}  // namespace cress::secure
