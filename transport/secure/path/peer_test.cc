#include "transport/secure/path/peer.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "transport/secure/crypto/memory_test_tools.hh"
#include "transport/secure/secure_test_tools.hh"

namespace cress::secure {
namespace {

const Address kFarEnd = test_address(1);
const Address kNewPlace = test_address(2);
const Address kThirdPlace = test_address(3);

Secret filled_secret(int fill) {
  Secret secret;
  std::fill(secret.bytes().begin(), secret.bytes().end(), std::byte(fill));
  return secret;
}

/// A control message, or nullopt if it was a record.
struct Sent {
  Address to;
  std::optional<ControlMessage> message;
  bool is_routed = false;
  DataSize size;
};

/// A Peer, and the keys of its other end in the test's hands: the test can send anything, at any
/// time and from any address, and read what the Peer sends.
struct Harness {
  explicit Harness(Role role = Role::kListener, const PeerOptions& options = {},
                   const Address& path = kFarEnd)
      : peer(kTimeZero,
             {.records = {filled_secret(1), filled_secret(2)},
              .control = {filled_secret(3), filled_secret(4)},
              .id = {std::byte{1}, std::byte{2}, std::byte{3}},
              .role = role},
             path, options) {}

  /// From the other end, encrypted now.
  std::vector<std::byte> control(const ControlMessage& message) {
    return far_control.seal(now, message);
  }
  /// `size`: of the whole datagram, at least 32 bytes.
  std::vector<std::byte> record(size_t size) {
    sequence += 2000;
    return far_records.seal(now, plain_datagram(sequence, size - 32));
  }
  bool arrives(const Address& from, const std::vector<std::byte>& bytes) {
    return peer.handle_datagram(now, from, bytes).has_value();
  }
  void hears(const ControlMessage& message, const Address& from = kFarEnd) {
    ASSERT_TRUE(arrives(from, control(message)));
  }
  void sends(size_t size) {
    own_sequence += 2000;
    peer.send(now, plain_datagram(own_sequence, size - 32));
  }

  /// Everything that the Peer has to send at this moment.
  std::vector<Sent> drain() {
    std::vector<Sent> all;
    while (auto transmit = peer.poll_transmit(now)) {
      std::span<const std::byte> bytes{transmit->bytes};
      Sent sent{.to = transmit->to,
                .message = std::nullopt,
                .is_routed = bytes[0] == kRoutedKind,
                .size = DataSize{static_cast<int64_t>(bytes.size())}};
      if (sent.is_routed) {
        EXPECT_TRUE(std::equal(peer.id().begin(), peer.id().end(), bytes.begin() + 1));
        bytes = bytes.subspan(9);
      }
      if (bytes[0] == kControlKind) {
        const auto opened = far_control.open(now, bytes);
        EXPECT_TRUE(opened);
        sent.message = opened->message;
      } else {
        EXPECT_TRUE(far_records.open(now, bytes));
      }
      all.push_back(sent);
    }
    return all;
  }
  /// The destination of the one message of that kind; no other was sent.
  template <class T>
  std::vector<T> said(const Address& to = kFarEnd) {
    std::vector<T> out;
    for (const Sent& sent : drain()) {
      if (sent.message && std::holds_alternative<T>(*sent.message) && sent.to == to) {
        out.push_back(std::get<T>(*sent.message));
      }
    }
    return out;
  }
  /// Steps like an owner, from one poll_timeout to the next, until nothing is due up to `end`;
  /// returns when messages of that kind were sent to `to`, in ms.
  template <class T>
  std::vector<double> times_of(TimePoint end, const Address& to = kFarEnd) {
    std::vector<double> times;
    for (int step = 0; step < 100'000; ++step) {
      for (size_t i = said<T>(to).size(); i-- > 0;) {
        times.push_back(to_milliseconds(now));
      }
      if (peer.poll_timeout() > end) {
        now = end;
        return times;
      }
      now = std::max(now, peer.poll_timeout());
      peer.handle_timeout(now);
    }
    ADD_FAILURE() << "it spins";
    return times;
  }
  void run_until(TimePoint end) { times_of<Close>(end); }
  std::vector<Event> events() {
    std::vector<Event> all;
    while (auto event = peer.poll_event()) {
      all.push_back(*event);
    }
    return all;
  }

  Peer peer;
  ControlRecords far_control{kTimeZero, {filled_secret(4), filled_secret(3)}};
  Records far_records{kTimeZero, {filled_secret(2), filled_secret(1)}};
  TimePoint now = kTimeZero;
  uint64_t sequence = 0;
  uint64_t own_sequence = 0;
};

using Times = std::vector<double>;

// ---- a new address

TEST(Peer, WithoutARelayOwnAddressesHaveNoEffect) {
  Harness harness;
  harness.peer.set_own_addresses(harness.now, {kNewPlace});
  EXPECT_TRUE(harness.drain().empty());
  harness.peer.set_relay(harness.now, kThirdPlace);
  harness.peer.set_own_addresses(harness.now, {kNewPlace});
  EXPECT_FALSE(harness.drain().empty()) << "they are offered";
}

TEST(Peer, ChallengesANewAddressWithUpToThreeTimesItsBytes) {
  // A challenge has 35 bytes: the bytes received pay for floor(3 * received / 35) of them and no
  // more.
  const std::vector<std::pair<size_t, size_t>> cases{{34, 2}, {35, 3}, {46, 3},
                                                     {47, 4}, {58, 4}, {59, 5}};
  for (const auto& [came, challenges] : cases) {
    Harness h;
    h.run_until(kTimeZero + 1s);
    ASSERT_TRUE(h.arrives(kNewPlace, h.record(came)));
    EXPECT_EQ(h.times_of<PathChallenge>(kTimeZero + 5s, kNewPlace).size(), challenges) << came;
  }
}

TEST(Peer, LaterBytesFromANewAddressPermitMoreChallenges) {
  Harness h;
  ASSERT_TRUE(h.arrives(kNewPlace, h.record(34)));
  EXPECT_EQ(h.times_of<PathChallenge>(kTimeZero + 1s, kNewPlace), (Times{0, 50}));
  ASSERT_TRUE(h.arrives(kNewPlace, h.record(34)));
  EXPECT_EQ(h.times_of<PathChallenge>(kTimeZero + 5s, kNewPlace).size(), 3U) << "204 bytes in all";
  EXPECT_FALSE(h.arrives(kNewPlace, std::vector<std::byte>(2000)));
}

TEST(Peer, ChallengesFasterAtFirstAndForThreeSeconds) {
  Harness h;
  ASSERT_TRUE(h.arrives(kNewPlace, h.record(1000)));
  const Times expected{0, 50, 150, 350, 750, 1150, 1550, 1950, 2350, 2750};
  EXPECT_EQ(h.times_of<PathChallenge>(kTimeZero + 10s, kNewPlace), expected);
}

TEST(Peer, AllChallengesOfOneAddressCarryOneToken) {
  Harness h;
  ASSERT_TRUE(h.arrives(kNewPlace, h.record(1000)));
  const auto first = h.said<PathChallenge>(kNewPlace);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_NE(first[0], PathChallenge{}) << "a token is drawn";
  h.now += 50ms;
  h.peer.handle_timeout(h.now);
  EXPECT_EQ(h.said<PathChallenge>(kNewPlace), first);
}

/// The token of the challenge that goes to `place` after a record from there.
PathToken challenged(Harness& h, const Address& place) {
  EXPECT_TRUE(h.arrives(place, h.record(1000)));
  const auto said = h.said<PathChallenge>(place);
  EXPECT_EQ(said.size(), 1U);
  return said.empty() ? PathToken{} : said[0].token;
}

TEST(Peer, MovesToTheAddressThatAnswersItsChallenge) {
  Harness h;
  const PathToken token = challenged(h, kNewPlace);
  EXPECT_EQ(h.peer.path(), kFarEnd);
  h.hears(PathResponse{token}, kNewPlace);
  EXPECT_EQ(h.peer.path(), kNewPlace);
  EXPECT_EQ(h.events(), std::vector<Event>{PathChanged{kNewPlace}});
  h.hears(PathResponse{token}, kNewPlace);
  EXPECT_TRUE(h.events().empty()) << "once";
  EXPECT_TRUE(h.times_of<PathChallenge>(kTimeZero + 3s, kNewPlace).empty()) << "no more of them";
}

TEST(Peer, StaysWhenTheResponseIsWrongOrComesFromElsewhere) {
  Harness h;
  const PathToken token = challenged(h, kNewPlace);
  for (size_t i = 0; i < token.size(); ++i) {
    PathToken wrong = token;
    wrong[i] ^= std::byte{1};
    h.hears(PathResponse{wrong}, kNewPlace);
  }
  h.hears(PathResponse{token}, kThirdPlace);
  h.hears(PathResponse{token}, kFarEnd);
  EXPECT_EQ(h.peer.path(), kFarEnd);
  EXPECT_TRUE(h.events().empty());
}

TEST(Peer, ResponseCountsForThreeSecondsAndNoLonger) {
  for (const Duration late : {Duration{0}, Duration{1}}) {
    Harness h;
    const PathToken token = challenged(h, kNewPlace);
    h.now = kTimeZero + 3s + late;
    h.peer.handle_timeout(h.now);
    h.hears(PathResponse{token}, kNewPlace);
    EXPECT_EQ(h.peer.path(), late == Duration{0} ? kNewPlace : kFarEnd);
  }
}

TEST(Peer, ForgetsANewAddressByItsTimerAlone) {
  Harness h;
  const PathToken token = challenged(h, kNewPlace);
  h.run_until(kTimeZero + 3s + Duration{1});
  h.hears(PathResponse{token}, kNewPlace);
  EXPECT_EQ(h.peer.path(), kFarEnd);
}

TEST(Peer, FiveNewAddressesAreOneTooMany) {
  for (const uint8_t answering : {uint8_t{0}, uint8_t{1}, uint8_t{4}}) {
    Harness h;
    std::vector<PathToken> tokens;
    for (uint8_t i = 0; i < 5; ++i) {
      tokens.push_back(challenged(h, test_address(10 + i)));
    }
    h.hears(PathResponse{tokens[answering]}, test_address(10 + answering));
    EXPECT_EQ(h.peer.path(), answering == 0 ? kFarEnd : test_address(10 + answering))
        << "the oldest went, and nobody else";
  }
}

TEST(Peer, AnOvertakenRecordMakesNoNewAddress) {
  Harness h;
  const auto early = h.record(100);
  const auto early_control = h.control(Ping{1});
  ASSERT_TRUE(h.arrives(kFarEnd, h.record(100)));
  h.hears(Ping{2});
  h.drain();
  ASSERT_TRUE(h.arrives(kNewPlace, early));
  ASSERT_TRUE(h.arrives(kNewPlace, early_control));
  EXPECT_TRUE(h.said<PathChallenge>(kNewPlace).empty());
  ASSERT_TRUE(h.arrives(kNewPlace, h.control(Ping{3})));
  EXPECT_EQ(h.said<PathChallenge>(kNewPlace).size(), 1U);
}

TEST(Peer, AnOvertakenRecordStillPaysForChallenges) {
  Harness h;
  const auto early = h.record(34);
  ASSERT_TRUE(h.arrives(kNewPlace, h.record(34)));
  ASSERT_TRUE(h.arrives(kNewPlace, early));
  EXPECT_EQ(h.times_of<PathChallenge>(kTimeZero + 5s, kNewPlace).size(), 5U);
}

TEST(Peer, AnswersChallengesOnlyFromWhereTheOtherEndIs) {
  Harness h;
  const PathChallenge challenge{{std::byte{9}, std::byte{8}}};
  h.hears(challenge);
  EXPECT_EQ(h.said<PathResponse>(), std::vector<PathResponse>{{challenge.token}});
  h.hears(challenge, kNewPlace);
  const auto all = h.drain();
  ASSERT_EQ(all.size(), 1U) << "a challenge of its own, and nothing to anybody else";
  EXPECT_EQ(all[0].to, kNewPlace);
  EXPECT_TRUE(std::holds_alternative<PathChallenge>(*all[0].message));
}

TEST(Peer, AnswersPingsOnlyFromWhereTheOtherEndIs) {
  Harness h;
  h.hears(Ping{77});
  EXPECT_EQ(h.said<Pong>(), (std::vector<Pong>{{77, 0}}));
  h.hears(Ping{78}, kNewPlace);
  for (const Sent& sent : h.drain()) {
    EXPECT_FALSE(std::holds_alternative<Pong>(*sent.message));
  }
}

TEST(Peer, AcknowledgesProbesOnlyFromWhereTheOtherEndIs) {
  Harness h;
  h.hears(MtuProbe{DataSize{1300}});
  EXPECT_EQ(h.said<MtuAcknowledgement>(), (std::vector<MtuAcknowledgement>{{DataSize{1300}}}));
  h.hears(MtuProbe{DataSize{1301}}, kNewPlace);
  for (const Sent& sent : h.drain()) {
    EXPECT_FALSE(std::holds_alternative<MtuAcknowledgement>(*sent.message));
  }
}

TEST(Peer, PongsCountTheRecordsOfMoreThan1200Bytes) {
  Harness h;
  ASSERT_TRUE(h.arrives(kFarEnd, h.record(1200)));
  h.hears(MtuProbe{DataSize{1400}});
  h.hears(Ping{1});
  EXPECT_EQ(h.said<Pong>(), (std::vector<Pong>{{1, 0}}));
  ASSERT_TRUE(h.arrives(kFarEnd, h.record(1201)));
  ASSERT_TRUE(h.arrives(kFarEnd, h.record(1400)));
  h.hears(Ping{2});
  EXPECT_EQ(h.said<Pong>(), (std::vector<Pong>{{2, 2}}));
}

// ---- pings and silence

TEST(Peer, PingsOftenUntilConnectedThenEverySecond) {
  Harness h;
  h.peer.handle_timeout(h.now);
  EXPECT_EQ(h.times_of<Ping>(kTimeZero + 1s), (Times{0, 50, 150, 350, 550, 750, 950}));
  h.hears(Pong{0, 0});
  EXPECT_EQ(h.times_of<Ping>(kTimeZero + 2999ms), (Times{2000}));
  h.hears(Pong{0, 0});
  EXPECT_EQ(h.times_of<Ping>(kTimeZero + 3999ms), (Times{3999})) << "a second after it was heard";
}

TEST(Peer, PingsAreNumbered) {
  Harness h;
  h.peer.handle_timeout(h.now);
  h.peer.ping(h.now);
  EXPECT_EQ(h.said<Ping>(), (std::vector<Ping>{{0}, {1}}));
}

TEST(Peer, IsUnreachableAfterThreeSecondsWithoutAnAnswer) {
  Harness h;
  h.hears(Pong{});
  h.run_until(kTimeZero + 4s - Duration{1});
  EXPECT_TRUE(h.events().empty()) << "its ping left at 1 s";
  EXPECT_EQ(h.peer.unanswered_since(), kTimeZero + 1s);
  EXPECT_EQ(h.times_of<Ping>(kTimeZero + 4500ms), (Times{4000, 4200, 4400}));
  EXPECT_EQ(h.events(), std::vector<Event>{Unreachable{}});
  h.hears(UnknownControl{});
  EXPECT_EQ(h.events(), std::vector<Event>{Reachable{}});
  EXPECT_EQ(h.peer.unanswered_since(), std::nullopt);
  EXPECT_EQ(h.times_of<Ping>(kTimeZero + 6s), (Times{5500})) << "a second apart again";
}

TEST(Peer, PingsTheMomentItIsUnreachable) {
  Harness h;
  h.hears(Pong{});
  h.run_until(kTimeZero + 500ms);
  h.sends(100);
  EXPECT_EQ(h.times_of<Ping>(kTimeZero + 4s), (Times{1000, 2000, 3000, 3500, 3700, 3900}));
}

TEST(Peer, SealsNothingOnceItIsOver) {
  for (const bool is_closed_here : {false, true}) {
    Harness h;
    if (is_closed_here) {
      h.peer.close(h.now, CloseCode::kHangUp, 3s);
    } else {
      h.hears(Close{CloseCode::kHangUp});
    }
    h.drain();
    h.sends(100);
    EXPECT_FALSE(h.peer.seal(h.now, plain_datagram(1'000'000)));
    EXPECT_TRUE(h.drain().empty());
  }
}

TEST(Peer, IsNotUnreachableBeforeTheFirstDatagram) {
  Harness h;
  h.run_until(kTimeZero + 10s);
  EXPECT_TRUE(h.events().empty());
  h.hears(Pong{});
  EXPECT_TRUE(h.peer.was_heard());
  h.events();
  h.run_until(kTimeZero + 14s - Duration{1});
  EXPECT_TRUE(h.events().empty());
  h.run_until(kTimeZero + 14s);
  EXPECT_EQ(h.events(), std::vector<Event>{Unreachable{}});
}

TEST(Peer, SilenceEndsItAfterTheTimeAllowed) {
  Harness h{Role::kListener, {.silence_max = 20s, .unreachable_after = 7s}};
  h.now += 5s;
  h.hears(Pong{});
  h.run_until(kTimeZero + 25s - Duration{1});
  EXPECT_EQ(h.events(), std::vector<Event>{Unreachable{}});
  EXPECT_FALSE(h.peer.is_over());
  EXPECT_EQ(h.peer.poll_timeout(), kTimeZero + 25s);
  h.run_until(kTimeZero + 25s);
  EXPECT_TRUE(h.peer.is_over());
  EXPECT_EQ(h.events(), std::vector<Event>{Closed{CloseReason::kTimedOut}});
  EXPECT_EQ(h.peer.poll_timeout(), kNever);
  h.hears(Ping{});
  EXPECT_TRUE(h.events().empty()) << "over is over";
  EXPECT_TRUE(h.drain().empty());
}

TEST(Peer, RecordsCountAsSignsOfLifeAsPongsDo) {
  Harness h;
  h.sends(100);
  EXPECT_EQ(h.peer.unanswered_since(), kTimeZero);
  h.now += 1s;
  h.sends(100);
  EXPECT_EQ(h.peer.unanswered_since(), kTimeZero) << "the first thing said";
  ASSERT_TRUE(h.arrives(kFarEnd, h.record(100)));
  EXPECT_EQ(h.peer.unanswered_since(), std::nullopt);
  EXPECT_EQ(h.peer.last_heard(), kTimeZero + 1s);
  EXPECT_TRUE(h.peer.was_heard());
  auto forged = h.record(100);
  forged.back() ^= std::byte{1};
  h.now += 1s;
  EXPECT_FALSE(h.arrives(kFarEnd, forged));
  EXPECT_EQ(h.peer.last_heard(), kTimeZero + 1s);
}

TEST(Peer, AJoinerThatIsNotAnsweredFor600msRoutesItsPings) {
  for (const Role role : {Role::kJoiner, Role::kListener}) {
    Harness h{role};
    h.hears(Pong{});
    h.now += 100ms;
    h.sends(100);
    h.drain();
    std::vector<std::pair<double, bool>> pings;
    while (h.peer.poll_timeout() <= kTimeZero + 1100ms) {
      h.now = std::max(h.now, h.peer.poll_timeout());
      h.peer.handle_timeout(h.now);
      for (const Sent& sent : h.drain()) {
        if (std::holds_alternative<Ping>(*sent.message)) {
          pings.emplace_back(to_milliseconds(h.now), sent.is_routed);
        }
      }
    }
    if (role == Role::kJoiner) {
      EXPECT_EQ(pings,
                (std::vector<std::pair<double, bool>>{{700, true}, {900, true}, {1100, true}}));
    } else {
      EXPECT_EQ(pings, (std::vector<std::pair<double, bool>>{{1000, false}}));
    }
  }
}

TEST(Peer, JoinerRoutesUntilItIsAnswered) {
  const auto is_ping_routed = [](Harness& h) {
    h.drain();
    h.peer.ping(h.now);
    return h.drain().at(0).is_routed;
  };
  Harness h{Role::kJoiner};
  EXPECT_FALSE(is_ping_routed(h));
  h.peer.handle_network_change(h.now);
  EXPECT_TRUE(is_ping_routed(h));
  ASSERT_TRUE(h.arrives(kFarEnd, h.record(100)));
  h.hears(Ping{});
  EXPECT_TRUE(is_ping_routed(h)) << "said without being asked for";
  h.hears(Pong{});
  EXPECT_FALSE(is_ping_routed(h));
  h.peer.handle_network_change(h.now);
  h.hears(PathChallenge{});
  EXPECT_FALSE(is_ping_routed(h));
}

TEST(Peer, AJoinerAlwaysRoutesResponsesPongsAndCloses) {
  for (const Role role : {Role::kJoiner, Role::kListener}) {
    Harness h{role};
    h.hears(PathChallenge{});
    h.hears(Ping{});
    h.hears(MtuProbe{DataSize{1300}});
    const auto all = h.drain();
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].is_routed, role == Role::kJoiner);
    EXPECT_EQ(all[1].is_routed, role == Role::kJoiner);
    EXPECT_FALSE(all[2].is_routed);
    h.peer.close(h.now, CloseCode::kHangUp, 1s);
    EXPECT_EQ(h.drain().at(0).is_routed, role == Role::kJoiner);
  }
}

TEST(Peer, AfterANetworkChangeItPingsAtOnceAndOften) {
  Harness h{Role::kJoiner};
  h.hears(Pong{});
  h.run_until(kTimeZero + 400ms);
  h.peer.handle_network_change(h.now);
  EXPECT_EQ(h.times_of<Ping>(kTimeZero + 1s), (Times{400, 450, 550, 750, 950}));
}

TEST(Peer, AcceptsRoutedRecords) {
  Harness h;
  const auto routed = [](std::vector<std::byte> bytes) {
    bytes.insert(bytes.begin(), 9, std::byte{77});
    bytes[0] = kRoutedKind;
    return bytes;
  };
  EXPECT_TRUE(h.arrives(kFarEnd, routed(h.record(100))));
  EXPECT_TRUE(h.arrives(kFarEnd, routed(h.control(Ping{5}))));
  EXPECT_EQ(h.said<Pong>(), (std::vector<Pong>{{5, 0}}));
  EXPECT_TRUE(h.peer.poll_datagram());
  const auto nothing = h.peer.handle_datagram(h.now, kFarEnd, routed({}));
  EXPECT_EQ(nothing.error(), OpenError::kTruncated);
  const auto little = h.peer.handle_datagram(h.now, kFarEnd, routed({kRecordKind}));
  EXPECT_EQ(little.error(), OpenError::kTruncated);
  EXPECT_EQ(h.peer.handle_datagram(h.now, kFarEnd, {}).error(), OpenError::kTruncated);
  // The id does not count as received: an MTU probe has the size of its record.
  EXPECT_TRUE(h.arrives(kFarEnd, routed(h.control(MtuProbe{DataSize{1300}}))));
  EXPECT_EQ(h.said<MtuAcknowledgement>(), (std::vector<MtuAcknowledgement>{{DataSize{1300}}}));
}

// ---- the end

TEST(Peer, EveryCloseCodeHasItsReason) {
  const std::vector<std::pair<CloseCode, CloseReason>> cases{
      {CloseCode::kHangUp, CloseReason::kPeerHungUp},
      {CloseCode::kBusy, CloseReason::kBusy},
      {CloseCode::kReplaced, CloseReason::kReplaced},
      {CloseCode::kFull, CloseReason::kFull},
      {CloseCode::kGoingAway, CloseReason::kGoingAway},
      {CloseCode::kRemoved, CloseReason::kRemoved}};
  for (const auto& [code, reason] : cases) {
    Harness h;
    h.hears(Close{code});
    EXPECT_TRUE(h.peer.is_over());
    EXPECT_FALSE(h.peer.is_closing());
    EXPECT_EQ(h.events(), std::vector<Event>{Closed{reason}});
    h.hears(Close{code});
    EXPECT_TRUE(h.events().empty()) << "once";
    h.sends(100);
    h.peer.close(h.now, CloseCode::kHangUp, 1s);
    h.peer.handle_network_change(h.now);
    h.now += 100s;
    h.peer.handle_timeout(h.now);
    EXPECT_TRUE(h.drain().empty()) << "nothing more is said";
    EXPECT_TRUE(h.events().empty());
    ASSERT_TRUE(h.arrives(kFarEnd, h.record(100)));
    EXPECT_FALSE(h.peer.poll_datagram());
  }
}

TEST(Peer, SendsItsCloseThreeTimes) {
  Harness h;
  h.sends(100);
  h.hears(Ping{});
  ASSERT_TRUE(h.arrives(kFarEnd, h.record(100)));
  h.drain();
  h.sends(100);
  h.peer.close(h.now, CloseCode::kRemoved, 3s);
  EXPECT_TRUE(h.peer.is_closing());
  EXPECT_FALSE(h.peer.poll_datagram()) << "what waited is dropped";
  const auto first = h.drain();
  ASSERT_EQ(first.size(), 1U) << "and so is what was to be sent";
  EXPECT_EQ(first[0].message, ControlMessage{Close{CloseCode::kRemoved}});
  EXPECT_EQ(h.times_of<Close>(kTimeZero + 3s - Duration{1}), (Times{50, 100}));
  EXPECT_FALSE(h.peer.is_over());
  EXPECT_EQ(h.peer.poll_timeout(), kTimeZero + 3s);
  h.run_until(kTimeZero + 3s);
  EXPECT_TRUE(h.peer.is_over());
  EXPECT_EQ(h.peer.poll_timeout(), kNever);
  EXPECT_TRUE(h.events().empty()) << "its owner knows";
}

TEST(Peer, RepeatsItsCloseToALivePeer) {
  Harness h;
  h.peer.close(h.now, CloseCode::kHangUp, 3s);
  EXPECT_EQ(h.times_of<Close>(kTimeZero + 1s), (Times{0, 50, 100}));
  h.hears(Ping{});
  h.hears(Ping{});
  EXPECT_EQ(h.times_of<Close>(kTimeZero + 1020ms), (Times{1000})) << "and no pong";
  h.hears(Ping{});
  EXPECT_EQ(h.times_of<Close>(kTimeZero + 1049ms), (Times{})) << "50 ms apart";
  h.now = kTimeZero + 1050ms;
  ASSERT_TRUE(h.arrives(kFarEnd, h.record(100)));
  EXPECT_EQ(h.times_of<Close>(kTimeZero + 2s), (Times{1050}));
  EXPECT_FALSE(h.peer.poll_datagram());
  h.peer.close(h.now, CloseCode::kBusy, 30s);
  h.run_until(kTimeZero + 3s);
  EXPECT_TRUE(h.peer.is_over()) << "closing again changes nothing";
}

TEST(Peer, AShortLingerCutsItsClosesShort) {
  Harness h;
  h.peer.close(h.now, CloseCode::kHangUp, 70ms);
  EXPECT_EQ(h.times_of<Close>(kTimeZero + 1s), (Times{0, 50}));
  EXPECT_TRUE(h.peer.is_over());
}

// ---- sizes and queues

TEST(Peer, ProbesUpToWhatEthernetCarriesUnderItsAddressFamily) {
  Address ipv6 = kFarEnd;
  ipv6.ip[0] = 0x20;
  for (const bool is_ipv4 : {true, false}) {
    Harness h{Role::kListener, {}, is_ipv4 ? kFarEnd : ipv6};
    h.hears(Pong{}, h.peer.path());
    DataSize largest;
    while (h.now < kTimeZero + 3s) {
      h.now += 10ms;
      h.peer.handle_timeout(h.now);
      for (const MtuProbe& probe : h.said<MtuProbe>(h.peer.path())) {
        largest = probe.size;
        h.hears(MtuAcknowledgement{probe.size}, h.peer.path());
      }
    }
    EXPECT_EQ(largest, DataSize{is_ipv4 ? 1472 : 1452});
    EXPECT_EQ(h.peer.datagram_max(), largest - kRecordOverhead);
    const auto events = h.events();
    EXPECT_EQ(events.size(), is_ipv4 ? 4U : 3U) << "one for each step";
    EXPECT_EQ(events.back(), Event{MtuChanged{largest - kRecordOverhead}});
  }
}

/// Connected, with a path known to carry 1280 bytes.
void raise_to_1280(Harness& h) {
  h.hears(Pong{});
  h.run_until(kTimeZero + 500ms);
  h.hears(MtuAcknowledgement{DataSize{1280}});
  ASSERT_EQ(h.events(), std::vector<Event>{MtuChanged{DataSize{1264}}});
  h.drain();
}

TEST(Peer, DiscardsTheSizeOfAnOldPath) {
  Harness h;
  raise_to_1280(h);
  const PathToken token = challenged(h, kNewPlace);
  h.hears(PathResponse{token}, kNewPlace);
  EXPECT_EQ(h.events(), (std::vector<Event>{PathChanged{kNewPlace}, MtuChanged{DataSize{1184}}}));
  EXPECT_EQ(h.times_of<MtuProbe>(kTimeZero + 1200ms, kNewPlace), (Times{1000}));
}

TEST(Peer, FallsBackAtOnceAfterANetworkChangeOrARefusal) {
  for (const bool is_change : {true, false}) {
    Harness h{Role::kJoiner};
    raise_to_1280(h);
    if (is_change) {
      h.peer.handle_network_change(h.now);
    } else {
      h.peer.handle_too_big(h.now, DataSize{1280});
    }
    EXPECT_EQ(h.events(), std::vector<Event>{MtuChanged{DataSize{1184}}});
  }
}

TEST(Peer, ProbesOnlyAReachablePeer) {
  Harness unheard;
  EXPECT_EQ(unheard.times_of<MtuProbe>(kTimeZero + 2900ms), (Times{}));
  unheard.hears(Pong{});
  EXPECT_EQ(unheard.times_of<MtuProbe>(kTimeZero + 2900ms), (Times{2900}));

  Harness silent;
  silent.hears(Pong{});
  // Its first ping is sent at 1 s; from 4 s on it counts as unreachable.
  EXPECT_EQ(silent.times_of<MtuProbe>(kTimeZero + 61s - Duration{1}), (Times{500, 1600, 2700}));

  Harness searching{Role::kJoiner};
  searching.hears(Pong{});
  searching.peer.handle_network_change(searching.now);
  EXPECT_EQ(searching.times_of<MtuProbe>(kTimeZero + 700ms), (Times{}));
  searching.hears(Pong{});
  EXPECT_EQ(searching.times_of<MtuProbe>(kTimeZero + 700ms), (Times{700}));
}

TEST(Peer, PingsWhileLargeRecordsLeaveAndFallsBackWhenNoneArrives) {
  Harness h;
  raise_to_1280(h);
  h.run_until(kTimeZero + 600ms);
  for (int i = 0; i < 7; ++i) {
    h.sends(1280);
    h.sends(1200);
  }
  EXPECT_EQ(h.times_of<Ping>(h.now), (Times{}));
  h.sends(1201);
  h.drain();
  h.peer.handle_timeout(h.now);
  const auto asked = h.said<Ping>();
  ASSERT_EQ(asked.size(), 1U) << "eight were large";
  h.hears(Pong{asked[0].id, 0});
  EXPECT_EQ(h.events(), std::vector<Event>{MtuChanged{DataSize{1184}}});
}

TEST(Peer, RecordsLeaveBeforeControlRecordsAndToThePathOfThatMoment) {
  Harness h;
  const PathToken token = challenged(h, kNewPlace);
  h.hears(Ping{});
  h.sends(100);
  h.sends(200);
  h.hears(PathResponse{token}, kNewPlace);
  const auto all = h.drain();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].size, DataSize{100});
  EXPECT_EQ(all[0].to, kNewPlace);
  EXPECT_EQ(all[1].size, DataSize{200});
  EXPECT_EQ(all[2].to, kFarEnd) << "a control record goes where it was meant to";
}

TEST(Peer, KeepsTheNewest512ThatWaitToBeSent) {
  Harness h;
  for (size_t i = 0; i < 513; ++i) {
    h.sends(i == 0 ? 100 : i == 1 ? 101 : 102);
  }
  const auto all = h.drain();
  ASSERT_EQ(all.size(), 512U);
  EXPECT_EQ(all[0].size, DataSize{101}) << "the oldest went";
  EXPECT_EQ(all[1].size, DataSize{102});
}

TEST(Peer, KeepsTheNewest512ThatWaitToBeRead) {
  Harness h;
  for (size_t i = 0; i < 513; ++i) {
    ASSERT_TRUE(h.arrives(kFarEnd, h.record(i == 0 ? 100 : i == 1 ? 101 : 102)));
  }
  EXPECT_EQ(h.peer.poll_datagram()->size(), 101U - kTagSize);
  size_t rest = 0;
  while (h.peer.poll_datagram()) {
    ++rest;
  }
  EXPECT_EQ(rest, 511U);
}

TEST(Peer, KeepsTheNewest64ControlRecords) {
  Harness h;
  for (uint32_t i = 0; i < 65; ++i) {
    h.hears(Ping{i});
  }
  const auto pongs = h.said<Pong>();
  ASSERT_EQ(pongs.size(), 64U);
  EXPECT_EQ(pongs.front().id, 1U);
  EXPECT_EQ(pongs.back().id, 64U);
}

TEST(Peer, ReportsWhetherASendMakesItsTimeoutSooner) {
  Harness h;
  const auto sends = [&](size_t size) {
    h.own_sequence += 2000;
    return h.peer.send(h.now, plain_datagram(h.own_sequence, size - 32));
  };
  EXPECT_TRUE(sends(100)) << "from now on an answer is awaited";
  EXPECT_FALSE(sends(100));
  EXPECT_FALSE(sends(1200));
  EXPECT_TRUE(sends(1201)) << "the path's size is watched";
  h.own_sequence += 2000;
  const auto sealed = h.peer.seal(h.now, plain_datagram(h.own_sequence, 100));
  ASSERT_TRUE(sealed);
  EXPECT_FALSE(sealed->is_sooner);
  EXPECT_EQ(sealed->transmit.to, kFarEnd);
  h.hears(Pong{});
  EXPECT_TRUE(sends(100));
  h.hears(Close{});
  EXPECT_FALSE(sends(100));
  EXPECT_FALSE(h.peer.seal(h.now, plain_datagram(1'000'000, 100)));
}

TEST(Peer, DecryptedDatagramsUseSpareBuffers) {
  SpareBuffers spare;
  spare.give(std::vector<std::byte>(500));
  ASSERT_EQ(spare.kept(), 1U);
  Harness h{Role::kListener, {.spare = &spare}};
  ASSERT_TRUE(h.arrives(kFarEnd, h.record(100)));
  EXPECT_EQ(spare.kept(), 0U);
  spare.give(std::vector<std::byte>(500));
  auto forged = h.record(100);
  forged.back() ^= std::byte{1};
  EXPECT_FALSE(h.arrives(kFarEnd, forged));
  EXPECT_EQ(spare.kept(), 1U) << "given back";
}

TEST(Peer, PreviousKeysAreOverwrittenByTimeInConstantTraffic) {
  if (!kMemoryCanBeSearched) {
    GTEST_SKIP() << "a sanitizer's memory is not searched";
  }
  const Needle of_records = Needle::record_key(filled_secret(2));
  const Needle of_control = Needle::record_key(filled_secret(4));
  Harness h;
  const auto all_arrives = [&h] {
    h.hears(Ping{});
    ASSERT_TRUE(h.arrives(kFarEnd, h.record(100)));
    h.sends(100);
    h.drain();
  };
  all_arrives();
  h.now += 1h;
  all_arrives();  // in the next phase
  const TimePoint due = h.now + 10s + Duration{1};
  while (h.now + 100ms < due) {
    h.now += 100ms;
    if (h.peer.poll_timeout() <= h.now) {
      h.peer.handle_timeout(h.now);
    }
    all_arrives();
  }
  EXPECT_GE(of_records.times_in_memory(), 1U);
  EXPECT_GE(of_control.times_in_memory(), 1U);
  ASSERT_EQ(h.peer.poll_timeout(), due);
  h.now = due;
  h.peer.handle_timeout(due);
  EXPECT_EQ(of_records.times_in_memory(), 0U);
  EXPECT_EQ(of_control.times_in_memory(), 0U);
  EXPECT_TRUE(h.drain().empty()) << "nothing is sent for it";
}

TEST(Peer, EachKindOfRecordHasATimeForItsPreviousKey) {
  for (const bool is_control : {false, true}) {
    Harness h;
    h.hears(Ping{});
    ASSERT_TRUE(h.arrives(kFarEnd, h.record(100)));
    h.sends(100);
    h.drain();
    h.now += 1h;
    const auto arrives = [&] {
      ASSERT_TRUE(h.arrives(kFarEnd, is_control ? h.control(Ping{}) : h.record(100)));
      h.drain();
    };
    arrives();
    const TimePoint due = h.now + 10s + Duration{1};
    while (h.now + 100ms < due) {
      h.now += 100ms;
      h.peer.handle_timeout(h.now);
      arrives();
    }
    EXPECT_EQ(h.peer.poll_timeout(), due) << is_control;
    h.peer.close(h.now, CloseCode::kHangUp, 3s);
    h.run_until(due - Duration{1});
    EXPECT_EQ(h.peer.poll_timeout(), due) << "also while it closes";
    h.peer.handle_timeout(due);
    EXPECT_GT(h.peer.poll_timeout(), due);
  }
}

TEST(Peer, EveryCloseReasonHasASentenceOfItsOwn) {
  std::vector<std::string> texts;
  for (int i = 0; i <= static_cast<int>(CloseReason::kRemoved); ++i) {
    const std::string text = describe(static_cast<CloseReason>(i));
    EXPECT_NE(text, "unknown");
    EXPECT_EQ(std::count(texts.begin(), texts.end(), text), 0) << text;
    texts.push_back(text);
  }
}

}  // namespace
}  // namespace cress::secure
