#pragma once

#include <optional>
#include <span>
#include <string>

#include "app/ui/kit/ui.hh"
#include "app/ui/kit/widgets.hh"

namespace cress::ui {

// What the screens before and after a call are made of. `column` is what is left of the left half;
// each takes its part from the top.

inline constexpr float kGap = 16;
inline constexpr float kField = 44;
inline constexpr float kCardSide = 20;  // inside a card, left and right

/// The window is too low for the optional parts.
bool is_low(const Ui& ui);

/// The inside of a box of this height.
Rect card(Ui& ui, Rect& column, float height);
void heading(Ui& ui, Rect& column, const char* text);
void lead(Ui& ui, Rect& column, const std::string& text);
/// Sets `field` to `known`, unless the field with this id has the keyboard focus.
void show_known(const Ui& ui, const char* id, const std::string& known, std::span<char> field);
/// The relay at which calls and rooms begin.
void relay_field(Ui& ui, Rect row, const char* hint);
/// A text to be copied, on one line.
void link_box(Ui& ui, const Rect& rect, std::string_view text);
/// Says for a moment that it was done. True when it was pressed.
bool copy_button(Ui& ui, const Rect& rect, Button button, const std::optional<TimePoint>& copied);
/// The view's link as a QR code; nothing if `box` is too low for a readable one.
void draw_link_code(Ui& ui, const Rect& box);

/// The screen on which a room is made.
void draw_new_room(Ui& ui, Rect column);

}  // namespace cress::ui
