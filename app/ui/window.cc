#include "app/ui/window.hh"

#include <backends/imgui_impl_sdl.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "app/ui/kit/imgui_renderer.hh"
#include "app/ui/kit/picture_texture.hh"
#include "app/ui/kit/ui.hh"
#include "app/ui/screens/keys.hh"
#include "app/ui/screens/screens.hh"
#include "app/ui/sdl_setup.hh"
#include "app/ui/x11_buffers.hh"
#include "transport/base/check.hh"
#include "transport/base/take_front.hh"

namespace cress::ui {
namespace {

// A click or a letter reaches ImGui's text field over two frames; one more displays the result.
constexpr int kFramesAfterInput = 3;
constexpr int kEventsAtOnceMax = 1000;
constexpr float kZoomStep = 0.25F;
constexpr float kScaleMax = 3;

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
  constexpr std::pair<SDL_Keycode, Key::Name> kNames[] = {
      {SDLK_TAB, Key::Name::kTab},        {SDLK_RETURN, Key::Name::kEnter},
      {SDLK_KP_ENTER, Key::Name::kEnter}, {SDLK_ESCAPE, Key::Name::kEscape},
      {SDLK_SPACE, Key::Name::kSpace},    {SDLK_LEFT, Key::Name::kLeft},
      {SDLK_RIGHT, Key::Name::kRight},    {SDLK_UP, Key::Name::kUp},
      {SDLK_DOWN, Key::Name::kDown}};
  const auto* const known =
      std::ranges::find(kNames, code, &std::pair<SDL_Keycode, Key::Name>::first);
  key.name = known != std::end(kNames) ? known->second : key.name;
  return key;
}

/// It may be a link.
runtime::ClearText clipboard_text() {
  char* const text = SDL_GetClipboardText();
  std::string copy = text != nullptr ? text : "";
  if (text != nullptr) {
    SDL_memset(text, 0, copy.size());
  }
  SDL_free(text);
  return runtime::ClearText{std::move(copy)};
}

// Values that a closed panel does not show cause no redraw.
bool looks_different(const CallView& a, const CallView& b, bool panel_open) {
  const auto plain = [](const CallView& v) {
    return std::tie(v.screen, v.theme, v.full_screen, v.link, v.ended_reason, v.connected_at,
                    v.peer, v.self, v.remote, v.own, v.room, v.push_to_talk, v.cameras,
                    v.microphones, v.speakers, v.screens, v.status, v.notices, v.chat, v.new_room);
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
    // Dear ImGui's own keeps what was pasted.
    ImGuiIO& io = ImGui::GetIO();
    io.ClipboardUserData = &pasted_;
    io.GetClipboardTextFn = [](void* pasted) {
      auto& text = *static_cast<std::string*>(pasted);
      text = clipboard_text().view();
      return text.c_str();
    };
    SDL_EventState(SDL_SYSWMEVENT, SDL_ENABLE);
    SDL_SetEventFilter(&take_system_event, this);
    SDL_StartTextInput();
  }
  ~Impl() {
    SDL_SetEventFilter(nullptr, nullptr);
    ImGui::SetCurrentContext(context_.get());
    ImGui_ImplSDL2_Shutdown();
  }

  bool draw(TimePoint now, const CallView& view) {
    check(now >= last_now_, "Window: time went back");
    last_now_ = now;
    ImGui::SetCurrentContext(context_.get());
    take_events(now, view);
    if (std::exchange(gave_clipboard_, false)) {
      overwrite_x11_buffers(*window_);
    }
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
      fail_by_sdl("cannot read the window back");
    }
    SDL_RenderPresent(renderer_.get());
    return shot;
  }

  std::optional<UserAction> poll_action() { return take_front(actions_); }

  TimePoint poll_timeout() const {
    const TimePoint wake = owed_ > 0 ? last_now_ : wake_;
    const TimePoint ready = drawn_at_ ? *drawn_at_ + kFrameInterval : last_now_;
    return std::min(std::max(wake, ready), last_now_ + kInputInterval);
  }

  const WindowStats& stats() const { return stats_; }
  const Controls& controls() const { return controls_; }
  float scale() const { return scale_.unit; }

 private:
  // Before SDL acts upon it; none of them is for us otherwise.
  static int take_system_event(void* self, SDL_Event* event) {
    if (event->type != SDL_SYSWMEVENT) {
      return 1;
    }
    auto& window = *static_cast<Impl*>(self);
    window.gave_clipboard_ = window.gave_clipboard_ || asks_for_clipboard(*event);
    return 0;
  }

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
    if (!pastes) {
      return keys_.handle_down(now, key, view, "");
    }
    const bool used = keys_.handle_down(now, key, view, clipboard_text().view());
    overwrite_x11_buffers(*window_);
    return used;
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

  void copy_texts(TimePoint now, const CallView& view) {
    if (std::exchange(state_.copies_access, false) &&
        SDL_SetClipboardText(view.new_room.access.c_str()) == 0) {
      state_.access_copied_at = now;
      state_.copied_at.reset();  // one of the two is in the clipboard
      owed_ = std::max(owed_, 1);
    }
    if (std::exchange(state_.copies_link, false) &&
        SDL_SetClipboardText(view.link.reveal().c_str()) == 0) {
      state_.copied_at = now;
      state_.access_copied_at.reset();
      actions_.emplace_back(CopyLink{});
      overwrite_x11_buffers(*window_);
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
    forget_typed();
    SDL_SetRenderDrawColor(renderer_.get(), 0, 0, 0, 255);
    SDL_RenderClear(renderer_.get());
    imgui_renderer_.render(*ImGui::GetDrawData());
    drawn_at_ = now;
    shown_ = view;
    ++stats_.frames;
    copy_texts(now, view);
  }

  /// What was typed or pasted in this frame: a field has it now.
  void forget_typed() {
    if (!pasted_.empty()) {
      runtime::wipe_text(pasted_);
      overwrite_x11_buffers(*window_);
    }
    auto& letters = ImGui::GetIO().InputQueueCharacters;
    std::fill_n(letters.Data, letters.Capacity, ImWchar{0});
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
    const auto side = [this] { return std::pair{state_.panel_open, state_.chat_open}; };
    const auto side_before = side();
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
    if (actions_.size() != asked || side_before != side() ||
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

  std::string pasted_;  // into a field, in this frame
  bool gave_clipboard_ = false;
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
