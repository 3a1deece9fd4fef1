#include "app/ui/window.hh"

#include <SDL.h>
#include <backends/imgui_impl_sdl.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include "app/ui/kit/imgui_renderer.hh"
#include "app/ui/kit/picture_texture.hh"
#include "app/ui/kit/ui.hh"
#include "app/ui/screens/call_screen.hh"
#include "app/ui/screens/keys.hh"
#include "app/ui/screens/lobby.hh"
#include "app/ui/screens/menu.hh"
#include "app/ui/screens/overlay.hh"
#include "transport/base/check.hh"

namespace cress::ui {
namespace {

// A click or a letter reaches ImGui's text field over two frames; one more displays the result.
constexpr int kFramesAfterInput = 3;
constexpr int kEventsAtOnceMax = 1000;
constexpr float kZoomStep = 0.25F;
constexpr float kScaleMax = 3;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + SDL_GetError());
}

struct SdlVideo {
  SdlVideo() {
    // SIGINT is the event loop's, not ours.
    SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1");
    SDL_SetHint(SDL_HINT_APP_NAME, "Cress");
    SDL_SetHint(SDL_HINT_VIDEO_X11_NET_WM_BYPASS_COMPOSITOR, "0");
    // The click that brings the window to the front also presses the control under it.
    SDL_SetHint(SDL_HINT_MOUSE_FOCUS_CLICKTHROUGH, "1");
    if (SDL_InitSubSystem(SDL_INIT_VIDEO) != 0) {
      fail("cannot open a window, is there a display?");
    }
    // Without a display SDL uses an invisible driver; that is wanted only if requested by name.
    const std::string driver = SDL_GetCurrentVideoDriver();
    if (driver != "x11" && driver != "wayland" && SDL_GetHint(SDL_HINT_VIDEODRIVER) == nullptr) {
      SDL_QuitSubSystem(SDL_INIT_VIDEO);
      throw std::runtime_error(
          "cannot open a window, is there a display? DISPLAY and WAYLAND_DISPLAY name none");
    }
    SDL_SetYUVConversionMode(SDL_YUV_CONVERSION_BT601);
  }
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

// Desktops without scaling of their own only report the display's density. As on those desktops,
// only really dense ones count: a laptop's 1920 x 1080 on 13 inches is meant to display small
// letters.
float density_scale() {
  float dpi = 96;
  SDL_DisplayMode mode{};
  if (SDL_GetDisplayDPI(0, nullptr, &dpi, nullptr) != 0 ||
      SDL_GetDesktopDisplayMode(0, &mode) != 0 || mode.h < 1400) {
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
    fail("cannot open a window");
  }
  SDL_SetWindowMinimumSize(window.get(), kWindowWidthMin, kWindowHeightMin);
  return window;
}

// Mesa's software drivers.
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

// No waiting for the screen's refresh: it would delay the call's thread.
SdlRenderer make_renderer(SDL_Window& window, Drawing drawing) {
  SdlRenderer renderer;
  if (drawing != Drawing::kSoftware) {
    renderer.reset(SDL_CreateRenderer(&window, -1, SDL_RENDERER_ACCELERATED));
    if (renderer && drawing == Drawing::kAutomatic && is_stand_in(*renderer)) {
      renderer.reset();
    }
  }
  if (!renderer) {
    // Otherwise SDL would still use the graphics card to present its drawing.
    SDL_SetHint(SDL_HINT_FRAMEBUFFER_ACCELERATION, "0");
    renderer.reset(SDL_CreateRenderer(&window, -1, SDL_RENDERER_SOFTWARE));
  }
  if (!renderer) {
    fail("cannot draw into the window");
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

Key key_of(const SDL_KeyboardEvent& event) {
  const SDL_Keycode code = event.keysym.sym;
  Key key;
  key.control = (event.keysym.mod & KMOD_CTRL) != 0;
  key.shift = (event.keysym.mod & KMOD_SHIFT) != 0;
  key.repeated = event.repeat != 0;
  if (code >= SDLK_a && code <= SDLK_z) {
    key.name = Key::Name::kLetter;
    key.letter = static_cast<char>('a' + (code - SDLK_a));
    return key;
  }
  switch (code) {
    case SDLK_TAB:
      key.name = Key::Name::kTab;
      break;
    case SDLK_RETURN:
    case SDLK_KP_ENTER:
      key.name = Key::Name::kEnter;
      break;
    case SDLK_ESCAPE:
      key.name = Key::Name::kEscape;
      break;
    case SDLK_SPACE:
      key.name = Key::Name::kSpace;
      break;
    case SDLK_LEFT:
      key.name = Key::Name::kLeft;
      break;
    case SDLK_RIGHT:
      key.name = Key::Name::kRight;
      break;
    case SDLK_UP:
      key.name = Key::Name::kUp;
      break;
    case SDLK_DOWN:
      key.name = Key::Name::kDown;
      break;
    default:
      break;
  }
  return key;
}

std::string clipboard_text() {
  char* text = SDL_GetClipboardText();
  std::string copy = text != nullptr ? text : "";
  SDL_free(text);
  return copy;
}

// Values that a closed panel does not show cause no redraw.
bool looks_different(const CallView& a, const CallView& b, bool panel_open) {
  const auto plain = [](const CallView& v) {
    return std::tie(v.screen, v.theme, v.full_screen, v.link, v.ended_reason, v.connected_at,
                    v.peer, v.self, v.remote, v.own, v.room, v.push_to_talk, v.cameras,
                    v.microphones, v.speakers, v.screens, v.status, v.notices);
  };
  // Loudness is shown in 30 steps.
  const auto step = [](float dbfs) { return std::lround(std::max(dbfs, -60.0F) / 2); };
  return plain(a) != plain(b) || step(a.microphone_dbfs) != step(b.microphone_dbfs) ||
         step(a.speaker_dbfs) != step(b.speaker_dbfs) ||
         (panel_open && (a.health != b.health || a.history != b.history));
}

}  // namespace

class Window::Impl {
 public:
  explicit Impl(const WindowOptions& options)
      : wanted_scale_(options.scale > 0 ? options.scale : density_scale()),
        window_(make_window(options, wanted_scale_)),
        renderer_(make_renderer(*window_, options.drawing)),
        context_(make_context()),
        imgui_renderer_(*renderer_),
        remote_(*renderer_),
        own_(*renderer_) {
    check(ImGui_ImplSDL2_InitForSDLRenderer(window_.get()), "Window: ImGui's SDL backend");
    SDL_StartTextInput();
  }
  ~Impl() {
    ImGui::SetCurrentContext(context_.get());
    ImGui_ImplSDL2_Shutdown();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  bool draw(TimePoint now, const CallView& view) {
    check(now >= last_now_, "Window: time went back");
    last_now_ = now;
    ImGui::SetCurrentContext(context_.get());
    take_events(now, view);
    if (!shown_ || looks_different(*shown_, view, state_.panel_open)) {
      owed_ = std::max(owed_, 1);
    }
    const bool hidden =
        (SDL_GetWindowFlags(window_.get()) & (SDL_WINDOW_MINIMIZED | SDL_WINDOW_HIDDEN)) != 0;
    const bool wanted = owed_ > 0 || now >= wake_;
    if (!wanted || hidden || (drawn_at_ && now - *drawn_at_ < kFrameInterval)) {
      return false;
    }
    render(now, view);
    SDL_RenderPresent(renderer_.get());
    return true;
  }

  Screenshot screenshot(TimePoint now, const CallView& view) {
    draw(now, view);
    render(now, view);
    Screenshot shot;
    SDL_GetRendererOutputSize(renderer_.get(), &shot.width, &shot.height);
    shot.rgba.resize(static_cast<size_t>(shot.width) * static_cast<size_t>(shot.height) * 4);
    if (SDL_RenderReadPixels(renderer_.get(), nullptr, SDL_PIXELFORMAT_RGBA32, shot.rgba.data(),
                             4 * shot.width) != 0) {
      fail("cannot read the window back");
    }
    SDL_RenderPresent(renderer_.get());
    return shot;
  }

  std::optional<UserAction> poll_action() {
    if (actions_.empty()) {
      return std::nullopt;
    }
    std::optional<UserAction> action{std::move(actions_.front())};
    actions_.pop_front();
    return action;
  }

  TimePoint poll_timeout() const {
    const TimePoint wake = owed_ > 0 ? last_now_ : wake_;
    const TimePoint ready = drawn_at_ ? *drawn_at_ + kFrameInterval : last_now_;
    return std::min(std::max(wake, ready), last_now_ + kInputInterval);
  }

  const WindowStats& stats() const { return stats_; }
  const Controls& controls() const { return controls_; }
  float scale() const { return scale_.unit; }

 private:
  void take_events(TimePoint now, const CallView& view) {
    SDL_Event event;
    for (int i = 0; i < kEventsAtOnceMax && SDL_PollEvent(&event) != 0; ++i) {
      ++stats_.events;
      handle_event(now, event, view);
    }
    if (controls_.take_dismissed()) {
      state_.menu = Menu::kNone;
      state_.menu_owner.clear();
    }
  }

  Point to_points(int x, int y) const {
    return {static_cast<float>(x) / scale_.unit, static_cast<float>(y) / scale_.unit};
  }

  void stir(TimePoint now) {
    state_.active_at = now;
    owed_ = kFramesAfterInput;
  }

  void handle_event(TimePoint now, const SDL_Event& event, const CallView& view) {
    switch (event.type) {
      case SDL_QUIT:
        keys_.close(view);
        return;
      case SDL_MOUSEMOTION:
        controls_.handle_move(now, to_points(event.motion.x, event.motion.y));
        break;
      case SDL_MOUSEBUTTONDOWN:
        press(now, event.button, view);
        break;
      case SDL_MOUSEBUTTONUP:
        if (event.button.button == SDL_BUTTON_LEFT) {
          controls_.handle_release(to_points(event.button.x, event.button.y));
        }
        break;
      case SDL_MOUSEWHEEL:
        state_.wheel += static_cast<float>(event.wheel.y);
        break;
      case SDL_KEYDOWN:
        stir(now);
        if (handle_key(now, event.key, view)) {
          return;
        }
        break;
      case SDL_KEYUP:
        keys_.handle_up(key_of(event.key));
        break;
      case SDL_WINDOWEVENT:
        handle_window(event.window);
        break;
      case SDL_RENDER_TARGETS_RESET:
      case SDL_RENDER_DEVICE_RESET:
        remote_.drop();
        own_.drop();
        members_.clear();
        fonts_scale_.reset();
        break;
      case SDL_TEXTINPUT:
        break;
      default:
        return;
    }
    ImGui_ImplSDL2_ProcessEvent(&event);
    if (event.type == SDL_WINDOWEVENT) {
      owed_ = kFramesAfterInput;
    } else {
      stir(now);
    }
  }

  void press(TimePoint now, const SDL_MouseButtonEvent& event, const CallView& view) {
    if (event.button != SDL_BUTTON_LEFT) {
      return;
    }
    const Point at = to_points(event.x, event.y);
    if (event.clicks == 2 && view.screen == Screen::kInCall && !controls_.is_modal() &&
        controls_.at(at) == nullptr) {
      actions_.emplace_back(SetFullScreen{!view.full_screen});
    }
    controls_.handle_press(now, at);
  }

  bool handle_key(TimePoint now, const SDL_KeyboardEvent& event, const CallView& view) {
    const bool control = (event.keysym.mod & KMOD_CTRL) != 0;
    const SDL_Keycode code = event.keysym.sym;
    if (control && (code == SDLK_PLUS || code == SDLK_EQUALS || code == SDLK_KP_PLUS)) {
      wanted_scale_ = std::min(kScaleMax, wanted_scale_ + kZoomStep);
      return true;
    }
    if (control && (code == SDLK_MINUS || code == SDLK_KP_MINUS)) {
      wanted_scale_ = std::max(1.0F, wanted_scale_ - kZoomStep);
      return true;
    }
    const Key key = key_of(event);
    const bool pastes = key.name == Key::Name::kLetter && key.letter == 'v' && control;
    return keys_.handle_down(now, key, view, pastes ? clipboard_text() : "");
  }

  void handle_window(const SDL_WindowEvent& event) {
    if (event.event == SDL_WINDOWEVENT_LEAVE) {
      controls_.handle_leave();
    } else if (event.event == SDL_WINDOWEVENT_FOCUS_LOST) {
      keys_.handle_focus_lost();
    }
  }

  // As large as wanted, as long as the window still has its minimum number of points.
  void fit_scale() {
    int width = 0;
    int height = 0;
    int pixels = 0;
    SDL_GetWindowSize(window_.get(), &width, &height);
    SDL_GetRendererOutputSize(renderer_.get(), &pixels, nullptr);
    const float room = std::min(static_cast<float>(width) / kWindowWidthMin,
                                static_cast<float>(height) / kWindowHeightMin);
    const float steps = std::floor(std::min(wanted_scale_, room) / kZoomStep) * kZoomStep;
    scale_ = {std::max(1.0F, steps),
              width > 0 ? static_cast<float>(pixels) / static_cast<float>(width) : 1};
    area_ = {0, 0, static_cast<float>(width) / scale_.unit,
             static_cast<float>(height) / scale_.unit};
    if (fonts_scale_ != scale_) {
      fonts_.load(scale_);
      imgui_renderer_.upload_fonts();
      fonts_scale_ = scale_;
    }
  }

  void apply(const CallView& view) {
    if (view.full_screen != full_screen_) {
      full_screen_ = view.full_screen;
      SDL_SetWindowFullscreen(window_.get(), full_screen_ ? SDL_WINDOW_FULLSCREEN_DESKTOP : 0);
    }
    const bool awake = view.screen == Screen::kInCall || view.screen == Screen::kConnecting;
    if (awake != keeps_awake_) {
      keeps_awake_ = awake;
      if (awake) {
        SDL_DisableScreenSaver();
      } else {
        SDL_EnableScreenSaver();
      }
    }
  }

  void copy_link(TimePoint now, const CallView& view) {
    if (std::exchange(state_.copies_link, false) && SDL_SetClipboardText(view.link.c_str()) == 0) {
      state_.copied_at = now;
      actions_.emplace_back(CopyLink{});
      owed_ = std::max(owed_, 1);
    }
  }

  void update_members(const CallView& view) {
    const auto& others = view.room ? view.room->others : std::vector<Member>{};
    std::erase_if(members_, [&](const auto& item) {
      return std::ranges::find(others, item.first, &Member::number) == others.end();
    });
    for (const Member& member : others) {
      PictureTexture& texture = members_.try_emplace(member.number, *renderer_).first->second;
      stats_.pictures += texture.update(member.picture.picture) ? 1U : 0U;
    }
  }

  void render(TimePoint now, const CallView& view) {
    apply(view);
    fit_scale();
    stats_.pictures += remote_.update(view.remote.picture) ? 1U : 0U;
    stats_.pictures += own_.update(view.own.picture) ? 1U : 0U;
    update_members(view);
    if (!shown_ || shown_->screen != view.screen) {
      state_.menu = Menu::kNone;
      state_.active_at = now;
      state_.own_place.reset();
      controls_.clear_focus();
    }
    owed_ = std::max(0, owed_ - 1);
    wake_ = kNever;
    ImGui_ImplSDL2_NewFrame();
    ImGuiIO& io = ImGui::GetIO();
    const Duration step = drawn_at_ ? now - *drawn_at_ : kFrameInterval;
    io.DeltaTime = static_cast<float>(std::clamp(to_seconds(step), 0.001, 1.0));
    if (controls_.is_modal()) {
      io.MousePos = {-FLT_MAX, -FLT_MAX};
    }
    ImGui::NewFrame();
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(io.DisplaySize);
    ImGui::Begin("Cress", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoBackground |
                     ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                     ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoNavInputs);
    draw_frame(now, view);
    ImGui::End();
    ImGui::Render();
    SDL_SetRenderDrawColor(renderer_.get(), 0, 0, 0, 255);
    SDL_RenderClear(renderer_.get());
    imgui_renderer_.render(*ImGui::GetDrawData());
    drawn_at_ = now;
    shown_ = view;
    ++stats_.frames;
    copy_link(now, view);
  }

  void draw_frame(TimePoint now, const CallView& view) {
    Canvas canvas{*ImGui::GetWindowDrawList(), fonts_, scale_, area_};
    Ui ui{.canvas = canvas,
          .controls = controls_,
          .theme = theme_of(view.theme),
          .view = view,
          .state = state_,
          .actions = actions_,
          .remote = remote_.view(),
          .own = own_.view(),
          .members = {},
          .now = now};
    for (const auto& [number, texture] : members_) {
      ui.members[number] = texture.view();
    }
    const size_t asked = actions_.size();
    const bool panel = state_.panel_open;
    controls_.begin_frame();
    if (view.screen == Screen::kInCall) {
      draw_call(ui);
      const bool rests = now - state_.active_at >= kHideAfter && state_.menu == Menu::kNone;
      ImGui::SetMouseCursor(rests && view.full_screen ? ImGuiMouseCursor_None
                                                      : ImGui::GetMouseCursor());
    } else {
      draw_lobby(ui);
    }
    draw_menu(ui);
    draw_tip(ui);
    controls_.end_frame();
    state_.wheel = 0;
    state_.last_at = now;
    // A menu that opened or a panel that closed during the frame is displayed in the next.
    if (actions_.size() != asked || panel != state_.panel_open ||
        (state_.menu != Menu::kNone) != controls_.is_modal()) {
      ui.wake_at(now);
    }
    wake_ = ui.wake;
  }

  SdlVideo video_;
  float wanted_scale_;
  SdlWindow window_;
  SdlRenderer renderer_;
  Context context_;
  ImguiRenderer imgui_renderer_;
  PictureTexture remote_;
  PictureTexture own_;
  std::map<uint32_t, PictureTexture> members_;
  Fonts fonts_;
  std::optional<Scale> fonts_scale_;
  Scale scale_;
  Rect area_;

  Controls controls_;
  UiState state_;
  std::deque<UserAction> actions_;
  Keys keys_{controls_, state_, actions_};

  std::optional<CallView> shown_;
  std::optional<TimePoint> drawn_at_;
  TimePoint last_now_{TimePoint::min()};
  TimePoint wake_ = kNever;
  int owed_ = 0;  // frames to draw even if nothing changed
  bool full_screen_ = false;
  bool keeps_awake_ = true;
  WindowStats stats_;
};

Window::Window(const WindowOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Window::~Window() = default;

bool Window::draw(TimePoint now, const CallView& view) { return impl_->draw(now, view); }
std::optional<UserAction> Window::poll_action() { return impl_->poll_action(); }
TimePoint Window::poll_timeout() const { return impl_->poll_timeout(); }
const WindowStats& Window::stats() const { return impl_->stats(); }
Screenshot Window::screenshot(TimePoint now, const CallView& view) {
  return impl_->screenshot(now, view);
}
std::span<const Control> Window::controls() const { return impl_->controls().all(); }
float Window::scale() const { return impl_->scale(); }

}  // namespace cress::ui
