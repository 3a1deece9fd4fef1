#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "app/room/room_test_tools.hh"

namespace cress::room {
namespace {

/// What one member wrote, at this one.
std::vector<std::string> lines_of(const Seat& seat, MemberNumber writer) {
  std::vector<std::string> lines;
  for (const RoomEvent& event : seat.events) {
    if (event.kind == RoomEvent::Kind::kChat && event.member == writer) {
      lines.push_back(event.text);
    }
  }
  return lines;
}

TEST(RoomChat, AllMembersReadALineAndTheRelayCannot) {
  SimulatedRoom room;
  std::string relay_sees;
  Seat& ada = room.join({.name = "Ada", .seed = 1});
  Seat& ben = room.join({.name = "Ben", .seed = 2});
  Seat& cem = room.join({.name = "Cem", .seed = 3});
  for (Seat* seat : {&ada, &ben, &cem}) {
    seat->relay_sees = &relay_sees;
  }
  room.run_until(kTimeZero + 2s);
  const std::string line = "meet me at the old harbour, pier seven";
  EXPECT_TRUE(ada.member->send_chat(room.now(), line));
  room.run_until(kTimeZero + 3s);
  EXPECT_EQ(lines_of(ben, ada.number), std::vector<std::string>{line});
  EXPECT_EQ(lines_of(cem, ada.number), std::vector<std::string>{line});
  EXPECT_TRUE(lines_of(ada, ada.number).empty());
  EXPECT_EQ(ada.member->chat_waiting(), 0U);
  ASSERT_GT(relay_sees.size(), 10'000U);
  for (size_t at = 0; at + 8 <= line.size(); ++at) {
    EXPECT_EQ(relay_sees.find(line.substr(at, 8)), std::string::npos) << line.substr(at, 8);
  }
}

TEST(RoomChat, LinesArriveOnceThroughLossAndOutages) {
  SimulatedRoom room;
  Seat& ada = room.join({.name = "Ada", .loss = 0.1, .seed = 1});
  Seat& ben = room.join({.name = "Ben", .loss = 0.1, .seed = 2, .outage = 3s});
  room.run_until(kTimeZero + 8s);
  std::vector<std::string> said;
  for (int i = 0; i < 15; ++i) {
    said.push_back("line " + std::to_string(i));
    EXPECT_TRUE(ada.member->send_chat(room.now(), said.back()));
    room.run_until(room.now() + 1s);
  }
  room.run_until(room.now() + 8s);
  EXPECT_EQ(lines_of(ben, ada.number), said);
}

TEST(RoomChat, LinesOfOneMemberAreReadInTheOrderInWhichItWroteThem) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    SimulatedRoom room;
    Seat& ada = room.join({.name = "Ada", .loss = 0.15, .seed = 2 * seed});
    Seat& ben = room.join({.name = "Ben", .loss = 0.15, .seed = 2 * seed + 1});
    room.run_until(kTimeZero + 8s);
    std::vector<std::string> said;
    for (int i = 0; i < 15; ++i) {
      said.push_back("line " + std::to_string(i));
      EXPECT_TRUE(ada.member->send_chat(room.now(), said.back()));
      room.run_until(room.now() + (i % 5 == 4 ? 4800ms : 50ms));
    }
    room.run_until(room.now() + 4s);
    EXPECT_EQ(lines_of(ben, ada.number), said) << seed;
  }
}

TEST(RoomChat, TheLongestLineFitsALeg) {
  SimulatedRoom room;
  Seat& ada = room.join({.name = "Ada", .seed = 1});
  Seat& ben = room.join({.name = "Ben", .seed = 2});
  room.run_until(kTimeZero + 2s);
  const std::string longest(app::kChatLineMax, 'x');
  EXPECT_TRUE(ada.member->send_chat(room.now(), longest));
  room.run_until(kTimeZero + 3s);
  EXPECT_EQ(lines_of(ben, ada.number), std::vector<std::string>{longest});
}

TEST(RoomChat, ANewcomerReadsWhatComesAndNotWhatWasBefore) {
  SimulatedRoom room;
  Seat& ada = room.join({.name = "Ada", .seed = 1});
  room.join({.name = "Ben", .seed = 2});
  room.run_until(kTimeZero + 2s);
  EXPECT_TRUE(ada.member->send_chat(room.now(), "before"));
  room.run_until(kTimeZero + 3s);
  Seat& cem = room.join({.name = "Cem", .seed = 3});
  room.run_until(kTimeZero + 5s);
  EXPECT_TRUE(ada.member->send_chat(room.now(), "after"));
  room.run_until(kTimeZero + 6s);
  EXPECT_TRUE(lines_of(cem, ada.number).empty()) << "the line before may still come";
  room.run_until(kTimeZero + 8s);
  EXPECT_EQ(lines_of(cem, ada.number), std::vector<std::string>{"after"});
}

TEST(RoomChat, ALineIsRefusedBeforeJoining) {
  RoomMember alone{kTimeZero, {.media = test_media()}, test_control()};
  EXPECT_FALSE(alone.send_chat(kTimeZero, "hello?"));
}

TEST(RoomChat, AMemberThatFloodsIsLimitedAndTheOthersGoOn) {
  SimulatedRoom room;
  Seat& ada = room.join({.name = "Ada", .seed = 1});
  Seat& ben = room.join({.name = "Ben", .seed = 2});
  Seat& cem = room.join({.name = "Cem", .seed = 3});
  room.run_until(kTimeZero + 2s);
  int taken = 0;
  for (int i = 0; i < 500; ++i) {
    taken += ada.member->send_chat(room.now(), "again " + std::to_string(i)) ? 1 : 0;
    room.run_until(room.now() + 20ms);
  }
  EXPECT_LE(taken, 16) << "five, and one a second";
  EXPECT_EQ(lines_of(ben, ada.number).size(), static_cast<size_t>(taken));
  EXPECT_TRUE(cem.member->send_chat(room.now(), "stop it"));
  room.run_until(room.now() + 1s);
  EXPECT_EQ(lines_of(ben, cem.number), std::vector<std::string>{"stop it"});
}

}  // namespace
}  // namespace cress::room
