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

/// A faster redraw than this shows nothing more.
inline constexpr Duration kFrameInterval = 16'666'667ns;
/// How often the window system is asked for input: half a frame, so that a key is seen in the next.
inline constexpr Duration kInputInterval = 10ms;
/// In points.
inline constexpr int kWindowWidthMin = 640;
inline constexpr int kWindowHeightMin = 480;

/// What draws. A machine without a graphics card often has a stand-in for one (Mesa's llvmpipe)
/// that draws smoother edges than SDL, but takes 30 ms of processor a frame of 1280 x 800 where SDL
/// takes 9, and the encoder needs them: kAutomatic takes the card where there is a real one.
enum class Drawing { kAutomatic, kGraphicsCard, kSoftware };

struct WindowOptions {
  std::string title = "Cress";
  int width = 1280;  ///< in points
  int height = 800;
  /// Pixels a point; 0: by what the display says (1, or 1.5 or 2 on dense ones). Ctrl and + or -
  /// change it.
  float scale = 0;
  Drawing drawing = Drawing::kAutomatic;
};

struct WindowStats {
  uint64_t frames = 0;    ///< drawn
  uint64_t pictures = 0;  ///< brought to the graphics side
  uint64_t events = 0;    ///< of the window system
};

/// Rows of red, green, blue, alpha; what the screen shows.
struct Screenshot {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgba;
};

/// The window of a call. Knows no call: it draws the CallView it is given and hands out what the
/// person asks for. SDL2 does the window, Dear ImGui the triangles.
///   while (...) { window.draw(now, view); while (auto a = window.poll_action()) {...};
///                 sleep until window.poll_timeout() or until the call wants something }
/// Keys: M mute, V camera, S share, D devices, P live panel, F full screen, Space talk while muted,
/// Ctrl+H hang up, Ctrl+V paste a link, Ctrl+C copy the own link, Ctrl+N start a call, T theme, Tab
/// and Enter everything, Esc back, Ctrl+Q quit.
/// Errors: the constructor throws std::runtime_error, one clear line, where there is no display.
/// Threads: none inside; the thread that made it, which must be the program's first (SDL's rule).
/// One at a time in a program.
class Window {
 public:
  explicit Window(const WindowOptions& options = {});
  ~Window();

  /// Takes what the person did, then draws if anything changed, but not more often than
  /// kFrameInterval; gives whether it drew. Cheap when nothing changed. `now` never goes back.
  bool draw(TimePoint now, const CallView& view);
  /// What the person asked for, in order; poll after each draw until empty.
  std::optional<UserAction> poll_action();
  /// When draw is wanted again, though the view be the same: never later than kInputInterval after
  /// the last.
  TimePoint poll_timeout() const;

  const WindowStats& stats() const;
  /// Draws at once, whatever changed, and gives what is shown. Slow.
  Screenshot screenshot(TimePoint now, const CallView& view);
  /// What can be pressed now, in points: for tests and for tools that read a window aloud.
  std::span<const Control> controls() const;
  /// Window coordinates a point.
  float scale() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::ui
