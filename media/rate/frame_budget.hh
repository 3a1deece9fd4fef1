#pragma once

#include <optional>

#include "media/frame/encoded_frame.hh"
#include "media/frame/fragment.hh"
#include "transport/base/units.hh"

namespace cress::media {

/// What one frame may cost: the safe window less what already waits for it
/// (docs/protocol/media.md).
struct FrameBudgetInput {
  /// Bytes that the forecast says will clear in time, counted as the transport counts them.
  DataSize window{};
  /// Bytes already handed to the transport and still queued; audio's share too.
  DataSize queued{};
  /// The largest message the transport carries, fragment header included (>= kFragmentMessageMin).
  DataSize message_max{1100};
  /// What the transport adds to each message: its datagram header, authentication, UDP and IP.
  DataSize message_overhead{80};
  /// The share of messages that the network loses: the frame leaves room for its parity
  /// (parity_for).
  double loss = 0;
  /// Below this no frame is worth sending: skip it.
  DataSize minimum{300};
  DataSize maximum = kEncodedFrameMax;
};

/// The bytes `frame_size` (> 0) takes of the window, once cut into messages, parity included.
DataSize window_cost(DataSize frame_size, const FrameBudgetInput& input);

/// The largest frame whose cost fits the window, or none: skip this picture, don't queue it. Pure.
std::optional<DataSize> frame_budget(const FrameBudgetInput& input);

}  // namespace cress::media
