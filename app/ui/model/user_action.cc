#include "app/ui/model/user_action.hh"

namespace cress::ui {
namespace {

struct Describe {
  std::string operator()(const StartListening&) const { return "start listening"; }
  std::string operator()(const PlanRoom&) const { return "plan a room"; }
  std::string operator()(const MakeRoom& a) const {
    return "make room " + a.name + " at " + a.relay;
  }
  std::string operator()(const Join& a) const {
    return "join " + std::string{a.link.reveal().view()};
  }
  std::string operator()(const CopyLink&) const { return "copy link"; }
  std::string operator()(const Mute&) const { return "mute"; }
  std::string operator()(const Unmute&) const { return "unmute"; }
  std::string operator()(const TalkPressed&) const { return "talk pressed"; }
  std::string operator()(const TalkReleased&) const { return "talk released"; }
  std::string operator()(const CameraOn&) const { return "camera on"; }
  std::string operator()(const CameraOff&) const { return "camera off"; }
  std::string operator()(const ShareScreen& a) const { return "share screen " + a.screen_id; }
  std::string operator()(const StopSharing&) const { return "stop sharing"; }
  std::string operator()(const ChooseDevice& a) const {
    switch (a.kind) {
      case DeviceKind::kCamera:
        return "choose camera " + a.id;
      case DeviceKind::kMicrophone:
        return "choose microphone " + a.id;
      case DeviceKind::kSpeaker:
        return "choose speaker " + a.id;
      case DeviceKind::kScreen:
        return "choose screen " + a.id;
    }
    return "choose";
  }
  std::string operator()(const ChooseName& a) const { return "choose name " + a.name; }
  std::string operator()(const ChooseRelay& a) const { return "choose relay " + a.relay; }
  std::string operator()(const ChooseTheme& a) const {
    return a.theme == ThemeChoice::kLight ? "light theme" : "dark theme";
  }
  std::string operator()(const SetFullScreen& a) const {
    return a.on ? "full screen" : "leave full screen";
  }
  std::string operator()(const Pin& a) const { return "pin " + std::to_string(a.member); }
  std::string operator()(const Unpin&) const { return "unpin"; }
  std::string operator()(const ShowTiles& a) const {
    return "show " + std::to_string(a.pictures) + " pictures of " + std::to_string(a.height);
  }
  // Not the line: a log must not hold what people write.
  std::string operator()(const SendChat&) const { return "send chat"; }
  std::string operator()(const AdmitNewcomer& a) const { return "let in " + a.code; }
  std::string operator()(const RefuseNewcomer&) const { return "refuse the newcomer"; }
  std::string operator()(const SaveReport&) const { return "save report"; }
  std::string operator()(const HangUp&) const { return "hang up"; }
  std::string operator()(const BackToStart&) const { return "back to start"; }
  std::string operator()(const DismissNotice& a) const {
    return "dismiss notice " + std::to_string(a.id);
  }
  std::string operator()(const Quit&) const { return "quit"; }
};

}  // namespace

std::string describe(const UserAction& action) { return std::visit(Describe{}, action); }

}  // namespace cress::ui
