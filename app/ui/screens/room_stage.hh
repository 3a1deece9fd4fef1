#pragma once

#include "app/ui/kit/ui.hh"

namespace cress::ui {

/// A room's members in `area`: a grid including oneself, or one large with the others next to it.
/// The speaker has a frame; pressing a member pins it. Reports by ShowTiles what is visible.
void draw_room(Ui& ui, const Rect& area);

}  // namespace cress::ui
