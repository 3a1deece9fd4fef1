#pragma once

#include "app/ui/kit/ui.hh"

namespace cress::ui {

/// Everything but the call itself: start, waiting, connecting, ended. On the left what is to be
/// done, on the right oneself: picture, loudness, devices.
void draw_lobby(Ui& ui);

/// The link that is typed in, spaces gone; empty if it does not look like one.
std::string typed_link(const UiState& state);

}  // namespace cress::ui
