#include "relay/daemon/relay_machine.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <queue>
#include <set>

#include "relay/daemon/caller_test_tools.hh"

namespace cress::relay {
namespace {

constexpr Duration kOneWay = 10ms;

/// A relay and its callers on a perfect network in virtual time.
class RelayWorld {
 public:
  explicit RelayWorld(RelayMachineOptions options = {}) : relay(kTimeZero, std::move(options)) {}

  Caller& call(const secure::Secret& access, bool speaks = false) {
    callers.push_back(std::make_unique<Caller>(now, next_++, access, speaks));
    return *callers.back();
  }
  void run_for(Duration duration) {
    const TimePoint end = now + duration;
    began_ = now;
    for (;;) {
      drain();
      TimePoint next =
          std::min(end, waiting_.empty() ? relay.poll_timeout() : waiting_.front().at + gather);
      for (const auto& caller : callers) {
        next = std::min(next, caller->poll_timeout());
      }
      if (!flying_.empty()) {
        next = std::min(next, flying_.front().at);
      }
      if (next >= end) {
        now = end;
        return;
      }
      now = std::max(now, next);
      step();
    }
  }

  TimePoint now = kTimeZero;
  Duration gather{};  // the relay's driver hands over at once what came in such a time
  RelayMachine relay;
  std::vector<std::unique_ptr<Caller>> callers;

 private:
  struct Flying {
    TimePoint at{};
    Address from;
    Transmit datagram;
  };

  void step() {
    while (!flying_.empty() && flying_.front().at <= now) {
      const Flying flying = std::move(flying_.front());
      flying_.pop_front();
      if (flying.datagram.to == address_of(0)) {
        waiting_.push_back(flying);
      }
      for (const auto& caller : callers) {
        if (caller->address == flying.datagram.to) {
          caller->connection.handle_datagram(now, flying.from, flying.datagram.bytes);
          caller->drain(now);
        }
      }
    }
    if (!waiting_.empty() && waiting_.front().at + gather <= now) {
      for (const Flying& flying : std::exchange(waiting_, {})) {
        relay.handle_datagram(std::max(flying.at, began_), flying.from, flying.datagram.bytes);
      }
    }
    if (waiting_.empty() && relay.poll_timeout() <= now) {
      relay.handle_timeout(now);
    }
    for (const auto& caller : callers) {
      if (caller->poll_timeout() <= now) {
        caller->handle_timeout(now);
      }
    }
  }
  void drain() {
    while (waiting_.empty()) {
      auto transmit = relay.poll_transmit(now);
      if (!transmit) {
        break;
      }
      flying_.push_back({now + kOneWay, address_of(0), *std::move(transmit)});
    }
    for (const auto& caller : callers) {
      while (auto transmit = caller->poll_transmit(now)) {
        flying_.push_back({now + kOneWay, caller->address, *std::move(transmit)});
      }
    }
  }

  uint32_t next_ = 1;
  TimePoint began_ = kTimeZero;
  std::deque<Flying> flying_;    // all take equally long: in order
  std::vector<Flying> waiting_;  // at the relay
};

TEST(RelayMachine, MembersSeeThoseOfTheirRoomAndNobodyElse) {
  RelayWorld world;
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1)}));
  ASSERT_TRUE(world.relay.open({.name = "garden", .access = access_of(2)}));
  for (int i = 0; i < 3; ++i) {
    world.call(access_of(1), i == 0);
  }
  Caller& alone = world.call(access_of(2));
  world.run_for(4s);

  EXPECT_EQ(world.relay.members(), 4U);
  EXPECT_EQ(world.relay.live_rooms(), 2U);
  for (size_t i = 0; i < 3; ++i) {
    const Caller& caller = *world.callers[i];
    ASSERT_TRUE(caller.member);
    std::set<MemberNumber> others;
    for (size_t k = 0; k < 3; ++k) {
      if (k != i) {
        others.insert(world.callers[k]->member->number());
      }
    }
    EXPECT_EQ(caller.seen(), others) << i;
    EXPECT_EQ(caller.member->undecodable(), 0U);
    EXPECT_EQ(caller.member->wrong_bytes(), 0U);
  }
  EXPECT_TRUE(alone.seen().empty());
  EXPECT_TRUE(alone.member->others().empty());
  EXPECT_GT(world.relay.room_stats().sounds_out, 2 * 4 * 40U);
}

TEST(RelayMachine, WhoHasNoRoomsKeyIsNotLetIn) {
  RelayWorld world;
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1)}));
  const Caller& stranger = world.call(access_of(9));
  world.run_for(3s);
  EXPECT_EQ(world.relay.members(), 0U);
  EXPECT_EQ(world.relay.live_rooms(), 0U);
  EXPECT_EQ(stranger.closed, secure::CloseReason::kWrongSecret);
  EXPECT_GT(world.relay.listener_stats().unknown_identity, 0U);
}

TEST(RelayMachine, ARoomMayBeOpenedWhenItIsAskedFor) {
  int asked = 0;
  RelayMachine* relay = nullptr;
  RelayMachineOptions options;
  options.look_for_rooms = [&] {
    ++asked;
    relay->open({.name = "kitchen", .access = access_of(1)});
  };
  RelayWorld world{options};
  relay = &world.relay;
  const Caller& caller = world.call(access_of(1));
  world.run_for(1s);
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(caller.member);
}

TEST(RelayMachine, NamesAndKeysBelongTogether) {
  RelayWorld world;
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1)}));
  EXPECT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1), .members_max = 4}));
  EXPECT_FALSE(world.relay.open({.name = "kitchen", .access = access_of(2)}));
  EXPECT_FALSE(world.relay.open({.name = "garden", .access = access_of(1)}));
  EXPECT_TRUE(world.relay.close(world.now, "kitchen", FarewellReason::kClosed));
  EXPECT_FALSE(world.relay.close(world.now, "kitchen", FarewellReason::kClosed));
  EXPECT_TRUE(world.relay.open({.name = "garden", .access = access_of(1)}));
}

TEST(RelayMachine, WhoIsOneTooManyIsToldSo) {
  RelayWorld world;
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1), .members_max = 2}));
  world.call(access_of(1));
  world.call(access_of(1));
  world.run_for(1s);
  const Caller& third = world.call(access_of(1));
  world.run_for(2s);
  EXPECT_EQ(world.relay.members(), 2U);
  ASSERT_TRUE(third.member);
  ASSERT_TRUE(third.member->farewell());
  EXPECT_EQ(third.member->farewell()->reason, FarewellReason::kFull);
  EXPECT_EQ(third.closed, secure::CloseReason::kFull);
}

TEST(RelayMachine, WhoIsKickedGoesAndTheOthersStay) {
  RelayWorld world;
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1)}));
  Caller& a = world.call(access_of(1));
  const Caller& b = world.call(access_of(1));
  world.run_for(1s);
  EXPECT_FALSE(world.relay.kick(world.now, "kitchen", 60'000));
  EXPECT_FALSE(world.relay.kick(world.now, "garden", b.member->number()));
  ASSERT_TRUE(world.relay.kick(world.now, "kitchen", b.member->number()));
  world.run_for(2s);
  EXPECT_EQ(b.closed, secure::CloseReason::kRemoved);
  EXPECT_EQ(world.relay.members(), 1U);
  EXPECT_FALSE(a.closed);
  EXPECT_TRUE(a.member->others().empty());
}

TEST(RelayMachine, WhatCameTogetherIsHeardOfWhenItCame) {
  constexpr size_t kMembers = 8;
  RelayWorld world;
  world.gather = 20ms;
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1)}));
  for (size_t i = 0; i < kMembers; ++i) {
    world.call(access_of(1), true);
  }
  world.run_for(2s);
  // Last words come together with what others say after them.
  for (size_t i = 2; i < kMembers; ++i) {
    const Caller& kicked = *world.callers[i];
    ASSERT_TRUE(kicked.member);
    ASSERT_TRUE(world.relay.kick(world.now, "kitchen", kicked.member->number()));
    world.run_for(1s);
    EXPECT_EQ(kicked.closed, secure::CloseReason::kRemoved);
    EXPECT_EQ(world.relay.members(), kMembers + 1 - i);
  }
  EXPECT_TRUE(world.callers[0]->seen().contains(world.callers[1]->member->number()));
  EXPECT_TRUE(world.callers[1]->seen().contains(world.callers[0]->member->number()));
}

TEST(RelayMachine, AClosedRoomTellsItsMembersAndIsForgotten) {
  RelayWorld world;
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1)}));
  ASSERT_TRUE(world.relay.open({.name = "garden", .access = access_of(2)}));
  const Caller& a = world.call(access_of(1));
  const Caller& b = world.call(access_of(2));
  world.run_for(1s);
  ASSERT_TRUE(world.relay.close(world.now, "kitchen", FarewellReason::kExpired));
  world.run_for(2s);
  ASSERT_TRUE(a.member->farewell());
  EXPECT_EQ(a.member->farewell()->reason, FarewellReason::kExpired);
  EXPECT_TRUE(a.closed);
  EXPECT_FALSE(b.closed);
  EXPECT_EQ(world.relay.open_rooms(), 1U);
  EXPECT_EQ(world.relay.live_rooms(), 1U);
}

TEST(RelayMachine, DrainingTellsEverybodyToComeBackAndEnds) {
  RelayWorld world;
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1)}));
  ASSERT_TRUE(world.relay.open({.name = "garden", .access = access_of(2)}));
  world.call(access_of(1));
  world.call(access_of(1));
  world.call(access_of(2));
  world.run_for(1s);
  world.relay.drain_members(world.now, 1500ms);
  world.run_for(5s);
  EXPECT_TRUE(world.relay.is_finished());
  for (const auto& caller : world.callers) {
    ASSERT_TRUE(caller->member->farewell());
    EXPECT_EQ(*caller->member->farewell(),
              (Farewell{.reason = FarewellReason::kDraining, .again_in = 1500ms}));
    EXPECT_EQ(caller->closed, secure::CloseReason::kGoingAway);
  }
}

TEST(RelayMachine, JoinsAndLeavesLeaveNothingBehind) {
  RelayWorld world{{.live_rooms_max = 2}};
  for (uint8_t room = 1; room <= 6; ++room) {
    ASSERT_TRUE(
        world.relay.open({.name = "room" + std::to_string(room), .access = access_of(room)}));
  }
  for (uint8_t round = 0; round < 6; ++round) {
    Caller& a = world.call(access_of(round + 1));
    Caller& b = world.call(access_of(round + 1));
    world.run_for(1s);
    EXPECT_EQ(world.relay.live_rooms(), 1U);
    EXPECT_EQ(world.relay.members(), 2U);
    a.connection.hang_up(world.now);
    b.connection.hang_up(world.now);
    world.run_for(1s);
    EXPECT_EQ(world.relay.live_rooms(), 0U);
    EXPECT_EQ(world.relay.members(), 0U);
  }
  EXPECT_EQ(world.relay.room_stats().joins, 12U);
  EXPECT_EQ(world.relay.room_stats().leaves, 12U);
  size_t joined = 0;
  size_t left = 0;
  while (const auto event = world.relay.poll_event()) {
    joined += event->kind == RelayEvent::Kind::kJoined ? 1 : 0;
    left += event->kind == RelayEvent::Kind::kLeft ? 1 : 0;
  }
  EXPECT_EQ(joined, 12U);
  EXPECT_EQ(left, 12U);
}

}  // namespace
}  // namespace cress::relay
