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
  /// Bytes of fragments held, tables included. The oldest are discarded first, anchors last.
  DataSize bytes_max{1'000'000};
  /// Larger frames are refused.
  DataSize frame_max{262'144};
  /// The age beyond which no leg would repeat a frame: for anchors and others.
  Duration anchor_age_max = 3s;
  Duration other_age_max = 600ms;
};

/// Forwarding state of a frame on one leg.
enum class Forwarding : uint8_t {
  kUndecided,   ///< its reference is not complete here yet, or the leg does not request this sender
  kForwarding,  ///< all fragments that are here have been or will be forwarded to the leg
  kLeftOut,     ///< the leg does not get it, by plan
  kMissed,      ///< the leg should have got it and will not
};

/// One frame of one sender: the fragments held, and its forwarding state per leg.
struct CachedFrame {
  bool used = false;
  media::FragmentHeader header{};  // of its first fragment: the index has no meaning
  FrameKind kind = FrameKind::kNone;
  TimePoint began{};
  bool whole = false;      // was complete here; its bytes may have been discarded since
  bool decodable = false;  // whole, and so were all frames that it depends on
  bool forgotten = false;  // its bytes were discarded
  bool refused = false;    // exceeds the sender's allowance: none of it is held
  uint16_t missing = 0;    // fragments, data or parity, until it is complete
  DataSize held{};
  /// By index, parity after the parts: messages with the member's header; empty: not here.
  std::vector<std::vector<std::byte>> parts{};
  std::array<Forwarding, kLegsMax> forwarding{};

  uint32_t id() const { return header.frame_id; }
  uint32_t reference_id() const { return header.frame_id - header.reference_distance; }
  bool holds_all() const { return whole && !forgotten; }
};

/// A sender's recent frames. Ids and forwarding states are kept for kFramesMax frames; bytes are
/// kept for a shorter time, for retransmission and for members that join later. Fragments arrive as
/// messages of the video flow with the member's header, in any order, and are kept unchanged.
/// Parity replaces lost parts as in media::Assembler. Hostile input: one error, no change. Pointers
/// to frames are valid until the next handle_fragment. Threads: none inside; one owner.
class FrameCache {
 public:
  /// 17 s at 30 frames per second.
  static constexpr uint32_t kFramesMax = 512;
  /// Fragments of one frame; media::fragment makes 233 of the largest frame allowed here.
  static constexpr uint16_t kFragmentsMax = 512;

  explicit FrameCache(const FrameCacheOptions& options);

  struct Added {
    CachedFrame* frame = nullptr;
    uint16_t index = 0;
    bool is_first = false;      ///< the first of its frame
    bool became_whole = false;  ///< this fragment completed the frame
    bool has_rebuilt = false;   ///< parity reconstructed missing parts: see rebuilt()
  };
  enum class Refusal {
    kMalformed,  ///< see media::FragmentError; or it has no member's header
    kTooLarge,   ///< the frame, or its number of fragments
    kTooOld,
    kKnown,    ///< already here, or no longer needed
    kRefused,  ///< of a refused frame
  };
  /// `message` begins with the member's header.
  Result<Added, Refusal> handle_fragment(TimePoint now, std::vector<std::byte> message);
  /// For the last Added: indices of the parts reconstructed from parity.
  const std::vector<uint16_t>& rebuilt() const { return rebuilt_; }
  /// The frame is not wanted: its bytes are discarded, and later fragments refused.
  void refuse(CachedFrame& frame);
  void forget_aged(TimePoint now);

  CachedFrame* find(uint32_t id);
  const CachedFrame* find(uint32_t id) const;
  /// The frame itself, or the nearest anchor that it depends on; nullptr: no longer known.
  const CachedFrame* anchor_of(const CachedFrame& frame) const;
  std::optional<uint32_t> newest() const { return newest_; }
  /// The newest anchor that is complete here and whose bytes are held.
  std::optional<uint32_t> newest_anchor() const;
  /// Sets the state of every frame on this leg.
  void reset_forwarding(size_t leg, Forwarding forwarding);
  /// Changes undecided to left out.
  void settle_forwarding(size_t leg);

  DataSize held() const { return held_; }

 private:
  CachedFrame* begin_frame(TimePoint now, const media::FragmentHeader& header);
  void forget(CachedFrame& frame);
  void forget_oldest();
  void rebuild(CachedFrame& frame);
  void hold(CachedFrame& frame, size_t index, std::vector<std::byte> message);
  void note_decodable(CachedFrame& whole);

  FrameCacheOptions options_;
  std::vector<CachedFrame>
      frames_;  // kFramesMax entries, indexed by id modulo that; none before the first
  std::optional<uint32_t> newest_;
  std::optional<uint32_t> newest_anchor_;
  // Frames that hold bytes, in the order of their first fragments.
  std::deque<uint32_t> anchors_;
  std::deque<uint32_t> others_;
  std::vector<uint16_t> rebuilt_;
  DataSize held_;
};

}  // namespace cress::relay
