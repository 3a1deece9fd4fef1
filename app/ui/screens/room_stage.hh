#pragma once

#include "app/ui/kit/ui.hh"

namespace cress::ui {

/// A room's people in `area`: a grid with oneself in it, or one large with the others beside. Who
/// speaks has a frame; a press pins. Tells by ShowTiles what can be seen.
void draw_room(Ui& ui, const Rect& area);

}  // namespace cress::ui
