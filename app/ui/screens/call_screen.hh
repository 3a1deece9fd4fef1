#pragma once

#include "app/ui/kit/ui.hh"

namespace cress::ui {

/// The call: the other person and oneself as an inset that can be moved, or a room's people; the
/// row of buttons, which goes when nobody moves and pictures lie below it; the status sentence; the
/// live panel.
void draw_call(Ui& ui);

}  // namespace cress::ui
