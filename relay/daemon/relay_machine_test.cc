#include "relay/daemon/relay_machine.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <sstream>

#include "relay/daemon/caller_test_tools.hh"
#include "relay/daemon/relay_host_test_tools.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/sim/world.hh"
#include "transport/wire/datagram.hh"

namespace cress::relay {
namespace {

/// A relay and its callers on a perfect network of the simulated world.
class SimulatedRelay {
 public:
  explicit SimulatedRelay(RelayMachineOptions options = {}) : host(std::move(options)) {
    world_.add(host, {.address = address_of(0)});
    world_.connect_all(air_);
    world_.set_watch([this](TimePoint /*now*/, const sim::Datagram& datagram) {
      if (on_sent && datagram.from == address_of(0)) {
        on_sent(datagram);
      }
      return true;
    });
  }

  Caller& call(const secure::Secret& access, bool speaks = false) {
    const auto n = static_cast<uint32_t>(callers.size() + 1);
    callers.push_back(std::make_unique<Caller>(now(), n, access, speaks, n));
    world_.add(*callers.back(), {.address = callers.back()->address});
    return *callers.back();
  }
  /// Its program ends without a word.
  void crash(const Caller& caller) { world_.replace(caller.seed, nullptr); }
  void move(Caller& caller, const Address& to) {
    caller.address = to;
    world_.move(caller.seed, to);
  }
  void run_for(Duration duration) {
    host.changed = now();
    for (sim::World::HostId id = 0; id <= callers.size(); ++id) {
      world_.drain(id);
    }
    world_.run_for(duration);
  }
  TimePoint now() const { return world_.now(); }

  RelayHost host;
  RelayMachine& relay = host.relay;
  std::vector<std::unique_ptr<Caller>> callers;
  std::function<void(const sim::Datagram&)> on_sent;  // by the relay; may be empty

 private:
  sim::Link air_{{.trace = nullptr, .propagation = 10ms, .queue = nullptr}};
  sim::World world_;
};

TEST(RelayMachine, MembersSeeOnlyTheirRoom) {
  SimulatedRelay world;
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
    ASSERT_TRUE(caller.member());
    std::set<room::MemberNumber> others;
    for (size_t k = 0; k < 3; ++k) {
      if (k != i) {
        others.insert(world.callers[k]->member()->number());
      }
    }
    EXPECT_EQ(caller.seen(), others) << i;
    EXPECT_EQ(caller.member()->undecodable(), 0U);
    EXPECT_EQ(caller.member()->wrong_bytes(), 0U);
  }
  EXPECT_TRUE(alone.seen().empty());
  EXPECT_TRUE(alone.member()->others().empty());
  EXPECT_GT(world.relay.room_stats().sounds_out, 2 * 4 * 40U);
}

TEST(RelayMachine, LegsAskForMarksAndReportThem) {
  SimulatedRelay world;
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1)}));
  world.call(access_of(1), true);
  world.call(access_of(1));
  int asked = 0;
  int silent = 0;
  world.host.gather = 5ms;  // each datagram keeps its own field
  world.run_for(1s);
  world.on_sent = [&](const sim::Datagram& datagram) {
    ++(datagram.ecn == Ecn::kEct1 ? asked : silent);
  };
  world.run_for(1s);
  EXPECT_GT(asked, 100);
  EXPECT_EQ(silent, 0) << "the members have confirmed it";
  for (const auto& caller : world.callers) {
    ASSERT_TRUE(caller->member());
    EXPECT_EQ(caller->member()->endpoint().ecn(kTimeZero + 1h), Ecn::kEct1)
        << "the relay has confirmed it";
  }
}

TEST(RelayMachine, PeerWithoutARoomsKeyIsRejected) {
  SimulatedRelay world;
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1)}));
  const Caller& stranger = world.call(access_of(9));
  world.run_for(3s);
  EXPECT_EQ(world.relay.members(), 0U);
  EXPECT_EQ(world.relay.live_rooms(), 0U);
  EXPECT_EQ(stranger.closed(), secure::CloseReason::kWrongSecret);
  EXPECT_GT(world.relay.listener_stats().unknown_identity, 0U);
}

TEST(RelayMachine, ARoomMayBeOpenedWhenItIsAskedFor) {
  int asked = 0;
  RelayMachine* relay = nullptr;
  RelayMachineOptions options;
  options.listener.late_lookup = [&](std::string_view /*identity*/) {
    ++asked;
    relay->open({.name = "kitchen", .access = access_of(1)});
    return std::optional{secure::room_credential(access_of(1)).psk};
  };
  SimulatedRelay world{options};
  relay = &world.relay;
  const Caller& caller = world.call(access_of(1));
  world.run_for(1s);
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(caller.member());
}

TEST(RelayMachine, NamesAndKeysBelongTogether) {
  SimulatedRelay world;
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1)}));
  EXPECT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1), .members_max = 4}));
  EXPECT_FALSE(world.relay.open({.name = "kitchen", .access = access_of(2)}));
  EXPECT_FALSE(world.relay.open({.name = "garden", .access = access_of(1)}));
  EXPECT_TRUE(world.relay.close(world.now(), "kitchen", room::FarewellReason::kClosed));
  EXPECT_FALSE(world.relay.close(world.now(), "kitchen", room::FarewellReason::kClosed));
  EXPECT_TRUE(world.relay.open({.name = "garden", .access = access_of(1)}));
}

TEST(RelayMachine, MemberBeyondTheMaximumIsNotified) {
  SimulatedRelay world;
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1), .members_max = 2}));
  world.call(access_of(1));
  world.call(access_of(1));
  world.run_for(1s);
  const Caller& third = world.call(access_of(1));
  world.run_for(2s);
  EXPECT_EQ(world.relay.members(), 2U);
  ASSERT_TRUE(third.member());
  ASSERT_TRUE(third.member()->farewell());
  EXPECT_EQ(third.member()->farewell()->reason, room::FarewellReason::kFull);
  EXPECT_EQ(third.closed(), secure::CloseReason::kFull);
}

TEST(RelayMachine, KickedMemberLeavesAndTheOthersStay) {
  SimulatedRelay world;
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1)}));
  Caller& a = world.call(access_of(1));
  const Caller& b = world.call(access_of(1));
  world.run_for(1s);
  EXPECT_FALSE(world.relay.kick(world.now(), "kitchen", 60'000));
  EXPECT_FALSE(world.relay.kick(world.now(), "garden", b.member()->number()));
  ASSERT_TRUE(world.relay.kick(world.now(), "kitchen", b.member()->number()));
  world.run_for(2s);
  EXPECT_EQ(b.closed(), secure::CloseReason::kRemoved);
  EXPECT_EQ(world.relay.members(), 1U);
  EXPECT_FALSE(a.closed());
  EXPECT_TRUE(a.member()->others().empty());
}

TEST(RelayMachine, BatchedDatagramsKeepTheirArrivalTimes) {
  constexpr size_t kMembers = 8;
  SimulatedRelay world;
  world.host.gather = 20ms;
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1)}));
  for (size_t i = 0; i < kMembers; ++i) {
    world.call(access_of(1), true);
  }
  world.run_for(2s);
  // Close messages arrive together with the datagrams that others send after them.
  for (size_t i = 2; i < kMembers; ++i) {
    const Caller& kicked = *world.callers[i];
    ASSERT_TRUE(kicked.member());
    ASSERT_TRUE(world.relay.kick(world.now(), "kitchen", kicked.member()->number()));
    world.run_for(1s);
    EXPECT_EQ(kicked.closed(), secure::CloseReason::kRemoved);
    EXPECT_EQ(world.relay.members(), kMembers + 1 - i);
  }
  EXPECT_TRUE(world.callers[0]->seen().contains(world.callers[1]->member()->number()));
  EXPECT_TRUE(world.callers[1]->seen().contains(world.callers[0]->member()->number()));
}

TEST(RelayMachine, ClosedRoomSendsItsMembersAway) {
  SimulatedRelay world;
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1)}));
  ASSERT_TRUE(world.relay.open({.name = "garden", .access = access_of(2)}));
  const Caller& a = world.call(access_of(1));
  const Caller& b = world.call(access_of(2));
  world.run_for(1s);
  ASSERT_TRUE(world.relay.close(world.now(), "kitchen", room::FarewellReason::kExpired));
  world.run_for(2s);
  ASSERT_TRUE(a.member()->farewell());
  EXPECT_EQ(a.member()->farewell()->reason, room::FarewellReason::kExpired);
  EXPECT_TRUE(a.closed());
  EXPECT_FALSE(b.closed());
  EXPECT_EQ(world.relay.open_rooms(), 1U);
  EXPECT_EQ(world.relay.live_rooms(), 1U);
}

TEST(RelayMachine, DrainingAsksMembersToReconnectAndEnds) {
  SimulatedRelay world;
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1)}));
  ASSERT_TRUE(world.relay.open({.name = "garden", .access = access_of(2)}));
  world.call(access_of(1));
  world.call(access_of(1));
  world.call(access_of(2));
  world.run_for(1s);
  world.relay.drain_members(world.now(), 1500ms);
  world.run_for(5s);
  EXPECT_TRUE(world.relay.is_finished());
  for (const auto& caller : world.callers) {
    ASSERT_TRUE(caller->member()->farewell());
    EXPECT_EQ(*caller->member()->farewell(),
              (room::Farewell{.reason = room::FarewellReason::kDraining, .again_in = 1500ms}));
    EXPECT_EQ(caller->closed(), secure::CloseReason::kGoingAway);
  }
}

TEST(RelayMachine, JoinsAndLeavesLeaveNothingBehind) {
  SimulatedRelay world{{.live_rooms_max = 2}};
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
    a.hang_up(world.now());
    b.hang_up(world.now());
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

// What the relay has to send now; where to, in order.
std::vector<Address> sent_to(SimulatedRelay& world) {
  std::vector<Address> to;
  while (const auto transmit = world.relay.poll_transmit(world.now())) {
    to.push_back(transmit->to);
  }
  return to;
}

std::vector<RelayEvent> events_of(SimulatedRelay& world) {
  std::vector<RelayEvent> events;
  while (auto event = world.relay.poll_event()) {
    events.push_back(*std::move(event));
  }
  return events;
}

TEST(RelayMachine, AFloodIsIgnoredForATenthOfASecond) {
  RelayMachineOptions options;
  options.room.member_datagrams_per_second = 100;  // 50 at once
  SimulatedRelay world{options};
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1)}));
  Caller& caller = world.call(access_of(1));
  world.run_for(500ms);
  ASSERT_TRUE(caller.connection().is_connected());
  const TimePoint flood = world.now() + 1s;
  uint64_t sequence = 1U << 20U;  // beyond what the member has sent itself
  // The relay processes arrived datagrams when its output is polled.
  const auto say = [&](TimePoint now) {
    wire::Header header;
    header.sequence = wire::WireSeq::wrap(sequence += 1000);
    caller.connection().send(now, wire::DatagramBuilder{DataSize{100}}.finish(header));
    while (const auto transmit = caller.connection().poll_transmit(now)) {
      world.relay.handle_datagram(now, caller.address, transmit->bytes);
    }
    while (world.relay.poll_transmit(now)) {
    }
  };
  for (int i = 0; i < 50; ++i) {
    say(flood);
  }
  EXPECT_EQ(world.relay.room_stats().datagrams_over_limit, 0U);
  say(flood);
  EXPECT_EQ(world.relay.room_stats().datagrams_over_limit, 1U);
  EXPECT_EQ(world.relay.listener_stats().ignored, 0U);
  const uint64_t heard = world.relay.room_stats().datagrams_in;
  say(flood + 100ms - Duration{1});
  EXPECT_EQ(world.relay.listener_stats().ignored, 1U);
  EXPECT_EQ(world.relay.room_stats().datagrams_in, heard);
  say(flood + 100ms);
  EXPECT_EQ(world.relay.listener_stats().ignored, 1U);
  EXPECT_EQ(world.relay.room_stats().datagrams_in, heard + 1);
}

TEST(RelayMachine, ARoomsTurnEndsAfterSixteenDatagrams) {
  constexpr size_t kMany = 20;
  RelayMachineOptions options;
  options.room.members_max = kMany;
  options.listener.limits.handshakes_of_network = {.per_second = 100, .burst = 100};
  SimulatedRelay world{options};
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1)}));
  ASSERT_TRUE(world.relay.open({.name = "garden", .access = access_of(2)}));
  for (size_t i = 0; i < kMany; ++i) {
    world.call(access_of(1));
  }
  world.run_for(500ms);
  const Caller& alone = world.call(access_of(2));
  world.run_for(500ms);
  ASSERT_EQ(world.relay.members(), kMany + 1);
  (void)sent_to(world);
  // Everybody is sent a farewell; the kitchen's turn comes first.
  world.relay.drain_members(world.now(), 1s);
  const auto to = sent_to(world);
  ASSERT_GT(to.size(), kMany);
  const auto garden = std::ranges::find(to, alone.address);
  ASSERT_NE(garden, to.end());
  EXPECT_EQ(garden - to.begin(), 16);
}

TEST(RelayMachine, EventsNameJoinsAndReasonsOfLeaves) {
  RelayMachineOptions options;
  options.live_rooms_max = 4;
  SimulatedRelay world{options};
  for (uint8_t room = 1; room <= 5; ++room) {
    ASSERT_TRUE(world.relay.open({.name = std::string(1, static_cast<char>('a' + room - 1)),
                                  .access = access_of(room),
                                  .members_max = 2}));
  }
  for (const uint8_t room : std::initializer_list<uint8_t>{1, 1, 2, 3, 4}) {
    world.call(access_of(room));
  }
  world.run_for(1s);
  const auto joined = events_of(world);
  ASSERT_EQ(joined.size(), 5U);
  for (size_t i = 0; i < joined.size(); ++i) {
    EXPECT_EQ(joined[i].kind, RelayEvent::Kind::kJoined);
    EXPECT_EQ(joined[i].address, world.callers[i]->address);
    EXPECT_EQ(joined[i].member, world.callers[i]->member()->number());
    EXPECT_EQ(joined[i].room, std::string(1, "aabcd"[i]));
  }
  const auto one_event = [&](RelayEvent::Kind kind, const char* room, const char* words) {
    const auto events = events_of(world);
    ASSERT_EQ(events.size(), 1U) << words;
    EXPECT_EQ(events[0].kind, kind) << words;
    EXPECT_EQ(events[0].room, room) << words;
    EXPECT_STREQ(events[0].words, words);
  };
  using Kind = RelayEvent::Kind;
  Caller& fifth = world.call(access_of(5));  // a fifth room
  world.run_for(1s);
  one_event(Kind::kRefused, "", "the relay is full");
  EXPECT_EQ(fifth.closed(), secure::CloseReason::kFull);
  EXPECT_EQ(world.relay.live_rooms(), 4U);
  world.relay.kick(world.now(), "a", world.callers[0]->member()->number());
  world.run_for(2s);
  one_event(Kind::kLeft, "a", "was removed");
  world.callers[1]->hang_up(world.now());
  world.run_for(1s);
  one_event(Kind::kLeft, "a", "left");
  world.relay.close(world.now(), "b", room::FarewellReason::kClosed);
  world.run_for(2s);
  one_event(Kind::kLeft, "b", "the room was closed");
  world.relay.close(world.now(), "c", room::FarewellReason::kExpired);
  world.run_for(2s);
  one_event(Kind::kLeft, "c", "the room has expired");
  world.move(*world.callers[4], address_of(999));  // another network
  world.run_for(2s);
  const auto moved = events_of(world);
  ASSERT_EQ(moved.size(), 1U);
  EXPECT_EQ(moved[0].kind, Kind::kPathChanged);
  EXPECT_EQ(moved[0].room, "d");
  EXPECT_EQ(moved[0].member, world.callers[4]->member()->number());
  EXPECT_EQ(moved[0].address, address_of(999));
  world.relay.drain_members(world.now(), 1s);
  world.run_for(5s);
  one_event(Kind::kLeft, "d", "the relay is going away");
  EXPECT_TRUE(world.relay.is_finished());
}

TEST(RelayMachine, AMemberThatIsOneTooManyIsAnEventToo) {
  SimulatedRelay world;
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1), .members_max = 1}));
  world.call(access_of(1));
  world.run_for(1s);
  EXPECT_EQ(world.relay.member_views("kitchen").size(), 1U);
  EXPECT_TRUE(world.relay.member_views("garden").empty());
  (void)events_of(world);
  world.call(access_of(1));
  world.run_for(2s);
  const auto events = events_of(world);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].kind, RelayEvent::Kind::kRefused);
  EXPECT_STREQ(events[1].words, "the room is full");
  EXPECT_EQ(world.relay.joins_refused(), (JoinsRefused{.wrong_key = 0, .room_full = 1}));
  EXPECT_EQ(world.relay.room_stats().refused_joins, 1U);
  EXPECT_EQ(world.relay.room_stats().joins, 1U);
}

TEST(RelayMachine, SilentMemberIsNoLongerHeard) {
  RelayMachineOptions options;
  options.room.lost_after = 2s;
  SimulatedRelay world{options};
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1)}));
  world.call(access_of(1));
  world.run_for(1s);
  (void)events_of(world);
  world.crash(*world.callers[0]);
  world.run_for(1800ms);
  EXPECT_EQ(world.relay.members(), 1U);
  world.run_for(400ms);
  EXPECT_EQ(world.relay.members(), 0U);
  const auto events = events_of(world);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_STREQ(events[0].words, "was not heard any more");
}

/// Lines about a world: one per period, one per event.
class RelayHistory {
 public:
  explicit RelayHistory(SimulatedRelay& world) : world_(world) {
    text_ << "ms: members, rooms live/open; joins/leaves/refused; datagrams in/unknown/over "
             "limit/malformed/out; fragments in/out/missed/left out; sounds in/out/left out; key "
             "frames asked; datagrams received/sent, bytes sent, opened; of door: without "
             "session/handshakes/cookies/unknown room/full/ignored/not connected; digest of when "
             "how much was sent where; next time-out in us\n";
    world_.on_sent = [this](const sim::Datagram& sent) {
      sent_ << to_milliseconds(world_.now() - kTimeZero) << ' ' << static_cast<int>(sent.to.ip[14])
            << '.' << static_cast<int>(sent.to.ip[15]) << ' ' << sent.bytes.size() << '\n';
    };
  }

  void run_for(Duration duration) {
    constexpr Duration kPeriod = 250ms;
    for (const TimePoint end = world_.now() + duration; world_.now() < end;) {
      world_.run_for(std::min(kPeriod, end - world_.now()));
      write();
    }
  }
  void say(const std::string& words) {
    write_events();
    text_ << "- " << words << '\n';
  }
  std::string finish() {
    say("finished: " + std::to_string(static_cast<int>(world_.relay.is_finished())));
    for (const auto& caller : world_.callers) {
      text_ << "caller " << caller->seed << ": number "
            << (caller->member() ? caller->member()->number() : room::kNobody) << ", closed "
            << (caller->closed() ? static_cast<int>(*caller->closed()) : -1) << '\n';
    }
    return text_.str();
  }

 private:
  void write_events() {
    while (const auto event = world_.relay.poll_event()) {
      text_ << "  event " << static_cast<int>(event->kind) << " room " << event->room << " member "
            << event->member << " at " << static_cast<int>(event->address.ip[14]) << '.'
            << static_cast<int>(event->address.ip[15]) << ": " << event->words << '\n';
    }
  }
  void write() {
    write_events();
    const RoomStats room = world_.relay.room_stats();
    const secure::ListenerStats& door = world_.relay.listener_stats();
    text_ << to_milliseconds(world_.now() - kTimeZero) << ": " << world_.relay.members() << ", "
          << world_.relay.live_rooms() << '/' << world_.relay.open_rooms() << "; " << room.joins
          << '/' << room.leaves << '/' << room.refused_joins << "; " << room.datagrams_in << '/'
          << room.datagrams_unknown << '/' << room.datagrams_over_limit << '/'
          << room.datagrams_malformed << '/' << room.datagrams_out << "; " << room.fragments_in
          << '/' << room.fragments_out << '/' << room.frames_missed << '/' << room.frames_left_out
          << "; " << room.sounds_in << '/' << room.sounds_out << '/' << room.sounds_left_out << "; "
          << room.key_frame_requests << "; " << door.datagrams_received << '/'
          << door.datagrams_sent << ", " << door.bytes_sent << ", " << door.records_opened << "; "
          << door.without_session << '/' << door.handshakes_begun << '/' << door.cookies_sent << '/'
          << door.unknown_identity << '/' << door.full << '/' << door.ignored << '/'
          << door.not_connected << "; " << golden_digest(sent_.str()) << "; "
          << (world_.relay.poll_timeout() == kNever
                  ? -1
                  : (world_.relay.poll_timeout() - world_.now()) / 1us)
          << '\n';
    sent_.str({});
  }

  SimulatedRelay& world_;
  std::ostringstream text_;
  std::ostringstream sent_;
};

// A relay with rooms that fill, empty, close and expire, a stranger, a flood, a member that moves
// and one that falls silent. Its datagrams are encrypted with random keys, but their number, times
// and destinations are the same each time.
TEST(RelayMachine, BehavesAsRecorded) {
  RelayMachineOptions options;
  options.live_rooms_max = 2;
  options.listener.hands_out_work = true;
  options.room.video_rate_max = DataRate::kilobits_per_second(300);
  options.room.thumbnail_rate = DataRate::kilobits_per_second(150);
  options.room.member_datagrams_per_second = 300;
  options.room.lost_after = 2s;
  options.room.farewell_time = 500ms;
  SimulatedRelay world{options};
  RelayHistory history{world};
  ASSERT_TRUE(world.relay.open({.name = "kitchen", .access = access_of(1), .members_max = 3}));
  ASSERT_TRUE(world.relay.open({.name = "garden", .access = access_of(2)}));
  ASSERT_TRUE(world.relay.open({.name = "attic", .access = access_of(3)}));
  world.call(access_of(1), true);
  Caller& flooding = world.call(access_of(1));
  world.call(access_of(2), true);
  world.call(access_of(9));
  history.run_for(500ms);
  history.say("the kitchen fills, the attic has no place");
  Caller& third = world.call(access_of(1));
  world.call(access_of(1));
  world.call(access_of(3));
  history.run_for(1s);
  history.say("a member floods");
  const room::MemberNumber flooding_number = flooding.member()->number();
  flooding.drop_member();
  uint64_t sequence = 1U << 20U;  // beyond what the member has sent itself
  for (int i = 0; i < 150; ++i) {
    for (int k = 0; k < 3; ++k) {
      wire::Header header;
      header.sequence = wire::WireSeq::wrap(sequence += 100);
      flooding.connection().send(world.now(), wire::DatagramBuilder{DataSize{100}}.finish(header));
    }
    world.run_for(2ms);
  }
  history.run_for(500ms);
  history.say("one is sent away, one moves, the garden expires, the attic has a place");
  ASSERT_TRUE(world.relay.kick(world.now(), "kitchen", flooding_number));
  world.move(third, address_of(700));
  ASSERT_TRUE(world.relay.close(world.now(), "garden", room::FarewellReason::kExpired));
  history.run_for(700ms);
  world.host.gather = 3ms;
  world.call(access_of(3), true);
  Caller& silent = world.call(access_of(3));
  Caller& leaving = world.call(access_of(3));
  history.run_for(800ms);
  history.say("one falls silent, one leaves");
  world.crash(silent);
  leaving.hang_up(world.now());
  history.run_for(2500ms);
  history.say("all are sent away, one more comes");
  world.relay.drain_members(world.now(), 1s);
  world.call(access_of(1));
  history.run_for(3s);
  expect_golden("relay_machine", history.finish());
}

}  // namespace
}  // namespace cress::relay
