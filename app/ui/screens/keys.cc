#include "app/ui/screens/keys.hh"

#include <utility>

#include "app/ui/kit/widgets.hh"

namespace cress::ui {
namespace {

bool has_devices(Screen screen) { return screen != Screen::kEnded; }

}  // namespace

void Keys::ask(UserAction action) {
  if (actions_.size() == kActionsMax) {
    actions_.pop_front();
  }
  actions_.push_back(std::move(action));
}

bool Keys::is_typing() const {
  const Control* focused = controls_.focused();
  return focused != nullptr && focused->kind == Control::Kind::kText;
}

void Keys::close(const CallView& view) {
  const bool up = view.screen == Screen::kInCall || view.screen == Screen::kWaiting ||
                  view.screen == Screen::kConnecting;
  if (up) {
    ask(HangUp{});
  }
  ask(Quit{});
}

void Keys::handle_focus_lost() {
  if (std::exchange(talking_, false)) {
    ask(TalkReleased{});
  }
}

void Keys::handle_up(const Key& key) {
  if (key.name == Key::Name::kSpace) {
    handle_focus_lost();
  }
}

bool Keys::handle_down(TimePoint now, const Key& key, const CallView& view,
                       std::string_view clipboard) {
  switch (key.name) {
    case Key::Name::kTab:
      controls_.move_focus(now, key.shift);
      return true;
    case Key::Name::kEnter:
      if (!key.repeated) {
        controls_.press_focused();
      }
      return true;
    case Key::Name::kEscape:
      if (!key.repeated) {
        escape(view);
      }
      return true;
    case Key::Name::kLeft:
    case Key::Name::kRight:
      if (!is_typing()) {
        controls_.handle_arrow(now, {key.name == Key::Name::kLeft ? -1.0F : 1.0F, 0});
      }
      return !is_typing();
    case Key::Name::kUp:
    case Key::Name::kDown:
      if (!is_typing()) {
        controls_.handle_arrow(now, {0, key.name == Key::Name::kUp ? -1.0F : 1.0F});
      }
      return !is_typing();
    case Key::Name::kSpace:
      return handle_space(key, view);
    case Key::Name::kLetter:
      if (key.control) {
        return handle_control(key, view, clipboard);
      }
      return !is_typing() && (key.repeated || handle_letter(key.letter, view));
    case Key::Name::kOther:
      return false;
  }
  return false;
}

bool Keys::handle_space(const Key& key, const CallView& view) {
  if (is_typing()) {
    return false;
  }
  if (key.repeated) {
    return true;
  }
  if (view.screen == Screen::kInCall && view.self.muted) {
    talking_ = true;
    ask(TalkPressed{});
  } else if (controls_.shows_ring()) {
    controls_.press_focused();
  }
  return true;
}

bool Keys::handle_control(const Key& key, const CallView& view, std::string_view clipboard) {
  if (key.repeated) {
    return !is_typing();
  }
  switch (key.letter) {
    case 'q':
      close(view);
      return true;
    case 'h':
      if (view.screen == Screen::kInCall) {
        ask(HangUp{});
      }
      return true;
    case 'n':
      if (view.screen == Screen::kStart) {
        ask(StartListening{});
      }
      return true;
    case 'r':
      if (view.screen == Screen::kStart) {
        ask(PlanRoom{});
      }
      return true;
    case 'c':
      if (is_typing()) {
        return false;
      }
      state_.copies_link = !view.link.empty();
      return true;
    case 'v':
      if (is_typing() || view.screen != Screen::kStart) {
        return false;
      }
      state_.link.put(trimmed(clipboard));
      controls_.set_focus("link", false);
      return true;
    default:
      return false;
  }
}

void Keys::open_menu(Menu menu, const std::string& owner) {
  const Control* control = controls_.find(owner);
  state_.menu = menu;
  state_.menu_owner = owner;
  state_.menu_anchor = control != nullptr ? control->rect : Rect{};
  state_.menu_scroll = 0;
}

void Keys::share(const CallView& view) {
  if (view.self.shares_screen) {
    ask(StopSharing{});
  } else if (view.screens.all.size() > 1) {
    open_menu(Menu::kScreens, "share");
  } else {
    ask(ShareScreen{view.screens.all.empty() ? "" : view.screens.all.front().id});
  }
}

bool Keys::handle_letter(char letter, const CallView& view) {
  const bool in_call = view.screen == Screen::kInCall;
  switch (letter) {
    case 'm':
      if (has_devices(view.screen)) {
        ask(view.self.muted ? UserAction{Unmute{}} : UserAction{Mute{}});
      }
      return true;
    case 'v':
      if (has_devices(view.screen)) {
        ask(view.self.camera_off ? UserAction{CameraOn{}} : UserAction{CameraOff{}});
      }
      return true;
    case 's':
      if (in_call) {
        share(view);
      }
      return true;
    case 'd':
      if (in_call) {
        open_menu(Menu::kAllDevices, "devices");
      }
      return true;
    case 'p':
      if (in_call) {
        toggle_panel(state_);
      }
      return true;
    case 'c':
      if (in_call) {
        toggle_chat(state_, controls_, true);
      }
      return true;
    case 'r':
      if (in_call) {
        ask(SaveReport{});
      }
      return true;
    case 'f':
      ask(SetFullScreen{!view.full_screen});
      return true;
    case 't':
      ask(ChooseTheme{view.theme == ThemeChoice::kDark ? ThemeChoice::kLight : ThemeChoice::kDark});
      return true;
    default:
      return false;
  }
}

void Keys::escape(const CallView& view) {
  if (state_.menu != Menu::kNone) {
    state_.menu = Menu::kNone;
    state_.menu_owner.clear();
  } else if (is_typing()) {
    controls_.clear_focus();
  } else if (view.full_screen) {
    ask(SetFullScreen{false});
  } else if (view.screen == Screen::kInCall) {
    // Never ends a call: one key pressed by habit must not.
    state_.panel_open = false;
    state_.chat_open = false;
    controls_.clear_focus();
  } else if (view.screen == Screen::kWaiting || view.screen == Screen::kConnecting) {
    ask(HangUp{});
  } else if (view.screen == Screen::kEnded || view.screen == Screen::kNewRoom) {
    ask(BackToStart{});
  }
}

}  // namespace cress::ui
