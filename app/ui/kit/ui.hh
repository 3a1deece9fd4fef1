#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "app/ui/kit/canvas.hh"
#include "app/ui/kit/controls.hh"
#include "app/ui/kit/hidden_input.hh"
#include "app/ui/kit/qr_code.hh"
#include "app/ui/kit/theme.hh"
#include "app/ui/model/call_view.hh"
#include "app/ui/model/user_action.hh"

namespace cress::ui {

inline constexpr size_t kLinkBytesMax = 1024;
inline constexpr size_t kNameBytesMax = 64;
inline constexpr size_t kRelayBytesMax = 256;
inline constexpr size_t kRoomNameBytesMax = 65;
/// Of the field: some may be cut off when it is sent.
inline constexpr size_t kChatFieldMax = kChatBytesMax + 1;
/// A person makes a handful per second; if nothing polls them, the oldest are dropped.
inline constexpr size_t kActionsMax = 64;
/// How long the pointer must rest before a call's buttons disappear, and how long that takes.
inline constexpr Duration kHideAfter = 3s;
inline constexpr Duration kHideFade = 200ms;

enum class Menu { kNone, kCameras, kMicrophones, kSpeakers, kScreens, kAllDevices };
enum class Corner { kTopLeft, kTopRight, kBottomLeft, kBottomRight };

/// The window's own state, kept from frame to frame.
struct UiState {
  bool panel_open = false;
  bool chat_open = false;  ///< never together with the panel: they have the same place
  float chat_scroll = 0;   ///< points above the newest line
  uint64_t chat_read = 0;  ///< the newest line that was displayed
  uint64_t chat_came = 0;  ///< the newest line that brought the buttons back
  Menu menu = Menu::kNone;
  std::string menu_owner;  ///< the control that opened it; pressing it again closes the menu
  Rect menu_anchor;
  float menu_scroll = 0;
  float wheel = 0;  ///< scrolled since the last frame, in lines

  HiddenInput link{kLinkBytesMax};
  std::array<char, kNameBytesMax> name{};
  std::array<char, kRelayBytesMax> relay{};
  std::array<char, kRoomNameBytesMax> room_name{};
  std::array<char, kChatFieldMax> chat{};

  Corner own_corner = Corner::kBottomRight;
  std::optional<Rect> own_place;     ///< its last position
  std::optional<Point> own_grab;     ///< while it is dragged: pointer position minus its top left
  std::optional<TimePoint> last_at;  ///< time of the frame before, for animations
  TimePoint active_at{};             ///< the user's last input
  std::optional<TimePoint> copied_at;
  std::optional<ShowTiles> tiles;   ///< in a room: the last reported value
  runtime::HiddenText code_text{};  ///< of which `code` is the QR code
  std::optional<QrCode> code{};
  bool copies_link = false;    ///< the link is to be put into the clipboard after this frame
  bool copies_access = false;  ///< what a new room's relay needs, likewise
  std::optional<TimePoint> access_copied_at;
};

/// The live panel and the chat have the same place.
inline void toggle_panel(UiState& state) {
  state.panel_open = !state.panel_open;
  state.chat_open = false;
}
inline void toggle_chat(UiState& state, Controls& controls, bool ring) {
  state.chat_open = !state.chat_open;
  state.panel_open = false;
  if (state.chat_open) {
    controls.set_focus("chat-line", ring);
  }
}

/// The inputs for drawing one frame; lives for one frame.
struct Ui {
  Canvas& canvas;
  Controls& controls;
  const Theme& theme;
  const CallView& view;
  UiState& state;
  std::deque<UserAction>& actions;
  Texture remote;
  Texture own;
  std::map<uint32_t, Texture> members;  ///< of a room, by number
  TimePoint now{};
  /// When the next frame is needed even if nothing changes.
  TimePoint wake = kNever;

  void ask(UserAction action) {
    if (actions.size() == kActionsMax) {
      actions.pop_front();
    }
    actions.push_back(std::move(action));
  }
  void wake_at(TimePoint at) { wake = std::min(wake, at); }
};

}  // namespace cress::ui
