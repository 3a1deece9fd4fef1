#include "app/room/new_room.hh"

#include <gtest/gtest.h>

#include <string>

#include "transport/secure/handshake/credential.hh"

namespace cress::room {
namespace {

TEST(NewRoom, EachHasASecretThatTheRelaysHalfDoesNotHold) {
  const auto one = new_room("kitchen", "relay.example:4747");
  const auto two = new_room("kitchen", "relay.example:4747");
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->room, "kitchen");
  EXPECT_EQ(secure::host_and_port(*one), "relay.example:4747");
  EXPECT_NE(one->secret, two->secret);
  const auto half = secure::parse_room_access(relays_half(*one));
  ASSERT_TRUE(half);
  EXPECT_EQ(half->room, "kitchen");
  EXPECT_EQ(half->key, secure::derive_room(one->secret).access);
  const std::string link = secure::format_link(*one);
  const std::string secret = link.substr(link.find('#') + 1);
  EXPECT_EQ(relays_half(*one).find(secret), std::string::npos);
}

TEST(NewRoom, ABadNameAndABadRelayAreNamed) {
  EXPECT_EQ(new_room("kit chen", "relay.example:4747").error(), NewRoomError::kBadName);
  EXPECT_EQ(new_room("", "").error(), NewRoomError::kBadName);
  for (const char* relay : {"", "relay.example", "relay.example:0", "cress://relay.example:4747"}) {
    EXPECT_EQ(new_room("kitchen", relay).error(), NewRoomError::kBadRelay) << relay;
  }
}

}  // namespace
}  // namespace cress::room
