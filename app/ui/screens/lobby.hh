#pragma once

#include "app/ui/kit/ui.hh"

namespace cress::ui {

/// All screens except the call itself: start, waiting, connecting, ended. On the left the possible
/// actions, on the right the own picture, loudness, devices.
void draw_lobby(Ui& ui);

/// The link in the text field without spaces; empty if it does not look like one.
std::string typed_link(const UiState& state);

}  // namespace cress::ui
