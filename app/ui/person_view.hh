#pragma once

#include <string_view>

#include "app/ui/ui.hh"

namespace cress::ui {

/// How old the picture that stands still must be before this is said.
inline constexpr Duration kStaleAfter = 1s;

/// The other person: their picture with its aspect kept, or why there is none; says when it stands.
void draw_remote(Ui& ui, const Rect& stage);
/// Oneself, mirrored (a shared screen is not), or that the camera is off. Corners are rounded.
void draw_own(Ui& ui, const Rect& frame, float radius);

/// The first letter of a name, any alphabet; "?" of none.
std::string_view initial(std::string_view name);

}  // namespace cress::ui
