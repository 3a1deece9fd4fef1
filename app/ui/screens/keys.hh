#pragma once

#include <string>

#include "app/ui/kit/ui.hh"

namespace cress::ui {

/// A key as reported by the window system, on the user's keyboard layout.
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

/// The effects of keys. Independent of window and drawing, so that it is tested without a screen.
/// Threads: none inside; one owner.
class Keys {
 public:
  Keys(Controls& controls, UiState& state, std::deque<UserAction>& actions)
      : controls_(controls), state_(state), actions_(actions) {}

  /// `clipboard`: the text that Ctrl+V would paste. Returns whether the key was used; otherwise it
  /// goes into the text field that has the focus, if any.
  bool handle_down(TimePoint now, const Key& key, const CallView& view, std::string_view clipboard);
  void handle_up(const Key& key);
  /// The window has lost the keyboard focus: a held Space is released.
  void handle_focus_lost();
  /// The window was closed, or Ctrl+Q.
  void close(const CallView& view);

 private:
  void ask(UserAction action);
  bool is_typing() const;
  bool handle_control(const Key& key, const CallView& view, std::string_view clipboard);
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
