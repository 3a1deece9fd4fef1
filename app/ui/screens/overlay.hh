#pragma once

#include "app/ui/kit/ui.hh"

namespace cress::ui {

enum class Stack { kFromTopRight, kFromBottomLeft };
/// The newest notices, at most `count`, the newest of all in the corner of `area` named; each can
/// be dismissed.
void draw_notices(Ui& ui, const Rect& area, Stack stack, size_t count = kNoticesShown);
/// The tool tip that is due, if any: label, or what it says.
void draw_tip(Ui& ui);

}  // namespace cress::ui
