#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/call/control_message.hh"
#include "app/desktop/call_health.hh"
#include "app/desktop/desktop_call.hh"
#include "app/desktop/device_shelf.hh"
#include "app/desktop/errands.hh"
#include "app/desktop/notices.hh"
#include "app/desktop/preview.hh"
#include "app/desktop/room_scene.hh"
#include "app/desktop/settings.hh"
#include "app/desktop/settings_keeper.hh"
#include "app/desktop/view_board.hh"
#include "app/live/live_call.hh"
#include "app/room/live_room.hh"
#include "media/devices/devices.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/secure/link/link.hh"

namespace cress::desktop {

/// The number of videos requested in a room before the window has reported how many it displays.
inline constexpr uint32_t kRoomPicturesMax = 16;

/// The state used in the call's thread, except the functions of DesktopCall. Only for the .cc files
/// desktop_call (threads, view), call_making (screens, the call's life), call_room (what only a
/// room has) and call_devices (devices, and the person's state sent to the other end).
class DesktopCall::Impl {
 public:
  Impl(const runtime::MonotonicClock& clock, DesktopCallOptions options);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Called in the window's thread.
  void handle(const ui::UserAction& action);
  ui::CallView view() { return board_.view(); }
  void wait_for_news(TimePoint until) {
    // kNever is further away than a wait may last.
    board_.wait(std::clamp<Duration>(until - clock_.now(), 0s, 1h));
  }
  bool has_quit() const { return has_quit_; }

 private:
  // From here on: called in the call's thread.
  void run();
  void guarded(const std::function<void()>& work);
  void begin(const LoadedSettings& loaded);
  void open_device_watch();
  void adopt(std::unique_ptr<media::DeviceWatch> watch);
  void take_device_changes();
  void tell_change(const media::DeviceChange& change);
  void use_in_preview(bool other_camera, bool other_microphone);
  std::vector<media::Device> devices() const;
  const char* screen_device() const;
  void use_devices();

  void act(const ui::StartListening&);
  void act(const ui::Join& join);
  void act(const ui::CopyLink&) {}  // the window has already done it
  void act(const ui::Mute&) { set_muted(true); }
  void act(const ui::Unmute&) { set_muted(false); }
  void act(const ui::TalkPressed&);
  void act(const ui::TalkReleased&);
  void act(const ui::CameraOn&);
  void act(const ui::CameraOff&);
  void act(const ui::ShareScreen& share);
  void act(const ui::StopSharing&);
  void act(const ui::ChooseDevice& choice);
  void act(const ui::ChooseName& choice);
  void act(const ui::ChooseTheme& choice);
  void act(const ui::SetFullScreen& wish);
  void act(const ui::HangUp&);
  void act(const ui::BackToStart&);
  void act(const ui::DismissNotice& notice);
  void act(const ui::Quit&);

  void act(const ui::Pin& wish);
  void act(const ui::Unpin&);
  void act(const ui::ShowTiles& tiles);

  void listen(const Address& bind);
  void join(const secure::Link& link, const std::vector<Address>& addresses);
  bool open_call(live::LiveCallOptions options);
  bool open_room(room::LiveRoomOptions options, const secure::Link& link);
  bool open(const std::function<std::unique_ptr<live::LiveEnd>()>& make);
  live::LiveDevicesOptions device_options() const;
  void set_outputs(live::LiveEndOutputs& outputs);
  void handle_room_event(const room::RoomEvent& event);
  void show_room();
  void show_member(const room::RoomShown& shown);
  void send_view();
  void handle_event(uint64_t call, const live::LiveEvent& event);
  void handle_connected(TimePoint at);
  void handle_device_lost(const std::string& words);
  void handle_device_back(const std::string& words);
  struct DeviceState {
    bool worked = false;  ///< in this call
    bool lost = false;
  };
  DeviceState& state_of(media::DeviceKind kind);
  void handle_ended(const std::string& words);
  void close_call();
  void leave(ui::Screen next, const std::string& reason);
  std::string reason_of(const std::string& words) const;

  void open_preview();
  PreviewOptions preview_options() const;
  media::LiveCameraOptions camera_options() const;
  media::LiveMicrophoneOptions microphone_options() const;

  void set_muted(bool muted);
  void tell_person();
  app::PersonState person() const;
  void tick();
  void sample_call(const live::LiveSample& sample);
  void sample_peer(CallCircumstances& now);
  void sample_room(CallCircumstances& now);
  void notify(ui::Tone tone, const std::string& text);
  void show_devices();
  void show_notices();
  void show_screen(ui::Screen screen, const std::string& ended_reason = "");
  bool is_in_call() const { return screen_ == ui::Screen::kInCall; }

  const runtime::MonotonicClock& clock_;
  const DesktopCallOptions options_;
  ViewBoard board_;
  runtime::EventLoop loop_;
  Errands errands_;

  Settings settings_;
  std::unique_ptr<SettingsKeeper> keeper_;
  std::unique_ptr<media::DeviceWatch> watch_;
  DeviceShelf shelf_;
  Notices notices_;
  std::unique_ptr<Preview> preview_;
  double preview_dbfs_ = media::kSilenceDbfs;

  std::string name_;
  ui::Screen screen_ = ui::Screen::kStart;
  bool muted_ = false;
  bool talking_ = false;  // while muted, by holding the key
  bool camera_off_ = false;
  bool sharing_ = false;

  // The call that is starting, running, or ending; counted, so that events of an older one are
  // recognized.
  std::unique_ptr<live::LiveEnd> live_;
  live::LiveCall* pair_ = nullptr;  // live_, if it is a call of two,
  room::LiveRoom* room_ = nullptr;  // or this, if it is a room's
  uint64_t call_ = 0;
  std::function<void()> after_leaving_;
  std::optional<TimePoint> connected_at_;
  CallHealth health_;
  std::unique_ptr<RoomScene> scene_;  // of a room, else null
  ui::ShowTiles tiles_{.pictures = kRoomPicturesMax};
  std::string peer_name_;
  DeviceState camera_state_;
  DeviceState microphone_state_;
  DeviceState speaker_state_;
  bool peer_shares_ = false;
  bool leaving_ = false;
  // The devices that the call uses, to detect changes.
  std::string used_camera_;
  std::string used_microphone_;
  std::string used_speaker_;
  uint64_t join_ = 0;  // counts name look-ups

  uint64_t ticks_ = 0;
  int surprises_ = 0;
  bool looked_for_devices_ = false;
  bool quitting_ = false;
  std::atomic<bool> has_quit_ = false;
  runtime::EventLoop::Timer ticker_;
  runtime::EventLoop::Timer quitter_;
  std::thread watch_opener_;
  std::thread thread_;  // last: all members exist when it starts
};

}  // namespace cress::desktop
