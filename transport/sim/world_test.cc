#include "transport/sim/world.hh"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transport/sim/nat.hh"
#include "transport/sim/queue_codel.hh"

namespace cress::sim {
namespace {

Address address(uint8_t last, uint16_t port = 5000) {
  Address made;
  made.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, last, last};
  made.port = port;
  return made;
}

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span{text});
  return {bytes.begin(), bytes.end()};
}

/// Sends the test's datagrams; records arrivals and their times, by its own clock.
class Talker final : public Machine {
 public:
  struct Heard {
    TimePoint at{};
    Address from;
    std::string text;
  };

  void say(const Address& to, const std::string& text) {
    outgoing_.push_back({.to = to, .bytes = bytes_of(text)});
  }
  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    heard.push_back({now, from, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
    if (answers) {
      say(from, "echo " + heard.back().text);
    }
  }
  void handle_ecn(Ecn ecn) override { marks.push_back(ecn); }
  void handle_timeout(TimePoint now) override {
    woken.push_back(now);
    wake_at = kNever;
  }
  std::optional<Transmit> poll_transmit(TimePoint /*now*/) override {
    if (outgoing_.empty()) {
      return std::nullopt;
    }
    Transmit transmit = std::move(outgoing_.front());
    outgoing_.pop_front();
    transmit.ecn = sends_ecn;
    return transmit;
  }
  TimePoint poll_timeout() const override { return wake_at; }
  bool drained(TimePoint /*now*/) override {
    if (std::exchange(has_last_word, false)) {
      say(Address{}, "last word");
      return true;
    }
    return false;
  }

  std::vector<Heard> heard;
  std::vector<TimePoint> woken;
  std::vector<Ecn> marks;
  Ecn sends_ecn = Ecn::kNotEct;
  TimePoint wake_at = kNever;
  bool answers = false;
  bool has_last_word = false;

 private:
  std::deque<Transmit> outgoing_;
};

/// A hub and two members, each with an uplink and a downlink of 10 ms.
class Star : public testing::Test {
 protected:
  Star() {
    world.connect(hub_id, a_id, hub_to_a);
    world.connect(hub_id, b_id, hub_to_b);
    world.connect(a_id, hub_id, a_to_hub);
    world.connect(b_id, hub_id, b_to_hub);
  }
  static LinkOptions ideal() { return {.trace = nullptr, .propagation = 10ms, .queue = nullptr}; }

  Talker hub;
  Talker a;
  Talker b;
  Talker d;
  Link hub_to_a{ideal()};
  Link hub_to_b{ideal()};
  Link a_to_hub{ideal()};
  Link b_to_hub{ideal()};
  World world;
  World::HostId hub_id = world.add(hub, {.address = address(1)});
  World::HostId a_id = world.add(a, {.address = address(2)});
  World::HostId b_id = world.add(b, {.address = address(3), .clock_offset = 1h});
};

TEST_F(Star, DatagramsGoToTheirAddress) {
  hub.say(address(2), "to a");
  hub.say(address(3), "to b");
  hub.say(address(4), "to nobody");
  world.drain(hub_id);
  world.run_until(kTimeZero + 1s);
  ASSERT_EQ(a.heard.size(), 1U);
  EXPECT_EQ(a.heard[0].text, "to a");
  EXPECT_EQ(a.heard[0].from, address(1));
  EXPECT_EQ(a.heard[0].at, kTimeZero + 10ms);
  ASSERT_EQ(b.heard.size(), 1U);
  EXPECT_EQ(b.heard[0].text, "to b");
}

TEST_F(Star, SharedLinkDeliversToTheAddressedHost) {
  Talker c;
  Link shared{ideal()};
  const auto c_id = world.add(c, {.address = address(5)});
  const auto d_id = world.add(d, {.address = address(6)});
  world.connect(c_id, a_id, shared);
  world.connect(d_id, b_id, shared);
  c.say(address(2), "c to a");
  c.say(address(3), "c to b, no route");
  d.say(address(3), "d to b");
  d.say(Address{}, "d to the first receiver");
  world.drain(c_id);
  world.drain(d_id);
  world.run_until(kTimeZero + 1s);
  ASSERT_EQ(a.heard.size(), 2U);
  EXPECT_EQ(a.heard[0].text, "c to a");
  EXPECT_EQ(a.heard[1].text, "d to the first receiver");
  ASSERT_EQ(b.heard.size(), 1U);
  EXPECT_EQ(b.heard[0].text, "d to b");
  EXPECT_EQ(shared.records().size(), 3U);
  EXPECT_EQ(shared.records()[1].to, address(3));
}

TEST_F(Star, MarksOfAQueueReachTheMachine) {
  // One packet a second: the second waits long enough for CoDel's state to mark the third.
  auto trace = std::make_shared<DeliveryTrace>();
  trace->opportunities.push_back({1s});
  Link slow{{.trace = trace, .queue = std::make_unique<CodelQueue>()}};
  const auto c_id = world.add(d, {.address = address(6)});
  world.connect(c_id, a_id, slow);
  d.sends_ecn = Ecn::kEct0;
  for (int i = 0; i < 4; ++i) {
    d.say(address(2), std::string(1472, 'x'));
  }
  world.drain(c_id);
  world.run_until(kTimeZero + 10s);
  EXPECT_EQ(a.marks, (std::vector<Ecn>{Ecn::kEct0, Ecn::kCe, Ecn::kEct0, Ecn::kEct0}));
  EXPECT_EQ(a.heard.size(), 4U);
}

TEST_F(Star, HostsHaveClocksOfTheirOwn) {
  b.wake_at = kTimeZero + 1h + 5ms;
  hub.say(address(3), "to b");
  world.drain(hub_id);
  world.run_until(kTimeZero + 20ms);
  EXPECT_EQ(b.woken, (std::vector<TimePoint>{kTimeZero + 1h + 5ms}));
  ASSERT_EQ(b.heard.size(), 1U);
  EXPECT_EQ(b.heard[0].at, kTimeZero + 1h + 10ms);
}

TEST_F(Star, DatagramsInTransitToAnOldAddressAreLost) {
  hub.say(address(2), "late");
  world.drain(hub_id);
  world.run_until(kTimeZero + 5ms);
  world.move(a_id, address(9));
  hub.say(address(9), "new");
  hub.say(address(2), "old");
  world.drain(hub_id);
  world.run_until(kTimeZero + 1s);
  ASSERT_EQ(a.heard.size(), 1U);
  EXPECT_EQ(a.heard[0].text, "new");
  a.say(address(1), "from a");
  world.drain(a_id);
  world.run_for(1s);
  ASSERT_EQ(hub.heard.size(), 1U);
  EXPECT_EQ(hub.heard[0].from, address(9));
}

TEST_F(Star, OffHostReceivesNothingAndARestartedOneDoes) {
  world.replace(a_id, nullptr);
  hub.say(address(2), "lost");
  world.drain(hub_id);
  world.run_until(kTimeZero + 1s);
  Talker again;
  world.replace(a_id, &again);
  hub.say(address(2), "heard");
  world.drain(hub_id);
  world.run_until(kTimeZero + 2s);
  EXPECT_TRUE(a.heard.empty());
  ASSERT_EQ(again.heard.size(), 1U);
  EXPECT_EQ(again.heard[0].text, "heard");
}

TEST_F(Star, AHostThatIsRemovedTakesItsLinksAlong) {
  hub.say(address(2), "in transit");
  hub.say(address(3), "to b");
  a.say(address(1), "in transit");
  world.drain(hub_id);
  world.drain(a_id);
  world.remove(a_id);
  hub.say(address(2), "to nobody");
  world.drain(hub_id);
  world.run_until(kTimeZero + 1s);
  EXPECT_TRUE(a.heard.empty());
  EXPECT_TRUE(hub.heard.empty());
  EXPECT_EQ(b.heard.size(), 1U);
  EXPECT_EQ(hub_to_a.records().size(), 1U);
}

TEST_F(Star, AHostThatIsOffLeavesItsAddressToOthers) {
  world.replace(a_id, nullptr);
  world.move(b_id, address(2));
  hub.say(address(2), "to its new owner");
  world.drain(hub_id);
  world.run_until(kTimeZero + 1s);
  ASSERT_EQ(b.heard.size(), 1U);
  EXPECT_TRUE(a.heard.empty());
  EXPECT_DEATH(world.replace(a_id, &a), "one address");
}

TEST(World, OneLinkMayLeadToWhoHasTheAddressOnArrival) {
  Talker talker;
  Talker early;
  Talker late;
  Link air{{.trace = nullptr, .propagation = 10ms, .queue = nullptr}};
  World world;
  const auto from = world.add(talker, {.address = address(1)});
  const auto first = world.add(early, {.address = address(2)});
  world.connect_all(air);
  talker.say(address(2), "one");
  talker.say(address(9), "nobody");
  world.drain(from);
  world.run_for(10ms);
  talker.say(address(2), "two");
  world.drain(from);
  world.replace(first, nullptr);
  world.add(late, {.address = address(2)});
  world.run_for(10ms);
  ASSERT_EQ(early.heard.size(), 1U);
  ASSERT_EQ(late.heard.size(), 1U);
  EXPECT_EQ(late.heard[0].text, "two");
  EXPECT_EQ(late.heard[0].from, address(1));
}

TEST_F(Star, OutputsAfterDrainedAreSentToo) {
  a.has_last_word = true;
  world.drain(a_id);
  world.run_until(kTimeZero + 1s);
  ASSERT_EQ(hub.heard.size(), 1U);
  EXPECT_EQ(hub.heard[0].text, "last word");
}

TEST_F(Star, WatchSeesAndDropsDatagrams) {
  std::vector<Address> seen;
  world.set_watch([&seen](TimePoint /*now*/, const Datagram& datagram) {
    seen.push_back(datagram.to);
    return datagram.to != address(2);
  });
  hub.say(address(2), "stopped");
  hub.say(address(3), "passed");
  world.drain(hub_id);
  world.run_until(kTimeZero + 1s);
  EXPECT_EQ(seen, (std::vector{address(2), address(3)}));
  EXPECT_TRUE(a.heard.empty());
  EXPECT_EQ(b.heard.size(), 1U);
}

TEST_F(Star, AnInjectedDatagramArrivesAtOnceAndIsAnswered) {
  a.answers = true;
  world.inject(address(1), address(2), bytes_of("forged"));
  ASSERT_EQ(a.heard.size(), 1U);
  world.run_until(kTimeZero + 1s);
  ASSERT_EQ(hub.heard.size(), 1U);
  EXPECT_EQ(hub.heard[0].text, "echo forged");
}

TEST(World, TwoHostsCannotHaveOneAddress) {
  Talker one;
  World world;
  world.add(one, {.address = address(1)});
  EXPECT_DEATH(world.add(one, {.address = address(1)}), "one address");
}

/// A host behind a NAT, two outside.
class BehindNat : public testing::Test {
 protected:
  void build(const NatOptions& options) {
    nat.emplace(options);
    inside_id = world.add(inside, {.address = address(50), .nat = &*nat});
    server_id = world.add(server, {.address = address(1)});
    other_id = world.add(other, {.address = address(2)});
    for (const auto& [from, to] :
         std::vector<std::pair<World::HostId, World::HostId>>{{inside_id, server_id},
                                                              {server_id, inside_id},
                                                              {inside_id, other_id},
                                                              {other_id, inside_id}}) {
      links.push_back(std::make_unique<Link>(
          LinkOptions{.trace = nullptr, .propagation = 10ms, .queue = nullptr}));
      world.connect(from, to, *links.back());
    }
  }
  /// The address by which the server sees the host inside.
  Address seen_by_server() {
    inside.say(address(1), "hello");
    world.drain(inside_id);
    world.run_for(20ms);
    return server.heard.back().from;
  }
  size_t heard_from_other(const Address& to) {
    const size_t before = inside.heard.size();
    other.say(to, "from another");
    world.drain(other_id);
    world.run_for(20ms);
    return inside.heard.size() - before;
  }

  Talker inside;
  Talker server;
  Talker other;
  std::optional<Nat> nat;
  std::vector<std::unique_ptr<Link>> links;
  World world;
  World::HostId inside_id = 0;
  World::HostId server_id = 0;
  World::HostId other_id = 0;
};

TEST_F(BehindNat, PeersSeeTheOutsideAddressAndAnswersGetIn) {
  server.answers = true;
  build({.outside = address(60, 20'000)});
  EXPECT_EQ(seen_by_server(), address(60, 20'000));
  ASSERT_EQ(inside.heard.size(), 1U);
  EXPECT_EQ(inside.heard[0].text, "echo hello");
  EXPECT_EQ(inside.heard[0].from, address(1));
}

TEST_F(BehindNat, FullConeAcceptsAnySender) {
  build({.outside = address(60, 20'000), .filtering = NatOptions::Scope::kEndpoint});
  EXPECT_EQ(heard_from_other(address(60, 20'000)), 0U) << "before there is a mapping";
  EXPECT_EQ(heard_from_other(seen_by_server()), 1U);
}

TEST_F(BehindNat, PortRestrictedAcceptsOnlyContactedPeers) {
  build({.outside = address(60, 20'000)});
  const Address outside = seen_by_server();
  EXPECT_EQ(heard_from_other(outside), 0U);
  inside.say(address(2), "opens");
  world.drain(inside_id);
  EXPECT_EQ(heard_from_other(outside), 1U);
  EXPECT_EQ(other.heard.back().from, outside) << "one mapping for all peers";
}

TEST_F(BehindNat, ASymmetricOneGivesEachPeerAnotherPort) {
  build({.outside = address(60, 20'000), .mapping = NatOptions::Scope::kAddressAndPort});
  const Address outside = seen_by_server();
  inside.say(address(2), "opens");
  world.drain(inside_id);
  world.run_for(20ms);
  EXPECT_NE(other.heard.back().from, outside);
  EXPECT_EQ(heard_from_other(outside), 0U);
}

TEST_F(BehindNat, MappingsExpireWithoutOutgoingDatagrams) {
  build(
      {.outside = address(60, 20'000), .filtering = NatOptions::Scope::kEndpoint, .lifetime = 30s});
  const Address outside = seen_by_server();
  world.run_until(kTimeZero + 29s);
  EXPECT_EQ(heard_from_other(outside), 1U);
  world.run_until(kTimeZero + 30s);
  EXPECT_EQ(heard_from_other(outside), 0U);
  EXPECT_NE(seen_by_server(), outside) << "another mapping, another port";
}

}  // namespace
}  // namespace cress::sim
