#pragma once

#include "app/ui/kit/ui.hh"

namespace cress::ui {

/// All screens except the call itself: start, waiting, connecting, ended. On the left the possible
/// actions, on the right the own picture, loudness, devices.
void draw_lobby(Ui& ui);

/// The link in the text field without spaces; empty if it does not look like one.
runtime::HiddenText typed_link(const UiState& state);

/// The call: the other person, with the own picture as a movable inset, or a room's members; the
/// row of buttons, which disappears while there is video and no input; the status sentence; the
/// live panel.
void draw_call(Ui& ui);

/// A room's members in `area`: a grid including oneself, or one large with the others next to it.
/// The speaker has a frame; pressing a member pins it. Reports by ShowTiles what is visible.
void draw_room(Ui& ui, const Rect& area);

/// The open menu of devices or screens, if any, on top of everything: a modal layer. A choice is
/// requested and closes it.
void draw_menu(Ui& ui);

/// The question of CallView::newcomer with its two answers, at the top of the video: below the
/// name, or next to it where there is room (the name ends at `name_end`). Returns where it ends.
float draw_newcomer(Ui& ui, const Rect& stage, float name_end);

enum class Stack { kFromTopRight, kFromBottomLeft };
/// The newest notices, at most `count` and in at most half of the height, or less where they are
/// as wide as `area`, but at least one: the newest in the given corner; each can be dismissed.
void draw_notices(Ui& ui, const Rect& area, Stack stack, size_t count = kNoticesShown);
/// The tool tip that is due, if any: a label, or an explanation.
void draw_tip(Ui& ui);

inline constexpr float kPanelWidth = 340;

/// The live panel: the problem in plain words, and the last 30 s as graphs with their numbers.
void draw_panel(Ui& ui, const Rect& box);

/// What people wrote, the newest line at the bottom, and the field for the next one.
void draw_chat(Ui& ui, const Rect& box);
/// Whether there are lines of others that were not displayed yet.
bool has_unread(const Ui& ui);

/// The end of a graph's axis: a round number (1, 1.5, 2, 3, 4, 5, 6 or 8 times a power of ten), not
/// below `highest` and `at_least` (> 0).
double axis_end(double highest, double at_least);

}  // namespace cress::ui
