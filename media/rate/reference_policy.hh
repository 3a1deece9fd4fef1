#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "media/codec/vp8_encoder.hh"
#include "media/frame/encoded_frame.hh"

namespace cress::media {

/// The buffers that the next frame reads and writes.
struct ReferenceChoice {
  bool key_frame = false;
  /// With anchors: one that later anchors may read.
  bool anchor = false;
  int temporal_layer = 0;
  /// For a delta frame: the one buffer it reads, and the frame in it.
  ReferenceBuffer reads = ReferenceBuffer::kLast;
  uint32_t reference_id = 0;
  /// The buffer that a frame of layer 0 writes in addition to "last": golden, alternate or none.
  std::optional<ReferenceBuffer> candidate_for{};

  /// For the encoder; a key frame needs none.
  ReferencePlan plan() const;
  friend bool operator==(const ReferenceChoice&, const ReferenceChoice&) = default;
};

struct ReferencePolicyOptions {
  /// 1..kTemporalLayersMax.
  int temporal_layers = 1;
  /// At least this many frames of layer 0 between anchors; 0: no anchors.
  int anchor_interval = 0;
};

/// Decides which of VP8's three buffers each frame reads and writes, so that after any loss the
/// next frame can be decoded without a key frame.
///
/// Ordinary frames read and write "last" alone, libvpx's fast path. One of golden and alternate
/// holds K, the newest frame there that the receiver is known to have decoded; the other holds C, a
/// candidate sent later whose report is awaited. Once reported as decoded, C becomes K and K's
/// buffer takes the next candidate. When a frame is lost, all its descendants are lost too; if
/// "last" holds one of them, or on request, the next frame reads K. Frames of upper temporal layers
/// read "last" and write nothing, so no other frame depends on them.
///
/// With anchors there are receivers behind the one that reports (docs/protocol/room.md), which may
/// not get the frames between: a candidate reads K instead of "last", is rarer, and is marked as an
/// anchor, as key frames are. A candidate without a report for two intervals is replaced by a newer
/// one. A frame that reads K after a loss replaces a candidate without a report, so that an anchor
/// always descends from the newest usable one before it. All other frames of layer 0 read the
/// previous frame of layer 0.
///
/// Why this is safe: K's buffer is written only after a newer frame in the other one has been
/// reported, and each frame reads one buffer. So a receiver that decodes frames in the order of
/// their ids, and each exactly when it has decoded the frame's reference, is always in step with
/// the encoder. Only key frames save probabilities, so a loss does not affect them. Shape:
/// remembers the last kFramesMax frames. The loss of an older one counts as the loss of all frames
/// not known to be decoded. Threads: none inside; one owner.
class ReferencePolicy {
 public:
  static constexpr size_t kFramesMax = 512;
  /// A candidate without a report after this many sent frames is replaced: four seconds at 30 per
  /// second, longer than any path usable for conversation.
  static constexpr size_t kCandidateAgeMax = 120;

  explicit ReferencePolicy(const ReferencePolicyOptions& options = {});

  /// A key frame at the start, on request, or if no buffer is left that the receiver may have.
  ReferenceChoice next() const;
  /// The frame encoded as `choice` is sent to the receiver: the last `next()`, or a key frame,
  /// which may be sent at any time. Ids ascend.
  void handle_sent(uint32_t frame_id, const ReferenceChoice& choice);
  /// Attempts were encoded as `choice` and none is sent; "last" was restored. Other buffers that
  /// they wrote no longer match the receiver's.
  void handle_rejected(const ReferenceChoice& choice);
  /// The receiver has decoded `frame_id` and so all its ancestors. Unknown and lost frames:
  /// ignored.
  void handle_decoded(uint32_t frame_id);
  /// `frame_id` did not arrive completely. Ignored if it is known to be decoded or older than the
  /// last key frame.
  void handle_lost(uint32_t frame_id);
  /// The receiver has lost all references: the next frame is a key frame.
  void request_key_frame() { key_frame_wanted_ = true; }

  /// What was sent since the newest report may be lost: the next frame reads K, if there is one. No
  /// effect with anchors, which descend from each other.
  void refer_to_known();

  /// Whether the frame, or a descendant of it, was reported as decoded.
  bool is_decoded(uint32_t frame_id) const;

 private:
  enum class Outcome { kPending, kDecoded, kLost };
  struct Sent {
    uint32_t id = 0;
    std::optional<uint32_t> reference_id;  // nullopt: a key frame
    Outcome outcome = Outcome::kPending;
  };
  struct Slot {
    uint32_t id = 0;
    bool decoded = false;
    uint64_t sent_count = 0;  // when it was written
  };
  using Slots = std::array<std::optional<Slot>, 2>;  // golden, alternate

  const Sent* find(uint32_t frame_id) const;
  Sent* find(uint32_t frame_id);
  std::optional<size_t> known_slot() const;
  std::optional<size_t> newest_slot() const;
  std::optional<size_t> free_slot() const;
  int next_layer() const;
  bool anchor_is_due() const;
  void choose_anchor(ReferenceChoice& choice) const;
  void spread_loss();

  ReferencePolicyOptions options_;
  std::deque<Sent> sent_;  // since the last key frame, ascending
  Slots slots_;
  std::optional<uint32_t> last_;  // the frame in "last"; nullopt: none that the receiver can have
  uint64_t sent_count_ = 0;
  int since_base_ = 0;      // frames sent since the last of layer 0, including it
  uint32_t anchor_id_ = 0;  // the newest anchor
  int since_anchor_ = 0;    // frames of layer 0 sent since then, including it
  bool key_frame_wanted_ = true;
  std::optional<uint32_t>
      forgotten_;  // the newest frame whose outcome was unknown when it left `sent_`
  uint32_t key_frame_id_ = 0;
};

}  // namespace cress::media
