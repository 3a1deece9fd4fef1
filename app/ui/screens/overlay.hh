#pragma once

#include "app/ui/kit/ui.hh"

namespace cress::ui {

enum class Stack { kFromTopRight, kFromBottomLeft };
/// The newest notices, at most `count`, the newest in the given corner of `area`; each can be
/// dismissed.
void draw_notices(Ui& ui, const Rect& area, Stack stack, size_t count = kNoticesShown);
/// The tool tip that is due, if any: a label, or an explanation.
void draw_tip(Ui& ui);

}  // namespace cress::ui
