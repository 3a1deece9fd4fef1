#pragma once

#include "app/ui/kit/ui.hh"

namespace cress::ui {

inline constexpr float kPanelWidth = 340;

/// The live panel: the problem in plain words, and the last 30 s as graphs with their numbers.
void draw_panel(Ui& ui, const Rect& box);

/// The end of a graph's axis: a round number (1, 1.5, 2, 3, 4, 5, 6 or 8 times a power of ten), not
/// below `highest` and `at_least` (> 0).
double axis_end(double highest, double at_least);

}  // namespace cress::ui
