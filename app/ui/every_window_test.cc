#include <SDL.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "app/ui/window_fixture_test_tools.hh"

namespace cress::ui {
namespace {

struct Sight {
  std::string name;
  CallView view;
  std::string open{};  ///< a control that is pressed first
};

constexpr size_t kLongName = 64;

/// Long names everywhere, no devices, and all that can lie on top of the video.
void strain(CallView& view) {
  view.self = {.name = std::string(kLongName, 'W'), .muted = true, .camera_off = true};
  view.peer.name = std::string(kLongName, 'W');
  view.cameras = view.microphones = view.speakers = view.screens = {};
  view.own.picture = nullptr;
  view.notices = {{1, Tone::kNote, std::string(19, 'W') + "… shares a screen."},
                  {2, Tone::kWarning, "The camera is gone; plug it in or choose another."}};
  view.status = {"Your uplink is down to 200 kbit/s; sound first.", Tone::kWarning};
}

std::vector<Sight> lobby_sights() {
  std::vector<Sight> sights;
  CallView view = any_view();
  sights.push_back({"start", view});
  strain(view);
  sights.push_back({"start_strained", view});
  view.screen = Screen::kNewRoom;
  view.new_room.name_error = "A name is 1 to 64 of A-Z a-z 0-9 . _ -, and not only dots.";
  view.new_room.relay_error = "Not HOST:PORT, such as relay.example:4747.";
  sights.push_back({"new_room_errors", view});
  view.new_room = {.name = std::string(kLongName, 'W'),
                   .access = "cress-access://kitchen#Jx8mQ0vKZq3uVtYw2aBcDgJx8mQ0vKZq3uVtYw2aBcD"};
  view.link = "cress://relay.example:4747/" + std::string(kLongName, 'W') + "#Jx8mQ0vKZq3uVtYw2a";
  view.link_warning = "Only its own network can reach the relay in this link.";
  sights.push_back({"new_room_made", view});
  view.screen = Screen::kWaiting;
  view.link_warning = "Only its own network can reach the address in this link.";
  sights.push_back({"waiting", view});
  view.screen = Screen::kConnecting;
  sights.push_back({"connecting", view});
  view.screen = Screen::kEnded;
  view.ended_reason = std::string(19, 'W') + "… hung up. The call lasted 12:34.";
  sights.push_back({"ended", view});
  return sights;
}

std::vector<Sight> call_sights(TimePoint now) {
  std::vector<Sight> sights;
  CallView view = call_view(now);
  view.code = "5501 0038 7764";
  view.path = "Through the relay, IPv6";
  view.chat = chat_lines(30);
  sights.push_back({"call", view});
  sights.push_back({"call_devices", view, "devices"});
  CallView asked = view;
  strain(view);
  sights.push_back({"call_strained", view});
  sights.push_back({"call_chat", view, "chat"});
  sights.push_back({"call_panel", view, "panel"});
  asked.newcomer = "1234 5678 9012";
  asked.status = {"Reconnecting for 4 s. The call goes on when the network is back.",
                  Tone::kTrouble};
  sights.push_back({"call_newcomer", asked});
  sights.push_back({"call_newcomer_panel", asked, "panel"});
  view.newcomer = asked.newcomer;
  sights.push_back({"call_newcomer_strained", view});
  return sights;
}

std::vector<Sight> room_sights(TimePoint now) {
  std::vector<Sight> sights;
  const std::array pictures{portrait(320, 180, -1, 120), portrait(320, 180, 1, 120)};
  for (const uint32_t people : {1U, 2U, 12U, 41U}) {
    CallView view = call_view(now);
    view.room = Room{.name = std::string(kLongName, 'w'), .key_code = "0117 5482 1993"};
    view.chat = chat_lines(people > 1 ? 25 : 0);
    for (uint32_t number = 1; number < people; ++number) {
      Member member{.number = number};
      member.person = {.name = number % 2 == 0 ? "Ines" : std::string(kLongName, 'W'),
                       .muted = number % 3 == 2,
                       .camera_off = number % 4 == 3};
      member.picture = {pictures.at(number % 2), now};
      member.key_code = "4821 9930 1175";
      view.room->others.push_back(member);
    }
    view.room->speaker = people > 2 ? 2 : 0;
    const std::string name = "room_" + std::to_string(people);
    sights.push_back({name, view});
    strain(view);
    sights.push_back({name + "_chat", view, "chat"});
    sights.push_back({name + "_panel", view, "panel"});
    view.room->pinned = view.room->large = people > 1 ? 1 : 0;
    sights.push_back({name + "_pinned", view});
  }
  return sights;
}

/// All windows in each size, left as pictures to be looked at. The first size is smaller
/// than a window can be made: there what is needed at any moment must be visible.
class EveryWindowTest : public WindowTest {
 protected:
  void open_at(int width, int height) {
    drawing_ = Drawing::kSoftware;
    open(width, height);
    SDL_SetWindowMinimumSize(sdl_window(), 1, 1);
    SDL_SetWindowSize(sdl_window(), width, height);
    const CallView view = any_view();
    ASSERT_TRUE(run_until(view, [&] {
      const Screenshot shot = window_->screenshot(now_, view);
      return shot.width == width && shot.height == height;
    }));
  }
  void look_at(const Sight& sight, const Rect& area, const std::string& suffix) {
    const std::string name = "every_" + sight.name + suffix;
    run(30ms, sight.view);
    if (!sight.open.empty() && find(sight.open) != nullptr) {
      push_click(find(sight.open)->rect.center());
      settle(sight.view);  // the own picture moves to its place
    }
    shoot(sight.view, name);
    if (area.width >= kWindowWidthMin) {
      expect_usable(window_->controls(), area, name);
    }
    if (sight.view.screen == Screen::kInCall && sight.open != "devices") {
      for (const char* id : {"mute", "hang-up"}) {
        const Control* control = find(id);
        ASSERT_NE(control, nullptr) << name << ": " << id;
        EXPECT_GE(control->rect.x, 0) << name << ": " << id;
        EXPECT_LE(control->rect.right(), area.width) << name << ": " << id;
        EXPECT_LE(control->rect.bottom(), area.height) << name << ": " << id;
      }
    }
    if (!sight.open.empty()) {
      close_what_is_open(sight.view);
    }
  }
  void look_at_all(int width, int height, std::initializer_list<ThemeChoice> themes) {
    open_at(width, height);
    for (const ThemeChoice theme : themes) {
      const std::string suffix = (theme == ThemeChoice::kDark ? "_dark_" : "_light_") +
                                 std::to_string(width) + "x" + std::to_string(height);
      for (auto sights : {lobby_sights(), call_sights(now_), room_sights(now_)}) {
        for (Sight& sight : sights) {
          sight.view.theme = theme;
          if (sight.view.screen == Screen::kInCall) {
            sight.view.connected_at = now_ - 754s;
            sight.view.remote.captured_at = now_;
            if (sight.view.room) {
              for (Member& member : sight.view.room->others) {
                member.picture.captured_at = now_;
              }
            }
          }
          look_at(sight, {0, 0, static_cast<float>(width), static_cast<float>(height)}, suffix);
        }
      }
    }
  }
};

// The themes differ in colours alone, so that each is looked at in one of the larger sizes.
TEST_F(EveryWindowTest, MuteAndHangUpAreVisibleInAWindowThatIsTooSmall) {
  look_at_all(420, 400, {ThemeChoice::kDark});
}
TEST_F(EveryWindowTest, TheSmallestIsWhole) {
  look_at_all(640, 480, {ThemeChoice::kDark, ThemeChoice::kLight});
}
TEST_F(EveryWindowTest, ASmallOneIsWhole) { look_at_all(800, 600, {ThemeChoice::kLight}); }
TEST_F(EveryWindowTest, ALargeOneIsWhole) { look_at_all(1280, 800, {ThemeChoice::kDark}); }

}  // namespace
}  // namespace cress::ui
