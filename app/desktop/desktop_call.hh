#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/ui/model/call_view.hh"
#include "app/ui/model/user_action.hh"
#include "media/devices/camera.hh"
#include "transport/base/address.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/clock.hh"

namespace cress::desktop {

struct DesktopCallOptions {
  /// Where the settings are kept, see settings_path(); empty: nowhere.
  std::filesystem::path settings_path{};
  /// For this run instead of what the settings say; a device's id is what LiveCamera,
  /// LiveMicrophone or LiveSpeaker takes. Kept only if the person chooses it in the window.
  std::optional<std::string> name{};
  std::optional<std::string> camera{};
  std::optional<std::string> microphone{};
  std::optional<std::string> speaker{};
  /// A link: joins at once.
  std::string join{};
  /// Listens at once, there. Its IP all zero: on every address; its port 0: any.
  std::optional<Address> listen{};
  /// Where the link of a call that is begun here is kept over restarts; empty: each has a new one.
  std::filesystem::path link_file{};
  /// Of the pictures sent on a good link; a bad one makes them smaller by itself.
  media::PictureSize camera_size{1280, 720};
  media::FrameRate camera_rate{};
  /// The desktop's screen is Wayland's: nobody may grab it, and a person is told so.
  bool on_wayland = false;
  /// Gives all addresses of "HOST:PORT", or throws what is wrong; called in threads of its own.
  std::function<std::vector<Address>(std::string_view)> look_up = runtime::resolve;
};

/// A good-bye is waited for no longer than this when the program ends.
inline constexpr Duration kQuitMax = 500ms;

/// The controller behind the window: what a person asks for becomes a call, and what the call does
/// becomes a CallView. Screens: start (own picture and loudness) -> waiting or connecting -> in
/// call -> ended -> start. Network, coding and devices live in a thread of its own that never waits
/// for drawing, for a name server or for a disk.
/// Errors: the constructor throws std::runtime_error where the system gives no event loop;
/// afterwards all is told in the view, in plain words. A camera or microphone that is not there is
/// said, and the call goes on without.
/// Threads: one inside, besides those of the devices and of name look-ups; all functions from one
/// thread (the window's). Needs a media::GstRuntime.
class DesktopCall {
 public:
  /// `clock` is borrowed and must outlive it.
  DesktopCall(const runtime::MonotonicClock& clock, DesktopCallOptions options);
  /// Says good-bye to whoever is on the line: takes kQuitMax at most, and what closing the devices
  /// takes.
  ~DesktopCall();
  DesktopCall(const DesktopCall&) = delete;
  DesktopCall& operator=(const DesktopCall&) = delete;

  /// What the person asked for; done soon, seen in a later view.
  void handle(const ui::UserAction& action);
  ui::CallView view() const;
  /// Returns when there is something that `view` has not yet given, or at `until`.
  void wait_for_news(TimePoint until) const;
  /// ui::Quit was asked for, and good-bye has been said (or kQuitMax is over).
  bool has_quit() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::desktop
