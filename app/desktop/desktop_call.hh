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
  /// The file of the settings, see settings_path(); empty: none.
  std::filesystem::path settings_path{};
  /// Override the settings for this run; a device's id is one that LiveCamera, LiveMicrophone or
  /// LiveSpeaker takes. Saved only if the user chooses it in the window.
  std::optional<std::string> name{};
  std::optional<std::string> camera{};
  std::optional<std::string> microphone{};
  std::optional<std::string> speaker{};
  /// A link: joins it at once.
  std::string join{};
  /// Listens at once at this address. IP all zero: on every address; port 0: any.
  std::optional<Address> listen{};
  /// The file that keeps the link of a call started here over restarts; empty: each call has a new
  /// link.
  std::filesystem::path link_file{};
  /// Size of the pictures sent on a good link; on a bad one they get smaller automatically.
  media::PictureSize camera_size{1280, 720};
  media::FrameRate camera_rate{};
  /// The desktop uses Wayland: programs may not capture its screen, and the user gets a message.
  bool on_wayland = false;
  /// Returns all addresses of "HOST:PORT", or throws what is wrong; called in threads of its own.
  std::function<std::vector<Address>(std::string_view)> look_up = runtime::resolve;
};

/// When the program ends, closing the call takes at most this long.
inline constexpr Duration kQuitMax = 500ms;

/// The controller behind the window: user requests become a call, and the call's state becomes a
/// CallView. Screens: start (own picture and loudness) -> waiting or connecting -> in call -> ended
/// -> start. Network, encoding and devices run in a thread of its own that never waits for drawing,
/// for a name server or for a disk. Errors: the constructor throws std::runtime_error if the system
/// gives no event loop; later errors are readable messages in the view. If a camera or microphone
/// is missing, a message says so, and the call continues without it. Threads: one inside, in
/// addition to those of the devices and of name look-ups; all functions are called from one thread
/// (the window's). Needs a media::GstRuntime.
class DesktopCall {
 public:
  /// `clock` is borrowed and must outlive it.
  DesktopCall(const runtime::MonotonicClock& clock, DesktopCallOptions options);
  /// Closes the call: takes kQuitMax at most, plus the time for closing the devices.
  ~DesktopCall();
  DesktopCall(const DesktopCall&) = delete;
  DesktopCall& operator=(const DesktopCall&) = delete;

  /// A user request; carried out soon, visible in a later view.
  void handle(const ui::UserAction& action);
  ui::CallView view() const;
  /// Returns when there is something that `view` has not yet returned, or at `until`.
  void wait_for_news(TimePoint until) const;
  /// ui::Quit was requested, and the call has been closed (or kQuitMax is over).
  bool has_quit() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::desktop
