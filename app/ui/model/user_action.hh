#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "app/ui/model/call_view.hh"

namespace cress::ui {

/// What a person can ask for. The window changes nothing by itself but what is only its own (which
/// panel or menu is open, where the own picture lies): it shows a thing when the next CallView says
/// so.
struct StartListening {};
/// `link`: as typed or pasted, without spaces around it; not looked into.
struct Join {
  std::string link;
  friend bool operator==(const Join&, const Join&) = default;
};
/// The link is in the clipboard already.
struct CopyLink {};
struct Mute {};
struct Unmute {};
struct TalkPressed {};
struct TalkReleased {};
struct CameraOn {};
struct CameraOff {};
struct ShareScreen {
  std::string screen_id;  ///< of CallView::screens; empty where there is no list: whatever there is
  friend bool operator==(const ShareScreen&, const ShareScreen&) = default;
};
struct StopSharing {};
struct ChooseDevice {
  DeviceKind kind = DeviceKind::kCamera;
  std::string id;
  friend bool operator==(const ChooseDevice&, const ChooseDevice&) = default;
};
struct ChooseName {
  std::string name;  ///< what the other person reads
  friend bool operator==(const ChooseName&, const ChooseName&) = default;
};
struct ChooseTheme {
  ThemeChoice theme = ThemeChoice::kDark;
  friend bool operator==(const ChooseTheme&, const ChooseTheme&) = default;
};
struct SetFullScreen {
  bool on = false;
  friend bool operator==(const SetFullScreen&, const SetFullScreen&) = default;
};
/// In a room: that member large, and first where the link cannot carry all.
struct Pin {
  uint32_t member = 0;
  friend bool operator==(const Pin&, const Pin&) = default;
};
struct Unpin {};
/// In a room, whenever the layout changes: what of the others can be seen, so that no more is sent.
struct ShowTiles {
  uint32_t pictures = 0;  ///< at once
  uint32_t height = 0;    ///< of the tallest, pixels
  friend bool operator==(const ShowTiles&, const ShowTiles&) = default;
};
/// In a call; also: stop waiting, stop connecting.
struct HangUp {};
/// From the last screen to the first.
struct BackToStart {};
struct DismissNotice {
  uint64_t id = 0;
  friend bool operator==(const DismissNotice&, const DismissNotice&) = default;
};
/// A window that is closed during a call asks HangUp first.
struct Quit {};

using UserAction =
    std::variant<StartListening, Join, CopyLink, Mute, Unmute, TalkPressed, TalkReleased, CameraOn,
                 CameraOff, ShareScreen, StopSharing, ChooseDevice, ChooseName, ChooseTheme,
                 SetFullScreen, Pin, Unpin, ShowTiles, HangUp, BackToStart, DismissNotice, Quit>;

/// Its name, with what it carries: "join cress://…". For logs and test messages.
std::string describe(const UserAction& action);

}  // namespace cress::ui
