#include "transport/secure/connection.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "transport/secure/secure_world_test_tools.hh"

namespace cress::secure {
namespace {

const Address kLeft = test_address(1);
const Address kRight = test_address(2, 6000);
const Address kElsewhere = test_address(3, 7000);

double ms_of(std::optional<TimePoint> at) { return at ? to_milliseconds(*at) : -1; }

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Every datagram that arrived was sent, is complete, and arrived once.
void expect_faithful(const Node& from, const Node& to) {
  std::set<std::string> sent;
  for (const auto& bytes : from.sent) {
    sent.insert(text_of(bytes));
  }
  for (const auto& [at, bytes] : to.received) {
    EXPECT_EQ(sent.erase(text_of(bytes)), 1U) << "repeated or changed";
  }
}

TEST(Connection, IsUpAfterThreeRoundTrips) {
  SecureWorld network;
  Node& left = network.listen(kLeft);
  Node& right = network.join(kRight, kLeft);
  network.run_for(2s);
  EXPECT_DOUBLE_EQ(ms_of(left.when<Connected>()), 100);   // 2.5 round trips of 40 ms
  EXPECT_DOUBLE_EQ(ms_of(right.when<Connected>()), 120);  // 3
  EXPECT_EQ(left.events.front().second, Event{Connected{kRight}});
  EXPECT_EQ(right.events.front().second, Event{Connected{kLeft}});
  EXPECT_GE(left.received.size(), 36U);
  EXPECT_GE(right.received.size(), 36U);
  expect_faithful(left, right);
  expect_faithful(right, left);
  EXPECT_EQ(left.connection->code(), right.connection->code());
  EXPECT_EQ(left.connection->code().size(), 14U);
  EXPECT_EQ(left.connection->stats().bad_tag, 0U);
  EXPECT_EQ(right.connection->stats().bad_tag, 0U);
  EXPECT_EQ(left.connection->stats().handshakes_failed, 0U);
}

TEST(Connection, ComesUpSoonWhateverIsLostReorderedAndRepeated) {
  std::vector<double> took;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SecureWorld network{seed};
    network.set_conditions({.jitter = 30ms, .loss = 0.2, .duplicate = 0.1});
    Node& left = network.listen(kLeft);
    Node& right = network.join(kRight, kLeft);
    network.run_for(10s);
    ASSERT_TRUE(right.when<Connected>()) << "seed " << seed;
    ASSERT_TRUE(left.when<Connected>()) << "seed " << seed;
    took.push_back(ms_of(right.when<Connected>()));
    EXPECT_FALSE(right.closed());
    expect_faithful(left, right);
    expect_faithful(right, left);
  }
  std::sort(took.begin(), took.end());
  RecordProperty("p50_ms", std::to_string(took[took.size() / 2]));
  RecordProperty("max_ms", std::to_string(took.back()));
  EXPECT_LT(took[took.size() / 2], 300) << "median";
  EXPECT_LT(took.back(), 2000) << "slowest of 60";
}

TEST(Connection, WrongSecretIsReportedWithinASecond) {
  SecureWorld network;
  Node& left = network.listen(kLeft);
  Node& wrong = network.join(kRight, kLeft, {.secret = test_secret(8)});
  network.run_for(1s);
  EXPECT_EQ(wrong.closed(), CloseReason::kWrongSecret);
  EXPECT_LT(ms_of(wrong.when<Closed>()), 1000);
  EXPECT_FALSE(wrong.when<Connected>());
  EXPECT_TRUE(left.events.empty());
  EXPECT_GE(left.connection->stats().wrong_secret, 1U);
  Node& good = network.join(kElsewhere, kLeft);
  network.run_for(1s);
  EXPECT_TRUE(good.connection->is_connected());
  EXPECT_TRUE(left.connection->is_connected());
}

TEST(Connection, ForgedAlertsNeverPreventAJoin) {
  // A plain DTLS alert: fatal, unknown_psk_identity or handshake_failure.
  for (const int description : {115, 40}) {
    const std::array<int, 15> raw{21, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 2, description};
    std::vector<std::byte> alert(raw.size());
    std::transform(raw.begin(), raw.end(), alert.begin(), [](int b) { return std::byte(b); });
    for (Duration at = 5ms; at < 120ms; at += 5ms) {
      SecureWorld network;
      Node& left = network.listen(kLeft);
      Node& right = network.join(kRight, kLeft);
      network.run_for(at);
      for (int i = 0; i < 5; ++i) {
        network.inject(kLeft, kRight, alert);
        network.inject(kRight, kLeft, alert);
      }
      network.run_for(200ms);
      EXPECT_DOUBLE_EQ(ms_of(right.when<Connected>()), 120);
      EXPECT_DOUBLE_EQ(ms_of(left.when<Connected>()), 100);
    }
  }
}

TEST(Connection, AttemptsThatFollowOneAnotherDoNotDisturbEachOther) {
  // The same address joins again at any moment of an attempt that was abandoned.
  for (Duration at = 5ms; at < 120ms; at += 5ms) {
    SecureWorld network;
    network.listen(kLeft);
    Node& first = network.join(kRight, kLeft);
    network.run_for(at);
    network.stop(first);
    Node& second = network.join(kRight, kLeft);
    network.run_for(9s);
    EXPECT_TRUE(second.connection->is_connected()) << to_milliseconds(at);
  }
}

TEST(Connection, NoAnswerIsReportedAfterTheTimeout) {
  SecureWorld network;
  Node& right = network.join(kRight, kLeft, {.connect_max = 7s});
  network.run_for(10s);
  EXPECT_EQ(right.closed(), CloseReason::kNoAnswer);
  EXPECT_DOUBLE_EQ(ms_of(right.when<Closed>()), 7000);
  EXPECT_LT(network.sent_to[kLeft].first, 30U);
}

TEST(Connection, ReplayedDatagramsAreCountedAndChangeNothing) {
  SecureWorld network;
  Node& left = network.listen(kLeft);
  network.join(kRight, kLeft);
  std::vector<Flight> seen;
  network.watch = [&](const Flight& flight) {
    seen.push_back(flight);
    return true;
  };
  network.run_for(1s);
  const auto received = left.received.size();
  const auto events = left.events.size();
  const auto before = left.connection->stats();
  const auto all = std::move(seen);
  uint64_t records = 0;
  for (const Flight& flight : all) {
    const bool is_record = flight.bytes[0] == kRecordKind || flight.bytes[0] == kControlKind;
    // Datagrams still in transit are not replays yet.
    if (flight.to == kLeft && is_record && network.now() - flight.sent_at > 20ms) {
      network.inject(kRight, kLeft, flight.bytes);
      network.inject(kElsewhere, kLeft, flight.bytes);
      records += 2;
    }
  }
  EXPECT_GT(records, 20U);
  EXPECT_EQ(left.connection->stats().replayed, before.replayed + records);
  EXPECT_EQ(left.received.size(), received);
  EXPECT_EQ(left.events.size(), events);
  EXPECT_EQ(network.sent_to.count(kElsewhere), 0U);
}

TEST(Connection, ReflectedDatagramsAreRejected) {
  SecureWorld network;
  Node& left = network.listen(kLeft);
  Node& right = network.join(kRight, kLeft);
  std::vector<Flight> seen;
  network.watch = [&](const Flight& flight) {
    seen.push_back(flight);
    return true;
  };
  network.run_for(500ms);
  const auto before = left.connection->stats().records_opened;
  const auto right_before = right.connection->stats().records_opened;
  for (const Flight& flight : std::vector<Flight>{seen}) {
    network.inject(flight.to, flight.from, flight.bytes);
  }
  EXPECT_EQ(left.connection->stats().records_opened, before);
  EXPECT_EQ(right.connection->stats().records_opened, right_before);
  network.run_for(500ms);
  EXPECT_TRUE(left.connection->is_connected());
  EXPECT_TRUE(right.connection->is_connected());
}

TEST(Connection, AHundredThousandRandomDatagramsChangeNothing) {
  SecureWorld network;
  Node& left = network.listen(kLeft);
  Node& right = network.join(kRight, kLeft);
  network.run_for(1s);
  const auto before = left.connection->stats();
  const auto sent = network.sent_to;
  const auto events = left.events.size();
  Rng rng{5};
  uint64_t bytes_in = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::vector<std::byte> bytes(rng.below(300));
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(rng.below(256));
    }
    constexpr std::array<int, 5> kKinds{0x11, 0x12, 22, 21, 20};
    if (!bytes.empty() && rng.chance(0.9)) {
      bytes[0] = std::byte(kKinds[rng.below(kKinds.size())]);
    }
    const Address from = rng.chance(0.5) ? kRight : test_address(uint8_t(rng.below(256)));
    bytes_in += bytes.size();
    network.inject(from, kLeft, bytes);
  }
  const auto& after = left.connection->stats();
  EXPECT_EQ(after.records_opened, before.records_opened);
  EXPECT_EQ(after.datagrams_received, before.datagrams_received + 100'000);
  EXPECT_EQ(after.bytes_received, before.bytes_received + bytes_in);
  EXPECT_EQ(after.bad_tag + after.truncated + after.unknown_key + after.replayed +
                after.unknown_kind + after.bad_handshake,
            before.unknown_kind + before.bad_handshake + 100'000);
  EXPECT_EQ(left.events.size(), events);
  EXPECT_EQ(network.sent_to, sent) << "something was answered";
  EXPECT_LE(left.connection->pending(), 1U);
  const auto count = right.received.size();
  network.run_for(1s);
  EXPECT_GT(right.received.size(), count + 15);
}

/// The first datagram that a joiner sends.
std::vector<std::byte> first_hello() {
  Connection joiner{kTimeZero, {.role = Role::kJoiner, .secret = test_secret(), .listener = kLeft}};
  return joiner.poll_transmit(kTimeZero)->bytes;
}

TEST(Connection, ForgedHelloFloodCostsNoMemoryAndIsNotAmplified) {
  SecureWorld network;
  Node& left = network.listen(kLeft);
  network.join(kRight, kLeft);
  network.run_for(1s);
  const auto hello = first_hello();
  EXPECT_GT(hello.size(), 100U);
  const auto bytes_before = left.connection->stats().bytes_sent;
  const auto begun = left.connection->stats().handshakes_begun;
  const auto pending = left.connection->pending();
  constexpr int kFlood = 20'000;
  Rng rng{1};
  for (int i = 0; i < kFlood; ++i) {
    auto forged = hello;
    forged[27] = static_cast<std::byte>(rng.below(256));  // in its random number
    forged[28] = static_cast<std::byte>(rng.below(256));
    network.inject(test_address(uint8_t(rng.below(256)), uint16_t(1 + rng.below(65'535))), kLeft,
                   forged);
  }
  EXPECT_EQ(left.connection->stats().handshakes_begun, begun);
  EXPECT_EQ(left.connection->pending(), pending);
  EXPECT_GT(left.connection->stats().cookies_sent, 1000U);
  EXPECT_GT(left.connection->stats().rate_limited, 1000U);
  EXPECT_LT(left.connection->stats().bytes_sent - bytes_before, kFlood * hello.size());
  for (const auto& [address, sent] : network.sent_to) {
    if (address != kRight && address != kLeft) {
      EXPECT_LE(sent.second, sent.first * hello.size()) << "amplified";
    }
  }
}

TEST(Connection, InventedCookiesAreCheckedAtALimitedRate) {
  // What a true joiner sends second, its cookie changed.
  SecureWorld network;
  Node& left = network.listen(kLeft);
  std::vector<Flight> seen;
  network.watch = [&](const Flight& flight) {
    seen.push_back(flight);
    return true;
  };
  network.join(kRight, kLeft);
  network.run_for(1s);
  network.watch = nullptr;
  auto forged = seen.at(2).bytes;
  ASSERT_EQ(seen.at(2).to, kLeft);
  ASSERT_GT(forged.size(), first_hello().size()) << "no cookie in it";
  const auto before = left.connection->stats();
  constexpr size_t kCookieOffset = 13 + 12 + 2 + 32 + 1 + 1;
  for (int i = 0; i < 50'000; ++i) {
    forged[kCookieOffset] = static_cast<std::byte>(i);
    forged[kCookieOffset + 1] = static_cast<std::byte>(i >> 8);
    forged[kCookieOffset + 2] ^= std::byte{1};
    network.inject(test_address(uint8_t(i % 200 + 20)), kLeft, forged);
  }
  const auto& after = left.connection->stats();
  EXPECT_EQ(after.handshakes_begun, before.handshakes_begun);
  EXPECT_GT(after.rate_limited, before.rate_limited + 40'000);
  EXPECT_LE(after.cookies_sent, before.cookies_sent + 4'000);
  EXPECT_LT(after.bytes_sent - before.bytes_sent, 50'000 * forged.size() / 10);
}

TEST(Connection, OneNetworkCannotExhaustTheHandshakeBudget) {
  SecureWorld network;
  Node& left = network.listen(kLeft);
  // 60 joiners with a wrong link and verified addresses, within a second.
  for (int i = 0; i < 60; ++i) {
    network.join(test_address(9, uint16_t(1000 + i)), kLeft, {.secret = test_secret(8)});
    network.run_for(10ms);
    EXPECT_LE(left.connection->pending(), Connection::kPendingMax);
  }
  EXPECT_GT(left.connection->stats().rate_limited, 0U);
  EXPECT_LT(left.connection->stats().handshakes_begun, 25U);
  Node& right = network.join(kRight, kLeft);
  network.run_for(1s);
  EXPECT_TRUE(right.connection->is_connected());
}

TEST(Connection, MovesToANewAddressOfThePeerAfterAChallengeThere) {
  for (const bool joiner_moves : {true, false}) {
    SecureWorld network;
    Node& left = network.listen(kLeft);
    Node& right = network.join(kRight, kLeft);
    Node& mover = joiner_moves ? right : left;
    Node& stayer = joiner_moves ? left : right;
    network.run_for(1s);
    const TimePoint moved_at = network.now();
    network.move(mover, kElsewhere);
    network.notice(mover);
    network.run_for(1s);
    ASSERT_TRUE(stayer.when<PathChanged>());
    // One way there, a challenge back, and its answer.
    EXPECT_EQ(*stayer.when<PathChanged>() - moved_at, 60ms);
    EXPECT_FALSE(mover.when<PathChanged>());
    EXPECT_EQ(stayer.count<Closed>() + mover.count<Closed>(), 0U);
    EXPECT_EQ(stayer.count<Unreachable>() + mover.count<Unreachable>(), 0U);
    const auto resumed = std::find_if(mover.received.begin(), mover.received.end(),
                                      [&](const auto& r) { return r.first > moved_at + 20ms; });
    ASSERT_NE(resumed, mover.received.end());
    EXPECT_LE(resumed->first - moved_at, 140ms);
    expect_faithful(left, right);
    expect_faithful(right, left);
  }
}

TEST(Connection, MovesWithoutNoticingTheAddressChange) {
  SecureWorld network;
  Node& left = network.listen(kLeft);
  Node& right = network.join(kRight, kLeft);
  network.run_for(1s);
  const TimePoint moved_at = network.now();
  network.move(right, kElsewhere);  // a NAT forgot
  network.run_for(1s);
  ASSERT_TRUE(left.when<PathChanged>());
  EXPECT_LE(*left.when<PathChanged>() - moved_at, 120ms);
  EXPECT_TRUE(right.connection->is_connected());
}

TEST(Connection, FasterEavesdropperCannotMoveThePath) {
  SecureWorld network;
  Node& left = network.listen(kLeft);
  Node& right = network.join(kRight, kLeft);
  network.run_for(1s);
  uint64_t overtaken = 0;
  uint64_t bytes_there = 0;
  network.watch = [&](const Flight& flight) {
    if (flight.from == kRight && flight.to == kLeft) {
      // Copied and there first, from elsewhere: what follows from the true address is a replay.
      network.inject(kElsewhere, kLeft, flight.bytes);
      ++overtaken;
      bytes_there += flight.bytes.size();
    }
    return true;
  };
  network.run_for(5s);
  EXPECT_GT(overtaken, 90U);
  EXPECT_FALSE(left.when<PathChanged>());
  EXPECT_GT(network.sent_to[kElsewhere].first, 0U) << "never challenged";
  EXPECT_LE(network.sent_to[kElsewhere].second, 3 * bytes_there);
  // For one datagram copied every 4 s a challenge's 3 s could produce much more than three times
  // its size; three times is the limit.
  network.watch = nullptr;
  network.run_for(4s);
  TimePoint copied_at{};
  bytes_there = 0;
  const auto sent_before = network.sent_to[kElsewhere].second;
  network.watch = [&](const Flight& flight) {
    if (flight.from == kRight && flight.to == kLeft && network.now() - copied_at >= 4s) {
      copied_at = network.now();
      network.inject(kElsewhere, kLeft, flight.bytes);
      bytes_there += flight.bytes.size();
    }
    return true;
  };
  network.run_for(19s);
  const auto sent_there = network.sent_to[kElsewhere].second - sent_before;
  EXPECT_LE(sent_there, 3 * bytes_there) << "amplified";
  EXPECT_GT(sent_there, 2 * bytes_there) << "of small datagrams nearly all is used";
  EXPECT_FALSE(left.when<PathChanged>());
  network.watch = nullptr;
  const auto count = right.received.size();
  network.run_for(1s);
  EXPECT_GT(right.received.size(), count + 15) << "the true path is still in use";
}

TEST(Connection, AChallengeIsNotAnsweredFromAnotherAddressThanTheChallenged) {
  SecureWorld network;
  Node& left = network.listen(kLeft);
  Node& right = network.join(kRight, kLeft);
  network.run_for(1s);
  std::vector<Flight> kept;
  network.watch = [&](const Flight& flight) {
    if (flight.to == kElsewhere) {
      kept.push_back(flight);  // the attacker receives its challenges, and passes them on
    }
    return true;
  };
  right.heartbeat = 1h;
  right.next_heartbeat = kNever;
  // One fresh record of the right end reaches the left from another address.
  right.say(network.now(), 20);
  auto transmit = right.connection->poll_transmit(network.now());
  ASSERT_TRUE(transmit);
  network.inject(kElsewhere, kLeft, transmit->bytes);
  ASSERT_FALSE(kept.empty());
  network.inject(kElsewhere, kRight, kept.front().bytes);
  network.run_for(100ms);
  EXPECT_EQ(network.sent_to[kElsewhere].first, kept.size()) << "a challenge passed on is answered";
  network.inject(kLeft, kRight, kept.back().bytes);
  network.run_for(2s);
  // The right end did answer, from its own address: that proves nothing about the other.
  EXPECT_FALSE(left.when<PathChanged>());
}

TEST(Connection, HalfMinuteBlackoutIsSurvived) {
  SecureWorld network;
  Node& left = network.listen(kLeft);
  Node& right = network.join(kRight, kLeft);
  left.heartbeat = 1h;  // only the keep-alive can notice the return
  right.heartbeat = 1h;
  network.run_for(1s);
  bool is_dark = true;
  uint64_t bytes_dark = 0;
  network.watch = [&](const Flight& flight) {
    bytes_dark += is_dark ? flight.bytes.size() : 0;
    return !is_dark;
  };
  network.run_for(30s);
  is_dark = false;
  const TimePoint back_at = network.now();
  network.run_for(1s);
  for (const Node* node : {&left, &right}) {
    ASSERT_EQ(node->count<Unreachable>(), 1U);
    ASSERT_EQ(node->count<Reachable>(), 1U);
    EXPECT_NEAR(ms_of(node->when<Unreachable>()), 4000, 1200);
    EXPECT_LE(*node->when<Reachable>() - back_at, 300ms);
    EXPECT_EQ(node->count<Closed>(), 0U);
    EXPECT_TRUE(node->connection->is_connected());
  }
  EXPECT_LT(bytes_dark, 30U * 800U);  // pings, and the joiner's hellos
  const auto count = left.received.size();
  right.say(network.now(), 20);
  network.run_for(50ms);
  EXPECT_EQ(left.received.size(), count + 1);
}

TEST(Connection, SilenceEndsACallOnlyAfterTheTimeout) {
  SecureWorld network;
  Node& left = network.listen(kLeft);
  Node& right = network.join(kRight, kLeft);
  network.run_for(1s);
  network.watch = [](const Flight&) { return false; };
  network.run_for(59s);
  EXPECT_TRUE(left.connection->is_connected());
  EXPECT_TRUE(right.connection->is_connected());
  network.run_for(2s);
  EXPECT_EQ(left.closed(), CloseReason::kTimedOut);
  EXPECT_EQ(right.closed(), CloseReason::kTimedOut);
  EXPECT_TRUE(right.connection->is_finished());
  EXPECT_FALSE(left.connection->is_finished());
  network.watch = nullptr;
  Node& again = network.join(kElsewhere, kLeft);
  network.run_for(1s);
  EXPECT_TRUE(again.connection->is_connected());
}

TEST(Connection, HangUpArrivesDespiteHalfLoss) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    for (const bool joiner_ends : {true, false}) {
      SecureWorld network{seed};
      Node& left = network.listen(kLeft);
      Node& right = network.join(kRight, kLeft);
      network.run_for(1s);
      network.set_conditions({.loss = 0.5});
      Node& ender = joiner_ends ? right : left;
      Node& other = joiner_ends ? left : right;
      ender.connection->hang_up(network.now());
      network.run_for(4s);
      EXPECT_EQ(ender.closed(), CloseReason::kHungUp);
      EXPECT_EQ(other.closed(), CloseReason::kPeerHungUp) << "seed " << seed;
      EXPECT_TRUE(ender.connection->is_finished());
      EXPECT_EQ(other.connection->is_finished(), !joiner_ends);
    }
  }
}

TEST(Connection, SecondJoinerGetsBusyAndTheCallContinues) {
  SecureWorld network;
  Node& left = network.listen(kLeft);
  Node& right = network.join(kRight, kLeft);
  network.run_for(1s);
  const TimePoint came_at = network.now();
  Node& second = network.join(kElsewhere, kLeft);
  network.run_for(2s);
  EXPECT_EQ(second.closed(), CloseReason::kBusy);
  EXPECT_LE(*second.when<Closed>() - came_at, 1s);
  EXPECT_FALSE(second.when<Connected>());
  EXPECT_EQ(left.connection->stats().busy, 1U);
  EXPECT_EQ(left.count<Closed>() + right.count<Closed>(), 0U);
  EXPECT_TRUE(right.connection->is_connected());
  expect_faithful(right, left);
}

TEST(Connection, CrashedPeerReturnsToItsPlace) {
  for (const Duration restart : {100ms, 1500ms, 5000ms}) {
    for (const Address& address : {kRight, kElsewhere}) {
      SecureWorld network;
      Node& left = network.listen(kLeft);
      Node& right = network.join(kRight, kLeft);
      network.run_for(1s);
      network.stop(right);
      const TimePoint crashed_at = network.now();
      network.run_for(restart);
      Node& again = network.join(address, kLeft);
      network.run_for(4s);
      ASSERT_TRUE(again.when<Connected>());
      EXPECT_LE(*again.when<Connected>() - crashed_at, std::max<Duration>(restart, 2s) + 170ms);
      EXPECT_FALSE(again.closed());
      EXPECT_EQ(left.count<Connected>(), 2U);
      EXPECT_EQ(left.closed(), CloseReason::kReplaced);
      EXPECT_TRUE(left.connection->is_connected());
      EXPECT_FALSE(again.received.empty());
      expect_faithful(left, again);
    }
  }
}

TEST(Connection, PeerReplacedDuringAnOutageIsNotified) {
  SecureWorld network;
  network.listen(kLeft);
  Node& right = network.join(kRight, kLeft);
  network.run_for(1s);
  network.watch = [](const Flight& f) { return f.from != kRight && f.to != kRight; };
  network.run_for(5s);
  Node& other = network.join(kElsewhere, kLeft);
  network.run_for(2s);
  EXPECT_TRUE(other.connection->is_connected());
  network.watch = nullptr;
  network.run_for(1s);
  EXPECT_EQ(right.closed(), CloseReason::kReplaced);
  EXPECT_TRUE(other.connection->is_connected());
}

TEST(Connection, AListenerThatIsBackFromACrashIsJoinedAgainWithinASecond) {
  for (const Duration away : {100ms, 900ms, 1500ms, 5000ms, 50000ms}) {
    SecureWorld network;
    Node& left = network.listen(kLeft, {.identity_secret = test_secret(1)});
    Node& right = network.join(kRight, kLeft);
    network.run_for(1s);
    network.stop(left);
    const TimePoint crashed_at = network.now();
    network.run_for(away);
    Node& again = network.listen(kLeft, {.identity_secret = test_secret(1)});
    network.run_for(4s);
    ASSERT_TRUE(again.when<Connected>()) << to_milliseconds(away);
    // A second until the silence is noticed, half a second between hellos, three round trips.
    const TimePoint noticed = std::max(crashed_at + away, crashed_at + 1s);
    EXPECT_LE(*again.when<Connected>() - noticed, 650ms) << to_milliseconds(away);
    EXPECT_LE(*again.when<Connected>() - (crashed_at + away), 1100ms);
    EXPECT_EQ(right.count<Connected>(), 2U);
    EXPECT_EQ(right.count<Closed>(), 0U);
    EXPECT_GT(again.received.size(), 30U);
    expect_faithful(right, again);
  }
}

TEST(Connection, AListenerThatIsBackIsJoinedAgainUnderFaults) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SecureWorld network{seed};
    network.set_conditions({.jitter = 30ms, .loss = 0.2, .duplicate = 0.1});
    Node& left = network.listen(kLeft, {.identity_secret = test_secret(1)});
    Node& right = network.join(kRight, kLeft);
    network.run_for(3s);
    network.stop(left);
    network.run_for(2s);
    Node& again = network.listen(kLeft, {.identity_secret = test_secret(1)});
    network.run_for(6s);
    ASSERT_TRUE(again.connection->is_connected()) << "seed " << seed;
    EXPECT_EQ(right.count<Connected>(), 2U) << "seed " << seed;
    EXPECT_EQ(right.count<Closed>() + again.count<Closed>(), 0U) << "seed " << seed;
    network.set_conditions({.loss = 0});
    const auto received = again.received.size();
    network.run_for(1s);
    EXPECT_GT(again.received.size(), received + 15) << "seed " << seed;
  }
}

TEST(Connection, OutageNeitherEndsNorRestartsACall) {
  for (Duration dark = 200ms; dark < 12s; dark += 370ms) {
    SecureWorld network;
    Node& left = network.listen(kLeft);
    Node& right = network.join(kRight, kLeft);
    network.run_for(1s);
    network.watch = [](const Flight&) { return false; };
    network.run_for(dark);
    network.watch = nullptr;
    network.run_for(5s);
    for (const Node* node : {&left, &right}) {
      EXPECT_TRUE(node->connection->is_connected()) << to_milliseconds(dark);
      EXPECT_EQ(node->count<Connected>(), 1U) << to_milliseconds(dark);
      EXPECT_EQ(node->count<Closed>(), 0U) << to_milliseconds(dark);
    }
    expect_faithful(right, left);
  }
}

TEST(Connection, OutagesOnABadLinkNeverEndTheCall) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SecureWorld network{seed};
    Node& left = network.listen(kLeft);
    Node& right = network.join(kRight, kLeft);
    network.run_for(1s);
    network.set_conditions({.jitter = 60ms, .loss = 0.3, .duplicate = 0.1});
    Rng rng{seed};
    for (int i = 0; i < 30; ++i) {
      network.watch = [](const Flight&) { return false; };
      network.run_for(from_seconds(4 * rng.uniform()));
      network.watch = nullptr;
      network.run_for(from_seconds(rng.uniform()));
    }
    network.set_conditions({});
    network.run_for(4s);
    EXPECT_EQ(right.count<Closed>(), 0U) << "seed " << seed;
    EXPECT_FALSE(left.connection->is_finished());
    const auto left_received = left.received.size();
    const auto right_received = right.received.size();
    network.run_for(1s);
    EXPECT_GT(left.received.size(), left_received + 15) << "seed " << seed;
    EXPECT_GT(right.received.size(), right_received + 15) << "seed " << seed;
  }
}

TEST(Connection, AListenerThatIsBackWithAnotherLinkIsReported) {
  SecureWorld network;
  Node& left = network.listen(kLeft);
  Node& right = network.join(kRight, kLeft);
  network.run_for(1s);
  network.stop(left);
  Node& other = network.listen(kLeft, {.secret = test_secret(8)});
  network.run_for(50s);
  EXPECT_EQ(right.count<Closed>(), 0U) << "what says so is not authentic";
  network.run_for(12s);
  EXPECT_EQ(right.closed(), CloseReason::kWrongSecret);
  EXPECT_FALSE(other.when<Connected>());
}

TEST(Connection, OfSeveralAddressesTheOneThatAnswersIsTaken) {
  const Address nobody = test_address(7);
  const Address stranger = test_address(8);
  for (const Address& first : {nobody, stranger, kLeft}) {
    SecureWorld network;
    Node& left = network.listen(kLeft);
    Node& other = network.listen(stranger, {.secret = test_secret(8)});
    Node& right = network.join(kRight, first, {.other_listeners = {nobody, kLeft, stranger}});
    network.run_for(2s);
    ASSERT_TRUE(right.when<Connected>());
    const double rank = first == kLeft ? 0 : first == nobody ? 1 : 2;
    EXPECT_DOUBLE_EQ(ms_of(right.when<Connected>()), 120 + 250 * rank);
    EXPECT_EQ(right.events.front().second, Event{Connected{kLeft}});
    network.run_for(10s);
    EXPECT_EQ(left.count<Connected>(), 1U);
    EXPECT_EQ(right.count<Closed>(), 0U);
    EXPECT_FALSE(other.when<Connected>());
    EXPECT_LT(network.sent_to[nobody].first, 10U) << "nobody is asked on once it is found";
  }
}

TEST(Connection, UnreachableAddressFamilyCausesNoDelay) {
  std::vector<Address> dead(4, kElsewhere);
  for (size_t i = 0; i < dead.size(); ++i) {
    dead[i].ip = {0x20, 0x01, 0x0d, 0xb8};
    dead[i].ip[15] = static_cast<uint8_t>(i);
  }
  SecureWorld network;
  network.listen(kLeft);
  Node& right =
      network.join(kRight, dead[0], {.other_listeners = {dead[1], dead[2], dead[3], kLeft}});
  network.run_for(1s);
  EXPECT_DOUBLE_EQ(ms_of(right.when<Connected>()), 120 + 250);
}

TEST(Connection, OfSeveralSilentAddressesEachIsTriedToTheEnd) {
  SecureWorld network;
  Node& right = network.join(kRight, test_address(7),
                             {.other_listeners = {test_address(8), kLeft}, .connect_max = 20s});
  network.run_for(12s);
  Node& left = network.listen(kLeft);
  network.run_for(2s);
  EXPECT_TRUE(right.connection->is_connected());
  EXPECT_TRUE(left.connection->is_connected());
}

TEST(Connection, WrongLinkIsReportedByOneAnsweringAddress) {
  SecureWorld network;
  network.listen(kLeft);
  Node& wrong =
      network.join(kRight, test_address(7), {.secret = test_secret(8), .other_listeners = {kLeft}});
  network.run_for(6s);
  EXPECT_EQ(wrong.closed(), CloseReason::kWrongSecret);
}

TEST(Connection, FindsTheLargestDatagramThatThePathCarries) {
  const std::vector<std::pair<int, int>> cases{
      {1472, 1472}, {1460, 1452}, {1300, 1280}, {1200, 1200}};
  for (const auto& [mtu, found] : cases) {
    SecureWorld network;
    network.set_mtu(DataSize{mtu});
    Node& left = network.listen(kLeft);
    Node& right = network.join(kRight, kLeft);
    network.run_for(10s);
    for (const Node* node : {&left, &right}) {
      EXPECT_EQ(node->connection->datagram_max(), DataSize{found - 16}) << "path of " << mtu;
      if (found > 1200) {
        const auto& last = std::get<MtuChanged>(node->events.back().second);
        EXPECT_EQ(last.datagram_max, DataSize{found - 16});
      }
    }
  }
}

TEST(Connection, FallsBackWithinSecondsWhenThePathCeasesToCarryLargeDatagrams) {
  SecureWorld network;
  Node& left = network.listen(kLeft);
  Node& right = network.join(kRight, kLeft);
  right.heartbeat_size = 1400;
  right.heartbeat = 20ms;
  network.run_for(5s);
  EXPECT_EQ(right.connection->datagram_max(), DataSize{1472 - 16});
  network.set_mtu(DataSize{1300});
  const TimePoint broke_at = network.now();
  network.run_for(5s);
  EXPECT_EQ(right.connection->datagram_max(), DataSize{1200 - 16});
  EXPECT_EQ(left.connection->datagram_max(), DataSize{1472 - 16}) << "sent nothing large";
  TimePoint told{};
  for (const auto& [at, event] : right.events) {
    told = std::holds_alternative<MtuChanged>(event) ? at : told;
  }
  EXPECT_LE(told - broke_at, 2200ms);
}

TEST(Connection, LossWithoutABlackHoleDoesNotShrinkDatagrams) {
  SecureWorld network;
  Node& right = network.join(kRight, kLeft);
  network.listen(kLeft);
  right.heartbeat_size = 1400;
  right.heartbeat = 20ms;
  network.run_for(5s);
  network.set_conditions({.loss = 0.3});
  network.run_for(60s);
  EXPECT_EQ(right.connection->datagram_max(), DataSize{1472 - 16});
}

TEST(Connection, DatagramsBeforeTheConnectionAreDropped) {
  SecureWorld network;
  Node& left = network.listen(kLeft);
  left.connection->send(network.now(), plain_datagram(0));
  EXPECT_EQ(left.connection->stats().not_connected, 1U);
  EXPECT_FALSE(left.connection->poll_transmit(network.now()));
  EXPECT_EQ(left.connection->poll_timeout(), kNever) << "an idle listener sleeps";
}

// ---- limits, on both sides

TEST(Connection, TenHandshakesOfOneNetworkMayBeginAtOnce) {
  SecureWorld network;
  Node& left = network.listen(kLeft);
  for (uint16_t i = 0; i < 12; ++i) {
    network.join(test_address(9, static_cast<uint16_t>(1000 + i)), kLeft,
                 {.secret = test_secret(8)});
  }
  network.run_for(65ms);
  EXPECT_EQ(left.connection->stats().cookies_sent, 12U);
  EXPECT_EQ(left.connection->stats().handshakes_begun, 10U);
  EXPECT_EQ(left.connection->stats().rate_limited, 2U);
  network.run_for(1s);
  EXPECT_GT(left.connection->stats().handshakes_begun, 10U) << "five more a second";
}

TEST(Connection, SixteenHandshakesArePendingAndNoMore) {
  SecureWorld network;
  Node& left = network.listen(kLeft);
  network.watch = [](const Flight& flight) {
    return flight.from != kLeft || flight.bytes.size() < 100;  // cookies arrive, flights do not
  };
  for (uint8_t i = 0; i < 18; ++i) {
    network.join(test_address(20 + i), kLeft);
    network.run_for(60ms);
    EXPECT_EQ(left.connection->pending(), std::min<size_t>(i + 1, 16));
  }
  EXPECT_EQ(left.connection->stats().handshakes_failed, 2U) << "the oldest went";
}

TEST(Connection, PeerHeardHalfASecondLaterIsAlive) {
  SecureWorld network;
  network.listen(kLeft);
  network.join(kRight, kLeft);
  network.run_for(1s);
  const TimePoint came_at = network.now();
  Node& second = network.join(kElsewhere, kLeft);
  network.run_for(2s);
  ASSERT_EQ(second.closed(), CloseReason::kBusy);
  // Its handshake takes 100 ms; then half a second, the next heartbeat within 50 ms, and 20 ms for
  // the answer.
  EXPECT_GE(*second.when<Closed>() - came_at, 620ms);
  EXPECT_LE(*second.when<Closed>() - came_at, 690ms);
}

TEST(Connection, RefusalsAreCountedByName) {
  SecureWorld network;
  Node& left = network.listen(kLeft);
  Node& right = network.join(kRight, kLeft);
  network.run_for(1s);
  std::vector<std::byte> record;
  network.watch = [&](const Flight& flight) {
    const bool is_it = record.empty() && flight.from == kRight && flight.bytes[0] == kRecordKind;
    if (is_it) {
      record = flight.bytes;
    }
    return !is_it;
  };
  network.run_for(100ms);
  network.watch = nullptr;
  ASSERT_FALSE(record.empty());
  using Stats = ConnectionStats;
  const auto counts = [&](uint64_t Stats::*counter, const std::vector<std::byte>& bytes) {
    Stats expected = left.connection->stats();
    network.inject(kRight, kLeft, bytes);
    ++(expected.*counter);
    ++expected.datagrams_received;
    expected.bytes_received += bytes.size();
    return left.connection->stats() == expected;
  };
  EXPECT_TRUE(counts(&Stats::unknown_kind, {}));
  for (const int kind : {0, 15, 16, 26, 255}) {
    EXPECT_TRUE(counts(&Stats::unknown_kind, {static_cast<std::byte>(kind)})) << kind;
  }
  for (const int kind : {20, 22, 25}) {
    EXPECT_TRUE(counts(&Stats::bad_handshake, {static_cast<std::byte>(kind)})) << kind;
  }
  EXPECT_TRUE(counts(&Stats::truncated, {record.begin(), record.begin() + 31}));
  auto changed = record;
  changed.back() ^= std::byte{1};
  EXPECT_TRUE(counts(&Stats::bad_tag, changed));
  changed = record;
  changed[1] = std::byte{99};
  EXPECT_TRUE(counts(&Stats::unknown_key, changed));
  EXPECT_TRUE(counts(&Stats::records_opened, record));
  EXPECT_TRUE(counts(&Stats::replayed, record));
  right.connection->hang_up(network.now());
  network.run_for(100ms);
  EXPECT_TRUE(counts(&Stats::without_session, record));
}

}  // namespace
}  // namespace cress::secure
