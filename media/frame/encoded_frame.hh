#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::media {

/// The largest encoded frame that may be sent or reassembled: bounds memory on both sides.
inline constexpr DataSize kEncodedFrameMax{1 << 20};

/// The number of temporal layers that a stream may have. All receivers need layer 0; no frame
/// refers to frames of the upper layers, so a relay may drop all of layer 2, or of 1 and 2, and the
/// rest still decodes.
inline constexpr int kTemporalLayersMax = 3;

/// One encoded frame. `id` counts captured pictures from 0, so a skipped one leaves a gap.
struct EncodedFrame {
  uint32_t id = 0;
  /// The newest earlier frame that this one needs; == id for a key frame, which needs none.
  uint32_t reference_id = 0;
  /// On the sender's clock.
  TimePoint capture_time{};
  bool key_frame = false;
  /// 0..kTemporalLayersMax - 1; 0 for a key frame.
  int temporal_layer = 0;
  /// In a room: a frame of layer 0 that depends on anchors only (docs/protocol/room.md), where a
  /// receiver that missed other frames continues. A key frame is always one, with or without this
  /// flag.
  bool anchor = false;
  std::vector<std::byte> data{};

  DataSize size() const { return DataSize{static_cast<int64_t>(data.size())}; }
  friend bool operator==(const EncodedFrame&, const EncodedFrame&) = default;
};

}  // namespace cress::media
