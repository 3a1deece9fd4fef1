#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "app/ui/screens/tiles.hh"
#include "app/ui/window_fixture_test_tools.hh"

namespace cress::ui {
namespace {

constexpr std::array kNames{
    "Ben",   "Cem",    "Dora", "Emil", "Fatima", "Gertrude-Maria von Hohenfels",
    "Hugo",  "Ines",   "Jo",   "Kim",  "Lea",    "Mo",
    "Nadia", "Oliver", "Pia"};

/// This many people in a room, including oneself.
CallView room_view(TimePoint now, size_t people) {
  CallView view = call_view(now);
  view.peer = {};
  view.remote = {};
  view.room = Room{.name = "kitchen"};
  for (size_t i = 0; i + 1 < people; ++i) {
    Member member{.number = static_cast<uint32_t>(i + 1)};
    member.person = {.name = kNames.at(i % kNames.size()), .muted = i % 3 == 2};
    const bool upright = i % 5 == 3;
    member.picture = {portrait(upright ? 240 : 320, upright ? 320 : 180, i % 2 == 0 ? 1 : -1,
                               static_cast<uint8_t>(118 + 5 * (i % 4))),
                      now};
    member.person.camera_off = i % 7 == 5;
    member.level_dbfs = i == 1 ? -18.0F : kSilenceDbfs;
    view.room->others.push_back(member);
  }
  view.room->speaker = people > 2 ? 2 : 0;
  return view;
}

class RoomWindowTest : public WindowTest {
 protected:
  Rect tile(uint32_t number) const {
    const Control* control = find("member-" + std::to_string(number));
    return control != nullptr ? control->rect : Rect{};
  }
};

TEST_F(RoomWindowTest, EachSizeOfRoomIsWholeAtEachSizeOfWindow) {
  drawing_ = kDrawsAsOnADesktop ? Drawing::kGraphicsCard : Drawing::kSoftware;
  for (const auto& [width, height] : {std::pair{1280, 800}, {800, 600}, {640, 480}}) {
    open(width, height);
    for (const size_t people : {1, 2, 3, 4, 6, 9, 16, 41}) {
      for (const bool pinned : {false, true}) {
        if (pinned && people == 1) {
          continue;
        }
        CallView view = room_view(now_, people);
        view.room->pinned = view.room->large = pinned ? 1 : 0;
        run(100ms, view);
        const std::string name = "room_" + std::to_string(people) + (pinned ? "_pinned_" : "_") +
                                 std::to_string(width) + "x" + std::to_string(height);
        shoot(view, name);
        expect_usable(window_->controls(),
                      {0, 0, static_cast<float>(width), static_cast<float>(height)}, name);
        const bool all_shown = !pinned || people <= 9;
        for (uint32_t number = 1; number < people && all_shown; ++number) {
          EXPECT_GT(tile(number).width, 0) << name << ": " << number;
        }
        EXPECT_NE(find("hang-up"), nullptr) << name;
      }
    }
  }
}

TEST_F(RoomWindowTest, ChatAndPanelLeaveEverybodyInSight) {
  for (const auto& [width, height] : {std::pair{1280, 800}, {800, 600}, {640, 480}}) {
    open(width, height);
    for (const size_t people : {1, 2, 12, 41}) {
      for (const std::string side : {"chat", "panel"}) {
        CallView view = room_view(now_, people);
        view.theme = side == "chat" ? ThemeChoice::kDark : ThemeChoice::kLight;
        view.room->name = std::string(64, 'w');
        view.chat = chat_lines(people > 1 ? 25 : 0);
        view.status = {"Your uplink is down to 200 kbit/s; sound first.", Tone::kWarning};
        view.notices = {{1, Tone::kNote, std::string(64, 'W') + " shares a screen."}};
        for (Member& member : view.room->others) {
          member.person.name = std::string(64, 'W');
          member.key_code = "4821 9930 1175";
        }
        view.cameras = view.microphones = view.speakers = view.screens = {};
        view.self = {.name = std::string(64, 'W'), .muted = true, .camera_off = true};
        run(100ms, view);
        push_click(find(side)->rect.center());
        settle(view);
        const std::string name = "room_" + side + "_" + std::to_string(people) + "_" +
                                 std::to_string(width) + "x" + std::to_string(height);
        shoot(view, name);
        expect_usable(window_->controls(),
                      {0, 0, static_cast<float>(width), static_cast<float>(height)}, name);
        const bool all_shown = people <= 12 || width > 640;
        for (uint32_t number = 1; number < people && all_shown; ++number) {
          EXPECT_GT(tile(number).width, 0) << name << ": " << number;
        }
        EXPECT_TRUE(people < 3 || tile(2).width > 0) << name << ": who speaks";
        EXPECT_NE(find("hang-up"), nullptr) << name;
        EXPECT_NE(find("mute"), nullptr) << name;
        push_click(find(side == "chat" ? "chat-close" : "panel-close")->rect.center());
        settle(view);
      }
    }
  }
}

TEST_F(RoomWindowTest, EachMembersOwnPictureIsInTheirTile) {
  open(1280, 800);
  CallView view = room_view(now_, 4);
  for (size_t i = 0; i < 3; ++i) {
    auto picture = std::make_shared<media::Picture>(media::make_picture(320, 180));
    paint(*picture, 0, 0, 320, 180, std::array{kRed, kGreen, kBlue}.at(i));
    view.room->others[i].picture = {picture, now_};
    view.room->others[i].person.camera_off = false;
  }
  run(100ms, view);
  const Screenshot shot = shoot(view, "room_colours");
  const std::array colours{rgb(0xff0000), rgb(0x00ff01), rgb(0x0000ff)};
  for (uint32_t number = 1; number <= 3; ++number) {
    const Point middle = tile(number).center();
    EXPECT_TRUE(is_near(pixel(shot, middle.x, middle.y), colours.at(number - 1))) << number;
  }
}

TEST_F(RoomWindowTest, ALargePictureIsDrawnWholeByEachRenderer) {
  for (const Drawing drawing : {Drawing::kSoftware, Drawing::kGraphicsCard}) {
    drawing_ = drawing;
    open(1280, 800);
    CallView view = room_view(now_, 2);
    view.room->pinned = view.room->large = 1;
    view.room->others[0].picture = {quarters(1280, 720), now_};
    view.room->others[0].person.camera_off = false;
    run(200ms, view);
    const Screenshot shot = shoot(view, "room_large_picture");
    const Rect at = tile(1);
    ASSERT_GT(at.width, 800);
    const auto color_at = [&](float across, float down) {
      const auto x = static_cast<size_t>(at.x + across * at.width);
      const auto y = static_cast<size_t>(at.y + down * at.height);
      const uint8_t* p = &shot.rgba[4 * (y * static_cast<size_t>(shot.width) + x)];
      return std::array<bool, 3>{p[0] > 128, p[1] > 128, p[2] > 128};
    };
    using Rgb = std::array<bool, 3>;
    for (const float x : {0.02F, 0.1F, 0.2F, 0.3F, 0.45F}) {
      for (const float y : {0.02F, 0.2F, 0.3F, 0.45F}) {
        EXPECT_EQ(color_at(x, y), (Rgb{true, false, false})) << x << " " << y;
        EXPECT_EQ(color_at(x, y / 2 + 0.51F), (Rgb{false, false, true})) << x << " " << y;
        EXPECT_EQ(color_at(x + 0.51F, y), (Rgb{false, true, false})) << x << " " << y;
      }
    }
  }
}

TEST_F(RoomWindowTest, SpeakerHasAFrame) {
  open(1280, 800);
  CallView view = room_view(now_, 4);
  const Color frame = theme_of(ThemeChoice::kDark).accent_text;
  // Along a tile's left edge.
  const auto framed = [&](const Screenshot& shot, uint32_t number) {
    const Rect at = tile(number);
    return count_near(shot, {at.x, at.center().y - 40, 6, 80}, frame, 24) > 80;
  };
  for (const uint32_t speaker : {1U, 3U, 0U}) {
    view.room->speaker = speaker;
    run(50ms, view);
    const Screenshot shot = shoot(view);
    for (uint32_t number = 1; number <= 3; ++number) {
      EXPECT_EQ(framed(shot, number), number == speaker) << number << " while " << speaker;
    }
  }
}

TEST_F(RoomWindowTest, PinnedMemberIsLargeAndTheOthersStayVisible) {
  open(1280, 800);
  CallView view = room_view(now_, 6);
  run(100ms, view);
  const float in_the_grid = tile(2).width;
  EXPECT_EQ(tile(1).width, in_the_grid);
  view.room->pinned = view.room->large = 2;
  run(100ms, view);
  EXPECT_GT(tile(2).width, 2 * in_the_grid);
  for (const uint32_t number : {1U, 3U, 4U, 5U}) {
    EXPECT_GT(tile(number).width, kStripTileMin) << number;
    EXPECT_LT(tile(number).width, in_the_grid) << number;
  }
  // In a room that is too large for its strip, the speaker is visible in any case.
  open(640, 480);
  view = room_view(now_, 41);
  view.room->pinned = view.room->large = 2;
  view.room->speaker = 39;
  run(100ms, view);
  EXPECT_EQ(find("member-38"), nullptr);
  EXPECT_NE(find("member-39"), nullptr);
}

TEST_F(RoomWindowTest, VisibleTilesAreReportedOncePerLayout) {
  open(1280, 800);
  CallView view = room_view(now_, 3);
  run(100ms, view);
  const auto height = [&](uint32_t number) {
    return std::to_string(std::lround(tile(number).height));
  };
  EXPECT_EQ(actions_, std::vector<std::string>{"show 2 pictures of " + height(1)});
  run(1s, view);
  view.room->speaker = 1;
  run(1s, view);
  EXPECT_EQ(actions_.size(), 1U) << "nothing has another size";
  view.room->pinned = view.room->large = 1;
  run(100ms, view);
  ASSERT_EQ(actions_.size(), 2U);
  EXPECT_EQ(actions_[1], "show 2 pictures of " + height(1));
  EXPECT_NE(actions_[1], actions_[0]);
}

TEST_F(RoomWindowTest, ComingAndGoingLeavesNothingBehind) {
  open(800, 600);
  // The pointer rests on a tile, whose tip is displayed; then its member leaves.
  CallView view = room_view(now_, 3);
  run(100ms, view);
  SDL_Event move{};
  move.type = SDL_MOUSEMOTION;
  move.motion.x = static_cast<int>(tile(1).center().x);
  move.motion.y = static_cast<int>(tile(1).center().y);
  SDL_PushEvent(&move);
  run(1s, view);
  view.room->others.clear();
  view.room->speaker = 0;
  run(100ms, view);
  const Screenshot alone = shoot(view, "room_left");
  move.motion.x = 2;
  move.motion.y = 2;
  SDL_PushEvent(&move);
  run(1s, view);
  EXPECT_EQ(count_different(alone, shoot(view), {0, 0, 800, 480}), 0U);
  EXPECT_EQ(find("member-1"), nullptr);
  EXPECT_NE(find("copy"), nullptr) << "who is alone can copy the link";
}

TEST_F(RoomWindowTest, MouseAndKeysPinUnpinAndLeave) {
  if (!has_hand()) {
    GTEST_SKIP() << "no xdotool to click with";
  }
  open(1280, 800);
  CallView view = room_view(now_, 4);
  run(5s, view);
  actions_.clear();  // what the layout reported
  ASSERT_NE(find("mute"), nullptr) << "a room's buttons stay";
  press("mute", "mute", view);
  press("member-2", "pin 2", view);
  view.room->pinned = view.room->large = 2;
  run(100ms, view);
  press("member-2", "unpin", view);
  view.room->pinned = view.room->large = 0;
  focus(view);
  // By keyboard, from the last clicked member to the next.
  input({"key", "Tab", "Return"}, view);
  EXPECT_TRUE(asked("pin 3", view));
  press("hang-up", "hang up", view);
  std::erase_if(actions_, [](const std::string& action) { return action.starts_with("show "); });
  EXPECT_EQ(actions_, (std::vector<std::string>{"mute", "pin 2", "unpin", "pin 3", "hang up"}));
}

TEST_F(RoomWindowTest, FullScreenVideoUsesTheButtonsArea) {
  open(1280, 800);
  CallView view = room_view(now_, 4);
  run(100ms, view);
  const float beside_buttons = tile(1).height;
  view.full_screen = true;
  run(4s, view);
  EXPECT_EQ(find("mute"), nullptr) << "gone when nobody moves";
  EXPECT_GT(tile(1).height, beside_buttons);
}

}  // namespace
}  // namespace cress::ui
