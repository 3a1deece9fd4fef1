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
#include "app/ui/kit/theme.hh"
#include "app/ui/model/call_view.hh"
#include "app/ui/model/user_action.hh"

namespace cress::ui {

inline constexpr size_t kLinkBytesMax = 1024;
inline constexpr size_t kNameBytesMax = 64;
/// A person makes a handful a second; when nobody polls, the oldest are dropped.
inline constexpr size_t kActionsMax = 64;
/// How long the pointer must rest before the buttons of a call go, and how long they take.
inline constexpr Duration kHideAfter = 3s;
inline constexpr Duration kHideFade = 200ms;

enum class Menu { kNone, kCameras, kMicrophones, kSpeakers, kScreens, kAllDevices };
enum class Corner { kTopLeft, kTopRight, kBottomLeft, kBottomRight };

/// What is only the window's own and lives from frame to frame.
struct UiState {
  bool panel_open = false;
  Menu menu = Menu::kNone;
  std::string menu_owner;  ///< the control that opened it; pressed again, it closes it
  Rect menu_anchor;
  float menu_scroll = 0;
  float wheel = 0;  ///< turned since the last frame, in lines

  std::array<char, kLinkBytesMax> link{};
  std::array<char, kNameBytesMax> name{};

  Corner own_corner = Corner::kBottomRight;
  std::optional<Rect> own_place;     ///< where it was drawn last
  std::optional<Point> own_grab;     ///< while it is dragged: pointer minus its top left
  std::optional<TimePoint> last_at;  ///< of the frame before, for movements
  TimePoint active_at{};             ///< the last sign of life of the person
  std::optional<TimePoint> copied_at;
  std::optional<ShowTiles> tiles;  ///< of a room, as was told last
  bool copies_link = false;        ///< the clipboard is to hold the link after this frame
};

/// What drawing one frame needs; lives for one frame.
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
  /// When the next frame is wanted though nothing changes.
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
