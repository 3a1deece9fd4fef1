#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/call/chat.hh"
#include "media/frame/frame_report.hh"
#include "transport/base/units.hh"

namespace cress::app {

// Messages of the control flow: docs/protocol/media.md, "Control".

using media::FrameReport;
using media::KeyFrameRequest;

/// The other person's name, and whether camera and microphone are on.
struct PersonState {
  /// As clean_name returns it.
  std::string name{};
  bool muted = false;
  bool camera_off = false;
  bool shares_screen = false;
  friend bool operator==(const PersonState&, const PersonState&) = default;
};
inline constexpr size_t kPersonNameMax = 64;

/// The sender's estimate of the link from it to the other end: for display.
struct LinkReport {
  DataRate forecast;
  double loss = 0;  ///< 0..1, in steps of a thousandth
  friend bool operator==(const LinkReport&, const LinkReport&) = default;
};

using ControlMessage =
    std::variant<KeyFrameRequest, FrameReport, PersonState, LinkReport, ChatLine>;

/// `name` as it may be displayed (clean_text), at most kPersonNameMax bytes.
std::string clean_name(std::string_view name);

std::vector<std::byte> encode(const ControlMessage& message);
/// Total: any bytes give a message or nullopt.
std::optional<ControlMessage> parse_control_message(std::span<const std::byte> bytes);

}  // namespace cress::app
