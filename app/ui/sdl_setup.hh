#pragma once

#include <SDL.h>
#include <imgui.h>

#include <memory>
#include <string>

#include "app/ui/window.hh"

namespace cress::ui {

[[noreturn]] void fail_by_sdl(const std::string& what);

/// SDL's video, as long as this lives. Throws std::runtime_error where there is no display.
class SdlVideo {
 public:
  SdlVideo();
  ~SdlVideo() { SDL_QuitSubSystem(SDL_INIT_VIDEO); }
  SdlVideo(const SdlVideo&) = delete;
  SdlVideo& operator=(const SdlVideo&) = delete;
};

struct DestroyWindow {
  void operator()(SDL_Window* window) const { SDL_DestroyWindow(window); }
};
struct DestroyRenderer {
  void operator()(SDL_Renderer* renderer) const { SDL_DestroyRenderer(renderer); }
};
struct DestroyContext {
  void operator()(ImGuiContext* context) const { ImGui::DestroyContext(context); }
};
using SdlWindow = std::unique_ptr<SDL_Window, DestroyWindow>;
using SdlRenderer = std::unique_ptr<SDL_Renderer, DestroyRenderer>;
using Context = std::unique_ptr<ImGuiContext, DestroyContext>;

/// How much larger than its points this display should show a window, where the desktop has no
/// scaling of its own and says only how dense the display is.
float density_scale();
/// The same for a display of `height` pixels and `dpi` dots per inch.
float density_scale(float dpi, int height);
SdlWindow make_window(const WindowOptions& options, float scale);
SdlRenderer make_renderer(SDL_Window& window, Drawing drawing);
Context make_context();

}  // namespace cress::ui
