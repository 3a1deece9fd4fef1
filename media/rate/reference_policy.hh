#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "media/codec/vp8_encoder.hh"
#include "media/frame/encoded_frame.hh"

namespace cress::media {

/// What the next frame reads and writes.
struct ReferenceChoice {
  bool key_frame = false;
  /// With anchors: one that later anchors may read.
  bool anchor = false;
  int temporal_layer = 0;
  /// For a delta frame: the buffer it reads, the only one, and the frame that is in there.
  ReferenceBuffer reads = ReferenceBuffer::kLast;
  uint32_t reference_id = 0;
  /// The buffer a frame of layer 0 writes beside "last": golden, alternate or none.
  std::optional<ReferenceBuffer> candidate_for{};

  /// For the encoder; a key frame needs none.
  ReferencePlan plan() const;
  friend bool operator==(const ReferenceChoice&, const ReferenceChoice&) = default;
};

struct ReferencePolicyOptions {
  /// 1..kTemporalLayersMax.
  int temporal_layers = 1;
  /// At least so many frames of layer 0 from one anchor to the next; 0: no anchors.
  int anchor_interval = 0;
};

/// Decides which of VP8's three buffers each frame reads and writes, so that whatever is lost, the
/// next frame can be decoded: no key frame after the first.
///
/// Ordinary frames read and write "last" alone, libvpx's fast path. Of golden and alternate one
/// holds K, the newest frame there that the receiver is known to have decoded; the other waits for
/// C, a candidate sent later, to be reported. Decoded, C becomes K and K's buffer takes the next
/// candidate. When a frame is lost, all that descends from it is lost too; if that is what "last"
/// holds, the next frame reads K. Frames of upper temporal layers read "last" and write nothing, so
/// nobody misses them.
///
/// With anchors there are receivers behind the one that reports (docs/protocol/room.md), who may go
/// without the frames between: a candidate reads K in place of "last", is rarer, and is marked an
/// anchor, as key frames are. A candidate without report for two intervals makes room for a newer
/// one. A frame that reads K after a loss drops a candidate without report in favour of itself, so
/// that an anchor always descends from the newest one before it that is of use. All others of layer
/// 0 read the frame of layer 0 before.
///
/// Why that is safe: K's buffer is written only after a newer frame in the other one has been
/// reported, and each frame reads one buffer. So a receiver that decodes frames in the order of
/// their ids, and each exactly when it has decoded the frame's reference, is always in step with
/// the encoder. Probabilities are saved by key frames only, hence a loss leaves them alone.
/// Shape: remembers the last kFramesMax frames. The loss of one that is older counts as the loss of
/// all that is not known to be decoded. Threads: none inside; one owner.
class ReferencePolicy {
 public:
  static constexpr size_t kFramesMax = 512;
  /// A candidate without report after so many sent frames makes room for a newer one: four seconds
  /// at 30 a second, longer than any path on which one talks.
  static constexpr size_t kCandidateAgeMax = 120;

  explicit ReferencePolicy(const ReferencePolicyOptions& options = {});

  /// A key frame at the start, on request, or when no buffer is left that the receiver may have.
  ReferenceChoice next() const;
  /// The frame coded as `choice` goes to the receiver: the last `next()`, or a key frame, which may
  /// go at any time. Ids grow.
  void handle_sent(uint32_t frame_id, const ReferenceChoice& choice);
  /// Attempts were coded as `choice` and none is sent; "last" was restored. What they wrote
  /// elsewhere is not what the receiver has.
  void handle_rejected(const ReferenceChoice& choice);
  /// The receiver has decoded `frame_id`, hence all its ancestors. Unknown and lost frames:
  /// ignored.
  void handle_decoded(uint32_t frame_id);
  /// `frame_id` did not arrive whole. Ignored when it is known to be decoded or older than the last
  /// key frame.
  void handle_lost(uint32_t frame_id);
  /// The receiver has nothing any more: the next frame is a key frame.
  void request_key_frame() { key_frame_wanted_ = true; }

  /// Whether the frame was reported as decoded (or an heir of it was).
  bool is_decoded(uint32_t frame_id) const;

 private:
  enum class Fate { kPending, kDecoded, kLost };
  struct Sent {
    uint32_t id = 0;
    std::optional<uint32_t> reference_id;  // none: a key frame
    Fate fate = Fate::kPending;
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
  std::optional<uint32_t> last_;  // what "last" holds; none: nothing the receiver can have
  uint64_t sent_count_ = 0;
  int since_base_ = 0;      // frames sent since the last of layer 0, itself included
  uint32_t anchor_id_ = 0;  // the newest anchor
  int since_anchor_ = 0;    // frames of layer 0 sent since then, itself included
  bool key_frame_wanted_ = true;
  std::optional<uint32_t> forgotten_;  // the newest frame whose fate was open when it left `sent_`
  uint32_t key_frame_id_ = 0;
};

}  // namespace cress::media
