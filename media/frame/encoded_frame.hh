#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::media {

/// The largest coded frame anybody may send or reassemble: bounds memory on both sides.
inline constexpr DataSize kEncodedFrameMax{1 << 20};

/// How many temporal layers a stream may have. Layer 0 is what everybody needs; frames of the
/// layers above are read by nobody, so that a relay may drop all of layer 2, or of 1 and 2, and
/// what is left still decodes.
inline constexpr int kTemporalLayersMax = 3;

/// One coded picture. `id` counts captured pictures from 0, so a skipped one leaves a hole.
struct EncodedFrame {
  uint32_t id = 0;
  /// The newest earlier frame that this one needs; == id for a key frame, which needs none.
  uint32_t reference_id = 0;
  /// On the sender's clock.
  TimePoint capture_time{};
  bool key_frame = false;
  /// 0..kTemporalLayersMax - 1; 0 for a key frame.
  int temporal_layer = 0;
  /// In a room: a frame of layer 0 that needs no frames but anchors (docs/protocol/room.md), where
  /// a receiver that missed others goes on. A key frame is one, said or not.
  bool anchor = false;
  std::vector<std::byte> data{};

  DataSize size() const { return DataSize{static_cast<int64_t>(data.size())}; }
  friend bool operator==(const EncodedFrame&, const EncodedFrame&) = default;
};

}  // namespace cress::media
