#pragma once

#include "app/ui/ui.hh"

namespace cress::ui {

/// The call: the other person, oneself as an inset that can be moved, the row of buttons that goes
/// when nobody moves, the status sentence, the live panel.
void draw_call(Ui& ui);

}  // namespace cress::ui
