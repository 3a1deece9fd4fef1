#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace cress::media {

/// What a person has chosen to show: a node of PipeWire, reached through this connection and no
/// other.
struct ScreenCast {
  int pipewire_fd = -1;  ///< the portal's, valid until the next `ask` or its end
  uint32_t node = 0;
};

/// The person said no in the desktop's dialog.
class ScreenDeclined : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A screen or a window, chosen by a person in the desktop's own dialog: the ScreenCast portal of
/// xdg-desktop-portal, by libportal. Under Wayland there is no other way to a screen.
/// Threads: one inside; `ask` and `end` are for one thread at a time, `cancel` for any.
class ScreenPortal {
 public:
  /// `on_closed`: the desktop has ended the sharing (its own button, the window closed); called on
  /// the thread inside.
  explicit ScreenPortal(std::function<void()> on_closed);
  /// Ends the sharing; whoever asks meanwhile must have been sent away by `cancel`.
  ~ScreenPortal();

  /// Shows the dialog and waits for the person, minutes if need be. What was shared before is no
  /// longer. Errors: ScreenDeclined; std::runtime_error in plain words where no portal answers or
  /// after `cancel`.
  ScreenCast ask();
  /// Nothing is shared any more.
  void end();
  /// `ask` ends, now and from now on; `on_closed` is not called any more once this returns.
  void cancel();

 private:
  class Session;
  std::unique_ptr<Session> session_;
};

}  // namespace cress::media
