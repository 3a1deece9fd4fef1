#pragma once

#include <SDL.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "app/ui/window.hh"
#include "app/ui/window_test_tools.hh"
#include "media/frame/picture.hh"

namespace cress::ui {

struct Yuv {
  uint8_t y, u, v;
};

inline void fill_plane(uint8_t* plane, size_t pitch, const std::array<int, 4>& box, uint8_t value) {
  for (auto y = static_cast<size_t>(box[1]); y < static_cast<size_t>(box[3]); ++y) {
    std::fill(plane + y * pitch + static_cast<size_t>(box[0]),
              plane + y * pitch + static_cast<size_t>(box[2]), value);
  }
}

// Left, top, right and bottom are inside the picture and even, or its end.
inline void paint(media::Picture& p, int left, int top, int right, int bottom, Yuv c) {
  const std::array<int, 4> half{left / 2, top / 2, (right + 1) / 2, (bottom + 1) / 2};
  const auto chroma = static_cast<size_t>(p.chroma_width());
  fill_plane(p.y(), static_cast<size_t>(p.width), {left, top, right, bottom}, c.y);
  fill_plane(p.u(), chroma, half, c.u);
  fill_plane(p.v(), chroma, half, c.v);
}

// BT.601 in limited range: red, green, blue at full strength, and white.
inline constexpr Yuv kRed{81, 90, 240};
inline constexpr Yuv kGreen{145, 54, 34};
inline constexpr Yuv kBlue{41, 240, 110};
inline constexpr Yuv kWhite{235, 128, 128};

// Four quarters of known colours.
inline media::PicturePtr quarters(int width, int height) {
  auto picture = std::make_shared<media::Picture>(media::make_picture(width, height));
  paint(*picture, 0, 0, width / 2, height / 2, kRed);
  paint(*picture, width / 2, 0, width, height / 2, kGreen);
  paint(*picture, 0, height / 2, width / 2, height, kBlue);
  paint(*picture, width / 2, height / 2, width, height, kWhite);
  return picture;
}

// A person in front of a wall, for people who inspect the screenshots. `turn` moves the head.
inline media::PicturePtr portrait(int width, int height, double turn, uint8_t tint) {
  auto picture = std::make_shared<media::Picture>(media::make_picture(width, height));
  const double w = width;
  const double h = height;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double dx = x / w - 0.5 - 0.04 * turn;
      const double dy = y / h - 0.40;
      const double sx = x / w - 0.5;
      const double sy = y / h - 1.05;
      Yuv c{static_cast<uint8_t>(70 + 70 * (1 - y / h) + 25 * x / w), tint,
            static_cast<uint8_t>(250 - tint)};
      if (sx * sx / 0.09 + sy * sy / 0.16 < 1) {
        c = {static_cast<uint8_t>(60 + 30 * (0.5 + sx)), 140, 118};
      }
      if (dx * dx * w * w / (h * h) / 0.028 + dy * dy / 0.055 < 1) {
        c = {static_cast<uint8_t>(168 - 90 * dx), 108, 152};
      }
      if (dx * dx * w * w / (h * h) / 0.031 + (dy + 0.09) * (dy + 0.09) / 0.04 < 1 && dy < -0.08) {
        c = {48, 122, 134};
      }
      picture->y()[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)] =
          c.y;
      if (x % 2 == 0 && y % 2 == 0) {
        const size_t at =
            static_cast<size_t>(y / 2) * static_cast<size_t>(picture->chroma_width()) +
            static_cast<size_t>(x / 2);
        picture->u()[at] = c.u;
        picture->v()[at] = c.v;
      }
    }
  }
  return picture;
}

inline constexpr DataRate kilobits(int64_t n) { return DataRate::kilobits_per_second(n); }

inline CallView any_view() {
  CallView view;
  view.self.name = "Jonas";
  view.peer.name = "Anna Lindqvist";
  view.cameras = {
      {{"v0", "Integrated camera"}, {"v1", "Desk camera 1080p"}, {"test", "Test picture"}}, "v0"};
  view.microphones = {{{"m0", "Built-in microphone"}, {"m1", "Headset"}}, "m1"};
  view.speakers = {{{"s0", "Built-in speaker"}, {"s1", "Headset"}}, "s1"};
  view.screens = {{{"x0", "Whole screen"}, {"x1", "Second screen"}}, ""};
  view.link = "cress://203.0.113.7:41641/#Jx8mQ0vKZq3uVtYw2aBcDg";
  view.microphone_dbfs = -18;
  view.speaker_dbfs = -24;
  view.own.picture = portrait(640, 360, -1, 132);
  view.health.peer_name = "Anna";
  return view;
}

inline ChatLines chat_lines(int count) {
  constexpr std::array kSaid{"Can you hear me?", "Yes, but the picture stops now and then.",
                             "I am on the train, between two stations.",
                             "https://example.org/a/long/address/that/does/not/fit/one/line"};
  auto lines = std::make_shared<std::vector<ChatLine>>();
  for (int i = 0; i < count; ++i) {
    ChatLine line{.id = static_cast<uint64_t>(i + 1), .text = kSaid.at(size_t(i) % kSaid.size())};
    line.is_own = i % 3 == 1;
    line.writer = line.is_own ? "" : "Anna Lindqvist";
    lines->push_back(line);
  }
  if (count > 2) {
    lines->back().is_own = true;
    lines->back().state = ChatLine::State::kWaiting;
  }
  return lines;
}

inline CallView call_view(TimePoint now) {
  CallView view = any_view();
  view.screen = Screen::kInCall;
  view.connected_at = now - 754s;
  view.remote = {portrait(1280, 720, 1, 120), now};
  view.health.sent = kilobits(1420);
  view.health.received = kilobits(1630);
  view.health.uplink_forecast = kilobits(1810);
  view.health.downlink_forecast = kilobits(2050);
  view.health.window = DataSize{22'400};
  view.health.one_way_delay = 46ms;
  view.health.frame_delay = 118ms;
  view.health.loss_up = 0.004;
  view.health.loss_down = 0.012;
  view.status = {"The link is good.", Tone::kGood};
  for (int i = 0; i < 600; ++i) {
    const double t = i / 20.0;
    const double dip = std::exp(-(t - 18) * (t - 18) / 6);
    LinkSample s;
    s.at = now - 30s + i * 50ms;
    s.forecast = kilobits(static_cast<int64_t>(1900 + 250 * std::sin(t / 2) - 1500 * dip));
    s.sent = kilobits(static_cast<int64_t>(1500 + 90 * std::sin(t * 3) - 1250 * dip));
    s.window = DataSize{static_cast<int64_t>(22'000 - 17'000 * dip + 1500 * std::sin(t * 5))};
    s.one_way_delay = from_seconds(0.045 + 0.11 * dip + 0.004 * std::sin(t * 7));
    s.frame_delay = from_seconds(0.115 + 0.21 * dip + 0.012 * std::sin(t * 4));
    s.loss = std::max(0.0, 0.07 * dip + 0.004 * std::sin(t * 2));
    view.history.add(s);
  }
  return view;
}

inline const TimePoint kStartOfTests = kTimeZero + 1h;

class WindowTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (is_installed("Xvfb")) {
      display() = std::make_unique<VirtualDisplay>();
    }
  }
  static void TearDownTestSuite() { display().reset(); }
  void SetUp() override {
    if (!display() || !display()->is_up()) {
      GTEST_SKIP() << "no virtual display: install xvfb";
    }
  }
  static std::unique_ptr<VirtualDisplay>& display() {
    static std::unique_ptr<VirtualDisplay> the_display;
    return the_display;
  }

  void open(int width, int height, float scale = 1) {
    window_.reset();
    WindowOptions options;
    options.width = width;
    options.height = height;
    options.scale = scale;
    options.drawing = drawing_;
    window_ = std::make_unique<Window>(options);
    actions_.clear();
  }
  // Runs for `length` of the window's time, 30 frames a second, processing its events, as fast as
  // possible.
  void run(Duration length, const CallView& view) {
    for (const TimePoint end = now_ + length; now_ < end;) {
      now_ += 33ms;
      window_->draw(now_, view);
      collect();
    }
  }
  /// Until what moves has come to its place: only the first and the last moment are drawn.
  void settle(const CallView& view) {
    for (const Duration step : {33ms, 500ms}) {
      now_ += step;
      window_->draw(now_, view);
      collect();
    }
  }
  // Runs until `done` or for 8 s of real time.
  bool run_until(const CallView& view, const std::function<bool()>& done) {
    for (int i = 0; i < 800; ++i) {
      now_ += 10ms;
      window_->draw(now_, view);
      collect();
      if (done()) {
        return true;
      }
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }
  void collect() {
    while (const auto action = window_->poll_action()) {
      actions_.push_back(describe(*action));
      if (const auto* line = std::get_if<SendChat>(&*action)) {
        written_.push_back(line->text);
      }
    }
  }
  Screenshot shoot(const CallView& view, const std::string& name = "") {
    now_ += 20ms;
    Screenshot shot = window_->screenshot(now_, view);
    collect();
    if (!name.empty()) {
      save_bmp(shot, std::filesystem::path(CRESS_BIN) / "screenshots" / (name + ".bmp"));
    }
    return shot;
  }
  const Control* find(const std::string& id) const { return find_control(*window_, id); }

  // A click as an event, without a pointer device.
  /// Closes what a click has opened, by Escape: the first leaves a field that has the keyboard.
  void close_what_is_open(const CallView& view) {
    SDL_Event escape{};
    escape.type = SDL_KEYDOWN;
    escape.key.keysym.sym = SDLK_ESCAPE;
    escape.key.keysym.scancode = SDL_SCANCODE_ESCAPE;
    for (int i = 0; i < 2; ++i) {
      SDL_PushEvent(&escape);
      run(50ms, view);
    }
    actions_.clear();
  }
  static void push_click(Point at) {
    SDL_Event event{};
    for (const uint32_t type : {SDL_MOUSEBUTTONDOWN, SDL_MOUSEBUTTONUP}) {
      event.type = type;
      event.button.button = SDL_BUTTON_LEFT;
      event.button.clicks = 1;
      event.button.x = static_cast<int>(at.x);
      event.button.y = static_cast<int>(at.y);
      SDL_PushEvent(&event);
    }
  }

  // Controls mouse and keyboard. False if the tool for that is not installed.
  bool has_hand() const { return is_installed("xdotool"); }
  void input(std::vector<std::string> words, const CallView& view) {
    words.insert(words.begin(), "xdotool");
    const pid_t pid = spawn(words);
    int status = 0;
    ASSERT_TRUE(run_until(view, [&] { return ::waitpid(pid, &status, WNOHANG) == pid; }))
        << "xdotool hangs";
    ASSERT_EQ(status, 0) << "xdotool " << words[1];
  }
  void focus(const CallView& view) {
    input({"search", "--onlyvisible", "--name", "^Cress$", "windowfocus"}, view);
    ASSERT_TRUE(run_until(view, [] { return SDL_GetKeyboardFocus() != nullptr; }));
  }
  std::array<std::string, 2> place_of(Point p) const {
    return place_on_screen(p, window_->scale());
  }
  void click(const std::string& id, const CallView& view) {
    const Control* control = find(id);
    ASSERT_NE(control, nullptr) << id;
    const auto [x, y] = place_of(control->rect.center());
    input({"mousemove", x, y, "click", "1"}, view);
  }
  /// Clicks the control once it exists, and expects the action.
  void press(const std::string& id, const std::string& action, const CallView& view) {
    run(50ms, view);
    ASSERT_TRUE(run_until(view, [&] { return find(id) != nullptr; })) << id;
    click(id, view);
    EXPECT_TRUE(asked(action, view)) << action;
  }
  bool asked(const std::string& action, const CallView& view) {
    return run_until(view, [&] { return std::ranges::find(actions_, action) != actions_.end(); });
  }

  std::unique_ptr<Window> window_;
  Drawing drawing_ = Drawing::kSoftware;
  TimePoint now_ = kStartOfTests;
  std::vector<std::string> actions_;
  std::vector<std::string> written_;  // lines of chat
};

inline void expect_usable(std::span<const Control> controls, const Rect& area,
                          const std::string& where) {
  bool modal = false;
  for (const Control& control : controls) {
    modal = modal || control.id.starts_with("menu-");
  }
  for (size_t i = 0; i < controls.size(); ++i) {
    const Control& c = controls[i];
    const std::string what = where + ": " + c.id;
    EXPECT_FALSE(c.label.empty()) << what;
    const bool speaks_for_itself = c.kind == Control::Kind::kText || c.id.starts_with("menu-");
    EXPECT_TRUE(speaks_for_itself || !c.tip.empty()) << what;
    EXPECT_GE(c.rect.width, 32) << what;
    EXPECT_TRUE(c.rect.height >= 32 || modal) << what << ": a long list is scrolled";
    EXPECT_GE(c.rect.x, area.x) << what;
    EXPECT_GE(c.rect.y, area.y) << what;
    EXPECT_LE(c.rect.right(), area.right()) << what;
    EXPECT_LE(c.rect.bottom(), area.bottom()) << what;
    for (size_t j = 0; j < i && !modal; ++j) {
      const bool over_picture =
          controls[j].id == "own-picture" ||
          (controls[j].id.starts_with("member-") && c.id.starts_with("notice-"));
      EXPECT_TRUE(!overlap(c.rect, controls[j].rect) || over_picture)
          << what << " lies on " << controls[j].id;
    }
  }
}

// By the graphics card or its software substitute, as on a desktop; leaks of that substitute are
// not checked.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kDrawsAsOnADesktop = false;
#else
inline constexpr bool kDrawsAsOnADesktop = true;
#endif

}  // namespace cress::ui
