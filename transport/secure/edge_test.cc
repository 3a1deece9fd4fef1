// What is counted, kept and discarded at the limits of connections and listeners.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <vector>

#include "transport/secure/secure_world_test_tools.hh"

namespace cress::secure {
namespace {

const Address kListens = test_address(1);
const Address kJoins = test_address(2, 6000);
const Address kOther = test_address(3, 7000);

/// The position and size of the cookie in a second hello without a session id.
constexpr size_t kCookieAt = 13 + 12 + 2 + 32 + 1 + 1;
constexpr size_t kCookieBytes = 16;

/// First and second hello of one joiner, which goes no further.
struct Hellos {
  std::vector<std::byte> first;
  std::vector<std::byte> second;
};
Hellos hellos_of(SecureWorld& network, const Address& from) {
  Hellos hellos;
  network.watch = [&](const Flight& flight) {
    if (flight.from != from) {
      return true;
    }
    const bool is_first = hellos.first.empty();
    (is_first ? hellos.first : hellos.second) = flight.bytes;
    return is_first;
  };
  Node& joiner = network.join(from, kListens);
  network.run_for(50ms);
  network.stop(joiner);
  network.watch = nullptr;
  EXPECT_GE(hellos.second.size(), kCookieAt + kCookieBytes);
  return hellos;
}

template <class Stats>
bool is_all_zero(const Stats& stats) {
  const std::array<std::byte, sizeof(Stats)> zero{};
  return std::memcmp(&stats, zero.data(), sizeof stats) == 0;
}

TEST(Counters, BeginAtZero) {
  EXPECT_TRUE(is_all_zero(ConnectionStats{}));
  EXPECT_TRUE(is_all_zero(ListenerStats{}));
}

TEST(KeyedHash, EveryBitOfAnAddressCounts) {
  std::set<std::array<std::byte, 24>> seen{KeyedHash::bytes_of({})};
  size_t addresses = 1;
  for (size_t bit = 0; bit < 128 + 16 + 32; ++bit, ++addresses) {
    Address address;
    if (bit < 128) {
      address.ip[bit / 8] = static_cast<uint8_t>(1U << (bit % 8));
    } else if (bit < 144) {
      address.port = static_cast<uint16_t>(1U << (bit - 128));
    } else {
      address.scope = 1U << (bit - 144);
    }
    seen.insert(KeyedHash::bytes_of(address));
  }
  EXPECT_EQ(seen.size(), addresses);
}

// ---- a connection that listens

TEST(Connection, ACookieHoldsForOneAddressAlone) {
  SecureWorld network;
  Node& left = network.listen(kListens);
  const Hellos hellos = hellos_of(network, kJoins);
  const auto before = left.connection->stats();
  size_t others = 0;
  for (size_t bit = 0; bit < 128 + 16 + 32; ++bit, ++others) {
    Address address = kJoins;
    if (bit < 128) {
      address.ip[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
    } else if (bit < 144) {
      address.port ^= static_cast<uint16_t>(1U << (bit - 128));
    } else {
      address.scope ^= 1U << (bit - 144);
    }
    network.inject(address, kListens, hellos.second);
  }
  EXPECT_EQ(left.connection->stats().cookies_sent, before.cookies_sent + others);
  EXPECT_EQ(left.connection->stats().handshakes_begun, before.handshakes_begun);
  network.inject(kJoins, kListens, hellos.second);
  EXPECT_EQ(left.connection->stats().handshakes_begun, before.handshakes_begun + 1);
}

TEST(Connection, TheSameHelloFromTwoAddressesIsTwoAttempts) {
  SecureWorld network;
  Node& left = network.listen(kListens);
  Hellos hellos = hellos_of(network, kJoins);
  std::vector<std::byte> answer;
  network.watch = [&](const Flight& flight) {
    answer = flight.to == kOther ? flight.bytes : answer;
    return true;
  };
  network.inject(kOther, kListens, hellos.first);
  ASSERT_GE(answer.size(), kCookieBytes);
  network.inject(kJoins, kListens, hellos.second);
  network.inject(kJoins, kListens, hellos.second);
  EXPECT_EQ(left.connection->pending(), 1U) << "a repeat";
  std::copy(answer.end() - kCookieBytes, answer.end(),
            hellos.second.begin() + static_cast<std::ptrdiff_t>(kCookieAt));
  network.inject(kOther, kListens, hellos.second);
  EXPECT_EQ(left.connection->pending(), 2U);
  EXPECT_EQ(left.connection->stats().handshakes_begun, 2U);
  EXPECT_EQ(left.connection->stats().handshakes_failed, 0U);
}

TEST(Connection, TwoThousandCookiesMayBeSentAtOnceAndFourThousandHellosRead) {
  SecureWorld network;
  Node& left = network.listen(kListens);
  const auto hello = hellos_of(network, kJoins).first;
  network.run_for(1s);  // the budgets are full again
  const auto before = left.connection->stats();
  for (int i = 0; i < 4000; ++i) {
    network.inject(kJoins, kListens, hello);
  }
  EXPECT_EQ(left.connection->stats().cookies_sent, before.cookies_sent + 2000);
  EXPECT_EQ(left.connection->stats().rate_limited, before.rate_limited + 2000);
  // In a millisecond there is room for 40 more hellos, and 20 more answers.
  network.run_for(1ms);
  for (int i = 0; i < 60; ++i) {
    network.inject(kJoins, kListens, hello);
  }
  EXPECT_EQ(left.connection->stats().cookies_sent, before.cookies_sent + 2020);
  EXPECT_EQ(left.connection->stats().rate_limited, before.rate_limited + 2040);
}

TEST(Connection, AnswersWaitInAQueueOf256) {
  SecureWorld network;
  network.listen(kListens);
  const auto hello = hellos_of(network, kJoins).first;
  Connection listener{kTimeZero, {.role = Role::kListener, .secret = test_secret()}};
  for (int i = 0; i < 300; ++i) {
    listener.handle_datagram(kTimeZero, kJoins, hello);
  }
  EXPECT_EQ(listener.stats().cookies_sent, 256U);
  EXPECT_EQ(listener.stats().rate_limited, 44U);
  size_t answers = 0;
  while (listener.poll_transmit(kTimeZero)) {
    ++answers;
  }
  EXPECT_EQ(answers, 256U);
  EXPECT_EQ(listener.stats().datagrams_sent, 256U);
}

TEST(Connection, ANetworkIsSlash24OfIpv4AndSlash48OfIpv6) {
  // 12 attempts from addresses that differ in one byte: how many of them begin.
  const auto begun = [](Address address, size_t byte) {
    SecureWorld network;
    Node& left = network.listen(kListens);
    for (uint8_t i = 0; i < 12; ++i) {
      address.ip[byte] = static_cast<uint8_t>(100 + i);
      network.join(address, kListens, {.secret = test_secret(8)});
    }
    network.run_for(65ms);
    return left.connection->stats().handshakes_begun;
  };
  const Address ipv4 = test_address(9);
  EXPECT_EQ(begun(ipv4, 15), 10U);
  EXPECT_EQ(begun(ipv4, 14), 12U);
  Address ipv6;
  ipv6.ip = {0x20, 1, 0xd, 0xb8};
  ipv6.port = 5000;
  EXPECT_EQ(begun(ipv6, 6), 10U);
  EXPECT_EQ(begun(ipv6, 15), 10U);
  EXPECT_EQ(begun(ipv6, 5), 12U);
}

// ---- joining again

struct Rejoin : ::testing::Test {
  void lose_all() {
    network.watch = [](const Flight&) { return false; };
  }
  SecureWorld network;
  Node& left = network.listen(kListens);
  Node& right = network.join(kJoins, kListens);
};

TEST_F(Rejoin, RefusalBeforeTheCallResumedIsForgotten) {
  network.run_for(1s);
  network.stop(left);
  Node& stranger = network.listen(kListens, {.secret = test_secret(8)});
  network.run_for(4s);
  EXPECT_GE(right.connection->stats().wrong_secret, 1U);
  network.stop(stranger);
  network.start(left);
  network.run_for(2s);
  lose_all();
  network.run_for(61s);
  EXPECT_EQ(right.closed(), CloseReason::kTimedOut) << "not for the link";
}

/// Until the listener has replaced the call by the joiner's own second one, nothing but handshakes
/// and proofs arrives; then its first datagram is lost, so that the close of the old call comes
/// first. `then`: whether what follows the close arrives.
void replace_unheard(SecureWorld& network, Node& left, bool then) {
  network.run_for(1s);
  network.watch = [&left, then, is_first_lost = false](const Flight& flight) mutable {
    if (is_handshake_kind(flight.bytes[0])) {
      return true;
    }
    if (left.connection->stats().replaced == 0) {
      return is_proof(flight.bytes);
    }
    const size_t close_size = static_cast<size_t>(kControlOverhead.bytes()) + 2;
    if (flight.bytes[0] == kControlKind && flight.bytes.size() == close_size) {
      return true;
    }
    return then && std::exchange(is_first_lost, true);
  };
  for (int i = 0; i < 6000 && left.connection->stats().replaced == 0; ++i) {
    network.run_for(1ms);
  }
  ASSERT_EQ(left.connection->stats().replaced, 1U);
}

TEST_F(Rejoin, ACloseOfTheOldCallMayOvertakeTheNewOne) {
  replace_unheard(network, left, true);
  network.run_for(1s);
  EXPECT_TRUE(right.connection->is_connected());
  EXPECT_EQ(right.count<Connected>(), 2U);
  EXPECT_EQ(right.count<Closed>(), 0U);
}

TEST_F(Rejoin, WithoutTheLastFlightNobodyReplacesItself) {
  network.run_for(1s);
  constexpr std::byte kChangeCipherSpec{20};
  network.watch = [](const Flight& flight) {
    return is_handshake_kind(flight.bytes[0]) &&
           (flight.from != kListens || flight.bytes[0] != kChangeCipherSpec);
  };
  network.run_for(10s);
  EXPECT_EQ(left.connection->stats().replaced, 0U);
  network.watch = nullptr;
  network.run_for(1s);
  EXPECT_TRUE(right.connection->is_connected());
  EXPECT_EQ(right.count<Connected>(), 1U);
  EXPECT_EQ(left.count<Closed>() + right.count<Closed>(), 0U);
}

TEST_F(Rejoin, TheNewCallHasTenSecondsToBeHeard) {
  replace_unheard(network, left, false);
  network.run_for(21ms);  // the close arrives
  EXPECT_FALSE(right.connection->is_connected());
  network.run_for(10s - 22ms);
  EXPECT_EQ(right.count<Closed>(), 0U);
  network.run_for(22ms);
  EXPECT_EQ(right.closed(), CloseReason::kReplaced);
}

TEST_F(Rejoin, NewcomerReplacesAPeerSilentForTwoSeconds) {
  network.run_for(1s);
  network.stop(right);
  network.join(kOther, kListens);
  network.run_for(4s);
  ASSERT_TRUE(left.when<Closed>());
  // The last heartbeat arrived in the 50 ms before.
  EXPECT_GE(*left.when<Closed>(), kTimeZero + 2950ms);
  EXPECT_LE(*left.when<Closed>(), kTimeZero + 3020ms);
}

TEST_F(Rejoin, AReplacedPeerIsNotifiedForAMinute) {
  for (const bool is_late : {false, true}) {
    SecureWorld dark;
    dark.listen(kListens);
    Node& replaced = dark.join(kJoins, kListens, {.rejoin_after = 1h});
    dark.run_for(1s);
    dark.stop(replaced);
    dark.run_for(3s);
    std::optional<TimePoint> at;
    Node& other = dark.join(kOther, kListens);
    dark.run_for(200ms);
    ASSERT_TRUE(other.when<Connected>());
    at = *other.when<Connected>() - 20ms;  // the listener's decision
    // The close was sent three times, to no one.
    dark.run_until(*at + 60s + (is_late ? 1ms : -60ms));
    const uint64_t before = dark.sent_to[kJoins].first;
    replaced.connection->send(dark.now() - 70s, plain_datagram(1'000'000));
    const auto record = replaced.connection->poll_transmit(dark.now() - 70s);
    ASSERT_TRUE(record);
    dark.inject(kJoins, kListens, record->bytes);
    EXPECT_EQ(dark.sent_to[kJoins].first - before, is_late ? 0U : 1U);
  }
}

TEST(Connection, EightRefusedOnesLingerAtTheSameTime) {
  SecureWorld network;
  Node& left = network.listen(kListens);
  network.join(kJoins, kListens);
  network.run_for(1s);
  // None of their records arrives, so that each lingers.
  network.watch = [](const Flight& flight) {
    return flight.to == kJoins || flight.from == kJoins || is_handshake_kind(flight.bytes[0]);
  };
  std::vector<std::vector<std::byte>> records(9);
  std::vector<Node*> others;
  for (uint8_t i = 0; i < 9; ++i) {
    others.push_back(&network.join(test_address(20 + i), kListens));
  }
  network.run_for(900ms);
  ASSERT_EQ(left.connection->stats().busy, 9U);
  network.watch = [&](const Flight& flight) {
    const size_t i = flight.from.ip[14] - 20U;
    if (i < 9 && flight.bytes[0] == kRoutedKind) {  // because it is not answered
      records[i] = flight.bytes;
    }
    return flight.to == kJoins || flight.from == kJoins;
  };
  network.run_for(1s);
  size_t answered = 0;
  for (uint8_t i = 0; i < 9; ++i) {
    ASSERT_FALSE(records[i].empty());
    network.stop(*others[i]);
    const uint64_t before = network.sent_to[test_address(20 + i)].first;
    network.inject(test_address(20 + i), kListens, records[i]);
    answered += network.sent_to[test_address(20 + i)].first - before;
  }
  EXPECT_EQ(answered, 8U) << "the oldest had to go";
}

// ---- a listener of many

/// Each in another network.
Address place(uint8_t i) { return test_address(i, 6000); }

/// What a joiner sends up to its second flight, which is lost; the datagrams, in order.
std::vector<std::vector<std::byte>> flights_of(ListenerWorld& relay, const Address& from) {
  std::vector<std::vector<std::byte>> sent;
  relay.watch = [&](const Flight& flight) {
    if (flight.from == from) {
      sent.push_back(flight.bytes);
      return sent.size() < 3;
    }
    return true;
  };
  Node& joiner = relay.join(from, 1);
  relay.run_for(90ms);
  relay.stop(joiner);
  relay.watch = nullptr;
  EXPECT_EQ(sent.size(), 3U);
  return sent;
}

TEST(Listener, StartsWithoutPeers) {
  ListenerWorld relay;
  relay.listener->send(relay.now(), PeerId{}, plain_datagram(0));
  EXPECT_EQ(relay.listener->stats().not_connected, 1U);
  EXPECT_FALSE(relay.listener->is_connected(PeerId{}));
  EXPECT_EQ(relay.listener->path(PeerId{}), std::nullopt);
}

TEST(Listener, GonePeerIsNotClosedAgainOnStop) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& gone = relay.join(place(1), 1);
  relay.join(place(2), 1);
  relay.run_for(1s);
  gone.connection->hang_up(relay.now());
  relay.run_for(1s);
  EXPECT_EQ(relay.count<Closed>(), 1U);
  relay.listener->stop(relay.now(), CloseCode::kGoingAway);
  relay.run_for(1s);
  EXPECT_EQ(relay.listener->peers(), 0U);
  EXPECT_EQ(relay.count<Closed>(), 2U) << "one each";
}

TEST(Listener, AnAddressThatWasTakenOverStaysWithItsNewOwner) {
  ListenerWorld relay;
  relay.open_room(1);
  Node& before = relay.join(place(1), 1);
  relay.run_for(1s);
  relay.stop(before);
  Node& after = relay.join(place(1), 1);
  relay.run_for(1s);
  const uint64_t without = relay.listener->stats().without_session;
  const TimePoint since = relay.now();
  relay.run_for(65s);
  EXPECT_EQ(relay.listener->peers(), 1U) << "the first one is gone";
  EXPECT_EQ(relay.listener->stats().without_session, without);
  EXPECT_LE(after.longest_gap(since, relay.now()), 55ms);
}

TEST(Listener, RepeatsItsLastFlightForTenSeconds) {
  for (const bool is_late : {false, true}) {
    ListenerWorld relay;
    relay.open_room(1);
    std::vector<std::vector<std::byte>> sent;
    const Address from = place(1);
    relay.watch = [&](const Flight& flight) {
      if (flight.from == from && is_handshake_kind(flight.bytes[0])) {
        sent.push_back(flight.bytes);
      }
      return true;
    };
    relay.join(from, 1);
    relay.run_for(1s);
    ASSERT_EQ(sent.size(), 3U);
    const TimePoint in_at = kTimeZero + 100ms;
    relay.run_for(in_at + 10s - relay.now() + (is_late ? 1ms : -1ms));
    const auto before = relay.listener->stats();
    // The second hello: a repetition while the last flight is kept, then an attempt of its own.
    relay.inject(from, sent[1]);
    EXPECT_EQ(relay.listener->stats().handshakes_begun,
              before.handshakes_begun + (is_late ? 1 : 0));
    if (!is_late) {
      relay.inject(from, sent[2]);
      EXPECT_EQ(relay.listener->stats().bad_handshake, before.bad_handshake);
      EXPECT_GT(relay.listener->stats().datagrams_sent, before.datagrams_sent) << "repeated";
    }
  }
}

TEST(Listener, ARefusalIsRepeatedForASecond) {
  ListenerWorld relay;
  const Address from = place(1);
  relay.open_room(2);
  const auto sent = flights_of(relay, from);  // room 1 is not open
  ASSERT_EQ(relay.listener->pending(), 1U);
  relay.inject(from, sent[2]);
  EXPECT_EQ(relay.listener->stats().unknown_identity, 1U);
  relay.run_for(1s - Duration{1});
  EXPECT_EQ(relay.listener->pending(), 1U);
  relay.run_for(Duration{1});
  EXPECT_EQ(relay.listener->pending(), 0U);
  EXPECT_EQ(relay.listener->stats().handshakes_failed, 0U);
}

TEST(Listener, DatagramsDuringAHandshakeComputationAreIgnored) {
  ListenerWorld relay{{.pending_max = 2, .hands_out_work = true}};
  relay.open_room(1);
  relay.set_works(true);
  const Address one = place(1);
  const Address two = place(2);
  const auto first = flights_of(relay, one);
  const auto second = flights_of(relay, two);
  relay.run_for(6s);  // given up
  const auto again = flights_of(relay, two);
  relay.run_for(6s);
  ASSERT_EQ(relay.listener->pending(), 0U);
  relay.set_works(false);
  relay.inject(one, first[1]);
  auto work = relay.listener->poll_work();
  ASSERT_TRUE(work);
  relay.inject(one, first[2]);
  EXPECT_FALSE(relay.listener->poll_work()) << "one at a time";
  work->run();
  relay.listener->handle_work(relay.now(), *std::move(work));
  // Two attempts of the second are being computed, the maximum: the first has to wait.
  relay.inject(two, second[1]);
  const auto given_up = relay.listener->poll_work();
  ASSERT_TRUE(given_up);
  relay.inject(two, again[1]);
  const auto before = relay.listener->stats();
  relay.inject(one, first[2]);
  EXPECT_EQ(relay.listener->stats().rate_limited, before.rate_limited + 1);
  EXPECT_TRUE(relay.listener->poll_work()) << "of the second";
  EXPECT_FALSE(relay.listener->poll_work());
  relay.inject(two, again[1]);
  EXPECT_EQ(relay.listener->stats().rate_limited, before.rate_limited + 1) << "a repeat";
}

TEST(Listener, WorkThatComesBackAfterTheEndChangesNothing) {
  ListenerWorld relay{{.hands_out_work = true}};
  relay.open_room(1);
  relay.set_works(false);
  const Address from = place(1);
  Hellos hellos;
  relay.watch = [&](const Flight& flight) {
    if (flight.from == from) {
      hellos.second = flight.bytes;
    }
    return true;
  };
  Node& joiner = relay.join(from, 1);
  relay.run_for(65ms);
  relay.stop(joiner);
  auto work = relay.listener->poll_work();
  ASSERT_TRUE(work);
  relay.listener->stop(relay.now(), CloseCode::kGoingAway);
  EXPECT_EQ(relay.listener->pending(), 0U);
  const auto before = relay.listener->stats();
  work->run();
  relay.listener->handle_work(relay.now(), *std::move(work));
  EXPECT_EQ(relay.listener->pending(), 0U);
  EXPECT_FALSE(relay.listener->poll_transmit(relay.now()));
  EXPECT_EQ(relay.listener->stats(), before);
  EXPECT_EQ(relay.listener->poll_timeout(), kNever);
}

TEST(Listener, HandshakesBeyondTheNetworksBudgetAreCounted) {
  HandshakeLimits::Options limits = ListenerOptions{}.limits;
  limits.handshakes_of_network = {.per_second = 0.001, .burst = 1};
  ListenerWorld relay{{.limits = limits}};
  relay.open_room(1);
  const Address from = place(1);
  relay.join(from, 1);
  relay.run_for(65ms);
  EXPECT_EQ(relay.listener->stats().handshakes_begun, 1U);
  EXPECT_EQ(relay.listener->stats().rate_limited, 0U);
  Address neighbour = from;
  neighbour.port = 1;
  relay.join(neighbour, 1);
  relay.run_for(65ms);
  EXPECT_EQ(relay.listener->stats().handshakes_begun, 1U);
  EXPECT_EQ(relay.listener->stats().rate_limited, 1U);
}

}  // namespace
}  // namespace cress::secure
