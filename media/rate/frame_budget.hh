#pragma once

#include <optional>

#include "media/frame/encoded_frame.hh"
#include "media/frame/fragment.hh"
#include "transport/base/units.hh"

namespace cress::media {

/// The budget of one frame: what it may use of the window, minus what is already queued and what
/// its messages and parity add. What audio needs is not in it: the caller gives a window without.
struct FrameBudgetInput {
  /// Bytes that the forecast says will arrive in time, counted as the transport counts them.
  DataSize window{};
  /// Bytes already handed to the transport and still queued, including audio.
  DataSize queued{};
  /// The largest message that the transport carries, fragment header included (>=
  /// kFragmentMessageMin).
  DataSize message_max{1100};
  /// Bytes that the transport adds to each message: its datagram header, authentication, UDP and
  /// IP.
  DataSize message_overhead{80};
  /// The share of messages lost in the network: the budget leaves room for the frame's parity
  /// (parity_for).
  double loss = 0;
  /// Below this no frame is worth sending: skip it.
  DataSize minimum{300};
  DataSize maximum = kEncodedFrameMax;
};

/// The part of the window that `frame_size` (> 0) takes, once cut into messages, parity included.
DataSize window_cost(DataSize frame_size, const FrameBudgetInput& input);

/// The largest frame whose cost fits the window; nullopt: skip this picture instead of queueing it.
/// Pure.
std::optional<DataSize> frame_budget(const FrameBudgetInput& input);

}  // namespace cress::media
