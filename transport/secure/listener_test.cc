#include "transport/secure/listener.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "transport/secure/secure_world_test_tools.hh"

namespace cress::secure {
namespace {

/// Each in another network: 10.x.y.z.
Address address_of(size_t i, uint16_t port = 6000) {
  Address address = test_address(9, port);
  address.ip[13] = static_cast<uint8_t>(i >> 8U);
  address.ip[14] = static_cast<uint8_t>(i & 255U);
  return address;
}

const Address kElsewhere = address_of(60'000, 7000);

TEST(KeyedHash, IsSipHashOfItsAuthorsTestVector) {
  KeyedHash::Key key{};
  std::vector<std::byte> message;
  for (size_t i = 0; i < key.size(); ++i) {
    key[i] = static_cast<std::byte>(i);
  }
  for (size_t i = 0; i < 15; ++i) {
    message.push_back(static_cast<std::byte>(i));
  }
  EXPECT_EQ(KeyedHash{key}(message), 0xa129ca6149be45e5U);  // the paper, appendix A
}

TEST(TimerHeap, NamesTheNextLikeASearchThroughAll) {
  constexpr size_t kThings = 37;
  TimerHeap heap{kThings};
  std::vector<TimePoint> slow(kThings, kNever);
  EXPECT_EQ(heap.next_due(), kNever);
  Rng rng{1};
  for (int i = 0; i < 20'000; ++i) {
    const size_t thing = rng.below(kThings);
    slow[thing] = rng.chance(0.2) ? kNever : kTimeZero + Duration{int64_t(rng.below(1000))};
    heap.set(thing, slow[thing]);
    ASSERT_EQ(heap.next_due(), *std::min_element(slow.begin(), slow.end()));
    ASSERT_EQ(slow[heap.next()], heap.next_due());
    ASSERT_EQ(heap.due(thing), slow[thing]);
  }
}

TEST(Listener, MembersOfManyRoomsAreServedSeparately) {
  ListenerWorld relay;
  std::vector<Node*> joiners;
  for (uint8_t room = 1; room <= 5; ++room) {
    relay.open_room(room);
    for (size_t i = 0; i < 10; ++i) {
      joiners.push_back(&relay.join(address_of(100 * room + i), room));
      relay.run_for(7ms);
    }
  }
  relay.run_for(2s);
  EXPECT_EQ(relay.listener->peers(), 50U);
  EXPECT_EQ(relay.count<Connected>(), 50U);
  std::map<std::string, int> of_room;
  std::set<PeerId> ids;
  for (const auto& [at, event] : relay.events()) {
    if (std::holds_alternative<Connected>(event.event)) {
      ++of_room[event.identity];
      ids.insert(event.peer);
    }
  }
  EXPECT_EQ(ids.size(), 50U);
  EXPECT_EQ(of_room.size(), 5U);
  for (uint8_t room = 1; room <= 5; ++room) {
    EXPECT_EQ(of_room[room_credential(test_access(room)).identity], 10);
  }
  for (const Node* joiner : joiners) {
    ASSERT_TRUE(joiner->when<Connected>());
    EXPECT_LE(joiner->longest_gap(*joiner->when<Connected>() + 100ms, relay.now()), 55ms);
  }
  EXPECT_EQ(relay.listener->stats().bad_tag, 0U);
  EXPECT_EQ(relay.listener->stats().without_session, 0U);
}

TEST(Listener, AJoinerIsInAfterThreeRoundTripsAndSilentOnesToo) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& joiner = relay.join(address_of(1), 1);
  relay.run_for(1s);
  EXPECT_EQ(*relay.last<Connected>(), kTimeZero + 100ms);
  EXPECT_EQ(joiner.when<Connected>(), kTimeZero + 120ms);
}

TEST(Listener, UnopenedRoomIsReportedAndAWrongProofRejected) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& stranger = relay.join(address_of(1), 2);
  Credential forged = room_credential(test_access(1));  // its identity is readable on the network
  forged.psk = room_credential(test_access(2)).psk;
  Node& forger = relay.join(address_of(2), forged);
  relay.run_for(1s);
  EXPECT_EQ(stranger.closed(), CloseReason::kWrongSecret);
  EXPECT_GE(relay.listener->stats().unknown_identity, 1U);
  relay.run_for(40s);
  EXPECT_EQ(forger.closed(), CloseReason::kNoAnswer);
  EXPECT_EQ(relay.listener->peers(), 0U);
  EXPECT_EQ(relay.listener->pending(), 0U);
  EXPECT_TRUE(relay.events().empty());
  Node& member = relay.join(address_of(3), 1);
  relay.run_for(1s);
  EXPECT_TRUE(member.connection->is_connected());
}

TEST(Listener, RoomsComeAndGoWhileItRuns) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& early = relay.join(address_of(1), 1);
  relay.run_for(1s);
  relay.open_room(2);
  Node& second = relay.join(address_of(2), 2);
  relay.run_for(1s);
  EXPECT_TRUE(second.connection->is_connected());
  relay.rooms.clear();
  Node& late = relay.join(address_of(3), 1);
  relay.run_for(1s);
  EXPECT_EQ(late.closed(), CloseReason::kWrongSecret);
  EXPECT_TRUE(early.connection->is_connected()) << "who is in stays until closed";
}

TEST(Listener, PeerBeyondTheMaximumIsNotified) {
  ListenerWorld relay{{.peers_max = 3, .leaving_max = 1}};
  relay.open_room(1);
  std::vector<Node*> in;
  for (size_t i = 0; i < 3; ++i) {
    in.push_back(&relay.join(address_of(i), 1));
  }
  relay.run_for(1s);
  const TimePoint since = relay.now();
  std::vector<Node*> out;
  for (size_t i = 10; i < 20; ++i) {
    out.push_back(&relay.join(address_of(i), 1));
    relay.run_for(200ms);
  }
  relay.run_for(1s);
  for (const Node* joiner : out) {
    EXPECT_EQ(joiner->closed(), CloseReason::kFull);
    EXPECT_FALSE(joiner->when<Connected>());
  }
  for (const Node* joiner : in) {
    EXPECT_LE(joiner->longest_gap(since, relay.now()), 55ms);
  }
  EXPECT_EQ(relay.listener->stats().full, 10U);
  EXPECT_EQ(relay.count<Connected>(), 3U);
}

TEST(Listener, CloseAndStopNotifyPeers) {
  ListenerWorld relay;
  relay.open_room(1);
  std::vector<Node*> joiners;
  for (size_t i = 0; i < 6; ++i) {
    joiners.push_back(&relay.join(address_of(i), 1));
  }
  relay.run_for(1s);
  const auto first = relay.events().front().second.peer;
  EXPECT_TRUE(relay.listener->is_connected(first));
  relay.listener->close(relay.now(), first, CloseCode::kRemoved);
  relay.listener->close(relay.now(), first, CloseCode::kRemoved);
  EXPECT_FALSE(relay.listener->is_connected(first));
  relay.run_for(100ms);
  EXPECT_EQ(std::count_if(joiners.begin(), joiners.end(),
                          [](const Node* j) { return j->closed() == CloseReason::kRemoved; }),
            1);
  EXPECT_EQ(relay.listener->peers(), 5U);
  relay.listener->stop(relay.now(), CloseCode::kGoingAway);
  EXPECT_FALSE(relay.listener->is_finished());
  relay.run_for(4s);
  EXPECT_TRUE(relay.listener->is_finished());
  EXPECT_EQ(relay.listener->poll_timeout(), kNever);
  EXPECT_EQ(std::count_if(joiners.begin(), joiners.end(),
                          [](const Node* j) { return j->closed() == CloseReason::kGoingAway; }),
            5);
  EXPECT_EQ(relay.count<Closed>(), 6U);
  relay.join(address_of(50), 1);
  relay.run_for(1s);
  EXPECT_EQ(relay.listener->peers() + relay.listener->pending(), 0U);
}

TEST(Listener, ClosedOrSilentPeerFreesItsPlace) {
  ListenerWorld relay{{.peers_max = 2}};
  relay.open_room(1);
  Node& polite = relay.join(address_of(1), 1);
  Node& crashed = relay.join(address_of(2), 1);
  relay.run_for(1s);
  polite.connection->hang_up(relay.now());
  relay.stop(crashed);
  relay.run_for(200ms);
  EXPECT_EQ(relay.listener->peers(), 1U);
  relay.run_for(4s);
  EXPECT_EQ(relay.count<Unreachable>(), 1U);
  relay.run_for(60s);
  EXPECT_EQ(relay.listener->peers(), 0U);
  std::vector<CloseReason> reasons;
  for (const auto& [at, event] : relay.events()) {
    if (const auto* closed = std::get_if<Closed>(&event.event)) {
      reasons.push_back(closed->reason);
    }
  }
  EXPECT_EQ(reasons, (std::vector{CloseReason::kPeerHungUp, CloseReason::kTimedOut}));
  relay.join(address_of(3), 1);
  relay.join(address_of(4), 1);
  relay.run_for(1s);
  EXPECT_EQ(relay.listener->peers(), 2U);
}

// ---- moving

TEST(Listener, FindsAMovedMemberInOneRoundTripAfterANotice) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& other = relay.join(address_of(1), 1);
  Node& mover = relay.join(address_of(2), 1);
  relay.run_for(1s);
  const TimePoint moved_at = relay.now();
  relay.move(mover, kElsewhere);
  relay.notice(mover);
  relay.run_for(1s);
  ASSERT_EQ(relay.count<PathChanged>(), 1U);
  // A routed ping there, a challenge back, and its answer.
  EXPECT_EQ(*relay.last<PathChanged>() - moved_at, 60ms);
  EXPECT_LE(mover.longest_gap(moved_at, relay.now()), 160ms);
  EXPECT_LE(other.longest_gap(moved_at, relay.now()), 55ms);
  EXPECT_GE(relay.listener->stats().routed, 2U);
}

TEST(Listener, FindsAMovedMemberWithoutANotice) {
  ListenerWorld relay;
  relay.open_room(1);
  relay.join(address_of(1), 1);
  Node& mover = relay.join(address_of(2), 1);
  relay.run_for(1s);
  const TimePoint moved_at = relay.now();
  relay.move(mover, kElsewhere);  // a NAT forgot
  relay.run_for(3s);
  ASSERT_EQ(relay.count<PathChanged>(), 1U);
  EXPECT_LE(*relay.last<PathChanged>() - moved_at, 750ms);
  EXPECT_LE(mover.longest_gap(moved_at, relay.now()), 800ms);
  EXPECT_TRUE(mover.connection->is_connected());
}

TEST(Listener, FindsAMemberWhoStillHearsItButIsNotHeard) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& mover = relay.join(address_of(1), 1);
  relay.run_for(1s);
  // What it sends comes from another address; datagrams to the old address still arrive, and the
  // listener keeps on sending.
  const TimePoint moved_at = relay.now();
  const auto peer = relay.events().front().second.peer;
  const Address before = mover.address;
  relay.move(mover, kElsewhere);
  for (int i = 0; i < 60; ++i) {
    relay.watch = [&](const Flight& flight) {
      if (flight.to == before) {
        relay.SecureWorld::inject(relay.address(), kElsewhere, flight.bytes);
      }
      return true;
    };
    relay.say(peer);
    relay.run_for(50ms);
  }
  ASSERT_EQ(relay.count<PathChanged>(), 1U);
  EXPECT_LE(*relay.last<PathChanged>() - moved_at, 1300ms);
}

TEST(Listener, FindsMembersWhoseAddressesWereExchanged) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& one = relay.join(address_of(1), 1);
  Node& two = relay.join(address_of(2), 1);
  relay.run_for(1s);
  const TimePoint moved_at = relay.now();
  relay.move(one, kElsewhere);
  relay.move(two, address_of(1));
  relay.move(one, address_of(2));
  relay.run_for(3s);
  EXPECT_EQ(relay.count<PathChanged>(), 2U);
  EXPECT_EQ(relay.count<Closed>(), 0U);
  for (const Node* joiner : {&one, &two}) {
    EXPECT_LE(joiner->longest_gap(moved_at, relay.now()), 1s);
  }
}

TEST(Listener, MovesThatFollowEachOtherLeaveNoTrace) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& mover = relay.join(address_of(1), 1);
  Node& other = relay.join(address_of(2), 1);
  relay.run_for(1s);
  for (size_t i = 0; i < 30; ++i) {
    relay.move(mover, address_of(1000 + i));
    relay.notice(mover);
    relay.run_for(200ms);
  }
  EXPECT_EQ(relay.count<PathChanged>(), 30U);
  // Another peer gets an address that the moved one had.
  relay.move(other, address_of(1028));
  relay.notice(other);
  const TimePoint since = relay.now();
  relay.run_for(1s);
  EXPECT_EQ(relay.count<PathChanged>(), 31U);
  EXPECT_LE(mover.longest_gap(since, relay.now()), 55ms);
  EXPECT_LE(other.longest_gap(since, relay.now()), 160ms);
}

TEST(Listener, CopiedRoutedDatagramMovesNoPeer) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& victim = relay.join(address_of(1), 1);
  relay.run_for(1s);
  uint64_t bytes_there = 0;
  relay.watch = [&](const Flight& flight) {
    if (flight.bytes[0] == kRoutedKind) {
      bytes_there += flight.bytes.size();
      relay.inject(kElsewhere, flight.bytes);  // first
    }
    return true;
  };
  for (int i = 0; i < 20; ++i) {
    relay.notice(victim);
    relay.run_for(300ms);
  }
  EXPECT_GT(bytes_there, 0U);
  EXPECT_EQ(relay.count<PathChanged>(), 0U);
  EXPECT_GT(relay.sent_to[kElsewhere].first, 0U) << "never challenged";
  EXPECT_LE(relay.sent_to[kElsewhere].second, 3 * bytes_there);
  // A single datagram: challenges could go on for 3 s and amplify it, and do not.
  relay.run_for(4s);
  const auto sent_before = relay.sent_to[kElsewhere].second;
  bytes_there = 0;
  relay.notice(victim);
  relay.run_for(4s);
  const auto sent_there = relay.sent_to[kElsewhere].second - sent_before;
  EXPECT_GT(sent_there, 0U);
  EXPECT_LE(sent_there, 3 * bytes_there) << "amplified";
  EXPECT_EQ(relay.count<PathChanged>(), 0U);
  const TimePoint since = relay.now();
  relay.run_for(1s);
  EXPECT_LE(victim.longest_gap(since, relay.now()), 55ms);
  // And a newcomer at that address is not taken for the victim.
  Node& newcomer = relay.join(kElsewhere, 1);
  relay.run_for(1s);
  EXPECT_TRUE(newcomer.connection->is_connected());
  EXPECT_FALSE(newcomer.received.empty());
}

TEST(Listener, CrashedPeerReturnsAsAnotherPeer) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& before = relay.join(address_of(1), 1);
  relay.run_for(1s);
  relay.stop(before);
  Node& after = relay.join(address_of(1), 1);
  relay.run_for(1s);
  EXPECT_TRUE(after.connection->is_connected());
  EXPECT_FALSE(after.received.empty());
  EXPECT_EQ(relay.listener->peers(), 2U);
  relay.run_for(65s);
  EXPECT_EQ(relay.listener->peers(), 1U) << "who is gone is gone";
  EXPECT_TRUE(after.connection->is_connected());
  const TimePoint since = relay.now();
  relay.run_for(1s);
  EXPECT_LE(after.longest_gap(since, relay.now()), 55ms)
      << "and took no address of the living along";
}

TEST(Listener, PeerThatAbandonsARejoinContinues) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& joiner = relay.join(address_of(1), 1);
  relay.run_for(1s);
  // A handshake that it began in a silence, and gave up when the silence was over.
  relay.stop(joiner);
  Node& second = relay.join(address_of(1), 1);
  relay.run_for(110ms);
  EXPECT_EQ(relay.listener->peers(), 2U);
  relay.stop(second);
  relay.start(joiner);
  const TimePoint since = relay.now();
  relay.run_for(3s);
  EXPECT_LE(joiner.longest_gap(since, relay.now()), 800ms);
  EXPECT_LE(joiner.longest_gap(since + 1s, relay.now()), 55ms);
}

TEST(Listener, AHandshakeThatIsNotNeededAnyMoreLeavesNoPeer) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& joiner = relay.SecureWorld::join(address_of(1), ListenerWorld::address(),
                                         {.credential = room_credential(test_access(1))});
  relay.run_for(1s);
  // Only handshakes arrive, until the joiner has all it needs for its last flight. Then its first
  // session is heard, while the listener's last flight is on its way.
  int answers = 0;
  relay.watch = [&](const Flight& flight) {
    const bool is_handshake = is_handshake_kind(flight.bytes[0]);
    answers += is_handshake && flight.to == address_of(1) ? 1 : 0;
    return is_handshake || answers >= 2;
  };
  relay.run_for(4s);
  EXPECT_EQ(relay.count<Connected>(), 2U) << "it was let in again";
  EXPECT_EQ(relay.listener->peers(), 1U);
  EXPECT_EQ(joiner.count<Connected>(), 1U);
  EXPECT_LE(joiner.longest_gap(relay.now() - 1s, relay.now()), 55ms);
}

TEST(Connection, AListenerOfOneTakesRoutedRecordsToo) {
  SecureWorld network;
  Node& left = network.listen(address_of(1));
  Node& right = network.join(address_of(2), address_of(1));
  uint64_t routed = 0;
  network.watch = [&](const Flight& flight) {
    routed += flight.bytes[0] == kRoutedKind ? 1 : 0;
    return true;
  };
  network.run_for(1s);
  EXPECT_TRUE(left.connection->is_connected());
  network.move(right, kElsewhere);
  network.notice(right);
  network.run_for(1s);
  EXPECT_GT(routed, 1U);
  EXPECT_TRUE(left.when<PathChanged>());
  EXPECT_EQ(left.connection->stats().unknown_kind, 0U);
}

// ---- strangers

/// The datagrams of one who gets as far as the keys and no further: hello, hello with cookie.
std::vector<std::byte> second_hello(ListenerWorld& relay, const Address& from) {
  Connection connection{relay.now(),
                        {.role = Role::kJoiner,
                         .credential = room_credential(test_access(1)),
                         .listener = relay.address()}};
  const auto first = connection.poll_transmit(relay.now())->bytes;
  const auto sent = relay.sent_to[from].first;
  std::vector<std::byte> answer;
  relay.watch = [&](const Flight& flight) {
    if (flight.to == from) {
      answer = flight.bytes;
      return false;
    }
    return true;
  };
  relay.inject(from, first);
  relay.watch = nullptr;
  if (relay.sent_to[from].first == sent) {
    return {};
  }
  connection.handle_datagram(relay.now(), relay.address(), answer);
  const auto second = connection.poll_transmit(relay.now());
  return second ? second->bytes : std::vector<std::byte>{};
}

TEST(Listener, TenThousandHalfOpenJoinsAreBoundedAndHarmless) {
  ListenerWorld relay;
  relay.open_room(1);
  std::vector<Node*> present;
  for (size_t i = 0; i < 5; ++i) {
    present.push_back(&relay.join(address_of(i), 1));
  }
  relay.run_for(1s);
  const TimePoint since = relay.now();
  size_t proven = 0;
  for (size_t i = 0; i < 10'000; ++i) {
    const Address from = address_of(100 + i);
    const auto hello = second_hello(relay, from);
    if (!hello.empty()) {
      ++proven;
      relay.inject(from, hello);
    }
    ASSERT_LE(relay.listener->pending(), 128U);
    relay.run_for(1ms);
  }
  EXPECT_GT(proven, 9000U);
  EXPECT_GT(relay.listener->stats().handshakes_begun, 1500U);
  EXPECT_LT(relay.listener->stats().handshakes_begun, 2500U) << "200 a second, no more";
  EXPECT_GT(relay.listener->stats().rate_limited, 5000U);
  EXPECT_EQ(relay.listener->peers(), 5U);
  for (const Node* joiner : present) {
    EXPECT_LE(joiner->longest_gap(since, relay.now()), 55ms);
  }
  relay.run_for(6s);
  EXPECT_EQ(relay.listener->pending(), 0U) << "nobody sits in a place for long";
  Node& late = relay.join(address_of(50'000), 1);
  relay.run_for(1s);
  EXPECT_TRUE(late.connection->is_connected());
}

TEST(Listener, HandshakeWorkIsDoneElsewhereWithoutDelay) {
  ListenerWorld relay{{.hands_out_work = true}};
  relay.open_room(1);
  relay.set_works(true);
  Node& present = relay.join(address_of(0), 1);
  relay.run_for(1s);
  EXPECT_EQ(present.when<Connected>(), kTimeZero + 120ms) << "as if it were done at once";
  relay.set_works(false);
  Node& waiting = relay.join(address_of(1), 1);
  Node& stranger = relay.join(address_of(2), 2);
  const TimePoint since = relay.now();
  relay.run_for(1s);
  EXPECT_EQ(relay.listener->pending(), 2U);
  EXPECT_EQ(relay.listener->stats().handshakes_begun, 3U) << "repeats are no new attempts";
  EXPECT_FALSE(waiting.connection->is_connected());
  EXPECT_LE(present.longest_gap(since, relay.now()), 55ms);
  relay.set_works(true);
  relay.run_for(2s);
  EXPECT_TRUE(waiting.connection->is_connected());
  EXPECT_EQ(stranger.closed(), CloseReason::kWrongSecret);
  EXPECT_EQ(relay.listener->peers(), 2U);
  EXPECT_EQ(relay.listener->stats().bad_handshake, 0U);
}

TEST(Listener, ALateLookUpRunsInHandedOutWorkAlone) {
  bool is_at_work = false;
  std::vector<bool> asked;
  ListenerOptions options{.hands_out_work = true};
  options.late_lookup = [&](std::string_view /*identity*/) -> std::optional<Secret> {
    asked.push_back(is_at_work);
    return std::nullopt;
  };
  ListenerWorld relay{options};
  relay.open_room(1);
  const Node& stranger = relay.join(test_address(7, 6000), 2);
  for (int i = 0; i < 300 && !stranger.closed(); ++i) {
    relay.run_for(10ms);
    while (auto work = relay.listener->poll_work()) {
      is_at_work = true;
      work->run();
      is_at_work = false;
      relay.listener->handle_work(relay.now(), *std::move(work));
      relay.run_for(1ms);
    }
  }
  EXPECT_EQ(stranger.closed(), CloseReason::kWrongSecret);
  EXPECT_FALSE(asked.empty());
  EXPECT_EQ(std::ranges::count(asked, false), 0) << "asked where media is forwarded";
}

TEST(Listener, UndoneWorkIsBoundedAndLateResultsDiscarded) {
  ListenerWorld relay{{.pending_max = 8, .hands_out_work = true}};
  relay.open_room(1);
  for (size_t i = 0; i < 40; ++i) {
    relay.inject(address_of(i), second_hello(relay, address_of(i)));
  }
  EXPECT_EQ(relay.listener->pending(), 8U);
  EXPECT_EQ(relay.listener->stats().handshakes_begun, 8U);
  EXPECT_EQ(relay.listener->stats().rate_limited, 32U);
  std::vector<HandshakeWork> out;
  while (auto work = relay.listener->poll_work()) {
    out.push_back(*std::move(work));
  }
  ASSERT_EQ(out.size(), 8U);
  // Another attempt from an address: the work for the one before is discarded.
  out[0].run();
  relay.listener->handle_work(relay.now(), std::move(out[0]));
  relay.inject(address_of(1), second_hello(relay, address_of(1)));
  EXPECT_EQ(relay.listener->stats().handshakes_begun, 9U);
  for (size_t i = 1; i < out.size(); ++i) {
    out[i].run();
    relay.listener->handle_work(relay.now(), std::move(out[i]));
  }
  EXPECT_EQ(relay.listener->pending(), 8U);
  EXPECT_TRUE(relay.listener->poll_work().has_value()) << "of the newest alone";
  EXPECT_FALSE(relay.listener->poll_work().has_value());
  relay.listener->stop(relay.now(), CloseCode::kGoingAway);
  EXPECT_EQ(relay.listener->pending(), 0U);
}

TEST(Listener, SlowJoinIsDroppedAfterFiveSeconds) {
  ListenerWorld relay;
  relay.open_room(1);
  std::vector<std::pair<Address, std::vector<std::byte>>> slow;
  for (size_t i = 0; i < 60; ++i) {
    const Address from = address_of(i);
    slow.emplace_back(from, second_hello(relay, from));
    relay.inject(from, slow.back().second);
  }
  EXPECT_EQ(relay.listener->pending(), 60U);
  for (int i = 0; i < 9; ++i) {
    relay.run_for(500ms);
    for (const auto& [from, hello] : slow) {
      relay.inject(from, hello);
    }
  }
  EXPECT_EQ(relay.listener->stats().handshakes_begun, 60U) << "repeats are no new attempts";
  relay.run_for(600ms);
  EXPECT_EQ(relay.listener->pending(), 0U);
  EXPECT_EQ(relay.listener->peers(), 0U);
}

TEST(Listener, OneNetworkCannotExhaustTheBudget) {
  ListenerWorld relay;
  relay.open_room(1);
  for (uint16_t i = 0; i < 200; ++i) {
    const Address from = address_of(7, static_cast<uint16_t>(1000 + i));
    const auto hello = second_hello(relay, from);
    relay.inject(from, hello);
    relay.run_for(5ms);
  }
  EXPECT_LT(relay.listener->stats().handshakes_begun, 40U);
  Node& other = relay.join(address_of(8), 1);
  relay.run_for(1s);
  EXPECT_TRUE(other.connection->is_connected());
}

TEST(Listener, ReplayedDatagramsAreCountedAndChangeNothing) {
  ListenerWorld relay;
  relay.open_room(1);
  std::vector<Flight> seen;
  relay.watch = [&](const Flight& flight) {
    seen.push_back(flight);
    return true;
  };
  for (size_t i = 0; i < 3; ++i) {
    relay.join(address_of(i), 1).connection->handle_network_change(relay.now());
  }
  relay.run_for(1s);
  relay.watch = nullptr;
  relay.run_for(30ms);  // none of it is in transit any more
  const auto before = relay.listener->stats();
  const auto events = relay.events().size();
  uint64_t records = 0;
  for (const Flight& flight : seen) {
    const bool is_record = flight.bytes[0] == kRecordKind || flight.bytes[0] == kControlKind ||
                           flight.bytes[0] == kRoutedKind;
    if (flight.to == relay.address()) {
      relay.inject(flight.from, flight.bytes);
      relay.inject(kElsewhere, flight.bytes);
      records += is_record ? 1 : 0;
    }
  }
  const auto after = relay.listener->stats();
  EXPECT_GT(records, 50U);
  EXPECT_GE(after.replayed, before.replayed + records);
  EXPECT_EQ(after.records_opened, before.records_opened);
  EXPECT_EQ(after.joined, before.joined);
  EXPECT_EQ(relay.events().size(), events);
}

TEST(Listener, IgnoredPeersDatagramsAreNotDecrypted) {
  ListenerWorld relay;
  relay.open_room(1);
  relay.join(address_of(1), 1);
  relay.run_for(1s);
  const PeerId first = relay.events().front().second.peer;
  relay.join(address_of(2), 1);
  relay.run_for(1s);
  const auto spoken_in = [&](Duration span) {
    const ListenerStats before = relay.listener->stats();
    relay.run_for(span);
    const ListenerStats after = relay.listener->stats();
    return std::pair{after.ignored - before.ignored, after.records_opened - before.records_opened};
  };
  const auto [none, of_two] = spoken_in(200ms);
  relay.listener->ignore(first, relay.now() + 200ms);
  const auto [ignored, of_one] = spoken_in(200ms);
  const auto [again, of_two_again] = spoken_in(200ms);
  EXPECT_EQ(none, 0U);
  EXPECT_GT(ignored, 3U);
  EXPECT_GT(of_one, 3U);
  EXPECT_LT(of_one, of_two);
  EXPECT_LE(again, 1U);  // what arrived at that very instant
  EXPECT_GT(of_two_again, of_one);
  relay.listener->ignore(PeerId{}, relay.now() + 1s);  // no peer
  EXPECT_EQ(relay.count<Closed>(), 0U);
}

TEST(Listener, HundredThousandRandomDatagramsAreHarmless) {
  ListenerWorld relay;
  relay.open_room(1);
  std::vector<Node*> present;
  std::vector<SessionId> ids;
  relay.watch = [&](const Flight& flight) {
    if (flight.bytes[0] == kRoutedKind) {
      std::copy_n(flight.bytes.begin() + 1, 8, ids.emplace_back().begin());
    }
    return true;
  };
  for (size_t i = 0; i < 5; ++i) {
    present.push_back(&relay.join(address_of(i), 1));
  }
  relay.run_for(2s);
  ASSERT_FALSE(ids.empty());
  relay.watch = nullptr;
  const TimePoint since = relay.now();
  const auto opened = relay.listener->stats().records_opened;
  Rng rng{1};
  uint64_t injected_opened = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::vector<std::byte> bytes(rng.below(80));
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(rng.below(256));
    }
    if (!bytes.empty()) {
      bytes[0] = static_cast<std::byte>(0x10 + rng.below(10));
      if (bytes.size() > 12 && rng.chance(0.3)) {
        bytes[0] = kRoutedKind;
        const SessionId id = ids[rng.below(ids.size())];
        std::copy(id.begin(), id.end(), bytes.begin() + 1);
        bytes[9] = rng.chance(0.5) ? kRecordKind : kControlKind;
      }
    }
    const auto before = relay.listener->stats().records_opened;
    relay.inject(rng.chance(0.5) ? address_of(rng.below(5)) : address_of(rng.below(60'000)), bytes);
    injected_opened += relay.listener->stats().records_opened - before;
    if (i % 100 == 0) {
      relay.run_for(1ms);
    }
  }
  EXPECT_EQ(injected_opened, 0U);
  EXPECT_GT(relay.listener->stats().records_opened, opened);
  EXPECT_EQ(relay.listener->peers(), 5U);
  EXPECT_EQ(relay.count<PathChanged>(), 0U);
  for (const Node* joiner : present) {
    EXPECT_LE(joiner->longest_gap(since, relay.now()), 55ms);
  }
}

TEST(Listener, ForgedHelloFloodCostsNoMemoryAndIsNotAmplified) {
  ListenerWorld relay;
  Connection joiner{kTimeZero,
                    {.role = Role::kJoiner,
                     .credential = room_credential(test_access(1)),
                     .listener = relay.address()}};
  auto hello = joiner.poll_transmit(kTimeZero)->bytes;
  for (size_t i = 0; i < 20'000; ++i) {
    hello[27] = static_cast<std::byte>(i & 255U);  // in its random number
    relay.inject(address_of(i), hello);
  }
  EXPECT_EQ(relay.listener->pending(), 0U);
  EXPECT_EQ(relay.listener->stats().handshakes_begun, 0U);
  EXPECT_GT(relay.listener->stats().cookies_sent, 1000U);
  EXPECT_GT(relay.listener->stats().rate_limited, 1000U);
  for (const auto& [address, sent] : relay.sent_to) {
    EXPECT_LE(sent.second, hello.size()) << "amplified";
  }
}

TEST(Listener, ManyJoinAndLeaveUnderLossAndNothingRemains) {
  ListenerWorld relay{{.peers_max = 40}};
  relay.open_room(1);
  Rng rng{3};
  relay.watch = [&](const Flight&) { return !rng.chance(0.1); };
  std::vector<Node*> joiners;
  for (size_t i = 0; i < 120; ++i) {
    joiners.push_back(&relay.join(address_of(i), 1));
    relay.run_for(100ms);
    if (joiners.size() >= 25) {
      Node& leaver = *joiners[joiners.size() - 25];
      if (rng.chance(0.5)) {
        leaver.connection->hang_up(relay.now());
      } else {
        relay.move(leaver, address_of(10'000 + i));
        leaver.connection->hang_up(relay.now());
      }
    }
  }
  for (Node* joiner : joiners) {
    joiner->connection->hang_up(relay.now());
  }
  relay.run_for(90s);
  EXPECT_EQ(relay.listener->peers(), 0U);
  EXPECT_EQ(relay.listener->pending(), 0U);
  EXPECT_EQ(relay.listener->poll_timeout(), kNever);
  EXPECT_EQ(relay.count<Connected>(), relay.count<Closed>());
  EXPECT_GE(relay.count<Connected>(), 115U);
}

TEST(Listener, DatagramForAGonePeerIsDroppedAndCounted) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& joiner = relay.join(address_of(1), 1);
  relay.run_for(1s);
  const PeerId peer = relay.events().front().second.peer;
  EXPECT_EQ(relay.listener->path(peer), address_of(1));
  EXPECT_GE(relay.listener->datagram_max(peer), DataSize{1184});
  joiner.connection->hang_up(relay.now());
  relay.run_for(1s);
  relay.listener->send(relay.now(), peer, plain_datagram(1'000'000));
  relay.listener->send(relay.now(), PeerId{}, plain_datagram(1'000'000));
  relay.listener->send(relay.now(), PeerId{~uint64_t{0}}, plain_datagram(1'000'000));
  EXPECT_EQ(relay.listener->stats().not_connected, 3U);
  EXPECT_EQ(relay.listener->path(peer), std::nullopt);
}

// ---- who owns an address, and what is counted

/// The next datagram of that kind that the joiner sends; it is lost on its way.
std::vector<std::byte> intercept(ListenerWorld& relay, const Node& joiner, std::byte kind) {
  std::vector<std::byte> found;
  relay.watch = [&](const Flight& flight) {
    const bool is_it = found.empty() && flight.from == joiner.address && flight.bytes[0] == kind;
    if (is_it) {
      found = flight.bytes;
    }
    return !is_it;
  };
  for (int i = 0; i < 2000 && found.empty(); ++i) {
    relay.run_for(1ms);
  }
  relay.watch = nullptr;
  EXPECT_FALSE(found.empty());
  return found;
}
std::vector<std::byte> intercept_routed(ListenerWorld& relay, Node& joiner) {
  std::vector<std::byte> found;
  relay.watch = [&](const Flight& flight) {
    if (flight.from == joiner.address && flight.bytes[0] == kRoutedKind) {
      found = flight.bytes;
      return false;
    }
    return true;
  };
  relay.notice(joiner);
  relay.watch = nullptr;
  EXPECT_FALSE(found.empty());
  return found;
}

TEST(Listener, ARoutedRecordTakesNobodysAddress) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& owner = relay.join(address_of(1), 1);
  Node& other = relay.join(address_of(2), 1);
  relay.run_for(1s);
  const auto before = relay.listener->stats();
  const TimePoint since = relay.now();
  const auto routed = intercept_routed(relay, other);
  relay.inject(address_of(1), routed);  // authentic, but from the owner's address
  EXPECT_EQ(relay.listener->stats().routed, before.routed + 1);
  EXPECT_EQ(relay.listener->stats().records_opened, before.records_opened + 1);
  relay.run_for(1s);
  EXPECT_EQ(relay.listener->stats().bad_tag, before.bad_tag) << "the owner's records are its own";
  EXPECT_LE(owner.longest_gap(since, relay.now()), 55ms);
  EXPECT_LE(other.longest_gap(since, relay.now()), 160ms);
  EXPECT_EQ(relay.count<PathChanged>(), 0U);
}

TEST(Listener, FourAddressesLeadToAPeerAndItsPathStays) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& joiner = relay.join(address_of(0), 1);
  relay.run_for(1s);
  for (size_t i = 1; i <= 4; ++i) {
    relay.inject(address_of(i), intercept_routed(relay, joiner));
  }
  const auto is_known = [&](size_t i) {
    const auto before = relay.listener->stats();
    const auto record = intercept(relay, joiner, kRecordKind);
    relay.inject(address_of(i), record);
    const auto after = relay.listener->stats();
    EXPECT_NE(after.without_session > before.without_session,
              after.records_opened > before.records_opened);
    return after.without_session == before.without_session;
  };
  EXPECT_FALSE(is_known(1)) << "the oldest that is not its path";
  EXPECT_TRUE(is_known(2));
  EXPECT_TRUE(is_known(3));
  EXPECT_TRUE(is_known(4));
  EXPECT_FALSE(is_known(5));
  EXPECT_TRUE(is_known(0));
  EXPECT_EQ(relay.listener->path(relay.events().front().second.peer), address_of(0));
}

TEST(Listener, RefusalsAreCountedByName) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& joiner = relay.join(address_of(1), 1);
  relay.run_for(1s);
  const auto record = intercept(relay, joiner, kRecordKind);
  const auto routed = intercept_routed(relay, joiner);
  ASSERT_GT(routed.size(), 10U);
  const auto counts = [&](uint64_t ListenerStats::*counter, const Address& from,
                          std::vector<std::byte> bytes) {
    const ListenerStats before = relay.listener->stats();
    relay.inject(from, bytes);
    ListenerStats expected = before;
    ++(expected.*counter);
    ++expected.datagrams_received;
    expected.bytes_received += bytes.size();
    ListenerStats after = relay.listener->stats();
    after.datagrams_sent = expected.datagrams_sent;
    after.bytes_sent = expected.bytes_sent;
    return after == expected;
  };
  using Stats = ListenerStats;
  const Address from = address_of(1);
  EXPECT_TRUE(counts(&Stats::unknown_kind, from, {}));
  for (const int kind : {0, 15, 16, 26, 255}) {
    EXPECT_TRUE(counts(&Stats::unknown_kind, from, {static_cast<std::byte>(kind)})) << kind;
  }
  for (const int kind : {20, 22, 25}) {
    EXPECT_TRUE(counts(&Stats::bad_handshake, kElsewhere, {static_cast<std::byte>(kind)})) << kind;
  }
  auto changed = record;
  changed.back() ^= std::byte{1};
  EXPECT_TRUE(counts(&Stats::bad_tag, from, changed));
  changed = record;
  changed[1] = std::byte{99};
  EXPECT_TRUE(counts(&Stats::unknown_key, from, changed));
  EXPECT_TRUE(counts(&Stats::truncated, from, {record.begin(), record.begin() + 31}));
  EXPECT_TRUE(counts(&Stats::without_session, kElsewhere, record));
  EXPECT_TRUE(counts(&Stats::records_opened, from, record));
  EXPECT_TRUE(counts(&Stats::replayed, from, record));
  EXPECT_TRUE(counts(&Stats::truncated, from, {routed.begin(), routed.begin() + 9}));
  changed = routed;
  changed[9] = kRoutedKind;
  EXPECT_TRUE(counts(&Stats::unknown_kind, from, changed));
  for (size_t i = 1; i <= 8; ++i) {
    changed = routed;
    changed[i] ^= std::byte{1};
    EXPECT_TRUE(counts(&Stats::without_session, from, changed)) << "byte " << i << " of the id";
  }
  const ListenerStats before = relay.listener->stats();
  relay.inject(from, routed);
  EXPECT_EQ(relay.listener->stats().routed, before.routed + 1);
  EXPECT_EQ(relay.listener->stats().records_opened, before.records_opened + 1);
}

TEST(Listener, ControlRecordsBeyondTheLimitAreNotDecrypted) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& joiner = relay.join(address_of(1), 1);
  relay.run_for(1s);
  const auto routed = intercept_routed(relay, joiner);
  const std::vector<std::byte> control{routed.begin() + kRoutedOverhead.bytes(), routed.end()};
  ASSERT_EQ(control.front(), kControlKind);
  const ListenerStats before = relay.listener->stats();
  for (int i = 0; i < 10'000; ++i) {
    relay.inject(address_of(1), control);
  }
  const ListenerStats after = relay.listener->stats();
  const uint64_t decrypted =
      after.records_opened + after.replayed - before.records_opened - before.replayed;
  EXPECT_LE(decrypted, 101U);
  EXPECT_GE(decrypted, 80U) << "a burst is allowed";
  EXPECT_EQ(after.over_limit - before.over_limit + decrypted, 10'000U);
  const TimePoint since = relay.now();
  relay.run_for(2s);
  EXPECT_EQ(relay.listener->peers(), 1U);
  EXPECT_LE(joiner.longest_gap(since, relay.now()), 55ms) << "its datagrams go on";
}

TEST(Listener, DatagramsFromManyAddressesAreLimited) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& joiner = relay.join(address_of(1), 1);
  relay.run_for(1s);
  const auto routed = intercept_routed(relay, joiner);
  const ListenerStats before = relay.listener->stats();
  for (size_t i = 0; i < 10'000; ++i) {
    relay.inject(address_of(100 + i), routed);
  }
  const ListenerStats after = relay.listener->stats();
  const uint64_t decrypted =
      after.records_opened + after.replayed - before.records_opened - before.replayed;
  EXPECT_LE(decrypted, 200U);
  EXPECT_EQ(after.over_limit - before.over_limit + decrypted, 10'000U);
  const TimePoint since = relay.now();
  relay.run_for(2s);
  EXPECT_EQ(relay.listener->path(relay.events().front().second.peer), address_of(1));
  EXPECT_LE(joiner.longest_gap(since, relay.now()), 55ms);
}

TEST(Listener, SentDatagramsAreCountedForEveryPath) {
  ListenerWorld relay;
  relay.open_room(1);
  relay.join(address_of(1), 1);
  relay.run_for(1s);
  uint64_t datagrams = 0;
  uint64_t bytes = 0;
  for (const auto& [to, sent] : relay.sent_to) {
    datagrams += to == relay.address() ? 0 : sent.first;
    bytes += to == relay.address() ? 0 : sent.second;
  }
  const PeerId peer = relay.events().front().second.peer;
  EXPECT_EQ(relay.listener->stats().datagrams_sent, datagrams);
  EXPECT_EQ(relay.listener->stats().bytes_sent, bytes);
  const auto sealed = relay.listener->seal(relay.now(), peer, plain_datagram(1'000'000, 84));
  ASSERT_TRUE(sealed);
  EXPECT_EQ(sealed->to, address_of(1));
  EXPECT_EQ(sealed->bytes.size(), 116U);
  EXPECT_EQ(relay.listener->stats().datagrams_sent, datagrams + 1);
  EXPECT_EQ(relay.listener->stats().bytes_sent, bytes + 116);
  EXPECT_FALSE(relay.listener->seal(relay.now(), PeerId{}, plain_datagram(2'000'000)));
  EXPECT_EQ(relay.listener->stats().not_connected, 1U);
}

TEST(Listener, SendingBringsTheTimerForward) {
  for (const bool is_sealed : {true, false}) {
    ListenerWorld relay{{.peer = {.unreachable_after = 200ms}}};
    relay.open_room(1);
    Node& joiner = relay.join(address_of(1), 1);
    relay.run_for(1s);
    relay.stop(joiner);
    relay.run_for(100ms);  // what was on its way came
    const PeerId peer = relay.events().front().second.peer;
    const size_t before = relay.count<Unreachable>();
    const TimePoint since = relay.now();
    if (is_sealed) {
      (void)relay.listener->seal(relay.now(), peer, plain_datagram(1'000'000));
    } else {
      relay.listener->send(relay.now(), peer, plain_datagram(1'000'000));
    }
    relay.run_for(1s);
    EXPECT_EQ(relay.count<Unreachable>(), before + 1);
    EXPECT_LE(*relay.last<Unreachable>(), since + 200ms);
  }
}

TEST(Listener, StopNotifiesEveryPeer) {
  for (const size_t peers : {1, 2, 3}) {
    ListenerWorld relay{{.peers_max = 3, .leaving_max = 3}};
    relay.open_room(1);
    std::vector<Node*> joiners;
    for (size_t i = 0; i < peers; ++i) {
      joiners.push_back(&relay.join(address_of(i), 1));
    }
    relay.run_for(1s);
    relay.listener->stop(relay.now(), CloseCode::kGoingAway);
    EXPECT_EQ(relay.listener->peers(), 0U);
    EXPECT_FALSE(relay.listener->is_finished());
    relay.run_for(3s - Duration{1});
    EXPECT_FALSE(relay.listener->is_finished()) << "it lingers";
    relay.run_for(Duration{1});
    EXPECT_TRUE(relay.listener->is_finished());
    for (const Node* joiner : joiners) {
      EXPECT_EQ(joiner->closed(), CloseReason::kGoingAway);
    }
  }
}

TEST(Listener, APeersIdIsNeverGivenAgain) {
  ListenerWorld relay{{.peers_max = 1, .leaving_max = 1}};
  relay.open_room(1);
  std::set<PeerId> ids;
  for (size_t i = 0; i < 5; ++i) {
    Node& joiner = relay.join(address_of(i), 1);
    relay.run_for(1s);
    EXPECT_EQ(relay.listener->peers(), 1U);
    const PeerId peer = relay.events().back().second.peer;
    EXPECT_TRUE(relay.listener->is_connected(peer));
    EXPECT_LT(peer.slot(), 2U) << "places are used again";
    for (const PeerId& gone : ids) {
      EXPECT_FALSE(relay.listener->is_connected(gone));
      EXPECT_EQ(relay.listener->datagram_max(gone), DataSize{1184});
    }
    EXPECT_TRUE(ids.insert(peer).second);
    joiner.connection->hang_up(relay.now());
    relay.run_for(1s);
    EXPECT_EQ(relay.listener->peers(), 0U);
  }
}

TEST(Listener, TheSocketsRefusalCountsForThePeerOfThatPathAlone) {
  ListenerWorld relay;
  relay.open_room(1);
  relay.join(address_of(1), 1);
  relay.run_for(100ms);
  relay.join(address_of(2), 1);
  relay.run_for(10s);
  const PeerId one = relay.events().front().second.peer;
  PeerId two;
  for (const auto& [at, event] : relay.events()) {
    two = event.peer == one ? two : event.peer;
  }
  ASSERT_EQ(relay.listener->datagram_max(one), DataSize{1456});
  ASSERT_EQ(relay.listener->datagram_max(two), DataSize{1456});
  relay.listener->handle_too_big(relay.now(), kElsewhere, DataSize{1472});
  relay.listener->handle_too_big(relay.now(), address_of(1), DataSize{1472});
  EXPECT_EQ(relay.listener->datagram_max(one), DataSize{1184});
  EXPECT_EQ(relay.listener->datagram_max(two), DataSize{1456});
  const auto event = relay.listener->poll_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->peer, one);
  EXPECT_EQ(event->event, Event{MtuChanged{DataSize{1184}}});
}

TEST(Listener, HandshakesThatFailAndThoseThatAreDroppedAreCounted) {
  ListenerWorld relay{{.pending_max = 2}};
  relay.open_room(1);
  for (size_t i = 0; i < 3; ++i) {
    relay.inject(address_of(i), second_hello(relay, address_of(i)));
  }
  EXPECT_EQ(relay.listener->pending(), 2U);
  EXPECT_EQ(relay.listener->stats().handshakes_begun, 3U);
  EXPECT_EQ(relay.listener->stats().handshakes_failed, 1U) << "the oldest was dropped";
  relay.inject(address_of(2), second_hello(relay, address_of(2)));
  EXPECT_EQ(relay.listener->pending(), 2U) << "another attempt of the same address";
  EXPECT_EQ(relay.listener->stats().handshakes_failed, 1U);
  relay.run_for(5s - Duration{1});
  EXPECT_EQ(relay.listener->pending(), 2U);
  relay.run_for(Duration{1});
  EXPECT_EQ(relay.listener->pending(), 0U);
  EXPECT_EQ(relay.listener->stats().handshakes_failed, 3U) << "not finished in time";
}

TEST(Listener, AnswersWaitInAQueueOfAThousand) {
  HandshakeLimits::Options limits = ListenerOptions{}.limits;
  limits.answers = {.per_second = 1e6, .burst = 10'000};
  ListenerWorld relay{{.limits = limits}};
  Connection joiner{kTimeZero,
                    {.role = Role::kJoiner,
                     .credential = room_credential(test_access(1)),
                     .listener = relay.address()}};
  const auto hello = joiner.poll_transmit(kTimeZero)->bytes;
  for (size_t i = 0; i < 1030; ++i) {
    relay.listener->handle_datagram(kTimeZero, address_of(i), hello);
  }
  EXPECT_EQ(relay.listener->stats().cookies_sent, 1024U);
  EXPECT_EQ(relay.listener->stats().rate_limited, 6U);
}

TEST(Listener, IgnoresUntilExactlyThen) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& joiner = relay.join(address_of(1), 1);
  relay.run_for(1s);
  const auto first = intercept(relay, joiner, kRecordKind);
  relay.run_for(100ms);
  const PeerId peer = relay.events().front().second.peer;
  relay.listener->ignore(peer, relay.now() + Duration{1});
  const auto before = relay.listener->stats();
  relay.inject(address_of(1), first);
  EXPECT_EQ(relay.listener->stats().ignored, before.ignored + 1);
  EXPECT_EQ(relay.listener->stats().records_opened, before.records_opened);
  relay.run_for(Duration{1});
  relay.inject(address_of(1), first);
  EXPECT_EQ(relay.listener->stats().ignored, before.ignored + 1);
  EXPECT_EQ(relay.listener->stats().records_opened, before.records_opened + 1);
}

}  // namespace
}  // namespace cress::secure
