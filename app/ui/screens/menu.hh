#pragma once

#include "app/ui/kit/ui.hh"

namespace cress::ui {

/// The open menu of devices or screens, if any, on top of all else: a modal layer. What is chosen
/// is asked for and closes it.
void draw_menu(Ui& ui);

}  // namespace cress::ui
