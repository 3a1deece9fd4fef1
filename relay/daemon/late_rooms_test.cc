#include "relay/daemon/late_rooms.hh"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "transport/secure/handshake/credential.hh"

namespace cress::relay {
namespace {

StoredRoom room_of(const std::string& name, uint8_t fill) {
  StoredRoom room;
  room.door.name = name;
  room.door.access = secure::derive_room(std::vector<std::byte>(16, std::byte{fill})).access;
  return room;
}

TEST(LateRooms, TheFileIsReadAgainAfterTenthsOfASecondIfItChanged) {
  const std::string file = ::testing::TempDir() + "late_rooms.db";
  ::unlink(file.c_str());
  RoomStore store{file};
  ASSERT_TRUE(store.create(room_of("kitchen", 1)));
  TimePoint now = kTimeZero + 1h;
  LateRooms late{file, [&now] { return now; }};
  const auto credential_of = [](const StoredRoom& room) {
    return secure::room_credential(room.door.access);
  };
  const auto kitchen = credential_of(room_of("kitchen", 1));
  const auto garden = credential_of(room_of("garden", 2));

  EXPECT_EQ(late.look_up(kitchen.identity), kitchen.psk);
  EXPECT_EQ(late.look_up(garden.identity), std::nullopt);
  auto found = late.take();
  ASSERT_TRUE(found);
  ASSERT_EQ(found->rooms.size(), 1U);
  EXPECT_EQ(found->rooms[0].door.name, "kitchen");
  EXPECT_FALSE(late.take()) << "once";

  ASSERT_TRUE(store.create(room_of("garden", 2)));
  now += LateRooms::kReadInterval - Duration{1};
  EXPECT_EQ(late.look_up(garden.identity), std::nullopt) << "anybody can ask: not every time";
  now += Duration{1};
  EXPECT_EQ(late.look_up(garden.identity), garden.psk);
  EXPECT_EQ(late.take()->rooms.size(), 2U);
  now += 1s;
  EXPECT_EQ(late.look_up(garden.identity), garden.psk);
  EXPECT_FALSE(late.take()) << "nothing has changed";

  ASSERT_TRUE(store.remove("kitchen"));
  now += 1s;
  EXPECT_EQ(late.look_up(kitchen.identity), std::nullopt) << "closed";
  EXPECT_EQ(late.look_up(garden.identity), garden.psk);
  EXPECT_EQ(late.take()->rooms.size(), 1U);
}

TEST(LateRooms, AFileThatCannotBeReadIsReported) {
  LateRooms late{"/no/such/folder/rooms.db", [] { return kTimeZero + 1s; }};
  EXPECT_EQ(late.look_up("0123456789abcdef"), std::nullopt);
  const auto found = late.take();
  ASSERT_TRUE(found);
  EXPECT_NE(found->error.find("/no/such/folder"), std::string::npos) << found->error;
}

}  // namespace
}  // namespace cress::relay
