#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "app/ui/model/call_view.hh"

namespace cress::ui {

/// The requests of a user. The window itself changes only its own state (which panel or menu is
/// open, where the own picture is); everything else changes when the next CallView says so.
struct StartListening {};
/// To the screen on which a room is made.
struct PlanRoom {};
struct MakeRoom {
  std::string name;   ///< not validated, like `relay`
  std::string relay;  ///< HOST:PORT
  friend bool operator==(const MakeRoom&, const MakeRoom&) = default;
};
/// `link`: as typed or pasted, without spaces around it; not validated.
struct Join {
  runtime::HiddenText link;
  friend bool operator==(const Join&, const Join&) = default;
};
/// The link is already in the clipboard.
struct CopyLink {};
struct Mute {};
struct Unmute {};
struct TalkPressed {};
struct TalkReleased {};
struct CameraOn {};
struct CameraOff {};
struct ShareScreen {
  std::string screen_id;  ///< from CallView::screens; empty if there is no list: any screen
  friend bool operator==(const ShareScreen&, const ShareScreen&) = default;
};
struct StopSharing {};
struct ChooseDevice {
  DeviceKind kind = DeviceKind::kCamera;
  std::string id;
  friend bool operator==(const ChooseDevice&, const ChooseDevice&) = default;
};
struct ChooseName {
  std::string name;  ///< the name that the other person sees
  friend bool operator==(const ChooseName&, const ChooseName&) = default;
};
struct ChooseRelay {
  std::string relay;  ///< HOST:PORT at which calls begin, not validated; empty: none
  friend bool operator==(const ChooseRelay&, const ChooseRelay&) = default;
};
struct ChooseTheme {
  ThemeChoice theme = ThemeChoice::kDark;
  friend bool operator==(const ChooseTheme&, const ChooseTheme&) = default;
};
struct SetFullScreen {
  bool on = false;
  friend bool operator==(const SetFullScreen&, const SetFullScreen&) = default;
};
/// In a room: displays that member large, with priority if the link cannot carry all.
struct Pin {
  uint32_t member = 0;
  friend bool operator==(const Pin&, const Pin&) = default;
};
struct Unpin {};
/// In a room, whenever the layout changes: how many of the others are visible, so that no more is
/// sent.
struct ShowTiles {
  uint32_t pictures = 0;  ///< at the same time
  uint32_t height = 0;    ///< of the tallest, pixels
  friend bool operator==(const ShowTiles&, const ShowTiles&) = default;
};
/// In a call: a line of text for everybody there, neither cleaned nor empty.
struct SendChat {
  std::string text;
  friend bool operator==(const SendChat&, const SendChat&) = default;
};
/// The answer to CallView::newcomer.
struct AdmitNewcomer {
  std::string code;  ///< that was displayed: another newcomer is not meant
  friend bool operator==(const AdmitNewcomer&, const AdmitNewcomer&) = default;
};
struct RefuseNewcomer {};
/// In a call: write what the live panel has shown to a folder.
struct SaveReport {};
/// In a call; also: stop waiting, stop connecting.
struct HangUp {};
/// From the last screen, or that of a new room, to the first.
struct BackToStart {};
struct DismissNotice {
  uint64_t id = 0;
  friend bool operator==(const DismissNotice&, const DismissNotice&) = default;
};
/// If the window is closed during a call, HangUp comes first.
struct Quit {};

using UserAction =
    std::variant<StartListening, PlanRoom, MakeRoom, Join, CopyLink, Mute, Unmute, TalkPressed,
                 TalkReleased, CameraOn, CameraOff, ShareScreen, StopSharing, ChooseDevice,
                 ChooseName, ChooseRelay, ChooseTheme, SetFullScreen, Pin, Unpin, ShowTiles,
                 SendChat, AdmitNewcomer, RefuseNewcomer, SaveReport, HangUp, BackToStart,
                 DismissNotice, Quit>;

/// Its name and contents: "join cress://…", with the link's secret. For test messages, never a log.
std::string describe(const UserAction& action);

}  // namespace cress::ui
