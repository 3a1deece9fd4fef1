#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cress::media {

// Feedback from a receiver of video: docs/protocol/media.md, "Control". In a call of two the other
// end sends it, in a room the relay. Threads: none inside; values and pure functions.

/// The sender of this message cannot display anything before a key frame.
struct KeyFrameRequest {
  friend bool operator==(KeyFrameRequest, KeyFrameRequest) = default;
};

/// The frames that the sender of this message has: those that its peer may refer to.
struct FrameReport {
  uint32_t newest = 0;
  /// Bit i: it also has frame newest − 1 − i.
  uint32_t before = 0;
  friend bool operator==(const FrameReport&, const FrameReport&) = default;
};

std::vector<std::byte> build_message(KeyFrameRequest request);
std::vector<std::byte> build_message(const FrameReport& report);
/// Total: any bytes give the value or nullopt.
std::optional<KeyFrameRequest> parse_key_frame_request(std::span<const std::byte> bytes);
std::optional<FrameReport> parse_frame_report(std::span<const std::byte> bytes);

}  // namespace cress::media
