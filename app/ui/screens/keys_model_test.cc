#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <deque>
#include <string>

#include "app/ui/screens/keys.hh"
#include "app/ui/screens/person_view.hh"
#include "app/ui/screens/screens.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"

namespace cress::ui {
namespace {

TEST(KeysModel, EffectsOfKeysAreAsCommitted) {
  constexpr std::array kScreens{Screen::kStart, Screen::kWaiting, Screen::kConnecting,
                                Screen::kInCall, Screen::kEnded};
  constexpr std::array<const char*, 4> kClipboards{"", " cress://x ", "text",
                                                   "cress://a b\nsecond line"};
  Rng rng{6};
  std::string all;
  Controls controls;
  UiState state;
  std::deque<UserAction> actions;
  Keys keys{controls, state, actions};
  CallView view;
  view.link = "cress://own";
  TimePoint now = kTimeZero + 1h;
  const auto frame = [&] {
    controls.begin_frame();
    controls.add(
        {.id = "link", .label = "Link", .rect = {0, 0, 100, 40}, .kind = Control::Kind::kText});
    controls.add({.id = "devices", .label = "Devices", .rect = {0, 50, 60, 60}});
    controls.add({.id = "share", .label = "Share", .rect = {70, 50, 60, 60}});
    const Point arrow = controls
                            .add({.id = "own-picture",
                                  .label = "You",
                                  .rect = {200, 50, 60, 60},
                                  .kind = Control::Kind::kDrag})
                            .arrow;
    if (state.menu != Menu::kNone) {
      controls.begin_modal({0, 0, 50, 50});
      controls.add({.id = "menu-1", .label = "one", .rect = {0, 0, 50, 20}});
      controls.add({.id = "menu-2", .label = "two", .rect = {0, 20, 50, 20}});
    }
    controls.end_frame();
    return arrow;
  };
  frame();
  for (int i = 0; i < 1500; ++i) {
    now += 50ms;
    if (rng.chance(0.1)) {
      view.screen = kScreens.at(rng.below(5));
      view.self.muted = rng.chance(0.5);
      view.self.camera_off = rng.chance(0.5);
      view.self.shares_screen = rng.chance(0.3);
      view.full_screen = rng.chance(0.3);
      view.theme = rng.chance(0.5) ? ThemeChoice::kDark : ThemeChoice::kLight;
      view.screens.all.assign(rng.below(3), Device{"x", "Screen"});
    }
    Key key;
    key.name = rng.chance(0.5) ? Key::Name::kLetter : static_cast<Key::Name>(rng.below(10));
    key.letter = key.name == Key::Name::kLetter ? static_cast<char>('a' + rng.below(26)) : '\0';
    key.control = rng.chance(0.3);
    key.shift = rng.chance(0.2);
    key.repeated = rng.chance(0.1);
    bool used = false;
    const uint64_t what = rng.below(12);
    if (what == 0) {
      keys.handle_up(key);
    } else if (what == 1) {
      keys.handle_focus_lost();
    } else if (what == 2 && rng.chance(0.3)) {
      keys.close(view);
    } else {
      used = keys.handle_down(now, key, view, kClipboards.at(rng.below(4)));
    }
    const Point arrow = frame();
    std::string line = std::to_string(i) + " " + std::to_string(static_cast<int>(view.screen)) +
                       (used ? " used" : "") + (state.panel_open ? " panel" : "") + " menu " +
                       std::to_string(static_cast<int>(state.menu)) + state.menu_owner + " focus " +
                       (controls.focused() != nullptr ? controls.focused()->id : "-") +
                       (controls.shows_ring() ? " ring" : "") + " " +
                       std::string{state.link.reveal().view()} +
                       (state.copies_link ? " copies" : "") + " " +
                       std::to_string(std::lround(arrow.x)) + std::to_string(std::lround(arrow.y));
    state.copies_link = false;
    for (const UserAction& action : actions) {
      line += "; " + describe(action);
    }
    actions.clear();
    all += line + "\n";
    if (rng.chance(0.05)) {
      state.link.clear();
      state.menu = Menu::kNone;
      controls.clear_focus();
    }
  }
  std::string parts;
  size_t lines = 0;
  size_t from = 0;
  for (size_t at = 0; at < all.size(); ++at) {
    if (all[at] == '\n' && ++lines % 10 == 0) {
      const std::string part = all.substr(from, at - from);
      parts += part.substr(0, part.find('\n')) + " ... " + golden_digest(part) + "\n";
      from = at + 1;
    }
  }
  expect_golden("keys", parts);
}

TEST(PanelWords, AxesAndInitialsAreAsCommitted) {
  std::string all;
  for (const int64_t n : {0, 1, 5, 6, 500, 501, 1499, 9499, 10'000, 15'001, 20'001, 30'001, 40'001,
                          50'001, 60'001, 99'999, 100'000, 105'000, 9'950'000}) {
    all += std::to_string(n) + ": " + std::to_string(axis_end(static_cast<double>(n), 5)) + "\n";
  }
  for (const char* name :
       {"", "a", "ab", "Élodie", "…x", "\xf0\x9f\x8c\xb1y", "\x80\x80\x80\x80\x80"}) {
    all += std::to_string(initial(name).size());
  }
  expect_golden("axes", all + "\n");
}

}  // namespace
}  // namespace cress::ui
