#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace cress::app {

// Messages of the control flow: docs/protocol/media.md, "Control".

/// The sender of this can show nothing before a key frame.
struct KeyFrameRequest {
  friend bool operator==(KeyFrameRequest, KeyFrameRequest) = default;
};

/// Which frames the sender of this has decoded: what the other may refer to.
struct FrameReport {
  uint32_t newest = 0;
  /// Bit i: frame newest − 1 − i was decoded too.
  uint32_t before = 0;
  friend bool operator==(const FrameReport&, const FrameReport&) = default;
};

using ControlMessage = std::variant<KeyFrameRequest, FrameReport>;

std::vector<std::byte> encode(const ControlMessage& message);
/// Total: any bytes give a message or nothing.
std::optional<ControlMessage> parse_control_message(std::span<const std::byte> bytes);

}  // namespace cress::app
