#pragma once

#include <span>
#include <string>
#include <string_view>

#include "app/ui/kit/icons.hh"
#include "app/ui/kit/ui.hh"
#include "transport/base/text.hh"

namespace cress::ui {

/// The window's controls: each is drawn, reacts to pointer and keyboard, and has a name.

enum class Weight { kPlain, kPrimary, kDanger };

struct Button {
  std::string id;
  std::string label;
  std::string tip;
  Weight weight = Weight::kPlain;
  std::optional<Icon> icon{};
  bool enabled = true;
};
/// True when it was pressed.
bool button(Ui& ui, const Rect& rect, const Button& button);

struct RoundButton {
  std::string id;
  std::string label;
  std::string tip;
  Icon icon = Icon::kClose;
  Weight weight = Weight::kPlain;
  bool marked = false;      ///< drawn light on dark: switched off, or in an unusual state
  bool news = false;        ///< a dot: something is there that was not seen yet
  float level = 0;          ///< 0..1: a ring around it, the microphone's loudness
  bool shows_label = true;  ///< below it
  float radius = 26;
};
/// Its label is below, outside of the circle.
bool round_button(Ui& ui, Point center, const RoundButton& button);

/// A small square icon without a frame.
bool icon_button(Ui& ui, const Rect& rect, const std::string& id, const std::string& label,
                 const std::string& tip, Icon icon);

/// A panel next to the video: a surface with a title and a button that closes it.
struct SidePanel {
  Rect head;    ///< the title's row, without the button; free at its right
  Rect inside;  ///< below the head
  bool closes;  ///< the button was pressed
};
SidePanel side_panel(Ui& ui, const Rect& box, const char* title, const char* close_id,
                     const char* close_label, const char* close_tip);

/// A labelled box with the chosen device; pressing it opens `menu`.
void device_box(Ui& ui, const Rect& rect, const std::string& id, std::string_view label,
                const Devices& devices, Icon icon, Menu menu);

struct Typed {
  bool changed = false;
  bool entered = false;  ///< Enter was pressed in it
};
/// One line of editable text; `text` ends in a zero byte, and may be changed afterwards, as by
/// clear_text.
Typed text_field(Ui& ui, const Rect& rect, const std::string& id, const std::string& label,
                 const char* hint, std::span<char> text);
/// The same; the text is masked again when it has been drawn.
Typed text_field(Ui& ui, const Rect& rect, const std::string& id, const std::string& label,
                 const char* hint, HiddenInput& text);

/// Empties a field that is being typed into.
void clear_text(std::span<char> text);

/// -60..0 dBFS from left to right; the last 6 dB in the warning colour. Grey if it is not audible
/// to others.
void level_meter(Ui& ui, const Rect& rect, float dbfs, bool muted);
/// The share (0..1) of level_meter that is filled.
float level_share(float dbfs);

void focus_ring(Ui& ui, const Rect& rect, float radius);
void toggle_menu(Ui& ui, Menu menu, const std::string& owner, const Rect& anchor);

}  // namespace cress::ui
