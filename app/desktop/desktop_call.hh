#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "app/call/control_message.hh"
#include "app/desktop/call_health.hh"
#include "app/desktop/chat_book.hh"
#include "app/desktop/device_shelf.hh"
#include "app/desktop/errands.hh"
#include "app/desktop/notices.hh"
#include "app/desktop/preview.hh"
#include "app/desktop/room_scene.hh"
#include "app/desktop/settings/settings.hh"
#include "app/desktop/view_board.hh"
#include "app/live/listening_link.hh"
#include "app/live/live_call.hh"
#include "app/room/live_room.hh"
#include "app/ui/model/call_view.hh"
#include "app/ui/model/user_action.hh"
#include "app/ui/report/report.hh"
#include "media/devices/camera.hh"
#include "media/devices/devices.hh"
#include "transport/base/address.hh"
#include "transport/process/hidden_text.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/secure/link/link.hh"

namespace cress::desktop {

struct DesktopCallOptions {
  /// The file of the settings, see settings_path(); empty: none.
  std::filesystem::path settings_path{};
  /// Override the settings for this run; a device's id is one that LiveCamera, LiveMicrophone or
  /// LiveSpeaker takes. Saved only if the user chooses it in the window.
  std::optional<std::string> name{};
  std::optional<std::string> camera{};
  std::optional<std::string> microphone{};
  std::optional<std::string> speaker{};
  /// A link: joins it at once.
  runtime::HiddenText join{};
  /// Listens at once at this address. IP all zero: on every address; port 0: any.
  std::optional<Address> listen{};
  /// The file that keeps the link of a call started here over restarts; empty: each call has a new
  /// link.
  std::filesystem::path link_file{};
  /// Where reports are saved; empty: nowhere.
  std::filesystem::path reports_path{};
  /// "2026-11-25 10:04:05"; called in the call's thread.
  std::function<std::string()> local_time = [] { return std::string{}; };
  /// Overrides the settings for this run: HOST:PORT of the relay at which calls begin.
  std::optional<std::string> relay{};
  /// In a call through a relay the router is asked for a port.
  bool asks_router = true;
  /// Size of the pictures sent on a good link; on a bad one they get smaller automatically.
  media::PictureSize camera_size{1280, 720};
  media::FrameRate camera_rate{};
  app::Preference prefer = app::kUsualPreference;
  /// The desktop uses Wayland: programs may not capture its screen, and the user gets a message.
  bool on_wayland = false;
  /// Returns all addresses of "HOST:PORT", or throws what is wrong; called in threads of its own.
  std::function<std::vector<Address>(std::string_view)> look_up = runtime::resolve;
};

/// When the program ends, closing the call takes at most this long.
inline constexpr Duration kQuitMax = 500ms;

/// The number of videos requested in a room before the window has reported how many it displays.
inline constexpr uint32_t kRoomPicturesMax = 16;

/// The controller behind the window: what a person asks for becomes a call, and what the call does
/// becomes a CallView. Screens: start (own picture and loudness) -> waiting or connecting -> in
/// call -> ended -> start. Network, coding and devices live in a thread of its own that never waits
/// for drawing, for a name server or for a disk.
/// Errors: the constructor throws std::runtime_error where the system gives no event loop;
/// later errors are shown in the view, in plain words. Without a camera or microphone the view says
/// so, and the call continues.
/// Threads: one of its own, in addition to those of the devices and of name look-ups. Call all
/// functions from one thread (the window's). Needs a media::GstRuntime.
class DesktopCall {
 public:
  /// `clock` is borrowed and must outlive it.
  DesktopCall(const runtime::MonotonicClock& clock, DesktopCallOptions options);
  /// Closes the call: takes kQuitMax at most, plus the time for closing the devices.
  ~DesktopCall();

  /// A user request; carried out soon, visible in a later view.
  void handle(const ui::UserAction& action);
  ui::CallView view() const { return board_.view(); }
  /// Returns when there is something that `view` has not yet given, or at `until`.
  void wait_for_news(TimePoint until) const {
    // kNever is further away than a wait may last.
    board_.wait(std::clamp<Duration>(until - clock_.now(), 0s, 1h));
  }
  /// ui::Quit was asked for, and the close has been sent (or kQuitMax is over).
  bool has_quit() const { return has_quit_; }

 private:
  // Functions are in desktop_call.cc (threads, view), call_making.cc (screens, the call's life),
  // call_room.cc (what only a room has), call_chat.cc (text), call_report.cc (what the panel
  // showed) and call_devices.cc (devices; sends the own mute and camera state to the other
  // end). Everything from here on belongs to the call's thread.
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
  void act(const ui::PlanRoom&);
  void act(const ui::MakeRoom& plan);
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
  void act(const ui::ChooseRelay& choice);
  void act(const ui::ChooseTheme& choice);
  void act(const ui::SetFullScreen& wish);
  void act(const ui::HangUp&);
  void act(const ui::BackToStart&);
  void act(const ui::DismissNotice& notice);
  void act(const ui::Quit&);

  void act(const ui::Pin& wish);
  void act(const ui::Unpin&);
  void act(const ui::ShowTiles& tiles);
  void act(const ui::SendChat& line);
  void act(const ui::AdmitNewcomer& answer);
  void act(const ui::RefuseNewcomer&);
  void act(const ui::SaveReport&);

  std::string path_words(const live::LiveSample& sample) const;
  void listen(const Address& bind);
  void listen_at_relay(const std::shared_ptr<live::ListeningLink>& link);
  void wait_for_peer(live::ListeningLink& own, const std::string& host);
  void look_up(const std::string& host_and_port,
               std::function<void(const std::vector<Address>&)> found);
  void join(const runtime::HiddenText& link, const std::vector<Address>& addresses);
  bool open_call(live::LiveCallOptions options);
  std::vector<std::byte> identity_secret();
  bool open_room(room::LiveRoomOptions options, const secure::Link& link);
  bool open(const std::function<std::unique_ptr<live::LiveEnd>()>& make);
  live::LiveDevicesOptions device_options() const;
  void set_outputs(live::LiveEndOutputs& outputs);
  void handle_room_event(const room::RoomEvent& event);
  void show_room();
  void show_member(const room::RoomShown& shown);
  void send_view();
  void show_new_room(const secure::Link& link);
  /// Back to the new room that nobody is in yet, or to the start.
  ui::Screen before_call() const;
  void handle_chat(const std::string& writer, const std::string& text);
  void settle_chat(bool is_connected);
  void note_shown();
  void show_chat();
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
  void show_waiting(const live::LiveSample& sample);
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
  mutable ViewBoard board_;
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
  std::optional<TimePoint> waiting_since_;  // for the other end to let us in
  CallHealth health_;
  std::deque<ui::LinkSample> shown_;  // by the panel in this call; at most ui::kReportSamplesMax
  std::unique_ptr<RoomScene> scene_;  // of a room, else null
  ChatBook chat_;
  bool has_new_room_ = false;  // made here, until somebody is in it
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
