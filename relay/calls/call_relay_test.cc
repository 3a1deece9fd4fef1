#include "relay/calls/call_relay.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "transport/base/rng.hh"
#include "transport/secure/secure_test_tools.hh"

namespace cress::relay {
namespace {

using secure::Registration;
using secure::RendezvousStatus;
using secure::Role;
using secure::test_address;
using secure::test_secret;

/// A relay, and ends that register there by hand.
struct Bench {
  explicit Bench(const CallRelayOptions& options = {.calls_max = 4}) : relay(options, nullptr) {}

  std::vector<Transmit> drain() {
    std::vector<Transmit> sent;
    while (auto transmit = relay.poll_transmit()) {
      sent.push_back(*std::move(transmit));
    }
    return sent;
  }
  std::vector<Transmit> send(const Address& from, const std::vector<std::byte>& bytes) {
    relay.handle_datagram(now, from, bytes);
    return drain();
  }
  Registration request(Role role, uint8_t link, uint8_t party = 1) const {
    Registration request{.role = role, .transaction = uint64_t{100} + party};
    request.call = secure::rendezvous_key(test_secret(link)).public_key();
    request.party.fill(std::byte{party});
    return request;
  }
  /// With the relay's cookie for that address.
  Registration proven(const Address& at, Role role, uint8_t link, uint8_t party = 1) {
    Registration proven = request(role, link, party);
    for (const Transmit& answer : send(at, secure::serialize(proven))) {
      if (const auto cookie = secure::parse_cookie_answer(answer.bytes)) {
        proven.cookie = cookie->cookie;
      }
    }
    sign(proven, secure::rendezvous_key(test_secret(link)));
    return proven;
  }
  /// nullopt: no answer.
  std::optional<RendezvousStatus> put(const Address& at, Role role, uint8_t link,
                                      uint8_t party = 1) {
    return status_in(send(at, secure::serialize(proven(at, role, link, party))), at);
  }
  static std::optional<RendezvousStatus> status_in(const std::vector<Transmit>& sent,
                                                   const Address& to) {
    for (const Transmit& transmit : sent) {
      const auto answer = secure::parse_status_answer(transmit.bytes);
      if (answer && transmit.to == to) {
        EXPECT_EQ(answer->seen, to);
        return answer->status;
      }
    }
    return std::nullopt;
  }
  void run_for(Duration length) {
    const TimePoint end = now + length;
    while (relay.poll_timeout() <= end) {
      now = relay.poll_timeout();
      relay.handle_timeout(now);
    }
    now = end;
  }

  TimePoint now = kTimeZero + 1h;
  CallRelay relay;
};

const Address kLeft = test_address(1);
const Address kRight = test_address(2);
const Address kOther = test_address(3);
const std::vector<std::byte> kRecord(100, std::byte{0x11});

TEST(CallRelay, ForwardsUnchangedBetweenTwoEnds) {
  Bench bench;
  EXPECT_EQ(bench.put(kLeft, Role::kListener, 1), RendezvousStatus::kAlone);
  EXPECT_TRUE(bench.send(kLeft, kRecord).empty());
  EXPECT_EQ(bench.relay.stats().without_other, 1U);
  EXPECT_EQ(bench.put(kRight, Role::kJoiner, 1, 2), RendezvousStatus::kTogether);
  for (const auto& [from, to] : {std::pair{kLeft, kRight}, std::pair{kRight, kLeft}}) {
    const auto sent = bench.send(from, kRecord);
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent.front().to, to);
    EXPECT_EQ(sent.front().bytes, kRecord);
  }
  EXPECT_EQ(bench.relay.stats().begun, 1U);
  EXPECT_EQ(bench.relay.stats().datagrams, 2U);
  EXPECT_EQ(bench.relay.stats().bytes, 200U);
}

TEST(CallRelay, ForwardsWhatQueuesSay) {
  Bench bench;
  bench.put(kLeft, Role::kListener, 1);
  bench.put(kRight, Role::kJoiner, 1, 2);
  for (const Ecn ecn : {Ecn::kNotEct, Ecn::kEct1, Ecn::kEct0, Ecn::kCe}) {
    ASSERT_TRUE(bench.relay.handle_datagram(bench.now, kLeft, kRecord, ecn));
    const auto sent = bench.drain();
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent.front().ecn, ecn);
  }
}

TEST(CallRelay, OtherDatagramsAreLeftToTheRooms) {
  Bench bench;
  EXPECT_FALSE(bench.relay.handle_datagram(bench.now, kOther, kRecord));
  bench.put(kLeft, Role::kListener, 1);
  EXPECT_FALSE(bench.relay.handle_datagram(bench.now, kOther, kRecord));
  EXPECT_FALSE(bench.relay.handle_datagram(bench.now, kOther, {}));
  EXPECT_TRUE(bench.relay.handle_datagram(bench.now, kLeft, kRecord));
}

TEST(CallRelay, BothEndsAreNotifiedOfTheSecond) {
  Bench bench;
  bench.put(kLeft, Role::kListener, 1);
  const auto sent =
      bench.send(kRight, secure::serialize(bench.proven(kRight, Role::kJoiner, 1, 2)));
  EXPECT_EQ(Bench::status_in(sent, kLeft), RendezvousStatus::kTogether);
  EXPECT_EQ(Bench::status_in(sent, kRight), RendezvousStatus::kTogether);
}

TEST(CallRelay, CallsDoNotMix) {
  Bench bench;
  bench.put(kLeft, Role::kListener, 1);
  EXPECT_EQ(bench.put(kRight, Role::kJoiner, 2, 2), RendezvousStatus::kAlone);
  EXPECT_EQ(bench.relay.calls(), 2U);
  EXPECT_TRUE(bench.send(kLeft, kRecord).empty());
}

TEST(CallRelay, WithoutACookieOnlyACookieIsAnswered) {
  Bench bench;
  auto request = bench.request(Role::kListener, 1);
  sign(request, secure::rendezvous_key(test_secret(1)));
  const auto sent = bench.send(kLeft, secure::serialize(request));
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_TRUE(secure::parse_cookie_answer(sent.front().bytes));
  EXPECT_EQ(bench.relay.calls(), 0U);
}

TEST(CallRelay, ACookieIsOfOneAddressAndAMinuteOrTwo) {
  Bench bench;
  const auto request = secure::serialize(bench.proven(kLeft, Role::kListener, 1));
  EXPECT_TRUE(secure::parse_cookie_answer(bench.send(kOther, request).at(0).bytes));
  bench.now += 3min;
  EXPECT_TRUE(secure::parse_cookie_answer(bench.send(kLeft, request).at(0).bytes));
  EXPECT_EQ(bench.relay.calls(), 0U);
  const auto fresh = secure::serialize(bench.proven(kLeft, Role::kListener, 1));
  bench.now += 59s;
  EXPECT_EQ(Bench::status_in(bench.send(kLeft, fresh), kLeft), RendezvousStatus::kAlone);
}

TEST(CallRelay, OnlyEndsWithTheLinkAreRegistered) {
  Bench bench;
  auto request = bench.proven(kLeft, Role::kListener, 1);
  sign(request, secure::rendezvous_key(test_secret(2)));
  EXPECT_TRUE(bench.send(kLeft, secure::serialize(request)).empty());
  EXPECT_EQ(bench.relay.stats().bad_signature, 1U);
  EXPECT_EQ(bench.relay.calls(), 0U);
}

TEST(CallRelay, AMovedEndIsFollowedImmediately) {
  Bench bench;
  bench.put(kLeft, Role::kListener, 1);
  bench.put(kRight, Role::kJoiner, 1, 2);
  EXPECT_EQ(bench.put(kOther, Role::kJoiner, 1, 2), RendezvousStatus::kTogether);
  EXPECT_EQ(bench.send(kLeft, kRecord).at(0).to, kOther);
  EXPECT_FALSE(bench.relay.handle_datagram(bench.now, kRight, kRecord));
}

TEST(CallRelay, AnotherProgramWaitsUntilTheFirstIsSilent) {
  Bench bench;
  bench.put(kLeft, Role::kListener, 1);
  bench.put(kRight, Role::kJoiner, 1, 2);
  bench.run_for(1999ms);
  EXPECT_EQ(bench.put(kOther, Role::kJoiner, 1, 3), RendezvousStatus::kBusy);
  EXPECT_EQ(bench.relay.stats().refused_busy, 1U);
  EXPECT_EQ(bench.send(kLeft, kRecord).at(0).to, kRight);
  bench.run_for(1ms);
  EXPECT_EQ(bench.put(kOther, Role::kJoiner, 1, 3), RendezvousStatus::kTogether);
  EXPECT_EQ(bench.send(kLeft, kRecord).at(0).to, kOther);
}

TEST(CallRelay, AnAddressBelongsToItsLastRegistration) {
  Bench bench;
  bench.put(kLeft, Role::kListener, 1);
  bench.put(kRight, Role::kJoiner, 1, 2);
  EXPECT_EQ(bench.put(kRight, Role::kListener, 2, 3), RendezvousStatus::kAlone);
  EXPECT_TRUE(bench.send(kLeft, kRecord).empty());
  EXPECT_TRUE(bench.send(kRight, kRecord).empty());
}

TEST(CallRelay, NumberOfCallsIsBounded) {
  Bench bench{{.calls_max = 2}};
  bench.put(test_address(11), Role::kListener, 1);
  bench.put(test_address(12), Role::kListener, 2);
  EXPECT_EQ(bench.put(test_address(13), Role::kListener, 3), RendezvousStatus::kFull);
  EXPECT_EQ(bench.put(test_address(14), Role::kJoiner, 1, 2), RendezvousStatus::kTogether);
  EXPECT_EQ(bench.relay.calls(), 2U);
  EXPECT_EQ(bench.relay.stats().refused_full, 1U);
}

TEST(CallRelay, WithoutPlacesItAnswersNotOffered) {
  Bench bench{{}};
  const auto sent = bench.send(kLeft, secure::serialize(bench.request(Role::kListener, 1)));
  EXPECT_EQ(Bench::status_in(sent, kLeft), RendezvousStatus::kNotOffered);
}

TEST(CallRelay, RateOfACallIsBounded) {
  Bench bench{{.calls_max = 1, .rate_max = DataRate::kilobits_per_second(800)}};
  bench.put(kLeft, Role::kListener, 1);
  bench.put(kRight, Role::kJoiner, 1, 2);
  size_t passed = 0;
  for (int i = 0; i < 10'000; ++i) {  // 8 Mbit/s in all, 10 s
    passed += bench.send(i % 2 == 0 ? kLeft : kRight, std::vector<std::byte>(1000)).size();
    bench.now += 1ms;
  }
  EXPECT_NEAR(static_cast<double>(passed), 1000 + 50, 5);
  EXPECT_EQ(bench.relay.stats().over_rate, 10'000 - passed);
}

TEST(CallRelay, DurationOfACallIsBounded) {
  Bench bench{{.calls_max = 1, .length_max = 10min}};
  bench.put(kLeft, Role::kListener, 1);
  bench.put(kRight, Role::kJoiner, 1, 2);
  for (int i = 0; i < 60; ++i) {
    bench.run_for(10s - 1ms);
    EXPECT_EQ(bench.send(kLeft, kRecord).size(), 1U);
    EXPECT_EQ(bench.send(kRight, kRecord).size(), 1U);
  }
  bench.run_for(60ms);
  EXPECT_TRUE(bench.send(kLeft, kRecord).empty());
  EXPECT_EQ(bench.relay.stats().over_time, 1U);
  EXPECT_EQ(bench.put(kLeft, Role::kListener, 1), RendezvousStatus::kOver);
}

TEST(CallRelay, SilentEndsExpireAfterHalfAMinute) {
  Bench bench;
  bench.put(kLeft, Role::kListener, 1);
  bench.put(kRight, Role::kJoiner, 1, 2);
  for (int i = 0; i < 5; ++i) {
    bench.run_for(8s);
    bench.send(kLeft, kRecord);
  }
  EXPECT_TRUE(bench.send(kLeft, kRecord).empty());
  EXPECT_EQ(bench.relay.calls(), 1U);
  bench.run_for(32s);
  EXPECT_EQ(bench.relay.calls(), 0U);
  EXPECT_EQ(bench.relay.poll_timeout(), kNever);
  EXPECT_FALSE(bench.relay.handle_datagram(bench.now, kLeft, kRecord));
}

TEST(CallRelay, ARefreshNeedsNoSignature) {
  Bench bench;
  const auto request = bench.proven(kLeft, Role::kListener, 1);
  bench.send(kLeft, secure::serialize(request));
  auto unsigned_request = request;
  unsigned_request.signature = {};
  unsigned_request.cookie = {};
  for (int i = 0; i < 20; ++i) {
    bench.run_for(10s);
    EXPECT_EQ(Bench::status_in(bench.send(kLeft, secure::serialize(unsigned_request)), kLeft),
              RendezvousStatus::kAlone);
  }
  // Neither from elsewhere, nor with another number.
  EXPECT_TRUE(secure::parse_cookie_answer(
      bench.send(kOther, secure::serialize(unsigned_request)).at(0).bytes));
  ++unsigned_request.transaction;
  EXPECT_TRUE(secure::parse_cookie_answer(
      bench.send(kLeft, secure::serialize(unsigned_request)).at(0).bytes));
}

TEST(CallRelay, SignatureChecksAreRateLimited) {
  CallRelayOptions options{.calls_max = 10};
  options.limits.handshakes = {.per_second = 10, .burst = 10};
  options.limits.handshakes_of_network = {.per_second = 5, .burst = 5};
  Bench bench{options};
  auto request = bench.proven(kLeft, Role::kListener, 1);
  sign(request, secure::rendezvous_key(test_secret(2)));
  for (int i = 0; i < 100; ++i) {
    bench.send(kLeft, secure::serialize(request));
  }
  EXPECT_EQ(bench.relay.stats().bad_signature, 5U);
  EXPECT_EQ(bench.relay.stats().rate_limited, 95U);
}

TEST(CallRelay, AnswersAreNeverLargerThanRequests) {
  Rng rng{11};
  Bench bench;
  const auto good = secure::serialize(bench.proven(kLeft, Role::kListener, 1));
  uint64_t in = 0;
  uint64_t out = 0;
  for (int i = 0; i < 50'000; ++i) {
    auto bytes = good;
    bytes.resize(rng.chance(.5) ? good.size() : rng.below(200));
    for (uint64_t flips = rng.below(4); flips > 0 && !bytes.empty(); --flips) {
      bytes[rng.below(bytes.size())] = static_cast<std::byte>(rng.below(256));
    }
    in += bytes.size();
    for (const Transmit& sent :
         bench.send(test_address(static_cast<uint8_t>(rng.below(4))), bytes)) {
      out += sent.bytes.size();
    }
    bench.run_for(1ms);
  }
  EXPECT_LE(out, in);
  EXPECT_LE(bench.relay.calls(), 4U);
}

}  // namespace
}  // namespace cress::relay
