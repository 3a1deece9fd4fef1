#pragma once

#include "app/ui/kit/ui.hh"

namespace cress::ui {

/// The open menu of devices or screens, if any, on top of everything: a modal layer. A choice is
/// requested and closes it.
void draw_menu(Ui& ui);

}  // namespace cress::ui
