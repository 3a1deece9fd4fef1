#include "transport/secure/handshake/handshake.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "transport/secure/handshake/joining.hh"
#include "transport/secure/secure_test_tools.hh"

namespace cress::secure {
namespace {

using State = Handshake::State;
using Bytes = std::vector<std::byte>;

/// Two ends, and the gate before the listener's. A datagram arrives when the test passes it on.
struct TwoEnds {
  explicit TwoEnds(uint8_t joiners_secret = 7)
      : joiner_context(Role::kJoiner, test_secret(joiners_secret)),
        joiner(kTimeZero, joiner_context) {}
  explicit TwoEnds(Credential credential)
      : joiner_context(Role::kJoiner, std::move(credential)), joiner(kTimeZero, joiner_context) {}

  static Bytes only(Handshake& from) {
    auto bytes = from.poll_transmit();
    EXPECT_TRUE(bytes);
    EXPECT_FALSE(from.poll_transmit()) << "a flight is one datagram";
    return bytes.value_or(Bytes{});
  }
  /// Up to the joiner's second hello, with which the listener's handshake begins.
  Bytes second_hello() {
    const Bytes hello = only(joiner);
    EXPECT_TRUE(joiner.handle_datagram(now, gate.judge(now, {}, hello).answer));
    return only(joiner);
  }
  /// Up to the joiner's second flight, of keys, which completes the listener's.
  Bytes keys() {
    listener = std::make_unique<Handshake>(now, listener_context);
    EXPECT_TRUE(listener->handle_datagram(now, second_hello()));
    EXPECT_TRUE(joiner.handle_datagram(now, only(*listener)));
    return only(joiner);
  }
  /// Up to the listener's last flight.
  Bytes last_flight() {
    const Bytes last_of_joiner = keys();
    EXPECT_TRUE(listener->handle_datagram(now, last_of_joiner));
    return only(*listener);
  }

  std::vector<std::string> asked;
  HandshakeContext listener_context{
      PskLookup{[this](std::string_view identity) -> std::optional<Secret> {
        asked.emplace_back(identity);
        const Credential known = link_credential(test_secret());
        return identity == known.identity ? std::optional{known.psk} : std::nullopt;
      }}};
  HandshakeContext joiner_context;
  HelloGate gate;
  TimePoint now = kTimeZero;
  Handshake joiner;
  std::unique_ptr<Handshake> listener;
};

/// When it sends, in ms, up to `end`, and what: its owner steps it from time-out to time-out.
std::vector<double> times_sent(Handshake& handshake, TimePoint end, const Bytes& expected) {
  std::vector<double> times;
  while (handshake.poll_timeout() <= end) {
    const TimePoint now = handshake.poll_timeout();
    handshake.handle_timeout(now - Duration{1});
    EXPECT_FALSE(handshake.poll_transmit()) << "too early";
    handshake.handle_timeout(now);
    while (const auto bytes = handshake.poll_transmit()) {
      EXPECT_EQ(*bytes, expected);
      times.push_back(to_milliseconds(now));
    }
  }
  return times;
}

TEST(Handshake, BothEndsHaveTheSameSecrets) {
  TwoEnds ends;
  ASSERT_TRUE(ends.joiner.handle_datagram(ends.now, ends.last_flight()));
  ASSERT_EQ(ends.joiner.state(), State::kComplete);
  ASSERT_EQ(ends.listener->state(), State::kComplete);
  const SessionSecrets& ours = ends.joiner.secrets();
  const SessionSecrets& theirs = ends.listener->secrets();
  EXPECT_EQ(ours.role, Role::kJoiner);
  EXPECT_EQ(theirs.role, Role::kListener);
  EXPECT_EQ(ours.id, theirs.id);
  EXPECT_NE(ours.id, SessionId{});
  EXPECT_EQ(ours.code, theirs.code);
  EXPECT_EQ(ours.code.size(), 14U) << "4821 9930 1175";
  TwoEnds others;
  ASSERT_TRUE(others.joiner.handle_datagram(others.now, others.last_flight()));
  EXPECT_NE(others.joiner.secrets().code, ours.code) << "of the same link";
  EXPECT_EQ(ours.records.send, theirs.records.receive);
  EXPECT_EQ(ours.records.receive, theirs.records.send);
  EXPECT_EQ(ours.control.send, theirs.control.receive);
  EXPECT_EQ(ours.control.receive, theirs.control.send);
  const std::vector<Secret> all{ours.records.send, ours.records.receive, ours.control.send,
                                ours.control.receive};
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(std::count(all.begin(), all.end(), all[i]), 1) << "four different keys";
  }
  EXPECT_EQ(ends.listener->identity(), link_credential(test_secret()).identity);
  EXPECT_EQ(ends.joiner.poll_timeout(), kNever);
  EXPECT_EQ(ends.listener->poll_timeout(), kNever);
  EXPECT_EQ(ends.listener->began(), kTimeZero);
}

// The link and a recording give neither of the two keys, which only the ends had.
TEST(Handshake, KeysAreOfTheSessionAndNotOfTheLink) {
  TwoEnds one;
  TwoEnds other;
  TwoEnds third;
  const Bytes hello = TwoEnds::only(third.joiner);
  // RFC 6347 §4.2.1 without session id and cookie; ECDHE-PSK-CHACHA20-POLY1305 (RFC 7905 §2) is the
  // only suite (00FF is the RFC 5746 signal), so no key comes from the PSK without X25519.
  constexpr size_t kSuitesAt = 13 + 12 + 2 + 32 + 1 + 1;
  const Bytes suites{hello.begin() + kSuitesAt, hello.begin() + kSuitesAt + 6};
  EXPECT_EQ(suites, (Bytes{std::byte{0}, std::byte{4}, std::byte{0xCC}, std::byte{0xAC},
                           std::byte{0}, std::byte{0xFF}}));
  ASSERT_TRUE(one.joiner.handle_datagram(one.now, one.last_flight()));
  ASSERT_TRUE(other.joiner.handle_datagram(other.now, other.last_flight()));
  const SessionSecrets& first = one.joiner.secrets();
  const SessionSecrets& second = other.joiner.secrets();
  EXPECT_NE(first.id, second.id);
  EXPECT_NE(first.records.send, second.records.send);
  EXPECT_NE(first.records.receive, second.records.receive);
  EXPECT_NE(first.control.send, second.control.send);
  EXPECT_NE(first.control.receive, second.control.receive);
}

TEST(Handshake, RepeatsTwiceAsLateEachTimeAndGivesUpAfterFiveSeconds) {
  TwoEnds ends;
  const Bytes hello = TwoEnds::only(ends.joiner);
  EXPECT_EQ(times_sent(ends.joiner, kTimeZero + 5s - Duration{1}, hello),
            (std::vector<double>{50, 150, 350, 750, 1550, 2550, 3550, 4550}));
  EXPECT_EQ(ends.joiner.state(), State::kRunning);
  EXPECT_EQ(ends.joiner.poll_timeout(), kTimeZero + 5s);
  ends.joiner.handle_timeout(kTimeZero + 5s);
  EXPECT_EQ(ends.joiner.state(), State::kFailed);
  EXPECT_EQ(ends.joiner.poll_timeout(), kNever);
  EXPECT_FALSE(ends.joiner.handle_datagram(kTimeZero + 5s, hello));
}

TEST(Handshake, RepeatsNoLaterThanItsOwnerWants) {
  const HandshakeContext context{Role::kJoiner, test_secret()};
  Handshake handshake{kTimeZero, context, 300ms};
  const Bytes hello = TwoEnds::only(handshake);
  EXPECT_EQ(times_sent(handshake, kTimeZero + 1s, hello),
            (std::vector<double>{50, 150, 350, 650, 950}));
}

TEST(Handshake, AJoinersFiveSecondsBeginAgainWhenItGetsOn) {
  TwoEnds ends;
  ends.now = kTimeZero + 4s;
  const Bytes second = ends.second_hello();
  EXPECT_EQ(times_sent(ends.joiner, kTimeZero + 4400ms, second),
            (std::vector<double>{4050, 4150, 4350}))
      << "and repeats are fast again";
  times_sent(ends.joiner, kTimeZero + 9s - Duration{1}, second);
  EXPECT_EQ(ends.joiner.state(), State::kRunning);
  ends.joiner.handle_timeout(kTimeZero + 9s);
  EXPECT_EQ(ends.joiner.state(), State::kFailed);
}

TEST(Handshake, AListenersFiveSecondsDoNotBeginAgain) {
  TwoEnds ends;
  const Bytes second = ends.second_hello();
  Handshake listener{kTimeZero, ends.listener_context};
  EXPECT_EQ(listener.poll_timeout(), kTimeZero + 5s);
  EXPECT_TRUE(listener.handle_datagram(kTimeZero + 4s, second));
  const Bytes flight = TwoEnds::only(listener);
  EXPECT_EQ(times_sent(listener, kTimeZero + 5s - Duration{1}, flight),
            (std::vector<double>{4050, 4150, 4350, 4750}));
  listener.handle_timeout(kTimeZero + 5s);
  EXPECT_EQ(listener.state(), State::kFailed);
}

TEST(Handshake, TheLastFlightIsRepeatedForTheSameBytesSixteenTimes) {
  TwoEnds ends;
  const Bytes keys = ends.keys();
  ASSERT_TRUE(ends.listener->handle_datagram(ends.now, keys));
  const Bytes last = TwoEnds::only(*ends.listener);
  auto changed = keys;
  changed.back() ^= std::byte{1};
  EXPECT_FALSE(ends.listener->handle_datagram(kTimeZero + 1s, changed));
  EXPECT_TRUE(ends.listener->handle_datagram(kTimeZero + 20ms - Duration{1}, keys));
  EXPECT_FALSE(ends.listener->poll_transmit()) << "our answer is on its way";
  for (int i = 1; i <= 16; ++i) {
    EXPECT_TRUE(ends.listener->handle_datagram(kTimeZero + i * 20ms, keys));
    EXPECT_EQ(TwoEnds::only(*ends.listener), last) << i;
    EXPECT_TRUE(ends.listener->handle_datagram(kTimeZero + i * 20ms + 19ms, keys));
    EXPECT_FALSE(ends.listener->poll_transmit());
  }
  EXPECT_TRUE(ends.listener->handle_datagram(kTimeZero + 1s, keys));
  EXPECT_FALSE(ends.listener->poll_transmit()) << "no more often";
  EXPECT_EQ(ends.listener->poll_timeout(), kNever) << "and not by a timer";
}

TEST(Handshake, ACompleteJoinerAnswersNoRepeat) {
  TwoEnds ends;
  const Bytes last = ends.last_flight();
  ASSERT_TRUE(ends.joiner.handle_datagram(ends.now, last));
  EXPECT_FALSE(ends.joiner.handle_datagram(ends.now + 1s, last));
  EXPECT_FALSE(ends.joiner.poll_transmit());
}

TEST(Handshake, AJoinerWaitsForItsCookieBeforeAnythingElse) {
  TwoEnds ends;
  const Bytes hello = TwoEnds::only(ends.joiner);
  auto answer = ends.gate.judge(ends.now, {}, hello).answer;
  EXPECT_FALSE(ends.joiner.handle_datagram(ends.now, {}));
  EXPECT_FALSE(ends.joiner.handle_datagram(ends.now, std::span{answer}.first(13)));
  EXPECT_FALSE(ends.joiner.handle_datagram(ends.now, hello)) << "another message";
  auto other_type = answer;
  other_type[0] = std::byte{23};
  EXPECT_FALSE(ends.joiner.handle_datagram(ends.now, other_type));
  EXPECT_FALSE(ends.joiner.poll_transmit());
  EXPECT_TRUE(ends.joiner.handle_datagram(ends.now, answer));
  EXPECT_TRUE(ends.joiner.poll_transmit());
}

/// An unencrypted fatal alert: RFC 5246 §7.2.
Bytes alert_of(int description) {
  Bytes alert(15);
  alert[0] = std::byte{21};
  alert[1] = std::byte{0xFE};
  alert[2] = std::byte{0xFD};
  alert[12] = std::byte{2};
  alert[13] = std::byte{2};
  alert[14] = static_cast<std::byte>(description);
  return alert;
}
constexpr int kUnknownPskIdentity = 115;

TEST(Handshake, IsRefusedByTwoAlerts400msAfterTheFirst) {
  TwoEnds ends;
  ends.now = kTimeZero + 1s;
  const Bytes alert = alert_of(kUnknownPskIdentity);
  EXPECT_TRUE(ends.joiner.handle_datagram(ends.now, alert));
  TwoEnds once;
  EXPECT_TRUE(once.joiner.handle_datagram(ends.now, alert));
  EXPECT_TRUE(ends.joiner.handle_datagram(ends.now + 100ms, alert));
  const TimePoint at = ends.now + 400ms;
  ends.joiner.handle_timeout(at - Duration{1});
  EXPECT_EQ(ends.joiner.state(), State::kRunning);
  EXPECT_LE(ends.joiner.poll_timeout(), at);
  ends.joiner.handle_timeout(at);
  EXPECT_EQ(ends.joiner.state(), State::kWrongSecret);
  once.joiner.handle_timeout(at + 1s);
  EXPECT_EQ(once.joiner.state(), State::kRunning) << "one is not enough";
  EXPECT_TRUE(once.joiner.handle_datagram(at + 1s, alert));
  EXPECT_EQ(once.joiner.state(), State::kWrongSecret) << "the second came late enough";
}

TEST(Handshake, ATimerFindsTheRefusalToo) {
  const HandshakeContext context{Role::kJoiner, test_secret()};
  Handshake joiner{kTimeZero, context, kHandshakeMax};
  const Bytes hello = TwoEnds::only(joiner);
  times_sent(joiner, kTimeZero + 1550ms, hello);  // the next repeat is due at 3150 ms
  EXPECT_TRUE(joiner.handle_datagram(kTimeZero + 1600ms, alert_of(kUnknownPskIdentity)));
  EXPECT_EQ(joiner.poll_timeout(), kTimeZero + 3150ms);
  EXPECT_TRUE(joiner.handle_datagram(kTimeZero + 1700ms, alert_of(kUnknownPskIdentity)));
  EXPECT_EQ(joiner.poll_timeout(), kTimeZero + 2000ms);
}

TEST(Handshake, OtherAlertsAreIgnored) {
  TwoEnds ends;
  const Bytes second = ends.second_hello();
  Handshake listener{kTimeZero, ends.listener_context};
  ASSERT_TRUE(listener.handle_datagram(ends.now, second));
  EXPECT_FALSE(listener.handle_datagram(ends.now, alert_of(kUnknownPskIdentity)));
  EXPECT_EQ(listener.state(), State::kRunning);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(ends.joiner.handle_datagram(ends.now + i * 1s, alert_of(40)));
    auto longer = alert_of(kUnknownPskIdentity);
    longer.insert(longer.begin() + 13, std::byte{0});
    EXPECT_FALSE(ends.joiner.handle_datagram(ends.now + i * 1s, longer));
  }
  EXPECT_EQ(ends.joiner.state(), State::kRunning);
}

TEST(Handshake, UnknownLinkIsReportedInAnAlert) {
  TwoEnds ends{8};
  const Bytes keys = ends.keys();
  EXPECT_TRUE(ends.listener->handle_datagram(ends.now, keys));
  EXPECT_EQ(ends.listener->state(), State::kWrongSecret);
  const Bytes alert = TwoEnds::only(*ends.listener);
  EXPECT_EQ(alert.size(), 15U);
  EXPECT_EQ(alert.back(), std::byte{kUnknownPskIdentity});
  EXPECT_EQ(ends.asked, std::vector{link_credential(test_secret(8)).identity});
  EXPECT_EQ(ends.listener->identity(), link_credential(test_secret(8)).identity);
}

TEST(Handshake, WrongProofFailsSilently) {
  Credential forged = link_credential(test_secret());
  forged.psk = link_credential(test_secret(8)).psk;
  TwoEnds ends{forged};
  const Bytes keys = ends.keys();
  ends.listener->handle_datagram(ends.now, keys);
  EXPECT_NE(ends.listener->state(), State::kComplete);
  EXPECT_NE(ends.listener->state(), State::kWrongSecret);
}

TEST(Handshake, OnlySixteenHexadecimalDigitsAreLookedUp) {
  const Credential known = link_credential(test_secret());
  auto with_end = [&](const std::string& end) {
    std::string text = known.identity;
    text.resize(kIdentitySize - 1);
    return text + end;
  };
  for (const std::string& identity :
       {with_end(""), with_end("00"), with_end("A"), with_end("g"), with_end(" ")}) {
    TwoEnds ends{Credential{known.psk, identity}};
    const Bytes keys = ends.keys();
    EXPECT_TRUE(ends.listener->handle_datagram(ends.now, keys));
    EXPECT_EQ(ends.listener->state(), State::kWrongSecret) << identity;
    EXPECT_TRUE(ends.asked.empty()) << identity;
  }
}

TEST(Handshake, AKeyIsLookedUpOnceHoweverOftenItIsNamed) {
  TwoEnds ends;
  const Bytes keys = ends.keys();
  EXPECT_TRUE(ends.asked.empty()) << "nothing is named before";
  ends.listener->look_up(keys);
  ends.listener->look_up(keys);
  EXPECT_TRUE(ends.listener->handle_datagram(ends.now, keys));
  EXPECT_EQ(ends.asked, std::vector{link_credential(test_secret()).identity});
  EXPECT_EQ(ends.listener->state(), State::kComplete);
  ends.listener->look_up(keys);
  EXPECT_EQ(ends.asked.size(), 1U) << "it is over";
}

TEST(Handshake, NothingIsReadFromACutOrChangedNameOfAKey) {
  TwoEnds ends;
  const Bytes keys = ends.keys();
  // Record header 13, handshake header 12, length 2, then 16 digits.
  for (const size_t size : {0, 13, 25, 27, 42}) {
    ends.listener->look_up(std::span{keys}.first(size));
  }
  for (const size_t at : {0, 13, 25, 26}) {
    auto changed = keys;
    changed[at] ^= std::byte{1};
    ends.listener->look_up(changed);
  }
  EXPECT_TRUE(ends.asked.empty());
  ends.listener->look_up(std::span{keys}.first(43));
  EXPECT_EQ(ends.asked.size(), 1U);
}

TEST(HandshakeDeathTest, HasNoSecretsBeforeItIsComplete) {
  TwoEnds ends;
  EXPECT_DEATH((void)ends.joiner.secrets(), "not complete");
}

// ---- several addresses

Address ipv6_place(uint8_t last) {
  Address address = test_address(last);
  address.ip[0] = 0x20;
  return address;
}

struct Starts {
  std::vector<Address> to;
  std::vector<double> at_ms;
};

/// The destinations and times of first hellos.
Starts starts_of(const std::vector<Address>& listeners, Duration length = 3s) {
  const HandshakeContext context{Role::kJoiner, test_secret()};
  Joining joining{kTimeZero, context, listeners, kLastRepeat};
  Starts starts;
  TimePoint now = kTimeZero;
  for (;;) {
    while (const auto transmit = joining.poll_transmit()) {
      if (std::find(starts.to.begin(), starts.to.end(), transmit->to) == starts.to.end()) {
        starts.to.push_back(transmit->to);
        starts.at_ms.push_back(to_milliseconds(now));
      }
    }
    if (joining.poll_timeout() > kTimeZero + length) {
      EXPECT_EQ(joining.take_counts().begun, starts.to.size());
      return starts;
    }
    now = joining.poll_timeout();
    joining.handle_timeout(now);
  }
}

TEST(Joining, TriesFamiliesInTurnAQuarterOfASecondApart) {
  const Address a4 = test_address(1);
  const Address b4 = test_address(2);
  const Address a6 = ipv6_place(1);
  const Address b6 = ipv6_place(2);
  const Address c6 = ipv6_place(3);
  const Starts starts = starts_of({a6, b6, c6, a4, a6, b4, a4});
  EXPECT_EQ(starts.to, (std::vector{a6, a4, b6, b4, c6}));
  EXPECT_EQ(starts.at_ms, (std::vector<double>{0, 250, 500, 750, 1000}));
  EXPECT_EQ(starts_of({a4, b4, a6}).to, (std::vector{a4, a6, b4}));
}

TEST(Joining, TriesEightAddressesAndNoMore) {
  std::vector<Address> many;
  for (uint8_t i = 1; i <= 10; ++i) {
    many.push_back(test_address(i));
  }
  const Starts starts = starts_of(many);
  EXPECT_EQ(starts.to, (std::vector<Address>{many.begin(), many.begin() + 8}));
}

TEST(Joining, AFailedAttemptIsBegunAgainAndCounted) {
  const HandshakeContext context{Role::kJoiner, test_secret()};
  Joining joining{kTimeZero, context, {test_address(1)}, kLastRepeat};
  EXPECT_EQ(joining.take_counts().begun, 1U);
  while (joining.poll_timeout() < kTimeZero + 5s) {
    joining.handle_timeout(joining.poll_timeout());
  }
  while (joining.poll_transmit()) {
  }
  joining.handle_timeout(kTimeZero + 5s);
  const auto counts = joining.take_counts();
  EXPECT_EQ(counts.failed, 1U);
  EXPECT_EQ(counts.begun, 1U) << "more than 200 ms after it began: at once";
  EXPECT_TRUE(joining.poll_transmit());
  EXPECT_EQ(joining.take_counts().begun, 0U) << "counted once";
  EXPECT_EQ(joining.state(), Joining::State::kRunning);
}

TEST(Joining, AcceptsARefusalOnceAllOtherAddressesFailed) {
  for (const bool has_other : {false, true}) {
    const HandshakeContext context{Role::kJoiner, test_secret()};
    std::vector<Address> listeners{test_address(1)};
    if (has_other) {
      listeners.push_back(test_address(2));
    }
    Joining joining{kTimeZero, context, listeners, kLastRepeat};
    const Bytes alert = alert_of(kUnknownPskIdentity);
    EXPECT_FALSE(joining.handle_datagram(kTimeZero, test_address(9), alert));
    EXPECT_FALSE(joining.handle_datagram(kTimeZero, test_address(2), alert)) << "not begun";
    EXPECT_FALSE(joining.handle_datagram(kTimeZero, test_address(1), alert_of(40)));
    EXPECT_TRUE(joining.handle_datagram(kTimeZero, test_address(1), alert));
    EXPECT_TRUE(joining.handle_datagram(kTimeZero + 400ms, test_address(1), alert));
    EXPECT_EQ(joining.state(), has_other ? Joining::State::kRunning : Joining::State::kWrongSecret);
    if (!has_other) {
      EXPECT_EQ(joining.poll_timeout(), kNever);
      continue;
    }
    while (joining.poll_timeout() < kTimeZero + 5250ms) {
      joining.handle_timeout(joining.poll_timeout());
    }
    EXPECT_EQ(joining.state(), Joining::State::kRunning);
    joining.handle_timeout(kTimeZero + 5400ms);
    EXPECT_EQ(joining.state(), Joining::State::kWrongSecret);
    EXPECT_FALSE(joining.handle_datagram(kTimeZero + 5400ms, test_address(2), alert)) << "over";
  }
}

}  // namespace
}  // namespace cress::secure
