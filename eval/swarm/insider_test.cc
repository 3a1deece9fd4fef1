#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "app/room/room_member.hh"
#include "eval/swarm/insider_world_test_tools.hh"
#include "eval/swarm/person.hh"
#include "eval/swarm/room_insider_test_tools.hh"
#include "relay/daemon/relay_machine.hh"

namespace cress::swarm {
namespace {

// Without this the fuzzers might pass because nothing that the insider seals gets anywhere.
TEST(RoomInsider, WhatItSealsOpensAndIsDisplayed) {
  const std::vector<std::byte> secret(16, std::byte{42});
  const secure::RoomSecrets secrets = secure::derive_room(secret);
  sim::World world;
  const auto link = wide_link();
  world.connect_all(*link);
  relay::RelayMachine relay{kTimeZero, {}};
  relay.open({.name = "lab", .access = secrets.access});
  RoomInsider insider{kTimeZero, secrets, insider_address(0)};
  room::SecureRoomOptions options;
  options.secret = secret;
  options.relay = insider_address(0);
  Person ada{kTimeZero, "Ada", std::move(options), 1};
  world.add(relay, {.address = insider_address(0)});
  const auto at = world.add(insider, {.address = insider_address(1)});
  world.add(ada, {.address = insider_address(2)});
  world.run_for(2s);
  ASSERT_NE(insider.number(), room::kNobody);
  insider.send_picture(world.now());
  world.drain(at);
  world.run_for(500ms);
  ASSERT_NE(ada.member(), nullptr);
  const auto others = ada.member()->others();
  ASSERT_EQ(others.size(), 1U);
  EXPECT_TRUE(others.front().is_live);
  EXPECT_EQ(others.front().person.name, "Mal");
  EXPECT_EQ(others.front().frames_shown, 1U);
}

}  // namespace
}  // namespace cress::swarm
