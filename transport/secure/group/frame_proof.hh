#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/base/time.hh"
#include "transport/secure/crypto/signature.hh"
#include "transport/secure/group/member_card.hh"

namespace cress::secure {

// Everybody with a room's link can compute the key of a sender's frames, to open them, and so could
// also seal one. That a frame is its sender's is shown by signatures, a second and a half of frames
// at a time, because a signature for each would be a tenth of a slow stream. Layout:
// docs/protocol/wire.md, "Frame proofs".

/// A member's audio and video are proven apart, because a receiver may get either alone.
enum class MediaKind : uint8_t { kAudio, kVideo };

/// Of a sealed frame and its metadata: SHA-256, shortened. 48 bits are too many to find another
/// frame for in the seconds before the proof arrives.
using FrameHash = std::array<std::byte, 6>;
FrameHash hash_frame(std::span<const std::byte> metadata, std::span<const std::byte> frame);

/// Whose frames are proven: a presence's instance and member number.
using ProofContext = std::array<std::byte, 18>;
ProofContext proof_context(uint16_t member, const InstanceId& instance);

/// The frames of one kind with counters from `first` on. Nothing: that counter is of the other
/// kind.
struct FrameProof {
  MediaKind kind = MediaKind::kAudio;
  uint64_t first = 0;
  std::vector<std::optional<FrameHash>>
      frames{};  ///< 1 to kProofSpanMax, kProofFramesMax of them set
  friend bool operator==(const FrameProof&, const FrameProof&) = default;
};
inline constexpr size_t kProofSpanMax = 255;
inline constexpr size_t kProofFramesMax = 128;
/// A built proof's size at most.
inline constexpr size_t kProofSizeMax = 11 + 32 + kProofFramesMax * sizeof(FrameHash) + 64;

std::vector<std::byte> build_frame_proof(const FrameProof& proof, const SigningKey& key,
                                         const ProofContext& context);
/// Total: nullopt unless build_frame_proof made it, with this context and the private half of
/// `key`.
std::optional<FrameProof> open_frame_proof(std::span<const std::byte> bytes, const PublicKey& key,
                                           const ProofContext& context);

/// Of a public key: see comparison_code.
std::string key_code(const PublicKey& key);

/// What a sender has sealed and not yet proven. Threads: none inside. `now` never goes back.
class FrameProver {
 public:
  /// Counters of both kinds together grow.
  void add(TimePoint now, MediaKind kind, uint64_t counter, const FrameHash& hash);
  /// Those of the oldest kind that is due.
  std::optional<FrameProof> poll(TimePoint now);
  TimePoint poll_timeout() const;

  static constexpr Duration kInterval = 1500ms;

 private:
  struct Pending {
    FrameProof proof;
    size_t hashes = 0;
    TimePoint due = kNever;
  };
  Pending& of(MediaKind kind) { return pending_.at(static_cast<size_t>(kind)); }

  std::array<Pending, 2> pending_{};
  std::deque<FrameProof> full_;
};

/// What a receiver has opened of one presence, against what its sender has proven. Threads: none
/// inside. `now` never goes back.
class FrameChecker {
 public:
  /// `next_counter`: that of the presence's next frame, as its card says.
  explicit FrameChecker(uint64_t next_counter = 0) : expected_(next_counter) {}

  /// False: the counter is kAheadMax or more above what cards and proofs have named. No honest
  /// sender gets so far ahead; accepted, it would push honest frames out of the replay window.
  bool is_plausible(uint64_t counter) const { return counter < expected_ + kAheadMax; }
  /// A frame that opened. False: a proof contradicts it, or kUnprovenMax frames already wait for
  /// proofs (then the presence is distrusted).
  bool check(TimePoint now, MediaKind kind, uint64_t counter, const FrameHash& hash);
  void handle_proof(TimePoint now, FrameProof proof);
  /// A card of the same presence, as in the constructor.
  void handle_counter(uint64_t next_counter) { expect(next_counter); }

  /// Somebody else has sent frames of this presence: a frame contradicts a proof, or too many had
  /// none in time. Stays true.
  bool is_distrusted() const { return is_forged_ || debt_ >= kDebtMax; }
  size_t unproven() const { return unproven_.size(); }

  /// Proofs are repeated until they arrive, so they are late only behind an outage.
  static constexpr Duration kProvenWithin = 10s;
  static constexpr uint64_t kAheadMax = 4096;
  /// Frames without a proof in time count one each, and each proven one takes a tenth off.
  static constexpr double kDebtMax = 200;
  /// Frames that wait for their proof: four times what a sender seals within kProvenWithin.
  static constexpr size_t kUnprovenMax = 4096;

 private:
  struct Opened {
    MediaKind kind;
    FrameHash hash;
    TimePoint at;
  };

  /// Nothing: `proof` does not say.
  static std::optional<bool> contradicts(const FrameProof& proof, MediaKind kind, uint64_t counter,
                                         const FrameHash& hash);
  void expect(uint64_t next_counter);
  void forget(TimePoint now);

  // For frames that arrive after their proof.
  static constexpr size_t kProofsKept = 16;

  uint64_t expected_;
  std::map<uint64_t, Opened> unproven_;  // by counter; at most kUnprovenMax
  std::deque<FrameProof> proofs_;        // the latest kProofsKept
  double debt_ = 0;
  bool is_forged_ = false;
};

}  // namespace cress::secure
