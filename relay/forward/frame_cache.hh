#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "media/frame/fragment.hh"
#include "relay/forward/frame_kind.hh"
#include "transport/base/result.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/room/media_head.hh"

namespace cress::relay {

struct FrameCacheOptions {
  /// Bytes of fragments held, tables included. The oldest go first, anchors last.
  DataSize bytes_max{1'000'000};
  /// A larger frame is refused.
  DataSize frame_max{262'144};
  /// What nobody would repeat any more: anchors and others.
  Duration anchor_age_max = 3s;
  Duration other_age_max = 600ms;
};

/// What became of a frame on one leg.
enum class Fate : uint8_t {
  kUndecided,   ///< its reference is not whole here yet; or the leg does not look
  kForwarding,  ///< all of it that is here has gone, or will go, to the leg
  kLeftOut,     ///< the leg does not get it
  kMissed,      ///< it should have got it and will not
};

/// One frame of one sender: what is here of it, and what became of it leg by leg.
struct CachedFrame {
  bool used = false;
  media::FragmentHeader header{};  // of its first fragment: index means nothing
  FrameKind kind = FrameKind::kNone;
  TimePoint began{};
  bool whole = false;      // was whole here; its bytes may be forgotten since
  bool forgotten = false;  // its bytes were given up
  bool refused = false;    // too much for the sender's allowance: nothing of it is held
  uint16_t missing = 0;    // fragments, of whatever kind, until it is whole
  DataSize held{};
  /// By index, parity after the parts: messages with the member's head; empty: not here.
  std::vector<std::vector<std::byte>> parts{};
  std::array<Fate, kLegsMax> fates{};

  uint32_t id() const { return header.frame_id; }
  uint32_t reference_id() const { return header.frame_id - header.reference_distance; }
  bool holds_all() const { return whole && !forgotten; }
};

/// A sender's recent frames. Their names and fates are kept for kFramesMax pictures, their bytes
/// for a while only: for what legs lose, and for those who come later. Fragments come in as
/// messages of the video flow with the member's head, in any order; they are kept as they are.
/// Parity stands in for lost parts as in media::Assembler. Hostile input: one error, no change.
/// Pointers to frames are good until the next handle_fragment. Threads: none inside; one owner.
class FrameCache {
 public:
  /// 17 s at 30 pictures a second.
  static constexpr uint32_t kFramesMax = 512;
  /// Of one frame; media::fragment makes 233 of the largest frame allowed here.
  static constexpr uint16_t kFragmentsMax = 512;

  explicit FrameCache(const FrameCacheOptions& options);

  struct Added {
    CachedFrame* frame = nullptr;
    uint16_t index = 0;
    bool is_first = false;      ///< of its frame
    bool became_whole = false;  ///< by this one
    bool has_rebuilt = false;   ///< parity made parts that did not come: see rebuilt()
  };
  enum class Refusal {
    kMalformed,  ///< see media::FragmentError; or no head
    kTooLarge,   ///< frame or number of its fragments
    kTooOld,
    kKnown,    ///< here already, or no longer of use
    kRefused,  ///< of a frame that was refused
  };
  /// `message` begins with the member's head.
  Result<Added, Refusal> handle_fragment(TimePoint now, std::vector<std::byte> message);
  /// Of the last Added: indices of the parts that parity made.
  const std::vector<uint16_t>& rebuilt() const { return rebuilt_; }
  /// Nothing of the frame is wanted: what is here of it goes, what comes is refused.
  void refuse(CachedFrame& frame);
  void forget_aged(TimePoint now);

  CachedFrame* find(uint32_t id);
  const CachedFrame* find(uint32_t id) const;
  std::optional<uint32_t> newest() const { return newest_; }
  /// Of those that are whole here and whose bytes are held.
  std::optional<uint32_t> newest_anchor() const;
  /// The fate of every frame on this leg.
  void reset_fates(size_t leg, Fate fate);
  /// Undecided becomes left out.
  void settle_fates(size_t leg);

  DataSize held() const { return held_; }

 private:
  CachedFrame* begin_frame(TimePoint now, const media::FragmentHeader& header);
  void forget(CachedFrame& frame);
  void forget_oldest();
  void rebuild(CachedFrame& frame);
  void hold(CachedFrame& frame, size_t index, std::vector<std::byte> message);

  FrameCacheOptions options_;
  std::vector<CachedFrame> frames_;  // kFramesMax, by id modulo that; none before the first
  std::optional<uint32_t> newest_;
  std::optional<uint32_t> newest_anchor_;
  // Frames that hold bytes, in the order in which they began.
  std::deque<uint32_t> anchors_;
  std::deque<uint32_t> others_;
  std::vector<uint16_t> rebuilt_;
  DataSize held_;
};

}  // namespace cress::relay
