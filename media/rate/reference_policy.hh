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

  /// `temporal_layers`: 1..kTemporalLayersMax.
  explicit ReferencePolicy(int temporal_layers = 1);

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
  void spread_loss();

  int temporal_layers_;
  std::deque<Sent> sent_;  // since the last key frame, ascending
  Slots slots_;
  std::optional<uint32_t> last_;  // what "last" holds; none: nothing the receiver can have
  uint64_t sent_count_ = 0;
  int since_base_ = 0;  // frames sent since the last of layer 0, itself included
  bool key_frame_wanted_ = true;
  std::optional<uint32_t> forgotten_;  // the newest frame whose fate was open when it left `sent_`
  uint32_t key_frame_id_ = 0;
};

}  // namespace cress::media
