#pragma once

struct SDL_Window;
union SDL_Event;

namespace cress::ui {

/// After a link went through the clipboard: overwrites what libX11 and libxcb keep of it. Both have
/// one buffer for each direction for as long as the connection lasts, and only as much of it is
/// overwritten as later requests and replies are long. Does nothing under other window systems,
/// which read from a pipe. Errors: none. Threads: the window's.
void overwrite_x11_buffers(SDL_Window& window);
/// Whether it says (SDL_SYSWMEVENT) that another program asks for what was copied here, which SDL
/// then sends.
bool asks_for_clipboard(const SDL_Event& event);

}  // namespace cress::ui
