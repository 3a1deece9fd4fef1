#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <deque>
#include <string>

#include "app/ui/kit/widgets.hh"
#include "app/ui/model/format.hh"
#include "app/ui/model/plain_words.hh"
#include "app/ui/screens/keys.hh"
#include "app/ui/screens/person_view.hh"
#include "app/ui/screens/screens.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"

namespace cress::ui {
namespace {

/// Mostly well, with one or two troubles whose sizes lie around the limits.
LinkHealth draw_health(Rng& rng) {
  LinkHealth h;
  h.peer_name = rng.chance(0.7) ? "Ana" : "";
  for (int i = 0; i < 2; ++i) {
    switch (rng.below(10)) {
      case 0:
        h.uplink_forecast = DataRate::kilobits_per_second(static_cast<int64_t>(rng.below(40) * 20));
        break;
      case 1:
        h.downlink_forecast =
            DataRate::kilobits_per_second(static_cast<int64_t>(rng.below(40) * 20));
        break;
      case 2:
        h.loss_up = static_cast<double>(rng.below(20)) * 0.01;
        break;
      case 3:
        h.loss_down = static_cast<double>(rng.below(20)) * 0.01;
        break;
      case 4:
        h.one_way_delay = h.frame_delay = rng.below(20) * 50ms;
        break;
      case 5:
        h.outage = rng.below(24) * 500ms;
        break;
      case 6:
        h.picture_skipped = rng.below(16) * 500ms;
        break;
      case 7:
        h.late_pictures = static_cast<double>(rng.below(20)) * 0.05;
        break;
      case 8:
        h.muted = h.speaking = true;
        break;
      default:
        h.camera_lost = rng.chance(0.3);
        h.speaker_lost = rng.chance(0.3);
        h.microphone_lost = rng.chance(0.3);
    }
  }
  return h;
}

TEST(WordsModel, WhatIsSaidOfALinkIsAsCommitted) {
  Rng rng{4};
  std::string all;
  PlainWords words;
  LinkHealth health;
  TimePoint now = kTimeZero + 1h;
  Duration stays{};
  for (int i = 0; i < 3000; ++i) {
    now += 100ms;
    stays -= 100ms;
    if (stays <= 0ms) {
      health = rng.chance(0.3) ? LinkHealth{} : draw_health(rng);
      stays = rng.below(50) * 100ms;
    } else if (health.outage > 0ms) {
      health.outage += 100ms;
    }
    const StatusLine before = words.line();
    words.update(now, health);
    if (words.line() != before) {
      all += std::to_string(i) + " " + std::to_string(static_cast<int>(words.trouble())) + " " +
             std::to_string(static_cast<int>(words.line().tone)) + " " + words.line().text + "\n";
    }
  }
  expect_golden("words",
                all.size() < 18'000 ? all : all.substr(0, 16'000) + golden_digest(all) + "\n");
}

TEST(WordsModel, NumbersAreWrittenAsCommitted) {
  std::string all;
  for (const int64_t n :
       {0,         1,         499,        500,        999,        1000,       1499,
        9499,      9500,      9949,       9999,       10'000,     64'000,     99'499,
        99'500,    99'999,    100'000,    104'999,    105'000,    994'999,    995'000,
        999'499,   999'500,   999'999,    1'000'000,  1'049'999,  1'050'000,  9'949'999,
        9'950'000, 9'999'999, 10'500'000, 94'999'999, 99'500'000, 123'456'789}) {
    all += std::to_string(n) + ": " + format_rate(DataRate::bits_per_second(n)) + ", " +
           format_size(DataSize{n}) + ", " + format_delay(n * 1us) + ", " +
           format_share(static_cast<double>(n) / 1e7) + ", " + format_clock(n * 1ms) + ", " +
           std::to_string(axis_end(static_cast<double>(n), 5)) + "\n";
  }
  for (const float dbfs : {-90.0F, -60.0F, -59.0F, -30.0F, -1.0F, 0.0F, 3.0F, kSilenceDbfs}) {
    all += std::to_string(std::lround(level_share(dbfs) * 1000)) + " ";
  }
  for (const char* text : {"", " ", "a", " a", "a\n", "\t a b\r\n"}) {
    all += "[" + std::string{trimmed(text)} + "]";
  }
  for (const char* name :
       {"", "a", "ab", "Élodie", "…x", "\xf0\x9f\x8c\xb1y", "\x80\x80\x80\x80\x80"}) {
    all += std::to_string(initial(name).size());
  }
  expect_golden("numbers", all + "\n");
}

TEST(WordsModel, WhatKeysDoIsAsCommitted) {
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
                       (controls.shows_ring() ? " ring" : "") + " " + state.link.data() +
                       (state.copies_link ? " copies" : "") + " " +
                       std::to_string(std::lround(arrow.x)) + std::to_string(std::lround(arrow.y));
    state.copies_link = false;
    for (const UserAction& action : actions) {
      line += "; " + describe(action);
    }
    actions.clear();
    all += line + "\n";
    if (rng.chance(0.05)) {
      state.link = {};
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

}  // namespace
}  // namespace cress::ui
