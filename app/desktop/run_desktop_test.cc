#include "app/desktop/run_desktop.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "app/desktop/desktop_test_tools.hh"
#include "app/room/relay_test_tools.hh"
#include "app/ui/window_test_tools.hh"
#include "media/gst/gst_runtime.hh"
#include "media/source/synthetic_camera.hh"
#include "media/source/y4m.hh"
#include "transport/base/leak_check.hh"

#ifdef CRESS_LEAK_CHECK
#include <sanitizer/lsan_interface.h>
#endif

namespace cress::desktop {
namespace {

using ui::Screen;

/// A real window on a virtual screen, controlled by mouse and keyboard events, in a real call with
/// a person without a window.
class RunDesktopTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (ui::is_installed("Xvfb") && ui::is_installed("xdotool")) {
      display() = std::make_unique<ui::VirtualDisplay>();
      look_for_bus();
    }
  }
  static void TearDownTestSuite() { display().reset(); }
  void SetUp() override {
    if (!display() || !display()->is_up()) {
      GTEST_SKIP() << "no virtual display and hand: install xvfb and xdotool";
    }
  }
  /// SDL asks libdbus for the session's bus, once; if there is none, libdbus keeps a buffer.
  static void look_for_bus() {
#ifdef CRESS_LEAK_CHECK
    const __lsan::ScopedDisabler not_our_leak;
#endif
    SDL_InitSubSystem(SDL_INIT_VIDEO);
    SDL_QuitSubSystem(SDL_INIT_VIDEO);
  }
  static std::unique_ptr<ui::VirtualDisplay>& display() {
    static std::unique_ptr<ui::VirtualDisplay> the_display;
    return the_display;
  }

  void open(int width, int height) {
    window_.reset();
    // The graphics card's software substitute leaks, and is slow.
    window_ = std::make_unique<ui::Window>(ui::WindowOptions{
        .width = width, .height = height, .scale = 1, .drawing = ui::Drawing::kSoftware});
    name_ = std::to_string(width) + "x" + std::to_string(height);
  }
  /// Runs the window's loop until `wanted`, and returns whether that became true.
  bool run_until(const std::function<bool()>& wanted) {
    const TimePoint end = clock_.now() + kPatience;
    bool came = false;
    show(*window_, *call_, clock_, [&] {
      came = wanted();
      return came || clock_.now() >= end;
    });
    return came;
  }
  bool sees(const std::function<bool(const ui::CallView&)>& wanted) {
    return run_until([&] { return wanted(call_->view()); });
  }
  /// The same for another person; the window continues meanwhile.
  bool other_sees(Desk& other, const std::function<bool(const ui::CallView&)>& wanted) {
    return run_until([&] { return wanted(other.call().view()); });
  }
  bool other_sees_moving(Desk& other) {
    std::set<media::PicturePtr> pictures;
    return other_sees(other, [&](const ui::CallView& view) {
      pictures.insert(view.remote.picture);
      return pictures.size() > 8;
    });
  }
  bool is_on(Screen screen) {
    return sees([screen](const ui::CallView& view) { return view.screen == screen; });
  }
  const ui::Control* find(const std::string& id) const { return ui::find_control(*window_, id); }
  const ui::Control* tile(const std::string& name) const;
  void input(std::vector<std::string> words) {
    words.insert(words.begin(), "xdotool");
    const pid_t pid = ui::spawn(words);
    int status = 0;
    ASSERT_TRUE(run_until([&] { return ::waitpid(pid, &status, WNOHANG) == pid; }))
        << "xdotool hangs";
    ASSERT_EQ(status, 0) << "xdotool " << words[1];
  }
  void focus() {
    input({"search", "--onlyvisible", "--name", "^Cress$", "windowfocus"});
    ASSERT_TRUE(run_until([] { return SDL_GetKeyboardFocus() != nullptr; }));
  }
  void click(const std::string& id) {
    // The buttons disappear when there is no input.
    for (int i = 0; i < 100 && find(id) == nullptr; ++i) {
      input({"mousemove_relative", "--", i % 2 == 0 ? "3" : "-3", "2"});
    }
    const ui::Control* control = find(id);
    ASSERT_NE(control, nullptr) << id;
    const auto [x, y] = ui::place_on_screen(control->rect.center(), window_->scale());
    input({"mousemove", x, y, "click", "1"});
  }
  ui::Screenshot shoot(const std::string& name = "") {
    ui::Screenshot shot = window_->screenshot(clock_.now(), call_->view());
    if (!name.empty()) {
      ui::save_bmp(shot, std::filesystem::path(CRESS_BIN) / "screenshots" /
                             ("desktop_" + name + "_" + name_ + ".bmp"));
    }
    return shot;
  }
  /// Whether what is drawn in `area` changes by itself.
  bool moves(const ui::Rect& area) {
    const ui::Screenshot before = shoot();
    return run_until([&] {
      return static_cast<float>(ui::count_different(before, shoot(), area)) >
             area.width * area.height / 50;
    });
  }

  void meet(int width, int height);
  void use_room(Desk& lea, Desk& kim);
  void use(Desk& other);
  void part(Desk& other);

  const runtime::MonotonicClock clock_;
  const media::GstRuntime gstreamer_;
  std::unique_ptr<ui::Window> window_;
  std::unique_ptr<DesktopCall> call_;
  std::string name_;
};

/// From the start screen, by a link that is typed, into the call.
void RunDesktopTest::meet(int width, int height) {
  Desk other{clock_, test_listener("Lea")};
  ASSERT_TRUE(other.is_on(Screen::kWaiting));
  open(width, height);
  call_ = std::make_unique<DesktopCall>(clock_, test_devices("Jo"));
  ASSERT_TRUE(sees([](const ui::CallView& view) { return view.own.picture != nullptr; }));
  ASSERT_NO_FATAL_FAILURE(focus());
  shoot("start");
  ASSERT_NO_FATAL_FAILURE(click("link"));
  ASSERT_NO_FATAL_FAILURE(input({"type", "--delay", "1", link_of(other.view())}));
  ASSERT_NO_FATAL_FAILURE(input({"key", "Return"}));
  ASSERT_TRUE(is_on(Screen::kInCall));
  ASSERT_TRUE(sees([](const ui::CallView& view) {
    return view.remote.picture != nullptr && view.own.picture != nullptr;
  }));
  ASSERT_NO_FATAL_FAILURE(use(other));
  ASSERT_NO_FATAL_FAILURE(part(other));
  call_.reset();
  window_.reset();
}

void RunDesktopTest::use(Desk& other) {
  const auto w = static_cast<float>(std::stoi(name_));
  EXPECT_TRUE(moves({w * 0.2F, 150, w * 0.4F, 200})) << "the other's picture stands";
  ASSERT_NE(find("own-picture"), nullptr);
  EXPECT_TRUE(moves(find("own-picture")->rect.inset(8))) << "the own picture stands";
  shoot("call");

  ASSERT_NO_FATAL_FAILURE(input({"key", "p"}));
  const ui::Rect panel{w - 330, 100, 320, 400};
  const ui::Color line = ui::theme_of(ui::ThemeChoice::kDark).forecast_line;
  EXPECT_TRUE(run_until([&] { return ui::count_near(shoot(), panel, line, 40) > 100; }))
      << "no graph of the forecast";
  EXPECT_TRUE(moves(panel)) << "the graphs stand";
  ASSERT_TRUE(sees([](const ui::CallView& view) {
    return !view.history.empty() && view.history.newest().at - view.history[0].at > 6s;
  }));
  shoot("panel");

  if (!call_->view().screens.all.empty()) {
    ASSERT_NO_FATAL_FAILURE(input({"key", "s"}));
    EXPECT_TRUE(
        other_sees(other, [](const ui::CallView& view) { return view.peer.shares_screen; }));
    EXPECT_TRUE(other_sees_moving(other));
    shoot("share");
    ASSERT_NO_FATAL_FAILURE(input({"key", "s"}));
    EXPECT_TRUE(
        other_sees(other, [](const ui::CallView& view) { return !view.peer.shares_screen; }));
  }
  ASSERT_NO_FATAL_FAILURE(click("mute"));
  EXPECT_TRUE(other_sees(other, [](const ui::CallView& view) { return view.peer.muted; }));
  EXPECT_TRUE(sees([](const ui::CallView& view) { return view.self.muted; }));
  ASSERT_NO_FATAL_FAILURE(input({"keydown", "space"}));
  EXPECT_TRUE(other_sees(other, [](const ui::CallView& view) { return !view.peer.muted; }));
  ASSERT_NO_FATAL_FAILURE(input({"keyup", "space"}));
  EXPECT_TRUE(other_sees(other, [](const ui::CallView& view) { return view.peer.muted; }));
  ASSERT_NO_FATAL_FAILURE(click("camera"));
  EXPECT_TRUE(other_sees(other, [](const ui::CallView& view) { return view.peer.camera_off; }));
  other.ask(ui::CameraOff{});
  EXPECT_TRUE(sees([](const ui::CallView& view) { return view.peer.camera_off; }));
  shoot("off");
  ASSERT_NO_FATAL_FAILURE(click("camera"));
  EXPECT_TRUE(other_sees(other, [](const ui::CallView& view) { return !view.peer.camera_off; }));
  EXPECT_TRUE(other_sees_moving(other));
}

void RunDesktopTest::part(Desk& other) {
  ASSERT_NO_FATAL_FAILURE(click("hang-up"));
  EXPECT_TRUE(is_on(Screen::kEnded));
  EXPECT_TRUE(other_sees(other, [](const ui::CallView& view) {
    return view.screen == Screen::kEnded && view.ended_reason.starts_with("Jo hung up");
  })) << other.call().view().ended_reason;
  shoot("ended");
  ASSERT_NO_FATAL_FAILURE(click("back"));
  EXPECT_TRUE(is_on(Screen::kStart));
  // By a key, with everything that a second call needs still there.
  ASSERT_NO_FATAL_FAILURE(input({"key", "ctrl+n"}));
  EXPECT_TRUE(is_on(Screen::kWaiting));
  EXPECT_TRUE(sees([](const ui::CallView& view) { return view.own.picture != nullptr; }));
  shoot("waiting");
  ASSERT_NO_FATAL_FAILURE(input({"key", "Escape"}));
  EXPECT_TRUE(is_on(Screen::kStart));
}

TEST_F(RunDesktopTest, ACallIsMadeUsedAndEndedByHand) { meet(1280, 800); }

TEST_F(RunDesktopTest, ACallIsMadeUsedAndEndedByHandInASmallWindow) { meet(800, 600); }

/// A short clip of a synthetic person.
std::string synthetic_clip(uint64_t seed) {
  constexpr int kPictures = 120;
  media::SyntheticCamera camera{{.width = 640, .height = 360, .seed = seed}};
  const std::filesystem::path path =
      std::filesystem::path{testing::TempDir()} / ("cress-person-" + std::to_string(seed) + ".y4m");
  media::Y4mWriter writer{
      path,
      {.width = camera.width(), .height = camera.height(), .frame_rate = camera.frame_rate()}};
  for (uint64_t i = 0; i < kPictures; ++i) {
    writer.write(*camera.picture(i));
  }
  writer.finish();
  return "file:" + path.string();
}

// docs/images/call.png is made of this test's screenshots/desktop_two_people_1040x640.bmp.
TEST_F(RunDesktopTest, TwoPeopleSeeEachOtherAndTheLinkState) {
  DesktopCallOptions lea = test_listener("Lea");
  lea.camera = synthetic_clip(5);
  Desk other{clock_, lea};
  ASSERT_TRUE(other.is_on(Screen::kWaiting));
  open(1040, 640);
  DesktopCallOptions jo = test_devices("Jo");
  jo.camera = synthetic_clip(9);
  jo.join = link_of(other.view());
  call_ = std::make_unique<DesktopCall>(clock_, jo);
  ASSERT_TRUE(is_on(Screen::kInCall));
  ASSERT_NO_FATAL_FAILURE(focus());
  ASSERT_NO_FATAL_FAILURE(input({"key", "p"}));
  EXPECT_TRUE(sees([](const ui::CallView& view) {
    return view.peer.name == "Lea" && view.remote.picture != nullptr &&
           view.own.picture != nullptr && !view.history.empty() &&
           view.history.newest().at - view.history[0].at > 12s;
  }));
  ASSERT_NO_FATAL_FAILURE(input({"mousemove_relative", "--", "3", "2"}));
  EXPECT_TRUE(run_until([this] { return find("hang-up") != nullptr; }));
  EXPECT_TRUE(run_until([this] {
    const ui::Control* hang_up = find("hang-up");
    return hang_up != nullptr && find("own-picture")->rect.bottom() < hang_up->rect.y;
  })) << "the buttons are on the own picture";
  const ui::Screenshot shot = shoot("two_people");
  EXPECT_GT(ui::count_near(shot, {710, 80, 320, 400},
                           ui::theme_of(ui::ThemeChoice::kDark).forecast_line, 40),
            100)
      << "no graph of the forecast";
  call_.reset();
  window_.reset();
}

/// The tile of a member of that name; null while there is none.
const ui::Control* RunDesktopTest::tile(const std::string& name) const {
  const ui::CallView view = call_->view();
  const ui::Member* member = member_named(view, name);
  return member != nullptr ? find("member-" + std::to_string(member->number)) : nullptr;
}

void RunDesktopTest::use_room(Desk& lea, Desk& kim) {
  for (const std::string name : {"Lea", "Kim"}) {
    ASSERT_TRUE(run_until([&] { return tile(name) != nullptr; })) << name;
    EXPECT_TRUE(moves(tile(name)->rect.inset(8))) << name << "'s picture stands";
  }
  shoot("room");
  ASSERT_NO_FATAL_FAILURE(click("mute"));
  const auto is_muted = [](const ui::CallView& view) {
    const ui::Member* jo = member_named(view, "Jo");
    return jo != nullptr && jo->person.muted;
  };
  EXPECT_TRUE(other_sees(lea, is_muted));
  EXPECT_TRUE(other_sees(kim, is_muted));
  const float in_the_grid = tile("Kim")->rect.width;
  const std::string id = tile("Kim")->id;  // a copy: frames are drawn meanwhile
  ASSERT_NO_FATAL_FAILURE(click(id));
  EXPECT_TRUE(run_until([&] { return tile("Kim")->rect.width > 1.3F * in_the_grid; }));
  EXPECT_LT(tile("Lea")->rect.width, in_the_grid);
  EXPECT_TRUE(moves(tile("Kim")->rect.inset(8))) << "who is pinned stands";
  EXPECT_TRUE(moves(tile("Lea")->rect.inset(8))) << "who is not stands";
  shoot("room_pinned");
  kim.ask(ui::HangUp{});
  EXPECT_TRUE(run_until([&] { return tile("Kim") == nullptr; }));
  EXPECT_TRUE(run_until([&] { return tile("Lea")->rect.width > 0.9F * in_the_grid; }));
  shoot("room_left");
  ASSERT_NO_FATAL_FAILURE(click("hang-up"));
  EXPECT_TRUE(is_on(Screen::kEnded));
  EXPECT_TRUE(other_sees(lea, [](const ui::CallView& view) {
    return view.screen == Screen::kInCall && view.room->others.empty();
  }));
  shoot("room_ended");
}

TEST_F(RunDesktopTest, ARoomIsJoinedUsedAndLeftByHand) {
  const room::RelayHost relay;
  DesktopCallOptions options = test_devices("Lea");
  options.join = relay.link();
  Desk lea{clock_, options};
  options.name = "Kim";
  Desk kim{clock_, options};
  open(1280, 800);
  call_ = std::make_unique<DesktopCall>(clock_, test_devices("Jo"));
  ASSERT_NO_FATAL_FAILURE(focus());
  ASSERT_EQ(SDL_SetClipboardText(relay.link().c_str()), 0);
  ASSERT_NO_FATAL_FAILURE(input({"key", "ctrl+v", "Return"}));
  ASSERT_TRUE(is_on(Screen::kInCall));
  ASSERT_NO_FATAL_FAILURE(use_room(lea, kim));
  call_.reset();
  window_.reset();
}

// docs/images/room.png is made of this test's screenshots/desktop_six_people_1040x640.bmp.
TEST_F(RunDesktopTest, SixPeopleSeeEachOtherInARoom) {
  const room::RelayHost relay;
  std::vector<std::unique_ptr<Desk>> others;
  const std::vector<std::string> names{"Lea", "Kim", "Mo", "Nadia", "Oliver"};
  DesktopCallOptions options = test_devices("Jo");
  options.join = relay.link();
  options.camera = synthetic_clip(9);
  for (const std::string& name : names) {
    DesktopCallOptions other = options;
    other.name = name;
    other.camera = synthetic_clip(10 + others.size());
    others.push_back(std::make_unique<Desk>(clock_, other));
    if (name != "Kim") {
      others.back()->ask(ui::Mute{});
    }
    // As small as these are displayed: a machine that encodes for six has little to spare.
    others.back()->ask(ui::ShowTiles{.pictures = 1, .height = 90});
  }
  others.back()->ask(ui::CameraOff{});
  open(1040, 640);
  call_ = std::make_unique<DesktopCall>(clock_, options);
  call_->handle(ui::Mute{});                                      // only Kim is heard
  ASSERT_NO_FATAL_FAILURE(input({"mousemove", "1690", "1290"}));  // no tip over the picture
  EXPECT_TRUE(sees([&](const ui::CallView& view) {
    const ui::Member* kim = member_named(view, "Kim");
    return kim != nullptr && view.room->speaker == kim->number &&
           std::ranges::all_of(names, [&](const std::string& name) {
             const ui::Member* member = member_named(view, name);
             return member != nullptr && (member->picture.picture || member->person.camera_off);
           });
  }));
  ASSERT_TRUE(run_until([this] { return tile("Kim") != nullptr && tile("Mo") != nullptr; }));
  EXPECT_TRUE(moves(tile("Mo")->rect.inset(8))) << "who is not heard is seen";
  const ui::Screenshot shot = shoot("six_people");
  const ui::Rect kim = tile("Kim")->rect;
  EXPECT_GT(ui::count_near(shot, {kim.x, kim.y + 40, 6, 60},
                           ui::theme_of(ui::ThemeChoice::kDark).accent_text, 24),
            60U)
      << "no frame around who speaks";
  call_.reset();
  window_.reset();
}

/// A person who, once `met`, presses Ctrl+Q until the program has ended.
class Quitter {
 public:
  explicit Quitter(std::function<void()> meet)
      : thread_{[this, meet = std::move(meet)] {
          meet();
          while (!gone_) {
            call({"xdotool", "search", "--onlyvisible", "--name", "^Cress$", "windowfocus", "key",
                  "ctrl+q"});
            std::this_thread::sleep_for(100ms);
          }
        }} {}
  /// The program has ended.
  void join() {
    gone_ = true;
    thread_.join();
  }

 private:
  static void call(const std::vector<std::string>& command) {
    ::waitpid(ui::spawn(command), nullptr, 0);
  }
  std::atomic<bool> gone_ = false;
  std::thread thread_;
};

TEST_F(RunDesktopTest, TheProgramJoinsByItsLinkAndEndsByItsKey) {
  Desk other{clock_, test_listener("Lea")};
  ASSERT_TRUE(other.is_on(Screen::kWaiting));
  DesktopOptions options;
  options.call = test_devices("Jo");
  options.call.join = link_of(other.view());
  options.window = {.width = 640, .height = 480, .scale = 1, .drawing = ui::Drawing::kSoftware};
  bool met = false;
  Quitter quitter{[&] {
    met = other.sees([](const ui::CallView& view) { return view.peer.name == "Jo"; }) &&
          other.sees_moving(&ui::CallView::remote);
  }};
  std::ostringstream out;
  EXPECT_EQ(run_desktop(options, out), 0);
  quitter.join();
  EXPECT_TRUE(met);
  EXPECT_EQ(out.str(), "");
  EXPECT_TRUE(other.is_on(Screen::kEnded));
  EXPECT_TRUE(other.view().ended_reason.starts_with("Jo hung up")) << other.view().ended_reason;
}

TEST_F(RunDesktopTest, AListenersLinkIsPrintedToo) {
  DesktopOptions options;
  options.call = test_listener("Jo");
  options.window = {.width = 640, .height = 480, .scale = 1, .drawing = ui::Drawing::kSoftware};
  Quitter quitter{[] {}};
  std::ostringstream out;
  EXPECT_EQ(run_desktop(options, out), 0);
  quitter.join();
  EXPECT_TRUE(out.str().starts_with("cress://127.0.0.1:")) << out.str();
  EXPECT_TRUE(out.str().ends_with("\n"));
}

TEST_F(RunDesktopTest, MissingDisplayGivesOneLineOfAdvice) {
  const std::string display = SDL_getenv("DISPLAY");
  SDL_setenv("DISPLAY", ":9999", 1);
  std::ostringstream out;
  std::string words;
  try {
    run_desktop({}, out);
  } catch (const std::runtime_error& error) {
    words = error.what();
  }
  SDL_setenv("DISPLAY", display.c_str(), 1);
  EXPECT_NE(words.find("--headless"), words.npos) << words;
  EXPECT_EQ(words.find('\n'), words.npos);
}

}  // namespace
}  // namespace cress::desktop
