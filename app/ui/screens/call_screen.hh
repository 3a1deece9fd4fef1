#pragma once

#include "app/ui/kit/ui.hh"

namespace cress::ui {

/// The call: the other person, with the own picture as a movable inset, or a room's members; the
/// row of buttons, which disappears while there is video and no input; the status sentence; the
/// live panel.
void draw_call(Ui& ui);

}  // namespace cress::ui
