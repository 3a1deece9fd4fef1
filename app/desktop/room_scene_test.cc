#include "app/desktop/room_scene.hh"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace cress::desktop {
namespace {

using Kind = room::RoomEvent::Kind;

/// A room as its relay reports it.
class RoomSceneTest : public ::testing::Test {
 protected:
  RoomSceneTest() {
    sample_.number = 1;
    tell({.kind = Kind::kWelcome, .member = 1});
  }
  void tell(const room::RoomEvent& event) { scene_.handle(now_, event, sample_); }
  void join(room::MemberNumber number, const std::string& name, Kind kind = Kind::kPresent) {
    room::LiveRoomMember other;
    other.member.number = number;
    other.member.person.name = name;
    other.member.is_live = true;
    sample_.others.push_back(other);
    tell({.kind = kind, .member = number});
  }
  void leave(room::MemberNumber number, room::LeaveReason reason) {
    std::erase_if(sample_.others,
                  [=](const room::LiveRoomMember& other) { return other.member.number == number; });
    tell({.kind = Kind::kLeft, .member = number, .left = reason});
  }
  void run(Duration length) {
    now_ += length;
    scene_.update(now_, sample_);
  }
  app::PersonState& person(size_t index) { return sample_.others.at(index).member.person; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const ui::Member& member : scene_.room().others) {
      names.push_back(member.person.name);
    }
    return names;
  }
  static ui::ShownPicture picture() {
    return {std::make_shared<media::Picture>(media::make_picture(16, 16)), kTimeZero};
  }
  using Words = std::vector<std::string>;

  TimePoint now_ = kTimeZero + 1h;
  room::LiveRoomSample sample_;
  Words told_;
  RoomScene scene_{"kitchen",
                   [this](ui::Tone, const std::string& words) { told_.push_back(words); }};
};

TEST_F(RoomSceneTest, OnlyJoinsAndLeavesAreNews) {
  join(2, "Ana");
  join(3, "");
  EXPECT_EQ(told_, Words{});
  join(4, "Ben", Kind::kJoined);
  leave(2, room::LeaveReason::kLeft);
  leave(3, room::LeaveReason::kLost);
  leave(4, room::LeaveReason::kKicked);
  EXPECT_EQ(told_, (Words{"Ben joined.", "Ana left.", "The connection to Somebody is lost.",
                          "Ben was removed from the room."}));
  EXPECT_TRUE(scene_.room().others.empty());
}

TEST_F(RoomSceneTest, NewsShortenALongNameAndTheTileDoesNot) {
  const std::string name(64, 'W');
  join(2, name, Kind::kJoined);
  leave(2, room::LeaveReason::kLost);
  const std::string shorter = std::string(19, 'W') + "…";
  EXPECT_EQ(told_, (Words{shorter + " joined.", "The connection to " + shorter + " is lost."}));
  join(3, name);
  EXPECT_EQ(names(), Words{name});
}

TEST_F(RoomSceneTest, UnidentifiedMembersAreShownAsSuch) {
  room::LiveRoomMember ghost;
  ghost.member.number = 9;
  ghost.member.person.name = "Ana";  // so it says
  sample_.others.push_back(ghost);
  run(100ms);
  EXPECT_EQ(names(), Words{"Unidentified"});
  EXPECT_EQ(told_, Words{});
  sample_.others.front().member.is_live = true;
  tell({.kind = Kind::kJoined, .member = 9});
  EXPECT_EQ(names(), Words{"Ana"});
  EXPECT_EQ(told_, Words{"Ana joined."});
}

TEST_F(RoomSceneTest, MemberStateIsShown) {
  join(2, "Ana");
  scene_.show(2, picture());
  person(0).muted = true;
  sample_.others[0].member.level_dbov = -21.4;
  sample_.speaker = 2;
  sample_.room = "Kitchen of all";
  run(200ms);
  const ui::Member& ana = scene_.room().others.at(0);
  EXPECT_TRUE(ana.person.muted);
  EXPECT_EQ(ana.level_dbfs, -21);
  EXPECT_NE(ana.picture.picture, nullptr);
  EXPECT_EQ(scene_.room().speaker, 2U);
  EXPECT_EQ(scene_.room().name, "Kitchen of all");
  person(0).camera_off = true;
  sample_.speaker = 1;
  run(200ms);
  EXPECT_EQ(scene_.room().others.at(0).picture.picture, nullptr)
      << "the last picture before a camera went off must not come back";
  EXPECT_EQ(scene_.room().speaker, 0U);
  EXPECT_TRUE(scene_.room().self_speaks);
}

TEST_F(RoomSceneTest, ASharedScreenIsShownWithTheCameraOffToo) {
  join(2, "Ana");
  scene_.show(2, picture());
  person(0).camera_off = true;
  person(0).shares_screen = true;
  run(200ms);
  EXPECT_NE(scene_.room().others.at(0).picture.picture, nullptr);
}

TEST_F(RoomSceneTest, AMemberInWhoseNameOthersSentIsNamedAndNotShown) {
  join(2, "Ana");
  scene_.show(2, picture());
  sample_.key_code = "1111 2222 3333";
  sample_.others[0].member.key_code = "4444 5555 6666";
  run(200ms);
  EXPECT_EQ(scene_.room().key_code, "1111 2222 3333");
  EXPECT_EQ(scene_.room().others.at(0).key_code, "4444 5555 6666");
  told_.clear();
  sample_.others[0].member.is_distrusted = true;
  tell({.kind = Kind::kDistrusted, .member = 2});
  EXPECT_EQ(told_, Words{"Somebody sent in Ana's name. Ana is no longer shown or played."});
  EXPECT_TRUE(scene_.room().others.at(0).is_distrusted);
  EXPECT_EQ(scene_.room().others.at(0).picture.picture, nullptr);
}

TEST_F(RoomSceneTest, ANameThatReturnsWithAnotherKeyIsSaid) {
  join(2, "Ana");
  told_.clear();
  tell({.kind = Kind::kKeyChanged, .member = 2});
  EXPECT_EQ(told_,
            Words{"Ana is back with another key: ask for the code, it may be somebody else."});
}

TEST_F(RoomSceneTest, PinnedMemberIsLargeOtherwiseAScreenSharer) {
  join(2, "Ana");
  join(3, "Ben");
  EXPECT_EQ(scene_.room().large, 0U);
  person(1).shares_screen = true;
  run(200ms);
  EXPECT_EQ(scene_.room().large, 3U);
  EXPECT_EQ(scene_.room().pinned, 0U);
  EXPECT_EQ(told_, Words{"Ben shares a screen."});
  scene_.pin(2);
  EXPECT_EQ(scene_.room().large, 2U);
  EXPECT_EQ(scene_.first(), 2);
  scene_.pin(7);  // nobody
  EXPECT_EQ(scene_.room().large, 3U);
  scene_.pin(2);
  leave(2, room::LeaveReason::kLeft);
  EXPECT_EQ(scene_.room().pinned, 0U);
  EXPECT_EQ(scene_.room().large, 3U);
}

TEST_F(RoomSceneTest, MembersKeepTheirPlacesAfterARelayOutage) {
  join(2, "Ana");
  join(3, "Ben");
  join(4, "Cem");
  run(5s);
  scene_.show(3, picture());
  scene_.pin(3);
  sample_.others.clear();
  tell({.kind = Kind::kFarewell,
        .farewell = {.reason = room::FarewellReason::kDraining, .again_in = 2s}});
  run(3s);
  EXPECT_EQ(names(), (Words{"Ana", "Ben", "Cem"})) << "nobody goes while the relay is away";
  tell({.kind = Kind::kWelcome, .member = 3});
  EXPECT_EQ(scene_.first(), room::kNobody) << "it does not know Ben yet";
  join(2, "Ben");  // by another number, which was Ana's
  run(1s);
  join(1, "Ana");
  EXPECT_EQ(names(), (Words{"Ana", "Ben", "Cem"}));
  EXPECT_EQ(scene_.first(), 2);
  EXPECT_EQ(scene_.room().pinned, 2U);
  EXPECT_NE(scene_.room().others.at(1).picture.picture, nullptr);
  run(RoomScene::kPlaceKept);
  EXPECT_EQ(names(), (Words{"Ana", "Ben"}));
  EXPECT_EQ(told_, (Words{"The relay is being restarted; you will be back in a moment.",
                          "Back in the room.", "Cem is not back."}));
}

TEST_F(RoomSceneTest, APlaceIsKeptForExactlySixSeconds) {
  join(2, "Ana");
  join(3, "");
  scene_.pin(2);
  sample_.others.clear();
  tell({.kind = Kind::kWelcome, .member = 1});
  EXPECT_EQ(scene_.room().large, RoomScene::kFormer);
  join(4, "");
  EXPECT_EQ(names(), (Words{"Ana", "", ""})) << "nobody is recognized by no name";
  run(RoomScene::kPlaceKept - 1us);
  EXPECT_EQ(names(), (Words{"Ana", "", ""}));
  EXPECT_EQ(scene_.room().pinned, RoomScene::kFormer);
  run(1us);
  EXPECT_EQ(names(), Words{""});
  EXPECT_EQ(scene_.room().others.at(0).number, 4U);
  EXPECT_EQ(scene_.room().pinned, 0U);
  EXPECT_EQ(told_, (Words{"Back in the room.", "Ana is not back.", "Somebody is not back."}));
}

TEST_F(RoomSceneTest, MembersOfOneNameAreTwoAndEachIsThereOnce) {
  join(2, "Ana");
  scene_.show(2, picture());
  join(3, "Ana", Kind::kJoined);
  EXPECT_EQ(names(), (Words{"Ana", "Ana"}));
  scene_.pin(2);
  tell({.kind = Kind::kJoined, .member = 2});  // again, as after each connection
  EXPECT_EQ(names(), (Words{"Ana", "Ana"}));
  EXPECT_EQ(scene_.room().pinned, 2U);
  EXPECT_NE(scene_.room().others.at(0).picture.picture, nullptr);
  EXPECT_EQ(told_, Words{"Ana joined."});
  scene_.show(7, picture());  // nobody
  EXPECT_EQ(scene_.room().others.at(1).picture.picture, nullptr);
  scene_.pin(0);
  EXPECT_EQ(scene_.room().pinned, 0U);
}

TEST_F(RoomSceneTest, OfUnknownMembersOnlyAWarningIsShown) {
  told_.clear();
  leave(7, room::LeaveReason::kLost);
  tell({.kind = Kind::kPresent, .member = 7});
  EXPECT_EQ(told_, Words{});
  tell({.kind = Kind::kKeyChanged, .member = 7});
  tell({.kind = Kind::kDistrusted, .member = 7});
  EXPECT_EQ(told_,
            (Words{"A member is back with another key: ask for the code, it may be somebody else.",
                   "Somebody sent in A member's name. A member is no longer shown or played."}));
  EXPECT_EQ(names(), Words{});
  room::LiveRoomMember early;
  early.member.number = 7;
  early.member.is_live = true;
  sample_.others.push_back(early);
  run(100ms);
  EXPECT_EQ(names(), Words{}) << "the relay's event comes next";
}

TEST_F(RoomSceneTest, OnlyADrainingRelayIsAnnounced) {
  tell({.kind = Kind::kFarewell, .farewell = {.reason = room::FarewellReason::kClosed}});
  EXPECT_EQ(told_, Words{});
}

TEST_F(RoomSceneTest, LevelsAreInStepsOfThreeDecibelsAbove60) {
  join(2, "Ana");
  for (const auto& [level, shown] :
       {std::pair{-58.4, -57.0F}, {-58.6, ui::kSilenceDbfs}, {-1.4, 0.0F}, {-1.6, -3.0F}}) {
    sample_.others[0].member.level_dbov = level;
    run(100ms);
    EXPECT_EQ(scene_.room().others.at(0).level_dbfs, shown) << level;
  }
}

TEST_F(RoomSceneTest, BeforeItsWelcomeTheRoomHasItsLinksName) {
  EXPECT_EQ(scene_.room().name, "kitchen");
  sample_.number = sample_.speaker = room::kNobody;
  sample_.video_rate_max = DataRate::kilobits_per_second(300);
  run(100ms);
  EXPECT_FALSE(scene_.room().self_speaks) << "nobody has no number either";
  EXPECT_EQ(scene_.room().video_wanted, DataRate::kilobits_per_second(300));
  sample_.speaker = 5;
  run(100ms);
  EXPECT_EQ(scene_.room().speaker, 0U) << "not here any more";
}

TEST_F(RoomSceneTest, OfAnUnidentifiedMemberNoCodeIsShown) {
  join(2, "Ana");
  sample_.others[0].member.key_code = "4444 5555 6666";
  person(0).shares_screen = true;
  run(100ms);
  run(100ms);
  EXPECT_EQ(told_, Words{"Ana shares a screen."}) << "once";
  sample_.others[0].member.is_live = false;
  run(100ms);
  EXPECT_EQ(scene_.room().others.at(0).key_code, "");
  EXPECT_EQ(names(), Words{"Unidentified"});
}

TEST_F(RoomSceneTest, RelayOutagesDoNotMixUpMembers) {
  for (room::MemberNumber round = 0; round < 5; ++round) {
    sample_.others.clear();
    tell({.kind = Kind::kWelcome, .member = 9});
    join(static_cast<room::MemberNumber>(2 + round % 2), "Ana");
    if (round % 2 == 0) {
      join(static_cast<room::MemberNumber>(4 + round % 3), "Ben");
    }
    run(1s);
    ASSERT_EQ(names(), (Words{"Ana", "Ben"})) << round;
  }
  run(RoomScene::kPlaceKept);
  EXPECT_EQ(names(), (Words{"Ana", "Ben"}));
}

}  // namespace
}  // namespace cress::desktop
