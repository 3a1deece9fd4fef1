#pragma once

#include "app/ui/kit/ui.hh"

namespace cress::ui {

/// Everything but the call itself: start, waiting, connecting, ended. On the left what is to be
/// done, on the right oneself: picture, loudness, devices.
void draw_lobby(Ui& ui);

/// The link that is typed in, spaces gone; empty if it does not look like one.
std::string typed_link(const UiState& state);

/// The call: the other person and oneself as an inset that can be moved, or a room's people; the
/// row of buttons, which goes when nobody moves and pictures lie below it; the status sentence; the
/// live panel.
void draw_call(Ui& ui);

/// A room's people in `area`: a grid with oneself in it, or one large with the others beside. Who
/// speaks has a frame; a press pins. Tells by ShowTiles what can be seen.
void draw_room(Ui& ui, const Rect& area);

/// The open menu of devices or screens, if any, on top of all else: a modal layer. What is chosen
/// is asked for and closes it.
void draw_menu(Ui& ui);

enum class Stack { kFromTopRight, kFromBottomLeft };
/// The newest notices, at most `count`, the newest of all in the corner of `area` named; each can
/// be dismissed.
void draw_notices(Ui& ui, const Rect& area, Stack stack, size_t count = kNoticesShown);
/// The tool tip that is due, if any: label, or what it says.
void draw_tip(Ui& ui);

inline constexpr float kPanelWidth = 340;

/// The live panel for those who want to know: what is wrong in plain words, and the last 30 s as
/// graphs with their numbers.
void draw_panel(Ui& ui, const Rect& box);

/// The end of a graph's axis: a round number (1, 1.5, 2, 3, 4, 5, 6 or 8 times a power of ten), not
/// below `highest` and `at_least` (> 0).
double axis_end(double highest, double at_least);

}  // namespace cress::ui
