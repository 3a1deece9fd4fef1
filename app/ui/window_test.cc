#include "app/ui/window.hh"

#include <SDL.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "app/ui/kit/theme.hh"
#include "app/ui/sdl_setup.hh"
#include "app/ui/window_fixture_test_tools.hh"
#include "app/ui/window_test_tools.hh"
#include "media/frame/picture.hh"
#include "transport/base/leak_check.hh"

#ifdef CRESS_LEAK_CHECK
// Libraries that SDL unloads with its last window (X11's, Mesa's) leave memory that only they
// pointed to, without a name in the leak report: here they stay loaded.
extern "C" int dlclose(void* /*library*/) { return 0; }
// libdbus keeps a buffer when SDL asks it for the session's bus and there is none.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): LeakSanitizer's name
extern "C" const char* __lsan_default_suppressions() { return "leak:libdbus-1\n"; }
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): likewise
extern "C" const char* __lsan_default_options() { return "print_suppressions=0"; }
#endif

namespace cress::ui {
namespace {

struct Case {
  std::string name;
  CallView view;
  std::string open{};  // a control that is pressed first
};

std::vector<Case> cases(TimePoint now) {
  std::vector<Case> cases;
  CallView view = any_view();
  cases.push_back({"start", view});
  view.theme = ThemeChoice::kLight;
  cases.push_back({"start_light", view});
  view = any_view();
  view.self.camera_off = view.self.muted = true;
  view.cameras = {};
  view.notices = {{1, Tone::kWarning, "The camera is gone; plug it in or choose another."},
                  {2, Tone::kGood, "The headset is plugged in."}};
  cases.push_back({"start_no_camera", view});
  view = any_view();
  view.screen = Screen::kNewRoom;
  cases.push_back({"new_room", view});
  view.new_room.name_error = "A name is 1 to 64 of A-Z a-z 0-9 . _ -, and not only dots.";
  view.new_room.relay_error = "Not HOST:PORT, such as relay.example:4747.";
  view.theme = ThemeChoice::kLight;
  cases.push_back({"new_room_errors_light", view});
  view.link = "cress://relay.example:4747/kitchen#Jx8mQ0vKZq3uVtYw2aBcDg";
  view.link_warning = "Only its own network can reach the relay in this link.";
  view.new_room = {.name = "kitchen",
                   .access = "cress-access://kitchen#Jx8mQ0vKZq3uVtYw2aBcDgJx8mQ0vKZq3uVtYw2aBcD"};
  cases.push_back({"new_room_made_light", view});
  view.theme = ThemeChoice::kDark;
  view.link_warning.clear();
  cases.push_back({"new_room_made", view});
  view = any_view();
  view.screen = Screen::kWaiting;
  cases.push_back({"waiting", view});
  view.screen = Screen::kConnecting;
  cases.push_back({"connecting", view});
  view.screen = Screen::kEnded;
  view.ended_reason = "Anna Lindqvist hung up after 12 minutes.";
  cases.push_back({"ended", view});
  view = call_view(now);
  cases.push_back({"call", view});
  cases.push_back({"call_devices", view, "devices"});
  cases.push_back({"call_share", view, "share"});
  cases.push_back({"call_panel", view, "panel"});
  view.theme = ThemeChoice::kLight;
  cases.push_back({"call_panel_light", view, "panel"});
  view.chat = chat_lines(30);
  cases.push_back({"call_chat_light", view, "chat"});
  view.theme = ThemeChoice::kDark;
  cases.push_back({"call_chat", view, "chat"});
  view.chat = chat_lines(33);
  cases.push_back({"call_unread", view});
  view = call_view(now);
  view.self.muted = view.peer.muted = true;
  view.remote.captured_at = now - 4200ms;
  view.status = {"Reconnecting for 4 s. The call goes on when the network is back.",
                 Tone::kTrouble};
  view.notices = {{1, Tone::kNote, "Anna Lindqvist shares a screen."}};
  cases.push_back({"call_outage", view});
  view = call_view(now);
  view.peer.camera_off = view.self.camera_off = true;
  view.status = {"Your uplink is down to 200 kbit/s; sound first.", Tone::kWarning};
  cases.push_back({"call_no_pictures", view});
  return cases;
}

TEST_F(WindowTest, EachScreenIsWholeAtEachSize) {
  drawing_ = kDrawsAsOnADesktop ? Drawing::kGraphicsCard : Drawing::kSoftware;
  for (const auto& [width, height] : {std::pair{1280, 800}, {800, 600}, {640, 480}}) {
    open(width, height);
    for (const Case& c : cases(now_)) {
      CallView view = c.view;
      if (view.remote.captured_at && view.remote.captured_at > now_ - 4s) {
        view = call_view(now_);
        view.theme = c.view.theme;
        view.peer = c.view.peer;
        view.self = c.view.self;
        view.status = c.view.status;
        view.chat = c.view.chat;
      }
      run(100ms, view);
      if (!c.open.empty()) {
        ASSERT_NE(find(c.open), nullptr) << c.name;
        push_click(find(c.open)->rect.center());
        settle(view);
      }
      const std::string name = c.name + "_" + std::to_string(width) + "x" + std::to_string(height);
      const Screenshot shot = shoot(view, name);
      ASSERT_EQ(shot.width, width);
      ASSERT_EQ(shot.height, height);
      expect_usable(window_->controls(),
                    {0, 0, static_cast<float>(width), static_cast<float>(height)}, name);
      EXPECT_GE(window_->controls().size(), 3U) << name;
      if (!c.open.empty()) {
        close_what_is_open(view);
      }
    }
  }
}

TEST_F(WindowTest, PeersVideoKeepsItsColoursAndAspect) {
  open(1280, 800);
  CallView view = call_view(now_);
  view.remote.picture = quarters(640, 480);
  view.own.picture = nullptr;
  view.self.camera_off = true;
  const Screenshot shot = shoot(view, "colours_4_3");
  // 4:3 in 1280 x 800: 1066.7 x 800, in the middle.
  const float left = (1280 - 800 * 4.0F / 3) / 2;
  EXPECT_TRUE(is_near(pixel(shot, left + 200, 200), {255, 0, 0}));
  EXPECT_TRUE(is_near(pixel(shot, 1280 - left - 200, 200), {0, 255, 1}));
  EXPECT_TRUE(is_near(pixel(shot, left + 200, 600), {0, 0, 255}));
  EXPECT_TRUE(is_near(pixel(shot, 1280 - left - 120, 500), {255, 255, 255}));
  const Color stage = theme_of(ThemeChoice::kDark).stage;
  EXPECT_TRUE(is_near(pixel(shot, left - 4, 400), stage, 2));
  EXPECT_TRUE(is_near(pixel(shot, 1280 - left + 4, 400), stage, 2));
  EXPECT_FALSE(is_near(pixel(shot, left + 3, 400), stage, 2));
}

TEST_F(WindowTest, PicturesOfOddAndChangingSizesAreDisplayed) {
  open(800, 600);
  CallView view = call_view(now_);
  for (const auto& [width, height] : {std::pair{161, 91}, {1, 1}, {1920, 1080}, {90, 160}}) {
    auto picture = std::make_shared<media::Picture>(media::make_picture(width, height));
    paint(*picture, 0, 0, width, height, kRed);
    view.remote.picture = picture;
    const Screenshot shot = shoot(view);
    EXPECT_TRUE(is_near(pixel(shot, 400, 250), {255, 0, 0})) << width << "x" << height;
  }
}

TEST_F(WindowTest, OwnPictureIsMirroredButASharedScreenIsNot) {
  open(1280, 800);
  CallView view = call_view(now_);
  view.own.picture = quarters(640, 360);
  Screenshot shot = shoot(view, "own_mirrored");
  ASSERT_NE(find("own-picture"), nullptr);
  const Rect inset = find("own-picture")->rect;
  EXPECT_TRUE(is_near(pixel(shot, inset.x + 30, inset.y + 30), {0, 255, 1}));
  EXPECT_TRUE(is_near(pixel(shot, inset.right() - 30, inset.y + 30), {255, 0, 0}));
  view.self.shares_screen = true;
  shot = shoot(view);
  EXPECT_TRUE(is_near(pixel(shot, inset.x + 30, inset.y + 30), {255, 0, 0}));
  EXPECT_TRUE(is_near(pixel(shot, inset.right() - 30, inset.y + 30), {0, 255, 1}));
}

TEST_F(WindowTest, MovingVideoIsRedrawnAndAStillOneIsNot) {
  open(800, 600);
  CallView view = call_view(now_);
  run(4s, view);  // until the buttons are hidden
  const Screenshot before = shoot(view);
  view.remote = {portrait(1280, 720, -1, 120), now_};
  const Screenshot after = shoot(view);
  EXPECT_GT(count_different(before, after, {200, 100, 400, 300}), 2000U);
  view.remote.captured_at.reset();
  view.connected_at.reset();
  run(1s, view);
  const uint64_t frames = window_->stats().frames;
  const uint64_t pictures = window_->stats().pictures;
  run(10s, view);
  EXPECT_EQ(window_->stats().frames, frames);
  EXPECT_EQ(window_->stats().pictures, pictures);
}

TEST_F(WindowTest, DrawsAtMostSixtyTimesASecond) {
  open(640, 480);
  CallView view = call_view(now_);
  const std::array<media::PicturePtr, 2> pictures{quarters(64, 48), quarters(64, 48)};
  run(100ms, view);
  const uint64_t before = window_->stats().frames;
  for (int ms = 0; ms < 1000; ++ms) {
    now_ += 1ms;
    view.remote.picture = pictures[static_cast<size_t>(ms % 2)];
    window_->draw(now_, view);
    EXPECT_LE(window_->poll_timeout(), now_ + kInputInterval);
  }
  EXPECT_LE(window_->stats().frames - before, 60U);
  EXPECT_GE(window_->stats().frames - before, 55U);
}

TEST_F(WindowTest, AnIdleWindowCostsLessThanThreePercentOfACore) {
  for (const Screen screen : {Screen::kStart, Screen::kWaiting}) {
    open(1280, 800);
    CallView view = any_view();
    view.screen = screen;
    run(2s, view);
    const auto cpu = [] {
      rusage usage{};
      ::getrusage(RUSAGE_SELF, &usage);
      return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
             static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    };
    const double before = cpu();
    const auto started = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - started < 2s) {
      window_->draw(now_, view);
      const Duration sleep = std::max(Duration{1ms}, window_->poll_timeout() - now_);
      std::this_thread::sleep_for(sleep);
      now_ += sleep;
    }
    const double share = (cpu() - before) / 2;
    RecordProperty("idle_share", std::to_string(share));
    std::printf("idle: %.2f %% of a core\n", share * 100);
    EXPECT_LT(share, 0.03);
  }
}

TEST_F(WindowTest, TheGraphsFollowTheirNumbers) {
  open(1280, 800);
  CallView view = call_view(now_);
  run(100ms, view);
  SDL_Event key{};
  key.type = SDL_KEYDOWN;
  key.key.keysym.sym = SDLK_p;
  key.key.keysym.scancode = SDL_SCANCODE_P;
  SDL_PushEvent(&key);
  run(100ms, view);
  const Rect panel{1280 - 340, 100, 340, 700};
  const Screenshot quiet = shoot(view);
  // A second later everything has moved to the left and an outage has begun.
  for (int i = 1; i <= 20; ++i) {
    LinkSample s = view.history.newest();
    s.at += 50ms;
    s.sent = s.forecast = kilobits(40);
    s.frame_delay = 900ms;
    view.history.add(s);
  }
  now_ += 1s;
  view.health.frame_delay = 900ms;
  const Screenshot outage = shoot(view, "graphs_outage");
  EXPECT_GT(count_different(quiet, outage, panel), 500U);
  const Color forecast = theme_of(ThemeChoice::kDark).forecast_line;
  EXPECT_GT(count_near(quiet, panel, forecast, 40), 150U);
  // The forecast's line at the right edge of the first graph is now at its bottom.
  const auto highest_row = [&](const Screenshot& shot) {
    for (int y = 126; y < 224; ++y) {
      for (int x = 1250; x < 1260; ++x) {
        if (is_near(pixel(shot, static_cast<float>(x), static_cast<float>(y)), forecast, 60)) {
          return y;
        }
      }
    }
    return 1000;
  };
  EXPECT_GT(highest_row(outage), highest_row(quiet) + 15);
  EXPECT_LT(highest_row(outage), 1000);
  // With the panel closed, the same numbers cause no redraw.
  SDL_PushEvent(&key);
  run(5s, view);
  view.connected_at.reset();
  view.remote.captured_at.reset();
  run(1s, view);
  const uint64_t frames = window_->stats().frames;
  for (int i = 0; i < 20; ++i) {
    LinkSample s = view.history.newest();
    s.at += 50ms;
    view.history.add(s);
    run(50ms, view);
  }
  EXPECT_EQ(window_->stats().frames, frames);
}

TEST_F(WindowTest, TheButtonsGoAfterThreeSecondsAndComeBackWithTheMouse) {
  open(1280, 800);
  CallView view = call_view(now_);
  run(2900ms, view);
  EXPECT_NE(find("mute"), nullptr);
  run(500ms, view);
  EXPECT_EQ(find("mute"), nullptr);
  EXPECT_NE(find("own-picture"), nullptr);
  shoot(view, "call_alone");
  if (!has_hand()) {
    GTEST_SKIP() << "no xdotool: the mouse's part is skipped";
  }
  input({"mousemove", "300", "300", "mousemove", "320", "300"}, view);
  EXPECT_TRUE(run_until(view, [&] { return find("mute") != nullptr; }));
}

TEST_F(WindowTest, HighDensityAndZoomDrawTheSameThingsLarger) {
  open(800, 600, 1);
  CallView view = any_view();
  run(100ms, view);
  const Rect small = find("join")->rect;
  open(800, 600, 2);
  const Screenshot shot = shoot(view, "start_800x600_at_2");
  EXPECT_EQ(shot.width, 1600);
  EXPECT_EQ(window_->scale(), 2);
  EXPECT_EQ(find("join")->rect, small);
  // With too few pixels for that, the largest scale that leaves it 640 x 480 points.
  SDL_SetWindowSize(sdl_window(), 1000, 800);
  EXPECT_TRUE(run_until(view, [&] { return window_->scale() == 1.5F; }));
}

TEST_F(WindowTest, MouseClicksGiveTheRightActions) {
  if (!has_hand()) {
    GTEST_SKIP() << "no xdotool to click with";
  }
  open(1280, 800);
  CallView view = call_view(now_);
  run(100ms, view);
  press("mute", "mute", view);
  view.self.muted = true;
  press("mute", "unmute", view);
  press("camera", "camera off", view);
  view.self.camera_off = true;
  press("camera", "camera on", view);
  press("full-screen", "full screen", view);
  click("share", view);
  press("menu-screen-x1", "share screen x1", view);
  view.self.shares_screen = true;
  press("share", "stop sharing", view);
  click("devices", view);
  press("menu-camera-v1", "choose camera v1", view);
  EXPECT_TRUE(run_until(view, [&] { return find("menu-camera-v1") == nullptr; }));
  view.notices = {{5, Tone::kNote, "Anna shares a screen."}};
  press("notice-5", "dismiss notice 5", view);
  press("hang-up", "hang up", view);
  EXPECT_EQ(actions_, (std::vector<std::string>{"mute", "unmute", "camera off", "camera on",
                                                "full screen", "share screen x1", "stop sharing",
                                                "choose camera v1", "dismiss notice 5", "hang up"}))
      << "and nothing else";
}

TEST_F(WindowTest, ClickOutsideAMenuOnlyClosesIt) {
  if (!has_hand()) {
    GTEST_SKIP() << "no xdotool to click with";
  }
  open(1280, 800);
  const CallView view = call_view(now_);
  run(100ms, view);
  const Control hang_up = *find("hang-up");
  click("devices", view);
  ASSERT_TRUE(run_until(view, [&] { return find("menu-camera-v0") != nullptr; }));
  const auto [x, y] = place_of(hang_up.rect.center());
  input({"mousemove", x, y, "click", "1"}, view);
  EXPECT_TRUE(run_until(view, [&] { return find("menu-camera-v0") == nullptr; }));
  run(200ms, view);
  EXPECT_EQ(actions_, std::vector<std::string>{});
}

TEST_F(WindowTest, ALinkIsTypedOrPastedAndJoined) {
  if (!has_hand()) {
    GTEST_SKIP() << "no xdotool to type with";
  }
  open(1280, 800);
  CallView view = any_view();
  run(100ms, view);
  EXPECT_FALSE(find("join")->enabled) << "nothing to join yet";
  focus(view);
  click("link", view);
  input({"type", "--delay", "20", "cress://192.0.2.1:4433/#abcDEF"}, view);
  EXPECT_TRUE(run_until(view, [&] { return find("join")->enabled; }));
  shoot(view, "link_typed");
  click("join", view);
  EXPECT_TRUE(asked("join cress://192.0.2.1:4433/#abcDEF", view));

  // Pasted without a click anywhere, with spaces around it, joined by Enter.
  open(1280, 800);
  run(100ms, view);
  focus(view);
  ASSERT_EQ(SDL_SetClipboardText("  cress://198.51.100.9:7/#xyz \n"), 0);
  input({"key", "ctrl+v"}, view);
  EXPECT_TRUE(run_until(view, [&] { return find("join")->enabled; }));
  input({"key", "Return"}, view);
  EXPECT_TRUE(asked("join cress://198.51.100.9:7/#xyz", view));
  EXPECT_EQ(actions_, std::vector<std::string>{"join cress://198.51.100.9:7/#xyz"});
}

TEST_F(WindowTest, LinesOfChatAreWrittenAndSentByKeysAlone) {
  if (!has_hand()) {
    GTEST_SKIP() << "no xdotool to type with";
  }
  open(800, 600);
  CallView view = call_view(now_);
  run(100ms, view);
  focus(view);
  input({"key", "c"}, view);
  ASSERT_TRUE(run_until(view, [&] { return find("chat-line") != nullptr; }));
  run(200ms, view);
  input({"type", "--delay", "30", "mute me"}, view);
  run(100ms, view);
  input({"key", "Return"}, view);
  EXPECT_TRUE(asked("send chat", view));
  run(200ms, view);
  input({"type", "--delay", "30", "again"}, view);
  run(100ms, view);
  input({"key", "Return"}, view);
  EXPECT_TRUE(run_until(view, [&] { return written_.size() == 2; }));
  EXPECT_EQ(written_, (std::vector<std::string>{"mute me", "again"}));
  EXPECT_EQ(std::ranges::count(actions_, "mute"), 0);
  input({"key", "Escape"}, view);
  input({"key", "c"}, view);
  EXPECT_TRUE(run_until(view, [&] { return find("chat-line") == nullptr; }));
}

TEST_F(WindowTest, TypedLettersAreNoShortcuts) {
  if (!has_hand()) {
    GTEST_SKIP() << "no xdotool to type with";
  }
  open(800, 600);
  CallView view = any_view();
  view.self.name.clear();
  run(100ms, view);
  focus(view);
  click("name", view);
  input({"type", "--delay", "30", "mvt"}, view);
  EXPECT_TRUE(asked("choose name mvt", view));
  for (const std::string& action : actions_) {
    EXPECT_TRUE(action.starts_with("choose name ")) << action;
  }
}

TEST_F(WindowTest, KeysGiveTheRightActions) {
  if (!has_hand()) {
    GTEST_SKIP() << "no xdotool to type with";
  }
  open(1280, 800);
  CallView view = call_view(now_);
  view.screens.all.resize(1);
  run(100ms, view);
  focus(view);
  for (const auto& [key, action] : {std::pair{"m", "mute"},
                                    {"v", "camera off"},
                                    {"s", "share screen x0"},
                                    {"f", "full screen"},
                                    {"t", "light theme"},
                                    {"ctrl+h", "hang up"}}) {
    input({"key", key}, view);
    EXPECT_TRUE(asked(action, view)) << key;
  }
  view.self.muted = true;
  run(50ms, view);
  actions_.clear();
  input({"keydown", "space"}, view);
  EXPECT_TRUE(asked("talk pressed", view));
  run(1s, view);
  input({"keyup", "space"}, view);
  EXPECT_TRUE(asked("talk released", view));
  EXPECT_EQ(actions_, (std::vector<std::string>{"talk pressed", "talk released"}));
  input({"key", "p"}, view);
  EXPECT_TRUE(run_until(view, [&] { return find("panel-close") != nullptr; }));
  actions_.clear();
  input({"key", "Escape"}, view);
  EXPECT_TRUE(run_until(view, [&] { return find("panel-close") == nullptr; }));
  EXPECT_EQ(actions_, std::vector<std::string>{}) << "Esc never ends a call";
  input({"key", "ctrl+q"}, view);
  EXPECT_TRUE(asked("quit", view));
  EXPECT_EQ(actions_, (std::vector<std::string>{"hang up", "quit"}));
}

TEST_F(WindowTest, TabReachesEveryControlAndEnterPressesIt) {
  if (!has_hand()) {
    GTEST_SKIP() << "no xdotool to type with";
  }
  open(1280, 800);
  CallView view = call_view(now_);
  run(100ms, view);
  focus(view);
  // own picture, mute, camera.
  input({"key", "Tab", "Tab"}, view);
  run(700ms, view);
  shoot(view, "focus_ring");
  input({"key", "Return"}, view);
  EXPECT_TRUE(asked("mute", view));
  // A menu by keyboard alone: Tab to the devices, Enter, down to the second camera, Enter.
  input({"key", "Tab", "Tab", "Tab", "Return"}, view);
  ASSERT_TRUE(run_until(view, [&] { return find("menu-camera-v1") != nullptr; }));
  input({"key", "Down", "Return"}, view);
  EXPECT_TRUE(asked("choose camera v1", view));
}

TEST_F(WindowTest, TheOwnPictureIsDraggedToAnotherCornerOrSentThereByArrows) {
  if (!has_hand()) {
    GTEST_SKIP() << "no xdotool to drag with";
  }
  open(1280, 800);
  CallView view = call_view(now_);
  run(100ms, view);
  const Rect home = find("own-picture")->rect;
  EXPECT_GT(home.x, 640);
  EXPECT_GT(home.y, 400);
  const auto [x, y] = place_of(home.center());
  const auto [to_x, to_y] = place_of({260, 240});
  input({"mousemove", x, y, "mousedown", "1"}, view);
  input({"mousemove", "640", "400"}, view);
  input({"mousemove", to_x, to_y}, view);
  EXPECT_TRUE(run_until(view, [&] { return find("own-picture")->rect.contains({260, 240}); }));
  shoot(view, "own_dragged");
  input({"mouseup", "1"}, view);
  EXPECT_TRUE(run_until(
      view, [&] { return find("own-picture")->rect.x < 40 && find("own-picture")->rect.y < 80; }));
  focus(view);
  input({"key", "Right"}, view);
  EXPECT_TRUE(run_until(view, [&] { return find("own-picture")->rect.x > 640; }));
  EXPECT_EQ(actions_, std::vector<std::string>{});
}

TEST_F(WindowTest, TheLinkIsCopiedToTheClipboard) {
  if (!has_hand()) {
    GTEST_SKIP() << "no xdotool to click with";
  }
  open(800, 600);
  CallView view = any_view();
  view.screen = Screen::kWaiting;
  run(100ms, view);
  click("copy", view);
  EXPECT_TRUE(asked("copy link", view));
  char* text = SDL_GetClipboardText();
  EXPECT_EQ(text, view.link.reveal().view());
  SDL_free(text);
  EXPECT_TRUE(run_until(view, [&] { return find("copy")->label == "Copied"; }));
  run(4s, view);
  EXPECT_EQ(find("copy")->label, "Copy link");
  focus(view);
  input({"key", "Escape"}, view);
  EXPECT_TRUE(asked("hang up", view));
}

TEST_F(WindowTest, ClosingTheWindowHangsUpFirst) {
  open(640, 480);
  CallView view = call_view(now_);
  run(50ms, view);
  SDL_Event quit{};
  quit.type = SDL_QUIT;
  SDL_PushEvent(&quit);
  run(50ms, view);
  EXPECT_EQ(actions_, (std::vector<std::string>{"hang up", "quit"}));
  actions_.clear();
  view.screen = Screen::kEnded;
  SDL_PushEvent(&quit);
  run(50ms, view);
  EXPECT_EQ(actions_, std::vector<std::string>{"quit"});
}

TEST_F(WindowTest, EachRendererDrawsTheSamePicture) {
  for (const Drawing drawing : {Drawing::kAutomatic, Drawing::kGraphicsCard, Drawing::kSoftware}) {
    if (!kDrawsAsOnADesktop && drawing != Drawing::kSoftware) {
      continue;
    }
    drawing_ = drawing;
    open(800, 600);
    CallView view = call_view(now_);
    view.remote.picture = quarters(640, 480);
    const Screenshot shot = shoot(view);
    EXPECT_TRUE(is_near(pixel(shot, 300, 250), {255, 0, 0})) << static_cast<int>(drawing);
    EXPECT_TRUE(is_near(pixel(shot, 500, 250), {0, 255, 1})) << static_cast<int>(drawing);
  }
}

TEST_F(WindowTest, FullScreenFollowsTheView) {
  open(640, 480);
  CallView view = call_view(now_);
  run(100ms, view);
  const auto is_full = [] {
    return (SDL_GetWindowFlags(sdl_window()) & SDL_WINDOW_FULLSCREEN_DESKTOP) ==
           SDL_WINDOW_FULLSCREEN_DESKTOP;
  };
  EXPECT_FALSE(is_full());
  view.full_screen = true;
  run(50ms, view);
  EXPECT_TRUE(is_full());
  EXPECT_EQ(find("full-screen")->label, "Window");
  view.full_screen = false;
  run(50ms, view);
  EXPECT_FALSE(is_full());
}

TEST_F(WindowTest, ADisplayNeedsNoDriversName) {
  const std::string kept = SDL_getenv("SDL_VIDEODRIVER");
  ::unsetenv("SDL_VIDEODRIVER");  // NOLINT(concurrency-mt-unsafe): this thread alone
  EXPECT_NO_THROW(Window(WindowOptions{}));
  SDL_setenv("SDL_VIDEODRIVER", kept.c_str(), 1);
}

TEST_F(WindowTest, ItCannotBeMadeSmallerThanItsMinimumButLarger) {
  open(800, 600, 1.5);
  SDL_Window* window = sdl_window();
  int width = 0;
  int height = 0;
  SDL_GetWindowMinimumSize(window, &width, &height);
  EXPECT_EQ(width, kWindowWidthMin);
  EXPECT_EQ(height, kWindowHeightMin);
  SDL_GetWindowSize(window, &width, &height);
  EXPECT_EQ(width, 1200);
  EXPECT_EQ(height, 900);
  EXPECT_NE(SDL_GetWindowFlags(window) & SDL_WINDOW_RESIZABLE, 0U);
  EXPECT_STREQ(SDL_GetWindowTitle(window), "Cress");
  EXPECT_STREQ(SDL_GetHint(SDL_HINT_NO_SIGNAL_HANDLERS), "1") << "Ctrl-C is the event loop's";
  EXPECT_STREQ(SDL_GetHint(SDL_HINT_VIDEO_X11_NET_WM_BYPASS_COMPOSITOR), "0");
  EXPECT_STREQ(SDL_GetHint(SDL_HINT_MOUSE_FOCUS_CLICKTHROUGH), "1");
}

TEST(DensityScale, DenseDisplaysDrawLarger) {
  EXPECT_EQ(density_scale(300, 1399), 1.0F) << "a small screen";
  EXPECT_EQ(density_scale(143, 1400), 1.0F);
  EXPECT_EQ(density_scale(144, 1400), 1.5F);
  EXPECT_EQ(density_scale(179, 2160), 1.5F);
  EXPECT_EQ(density_scale(180, 1400), 2.0F);
}

TEST(WindowWithoutDisplay, NoDriverThatDrawsNothingIsUsed) {
  std::vector<std::pair<const char*, std::string>> kept;
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"}) {
    if (const char* value = SDL_getenv(name)) {
      kept.emplace_back(name, value);
    }
    ::unsetenv(name);  // NOLINT(concurrency-mt-unsafe): this thread alone
  }
  std::string words;
  try {
    const Window window{{}};
  } catch (const std::runtime_error& error) {
    words = error.what();
  }
  EXPECT_FALSE(SDL_WasInit(SDL_INIT_VIDEO)) << "what was begun is ended";
  for (const auto& [name, value] : kept) {
    SDL_setenv(name, value.c_str(), 1);
  }
  EXPECT_TRUE(words.starts_with("cannot open a window, is there a display?")) << words;
}

TEST(WindowWithoutDisplay, ReportsWhatIsMissing) {
  const char* display = SDL_getenv("DISPLAY");
  const std::string kept = display != nullptr ? display : "";
  SDL_setenv("DISPLAY", ":9876", 1);
  SDL_setenv("SDL_VIDEODRIVER", "x11", 1);
  try {
    const Window window{{}};
    FAIL() << "a window without a display";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("is there a display?"), std::string::npos)
        << error.what();
  }
  SDL_setenv("DISPLAY", kept.c_str(), 1);
}

}  // namespace
}  // namespace cress::ui
