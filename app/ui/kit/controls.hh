#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/ui/kit/geometry.hh"
#include "transport/base/time.hh"

namespace cress::ui {

/// A control that can be pressed, typed into or dragged.
struct Control {
  enum class Kind { kButton, kText, kDrag };
  std::string id{};     ///< unique in the window
  std::string label{};  ///< its name, also if only an icon is drawn
  std::string tip{};    ///< its effect and its key, in one line
  Rect rect{};
  Kind kind = Kind::kButton;
  bool enabled = true;
  friend bool operator==(const Control&, const Control&) = default;
};

struct ControlState {
  bool hovered = false;
  bool held = false;
  bool focused = false;
  bool shows_ring = false;  ///< focused, by the keyboard
  bool activated = false;   ///< pressed and released, or by Enter; reported once
  Point arrow{};  ///< kDrag, focused: -1, 0, 1 in each direction by the arrow keys; reported once
};

/// How long the pointer rests before a tool tip appears.
inline constexpr Duration kTipDelay = 500ms;
inline constexpr size_t kControlsMax = 256;

/// Which control has the pointer and which the keyboard focus. A frame adds its controls in drawing
/// order; events between two frames apply to the last frame's controls. Later ones lie on top. A
/// modal layer (an open menu) takes all input: controls below it get neither the pointer nor Tab,
/// and a press outside it dismisses it. Threads: none inside; one owner. `now` never goes back.
class Controls {
 public:
  void handle_move(TimePoint now, Point at);
  void handle_leave();
  void handle_press(TimePoint now, Point at);
  void handle_release(Point at);
  /// Tab and Shift+Tab: cyclic, in the order of adding.
  void move_focus(TimePoint now, bool backwards);
  /// Enter: as if the focused control were clicked.
  void press_focused();
  /// An arrow key. In a modal layer up and down move the focus; otherwise it goes to a focused
  /// kDrag.
  void handle_arrow(TimePoint now, Point direction);
  void set_focus(const std::string& id, bool ring);
  void clear_focus();

  void begin_frame();
  /// Controls added from here on are in a modal layer that covers `area`, until the frame ends.
  void begin_modal(const Rect& area);
  /// `control.id` unique in the frame; at most kControlsMax.
  ControlState add(Control control);
  void end_frame();

  /// The controls of the last frame, in drawing order.
  std::span<const Control> all() const { return last_.controls; }
  const Control* find(const std::string& id) const;
  /// The control that can be pressed at `at`; null if there is none.
  const Control* at(Point at) const;
  const Control* focused() const;
  bool is_modal() const { return last_.modal_area.has_value(); }
  /// Whether there was a press outside the modal layer since the last call.
  bool take_dismissed();
  bool shows_ring() const { return ring_; }
  std::optional<Point> pointer() const { return pointer_; }
  bool is_holding() const { return !held_.empty(); }
  /// The control whose tool tip is due: the one under the resting pointer, or the focused one.
  const Control* tip_at(TimePoint now) const;
  /// When a tool tip will be due; kNever for none.
  TimePoint tip_due(TimePoint now) const;

 private:
  struct Frame {
    std::vector<Control> controls;
    size_t modal_from = 0;
    std::optional<Rect> modal_area;
    bool reaches(size_t index) const { return !modal_area || index >= modal_from; }
  };
  const Control* hovered() const { return pointer_ ? at(*pointer_) : nullptr; }
  const Control* tip_candidate() const;

  Frame last_;
  Frame next_;
  std::optional<Point> pointer_;
  std::string over_;  // the control under the pointer, and since when
  std::string held_;
  std::string focused_;
  std::string focused_below_;  // the focus before a modal layer opened
  bool ring_ = false;
  bool dismissed_ = false;
  std::string activated_;
  Point arrow_{};
  TimePoint rests_since_{};
  bool tip_used_ = false;  // pressed: the user already knows it
};

}  // namespace cress::ui
