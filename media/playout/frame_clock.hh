#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "media/frame/encoded_frame.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::media {

struct FrameClockOptions {
  /// How long a frame waits for the earlier one it needs. Reordering on a real path is over after a
  /// few tens of milliseconds, and a retransmission takes a round trip; beyond that a new reference
  /// is faster.
  Duration wait_max = 200ms;
  /// Frames held while they wait (> 0), and their bytes (>= kEncodedFrameMax). The oldest is
  /// dropped first.
  size_t held_max = 64;
  DataSize held_bytes_max{4 * kEncodedFrameMax.bytes()};
};

struct FrameClockStats {
  uint64_t received = 0;
  uint64_t decoded = 0;     ///< returned by poll_decode
  uint64_t late = 0;        ///< not newer than the last one returned, so dropped
  uint64_t duplicates = 0;  ///< of a frame that is held
  uint64_t superseded = 0;  ///< dropped because a newer key frame was available
  uint64_t expired = 0;     ///< whose reference never arrived
  uint64_t overflowed = 0;  ///< dropped because too many were held
  friend bool operator==(const FrameClockStats&, const FrameClockStats&) = default;
};

/// Decides which frame goes to the decoder, and when. A call wants the newest picture, so no
/// playout delay is added: a frame is released as soon as it can be decoded, in the order of ids,
/// and never one older than the last. A frame can be decoded when it is a key frame or when the
/// frame it refers to was released since the last key frame: the sender ensures that the decoder
/// still has that one. The newest key frame makes all earlier frames useless. The caller decodes
/// each released frame and displays the last picture. After each handle_* poll poll_decode until it
/// is empty, then wait for poll_timeout; or, while the decoder is busy, do neither: what is held
/// then waits for the decoder. Threads: none inside; one owner.
class FrameClock {
 public:
  explicit FrameClock(const FrameClockOptions& options = {});

  /// A complete frame, in whatever order frames become complete. `now` never goes back.
  void handle_frame(TimePoint now, EncodedFrame frame);
  /// Drops frames that have waited too long.
  void handle_timeout(TimePoint now);
  /// The decoder rejected the last released frame: only a key frame helps.
  void handle_decode_failure(TimePoint now);

  /// The next frame to decode, if any.
  std::optional<EncodedFrame> poll_decode(TimePoint now);
  /// When the first held frame will have waited too long; kNever if none waits.
  TimePoint poll_timeout() const;

  /// Frames arrived whose reference will not arrive: ask the sender. True until a frame can be
  /// decoded again.
  bool needs_key_frame() const { return needs_key_frame_; }
  /// The last released frame: the one that the sender may refer to.
  std::optional<uint32_t> last_decoded() const { return last_decoded_; }
  size_t held_frames() const { return held_.size(); }
  const FrameClockStats& stats() const { return stats_; }

 private:
  struct Held {
    EncodedFrame frame;
    TimePoint deadline{};
  };
  using HeldFrames = std::map<uint32_t, Held>;

  void advance(TimePoint now);
  bool is_decodable(const EncodedFrame& frame) const;
  void erase(HeldFrames::iterator held);
  void erase_before(uint32_t frame_id, uint64_t& count);

  FrameClockOptions options_;
  FrameClockStats stats_;
  HeldFrames held_;
  DataSize held_bytes_;
  // Released since the last key frame; only the newest kReferencesMax are remembered.
  std::set<uint32_t> references_;
  std::optional<uint32_t> last_decoded_;
  bool needs_key_frame_ = false;
  TimePoint last_now_{TimePoint::min()};
};

}  // namespace cress::media
