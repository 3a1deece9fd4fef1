#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace cress::media {

/// What the user has chosen to share: a PipeWire node, reachable only through this connection.
struct ScreenCast {
  int pipewire_fd = -1;  ///< the portal's, valid until the next `ask` or its end
  uint32_t node = 0;
};

/// The user declined in the desktop's dialog.
class ScreenDeclined : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A screen or a window, chosen by the user in the desktop's own dialog: the ScreenCast portal of
/// xdg-desktop-portal, by libportal. Under Wayland this is the only way to capture a screen.
/// Threads: one inside; `ask` and `end` are for one thread at a time, `cancel` for any.
class ScreenPortal {
 public:
  /// `on_closed`: the desktop has ended the sharing (its own button, the window closed); called on
  /// the thread inside.
  explicit ScreenPortal(std::function<void()> on_closed);
  /// Ends the sharing; a pending `ask` must have been ended by `cancel`.
  ~ScreenPortal();

  /// Shows the dialog and waits for the user, minutes if needed. Ends the previous sharing. Errors:
  /// ScreenDeclined; std::runtime_error with a readable message if no portal answers or after
  /// `cancel`.
  ScreenCast ask();
  /// Ends the sharing.
  void end();
  /// Ends `ask`, now and in future; once this returns `on_closed` is not called any more.
  void cancel();

 private:
  class Session;
  std::unique_ptr<Session> session_;
};

}  // namespace cress::media
