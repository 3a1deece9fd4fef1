#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/ui/kit/controls.hh"
#include "app/ui/model/call_view.hh"
#include "app/ui/model/user_action.hh"
#include "transport/base/time.hh"

namespace cress::ui {

/// A faster redraw has no visible effect.
inline constexpr Duration kFrameInterval = 16'666'667ns;
/// How often the window system is polled for input: about half a frame, so that a key takes effect
/// in the next.
inline constexpr Duration kInputInterval = 10ms;
/// In points.
inline constexpr int kWindowWidthMin = 640;
inline constexpr int kWindowHeightMin = 480;

/// The renderer. A machine without a graphics card often has a software one (Mesa's llvmpipe) that
/// draws smoother edges than SDL, but takes 30 ms of processor time per frame of 1280 x 800 where
/// SDL takes 9, and the encoder needs that time: kAutomatic uses the card only if there is a real
/// one.
enum class Drawing { kAutomatic, kGraphicsCard, kSoftware };

struct WindowOptions {
  std::string title = "Cress";
  int width = 1280;  ///< in points
  int height = 800;
  /// Pixels per point; 0: according to the display (1, or 1.5 or 2 on dense ones). Ctrl and + or -
  /// change it.
  float scale = 0;
  Drawing drawing = Drawing::kAutomatic;
};

struct WindowStats {
  uint64_t frames = 0;    ///< frames drawn
  uint64_t pictures = 0;  ///< pictures uploaded to the graphics device
  uint64_t events = 0;    ///< events of the window system
};

/// Rows of red, green, blue, alpha; the contents of the screen.
struct Screenshot {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgba;
};

/// The window of a call. It is independent of the call: it draws the CallView it is given and
/// returns the user's requests. SDL2 provides the window, Dear ImGui the triangles.
///   while (...) { window.draw(now, view); while (auto a = window.poll_action()) {...};
///                 sleep until window.poll_timeout() or until the call wants something }
/// Keys: M mute, V camera, S share, D devices, C chat, P live panel, R save
/// what it shows, F full screen, Space talk
/// while muted, Ctrl+H hang up, Ctrl+V paste a link, Ctrl+C copy the own link, Ctrl+N start a call,
/// Ctrl+R make a room, T theme, Tab and Enter everything, Esc back, Ctrl+Q quit. Errors: the
/// constructor throws std::runtime_error, one clear line, if there is no display. Threads: none
/// inside; the thread that made it, which must be the program's first (SDL's rule). One at a time
/// in a program.
class Window {
 public:
  explicit Window(const WindowOptions& options = {});
  ~Window();

  /// Processes the user's input, then draws if anything changed, but not more often than
  /// kFrameInterval; returns whether it drew. Cheap if nothing changed. `now` never goes back.
  bool draw(TimePoint now, const CallView& view);
  /// The user's requests, in order; poll after each draw until empty.
  std::optional<UserAction> poll_action();
  /// When draw must be called again even if the view is the same: at most kInputInterval after the
  /// last.
  TimePoint poll_timeout() const;

  const WindowStats& stats() const;
  /// Draws at once, whether anything changed or not, and returns the screen's contents. Slow.
  Screenshot screenshot(TimePoint now, const CallView& view);
  /// The controls that can be pressed now, in points: for tests and for screen readers.
  std::span<const Control> controls() const;
  /// Window coordinates per point.
  float scale() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::ui
