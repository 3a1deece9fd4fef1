#include "app/ui/sdl_setup.hh"

#include <stdexcept>
#include <string_view>

namespace cress::ui {
namespace {

// Mesa's drivers that only pretend to be a card.
bool is_stand_in(SDL_Renderer& renderer) {
  SDL_RendererInfo info{};
  if (SDL_GetRendererInfo(&renderer, &info) != 0 ||
      !std::string_view{info.name}.starts_with("opengl")) {
    return false;
  }
  using GetString = const unsigned char* (*)(unsigned);
  constexpr unsigned kRendererName = 0x1F01;  // GL_RENDERER
  const auto get_string = reinterpret_cast<GetString>(SDL_GL_GetProcAddress("glGetString"));
  const unsigned char* name = get_string != nullptr ? get_string(kRendererName) : nullptr;
  const std::string_view words = name != nullptr ? reinterpret_cast<const char*>(name) : "";
  return words.find("llvmpipe") != words.npos || words.find("softpipe") != words.npos ||
         words.find("Software Rasterizer") != words.npos;
}

}  // namespace

void fail_by_sdl(const std::string& what) {
  throw std::runtime_error(what + ": " + SDL_GetError());
}

SdlVideo::SdlVideo() {
  // SIGINT is the event loop's, not ours.
  SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1");
  SDL_SetHint(SDL_HINT_APP_NAME, "Cress");
  SDL_SetHint(SDL_HINT_VIDEO_X11_NET_WM_BYPASS_COMPOSITOR, "0");
  // The click that brings the window to the front also presses what is under it.
  SDL_SetHint(SDL_HINT_MOUSE_FOCUS_CLICKTHROUGH, "1");
  if (SDL_InitSubSystem(SDL_INIT_VIDEO) != 0) {
    fail_by_sdl("cannot open a window, is there a display?");
  }
  // Where there is none SDL goes on without being seen; only who asked for that by name wants it.
  const std::string driver = SDL_GetCurrentVideoDriver();
  if (driver != "x11" && driver != "wayland" && SDL_GetHint(SDL_HINT_VIDEODRIVER) == nullptr) {
    SDL_QuitSubSystem(SDL_INIT_VIDEO);
    throw std::runtime_error(
        "cannot open a window, is there a display? DISPLAY and WAYLAND_DISPLAY name none");
  }
  SDL_SetYUVConversionMode(SDL_YUV_CONVERSION_BT601);
}

float density_scale() {
  float dpi = 96;
  SDL_DisplayMode mode{};
  if (SDL_GetDisplayDPI(0, nullptr, &dpi, nullptr) != 0 ||
      SDL_GetDesktopDisplayMode(0, &mode) != 0) {
    return 1;
  }
  return density_scale(dpi, mode.h);
}

// As desktops do, only really dense displays count: a laptop's 1920 x 1080 on 13 inches is meant to
// show small letters.
float density_scale(float dpi, int height) {
  if (height < 1400) {
    return 1;
  }
  return dpi >= 180 ? 2.0F : dpi >= 144 ? 1.5F : 1.0F;
}

SdlWindow make_window(const WindowOptions& options, float scale) {
  const auto size = [scale](int points) {
    return static_cast<int>(static_cast<float>(points) * scale);
  };
  SdlWindow window{SDL_CreateWindow(
      options.title.c_str(), SDL_WINDOWPOS_UNDEFINED, SDL_WINDOWPOS_UNDEFINED, size(options.width),
      size(options.height), SDL_WINDOW_RESIZABLE | SDL_WINDOW_ALLOW_HIGHDPI)};
  if (!window) {
    fail_by_sdl("cannot open a window");
  }
  SDL_SetWindowMinimumSize(window.get(), kWindowWidthMin, kWindowHeightMin);
  return window;
}

// No waiting for the screen's refresh: it would hold up the call's thread.
SdlRenderer make_renderer(SDL_Window& window, Drawing drawing) {
  SdlRenderer renderer;
  if (drawing != Drawing::kSoftware) {
    renderer.reset(SDL_CreateRenderer(&window, -1, SDL_RENDERER_ACCELERATED));
    if (renderer && drawing == Drawing::kAutomatic && is_stand_in(*renderer)) {
      renderer.reset();
    }
  }
  if (!renderer) {
    // Else SDL would bring what it drew to the screen by the graphics card after all.
    SDL_SetHint(SDL_HINT_FRAMEBUFFER_ACCELERATION, "0");
    renderer.reset(SDL_CreateRenderer(&window, -1, SDL_RENDERER_SOFTWARE));
  }
  if (!renderer) {
    fail_by_sdl("cannot draw into the window");
  }
  return renderer;
}

Context make_context() {
  IMGUI_CHECKVERSION();
  Context context{ImGui::CreateContext()};
  ImGui::SetCurrentContext(context.get());
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.LogFilename = nullptr;
  // A blinking caret would redraw an idle window.
  io.ConfigInputTextCursorBlink = false;
  ImGuiStyle& style = ImGui::GetStyle();
  style.AntiAliasedLinesUseTex = false;
  style.WindowPadding = {0, 0};
  style.WindowBorderSize = 0;
  style.WindowRounding = 0;
  style.FrameBorderSize = 0;
  return context;
}

}  // namespace cress::ui
