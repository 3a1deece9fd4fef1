#pragma once

#include <string>

#include "app/ui/kit/ui.hh"

namespace cress::ui {

/// A key as the window system tells it, on the layout of the person's keyboard.
struct Key {
  enum class Name {
    kLetter,
    kTab,
    kEnter,
    kEscape,
    kSpace,
    kLeft,
    kRight,
    kUp,
    kDown,
    kOther,
  };
  Name name = Name::kOther;
  char letter = 0;  ///< kLetter: 'a'..'z'
  bool control = false;
  bool shift = false;
  bool repeated = false;
};

/// What keys do. Knows neither window nor drawing, so that it is tested without a screen.
/// Threads: none inside; one owner.
class Keys {
 public:
  Keys(Controls& controls, UiState& state, std::deque<UserAction>& actions)
      : controls_(controls), state_(state), actions_(actions) {}

  /// `clipboard`: what Ctrl+V would paste. Gives whether the key is used up; else it goes into the
  /// text that is typed, if any.
  bool handle_down(TimePoint now, const Key& key, const CallView& view,
                   const std::string& clipboard);
  void handle_up(const Key& key);
  /// The window has lost the keyboard: a held Space is let go.
  void handle_focus_lost();
  /// The window is closed, or Ctrl+Q.
  void close(const CallView& view);

 private:
  void ask(UserAction action);
  bool is_typing() const;
  bool handle_control(const Key& key, const CallView& view, const std::string& clipboard);
  bool handle_letter(char letter, const CallView& view);
  bool handle_space(const Key& key, const CallView& view);
  void escape(const CallView& view);
  void share(const CallView& view);
  void open_menu(Menu menu, const std::string& owner);

  Controls& controls_;
  UiState& state_;
  std::deque<UserAction>& actions_;
  bool talking_ = false;
};

}  // namespace cress::ui
