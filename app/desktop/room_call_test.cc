#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/desktop/desktop_test_tools.hh"
#include "app/room/relay_test_tools.hh"
#include "media/gst/gst_runtime.hh"

namespace cress::desktop {
namespace {

using ui::Screen;

// A relay's default is 350 kbit/s, and it leaves a limit alone that is up to a quarter above what
// it wants: a member asked for 400 kbit/s before is still asked for as much as a thumbnail.
constexpr DataRate kThumbnail = DataRate::bits_per_second(350'000 * 5 / 4);

/// People without a window in a room at a real relay.
class RoomCallTest : public ::testing::Test {
 protected:
  std::unique_ptr<Desk> join(const std::string& name) {
    DesktopCallOptions options = test_devices(name);
    options.join = relay_.link();
    auto desk = std::make_unique<Desk>(clock_, options);
    EXPECT_TRUE(desk->is_on(Screen::kInCall)) << name;
    return desk;
  }
  /// All of them know each other.
  std::vector<std::unique_ptr<Desk>> meet(const std::vector<std::string>& names) {
    std::vector<std::unique_ptr<Desk>> desks;
    for (const std::string& name : names) {
      desks.push_back(join(name));
    }
    for (const auto& desk : desks) {
      EXPECT_TRUE(desk->sees([&](const ui::CallView& view) {
        return view.room && view.room->others.size() + 1 == names.size();
      })) << desk->view().self.name;
    }
    return desks;
  }
  /// What each of them sees of the others, for the message of a failure.
  static std::string describe(std::span<const std::unique_ptr<Desk>> desks) {
    std::string words;
    for (const auto& desk : desks) {
      desk->sees([](const ui::CallView&) { return true; });
      const ui::CallView& view = desk->view();
      words += fmt::format("{}: \"{}\"", view.self.name, view.ended_reason);
      for (const ui::Notice& notice : view.notices) {
        words += fmt::format(" \"{}\"", notice.text);
      }
      if (view.room) {
        const DataRate rate = view.room->video_wanted.value_or(DataRate{});
        words += fmt::format(" is asked for {} bit/s and sees", rate.bits_per_second());
        for (const ui::Member& other : view.room->others) {
          words += fmt::format(" {}{}", other.person.name,
                               other.number == view.room->speaker ? " (speaks)" : "");
        }
      }
      words += "\n";
    }
    return words;
  }
  static bool is_told(const ui::CallView& view, const std::string& words) {
    return std::ranges::any_of(view.notices, [&](const ui::Notice& n) { return n.text == words; });
  }

  const runtime::MonotonicClock clock_;
  const media::GstRuntime gstreamer_;
  room::RelayHost relay_;
};

TEST_F(RoomCallTest, ANewRoomIsMadeHereAndItsLinkIsNotLost) {
  Desk lea{clock_, test_devices("Lea")};
  ASSERT_TRUE(lea.sees_moving(&ui::CallView::own, 2));
  lea.ask(ui::PlanRoom{});
  ASSERT_TRUE(lea.is_on(Screen::kNewRoom));
  lea.ask(ui::MakeRoom{"kit chen", "relay.example:4747"});
  EXPECT_TRUE(lea.sees([](const ui::CallView& v) { return !v.new_room.name_error.empty(); }));
  EXPECT_TRUE(lea.view().new_room.relay_error.empty());
  lea.ask(ui::MakeRoom{"kitchen", "relay.example"});
  EXPECT_TRUE(lea.sees([](const ui::CallView& v) { return !v.new_room.relay_error.empty(); }));
  EXPECT_TRUE(lea.view().new_room.name_error.empty());
  const auto relay = secure::parse_link(relay_.link());
  ASSERT_TRUE(relay);
  lea.ask(ui::MakeRoom{"kitchen", secure::host_and_port(*relay)});
  ASSERT_TRUE(lea.sees([](const ui::CallView& v) { return !v.new_room.access.empty(); }));
  const std::string link = link_of(lea.view());
  const auto made = secure::parse_link(link);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->room, "kitchen");
  const auto half = secure::parse_room_access(lea.view().new_room.access);
  ASSERT_TRUE(half);
  EXPECT_EQ(half->room, "kitchen");
  EXPECT_EQ(lea.view().link_warning, "Only this machine can reach the relay in this link.");
  lea.ask(ui::MakeRoom{"cellar", secure::host_and_port(*relay)});
  EXPECT_TRUE(lea.stays([&](const ui::CallView& v) { return link_of(v) == link; }, 100ms))
      << "there is one already";
  // The relay does not have it yet.
  lea.ask(ui::Join{link});
  EXPECT_TRUE(lea.is_told("does not know this room yet"));
  EXPECT_TRUE(lea.is_on(Screen::kNewRoom));
  EXPECT_EQ(link_of(lea.view()), link);
  EXPECT_TRUE(lea.sees_moving(&ui::CallView::own, 2)) << "the preview is back";
  lea.ask(ui::BackToStart{});
  EXPECT_TRUE(lea.is_on(Screen::kStart));
  EXPECT_EQ(link_of(lea.view()), "");
  EXPECT_EQ(lea.view().new_room, ui::NewRoom{});
}

TEST_F(RoomCallTest, ANewRoomIsLeftForTheCallLikeAnyOther) {
  Desk lea{clock_, test_devices("Lea")};
  lea.ask(ui::PlanRoom{});
  ASSERT_TRUE(lea.is_on(Screen::kNewRoom));
  lea.ask(ui::Join{relay_.link()});
  ASSERT_TRUE(lea.is_on(Screen::kInCall));
  lea.ask(ui::HangUp{});
  EXPECT_TRUE(lea.is_on(Screen::kEnded));
}

TEST_F(RoomCallTest, AllMembersReadWhatOneWrites) {
  const auto desks = meet({"Lea", "Jo", "Kim"});
  for (const std::string name : {"Jo", "Kim"}) {
    EXPECT_TRUE(desks[0]->sees_member_moving(name, 2)) << "they trust each other";
  }
  desks[0]->ask(ui::SendChat{"hello, you two"});
  for (const size_t at : {1U, 2U}) {
    EXPECT_TRUE(desks[at]->sees([](const ui::CallView& v) {
      return v.chat && v.chat->back().writer == "Lea" && v.chat->back().text == "hello, you two";
    }));
  }
  EXPECT_TRUE(desks[0]->sees([](const ui::CallView& v) {
    return v.chat && v.chat->back().is_own && v.chat->back().state == ui::ChatLine::State::kThere;
  }));
}

TEST_F(RoomCallTest, ThreeMembersSeeHearAndTrackEachOther) {
  const auto desks = meet({"Lea", "Jo", "Kim"});
  Desk& lea = *desks[0];
  Desk& jo = *desks[1];
  Desk& kim = *desks[2];
  for (const auto& desk : desks) {
    for (const std::string name : {"Lea", "Jo", "Kim"}) {
      EXPECT_TRUE(desk->view().self.name == name ? desk->sees_moving(&ui::CallView::own)
                                                 : desk->sees_member_moving(name))
          << name << " at " << desk->view().self.name;
    }
    EXPECT_TRUE(desk->sees([](const ui::CallView& v) { return v.history.size() > 5; }));
    EXPECT_TRUE(desk->sees([](const ui::CallView& v) { return v.speaker_dbfs > -60; }));
    EXPECT_EQ(desk->view().room->name, "lab");
    EXPECT_EQ(link_of(desk->view()), relay_.link());
    EXPECT_TRUE(desk->view().connected_at);
  }
  jo.ask(ui::Mute{});
  kim.ask(ui::Mute{});
  const auto is_muted = [](const ui::Member& member) { return member.person.muted; };
  EXPECT_TRUE(lea.sees_member("Jo", is_muted));
  EXPECT_TRUE(lea.sees([](const ui::CallView& v) { return v.room->self_speaks; }));
  EXPECT_TRUE(jo.sees([](const ui::CallView& v) {
    const ui::Member* speaks = member_named(v, "Lea");
    return v.room->speaker == speaks->number && speaks->level_dbfs > -60;
  }));
  jo.ask(ui::TalkPressed{});
  EXPECT_TRUE(lea.sees_member("Jo", [](const ui::Member& m) { return !m.person.muted; }));
  jo.ask(ui::TalkReleased{});
  EXPECT_TRUE(lea.sees_member("Jo", is_muted));
  kim.ask(ui::CameraOff{});
  EXPECT_TRUE(jo.sees_member(
      "Kim", [](const ui::Member& m) { return m.person.camera_off && !m.picture.picture; }));
  EXPECT_TRUE(jo.sees_member_moving("Lea"));
  kim.ask(ui::CameraOn{});
  EXPECT_TRUE(jo.sees_member_moving("Kim"));
  kim.ask(ui::ChooseName{"Kimberley"});
  EXPECT_TRUE(jo.sees_member("Kimberley"));
}

TEST_F(RoomCallTest, JoinsAndLeavesAreReportedAndTheOthersContinue) {
  const auto desks = meet({"Lea", "Jo"});
  Desk& lea = *desks[0];
  EXPECT_TRUE(desks[1]->view().notices.empty()) << "who was here before is no news";
  auto kim = join("Kim");
  EXPECT_TRUE(lea.sees([](const ui::CallView& v) { return is_told(v, "Kim joined."); }));
  EXPECT_TRUE(lea.sees_member_moving("Kim"));
  kim->ask(ui::HangUp{});
  EXPECT_TRUE(kim->is_on(Screen::kEnded));
  EXPECT_TRUE(kim->view().ended_reason.starts_with("You hung up. You were there for 0:"))
      << kim->view().ended_reason;
  ASSERT_TRUE(kim->view().room) << "a room is left otherwise than a call ends";
  EXPECT_TRUE(kim->view().room->others.empty());
  EXPECT_TRUE(lea.sees(
      [](const ui::CallView& v) { return is_told(v, "Kim left.") && v.room->others.size() == 1; }));
  EXPECT_TRUE(lea.sees_member_moving("Jo"));
  kim->ask(ui::BackToStart{});
  EXPECT_TRUE(kim->is_on(Screen::kStart));
  EXPECT_FALSE(kim->view().room);
  kim->ask(ui::Join{relay_.link()});  // as pasted on the first screen
  EXPECT_TRUE(kim->is_on(Screen::kInCall));
  EXPECT_TRUE(kim->sees_member_moving("Jo"));
}

TEST_F(RoomCallTest, APinIsWhatTheRelaySendsFirst) {
  const auto desks = meet({"Lea", "Jo", "Kim", "Mo"});
  Desk& lea = *desks[0];
  Desk& jo = *desks[1];
  for (const auto& desk : desks) {
    // Only Lea's window is large enough for more than thumbnails.
    desk->ask(ui::ShowTiles{.pictures = 3, .height = desk.get() == &lea ? 720U : 90U});
    if (desk.get() != desks[2].get()) {
      desk->ask(ui::Mute{});
    }
  }
  const auto wanted = [](bool is_large) {
    return [is_large](const ui::CallView& view) {
      const DataRate rate = view.room->video_wanted.value_or(DataRate{});
      return is_large ? rate > kThumbnail : rate > DataRate{} && rate <= kThumbnail;
    };
  };
  EXPECT_TRUE(desks[2]->sees(wanted(true))) << "Kim speaks";
  EXPECT_TRUE(jo.sees(wanted(false))) << describe(desks);
  ASSERT_TRUE(lea.sees_member("Jo"));
  const uint32_t number = member_named(lea.view(), "Jo")->number;
  lea.ask(ui::Pin{number});
  EXPECT_TRUE(lea.sees([=](const ui::CallView& view) {
    return view.room->pinned == number && view.room->large == number;
  }));
  EXPECT_TRUE(jo.sees(wanted(true))) << describe(desks);
  lea.ask(ui::Unpin{});
  EXPECT_TRUE(lea.sees([](const ui::CallView& view) { return view.room->large == 0; }));
  EXPECT_TRUE(jo.sees(wanted(false))) << describe(desks);
}

TEST_F(RoomCallTest, ALineThatWasLostWithTheRelayIsMarkedNotSent) {
  const auto desks = meet({"Lea", "Jo"});
  relay_.restart();
  desks[0]->ask(ui::SendChat{"lost"});
  EXPECT_TRUE(desks[0]->sees([](const ui::CallView& v) {
    return v.chat && v.chat->back().state == ui::ChatLine::State::kFailed;
  }));
  EXPECT_TRUE(desks[0]->sees_member_moving("Jo"));
  EXPECT_TRUE(desks[1]->sees_member_moving("Lea"));
  desks[0]->ask(ui::SendChat{"here again"});
  EXPECT_TRUE(desks[1]->sees([](const ui::CallView& v) {
    return v.chat && v.chat->size() == 1 && v.chat->back().text == "here again";
  }));
}

TEST_F(RoomCallTest, RelayRestartIsReportedAndMembersKeepTheirPlaces) {
  const auto desks = meet({"Lea", "Jo"});
  Desk& lea = *desks[0];
  EXPECT_TRUE(lea.sees_member_moving("Jo"));
  relay_.change([](TimePoint now, relay::Room& room) {
    room.close(now, {.reason = room::FarewellReason::kDraining, .again_in = 1s});
  });
  EXPECT_TRUE(lea.sees([](const ui::CallView& v) {
    return is_told(v, "The relay is being restarted; you will be back in a moment.");
  }));
  relay_.restart();
  bool was_alone = false;
  EXPECT_TRUE(lea.sees([&](const ui::CallView& view) {
    was_alone = was_alone || view.room->others.empty();
    return is_told(view, "Back in the room.");
  }));
  EXPECT_TRUE(lea.sees_member_moving("Jo"));
  EXPECT_FALSE(was_alone);
  EXPECT_EQ(lea.view().screen, Screen::kInCall);
  // Without a close message.
  relay_.restart();
  EXPECT_TRUE(lea.sees_member_moving("Jo", 30));
}

TEST_F(RoomCallTest, ClosedRoomEndsWithAReadableMessage) {
  const auto desks = meet({"Lea"});
  EXPECT_EQ(desks[0]->view().status.text.find("uplink"), std::string::npos)
      << "nobody looks: " << desks[0]->view().status.text;
  relay_.change([](TimePoint now, relay::Room& room) {
    room.close(now, {.reason = room::FarewellReason::kClosed});
  });
  EXPECT_TRUE(desks[0]->is_on(Screen::kEnded));
  EXPECT_TRUE(desks[0]->view().ended_reason.starts_with("The room was closed."))
      << desks[0]->view().ended_reason;
}

TEST_F(RoomCallTest, WrongSecretEndsWithAReadableMessage) {
  DesktopCallOptions options = test_devices("Mallory");
  options.join = relay_.link(secure::make_secret());
  Desk mallory{clock_, options};
  EXPECT_TRUE(mallory.is_on(Screen::kEnded));
  EXPECT_NE(mallory.view().ended_reason.find("ask for its present link"), std::string::npos)
      << mallory.view().ended_reason;
}

}  // namespace
}  // namespace cress::desktop
