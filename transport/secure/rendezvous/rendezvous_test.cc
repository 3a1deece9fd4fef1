#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "transport/base/rng.hh"
#include "transport/secure/rendezvous/rendezvous_client.hh"
#include "transport/secure/rendezvous/rendezvous_message.hh"
#include "transport/secure/secure_test_tools.hh"

namespace cress::secure {
namespace {

Registration signed_registration() {
  const SigningKey key = rendezvous_key(test_secret(1));
  Registration registration{.role = Role::kJoiner, .transaction = 0x0102030405060708};
  registration.cookie.fill(std::byte{0x11});
  registration.party.fill(std::byte{0x22});
  registration.call = key.public_key();
  sign(registration, key);
  return registration;
}

// ---- messages

TEST(RendezvousMessages, AreReadAsTheyWereWritten) {
  const Registration registration = signed_registration();
  EXPECT_EQ(parse_registration(serialize(registration)), registration);
  const CookieAnswer cookie{7, registration.cookie};
  EXPECT_EQ(parse_cookie_answer(serialize(cookie)), cookie);
  for (int status = 1; status <= 6; ++status) {
    const StatusAnswer answer{8, static_cast<RendezvousStatus>(status), test_address(9, 0x1234)};
    EXPECT_EQ(parse_status_answer(serialize(answer)), answer);
  }
}

TEST(RendezvousMessages, AreWrittenAsDocumented) {
  const auto registration = serialize(signed_registration());
  ASSERT_EQ(registration.size(), 139U);
  EXPECT_EQ(registration[0], std::byte{0x1A});
  EXPECT_EQ(registration[1], std::byte{1});
  EXPECT_EQ(registration[2], std::byte{1});  // the joiner
  EXPECT_EQ(registration[3], std::byte{1});  // transaction
  EXPECT_EQ(registration[11], std::byte{0x11});
  EXPECT_EQ(registration[27], signed_registration().call[0]);
  EXPECT_EQ(registration[59], std::byte{0x22});
  const auto cookie = serialize(CookieAnswer{1, {}});
  ASSERT_EQ(cookie.size(), 26U);
  EXPECT_EQ(cookie[1], std::byte{2});
  EXPECT_EQ(cookie[9], std::byte{1});
  const auto status = serialize(StatusAnswer{1, RendezvousStatus::kBusy, test_address(9, 0x1234)});
  ASSERT_EQ(status.size(), 29U);
  EXPECT_EQ(status[1], std::byte{3});
  EXPECT_EQ(status[10], std::byte{3});
  EXPECT_EQ(status[26], std::byte{9});
  EXPECT_EQ(status[27], std::byte{0x12});
}

TEST(RendezvousMessages, NothingElseIsRead) {
  const auto good = serialize(signed_registration());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(parse_registration(std::span{good}.first(size)));
  }
  auto longer = good;
  longer.push_back({});
  EXPECT_FALSE(parse_registration(longer));
  EXPECT_FALSE(parse_cookie_answer(good));
  EXPECT_FALSE(parse_status_answer(good));
  auto role = good;
  role[2] = std::byte{2};
  EXPECT_FALSE(parse_registration(role));
  for (const int status : {0, 7, 255}) {
    auto bytes = serialize(StatusAnswer{});
    bytes[10] = static_cast<std::byte>(status);
    EXPECT_FALSE(parse_status_answer(bytes)) << status;
  }
}

TEST(RendezvousMessages, ASignatureCoversEveryByte) {
  const auto good = serialize(signed_registration());
  EXPECT_TRUE(is_signed(*parse_registration(good)));
  for (size_t at = 2; at < good.size(); ++at) {
    auto changed = good;
    changed[at] ^= std::byte{1};
    const auto parsed = parse_registration(changed);
    EXPECT_TRUE(!parsed || !is_signed(*parsed)) << at;
  }
}

TEST(RendezvousMessages, TheKeyComesFromTheLinkAlone) {
  EXPECT_EQ(rendezvous_key(test_secret(1)).public_key(),
            rendezvous_key(test_secret(1)).public_key());
  EXPECT_NE(rendezvous_key(test_secret(1)).public_key(),
            rendezvous_key(test_secret(2)).public_key());
}

// ---- the client

/// A client and what it has sent.
struct Bench {
  explicit Bench(std::vector<Address> relays = {test_address(1), test_address(2)})
      : client(now,
               {.role = Role::kJoiner, .secret = test_secret(1), .relays = std::move(relays)}) {
    drain();
  }
  void drain() {
    while (auto transmit = client.poll_transmit()) {
      sent.push_back(*std::move(transmit));
    }
  }
  void run_until(TimePoint end) {
    while (client.poll_timeout() <= end) {
      now = client.poll_timeout();
      client.handle_timeout(now);
      drain();
    }
    now = end;
  }
  Registration last() const { return parse_registration(sent.back().bytes).value(); }
  bool answer(const Address& from, const std::vector<std::byte>& bytes) {
    const bool taken = client.handle_datagram(now, from, bytes);
    drain();
    return taken;
  }
  bool give_cookie(uint8_t fill, const Address& from = test_address(1)) {
    CookieAnswer cookie{last().transaction, {}};
    cookie.cookie.fill(std::byte{fill});
    return answer(from, serialize(cookie));
  }
  bool give_status(RendezvousStatus status, const Address& from = test_address(1)) {
    return answer(from, serialize(StatusAnswer{last().transaction, status, test_address(99, 5)}));
  }

  TimePoint now = kTimeZero;
  std::vector<Transmit> sent;
  RendezvousClient client;
};

TEST(RendezvousClient, AsksAllAddressesUntilOneAnswers) {
  Bench bench;
  std::set<Address> asked;
  for (const Transmit& transmit : bench.sent) {
    asked.insert(transmit.to);
  }
  EXPECT_EQ(asked, (std::set{test_address(1), test_address(2)}));
  EXPECT_TRUE(bench.give_cookie(5, test_address(2)));
  EXPECT_EQ(bench.client.relay(), test_address(2));
  bench.sent.clear();
  bench.run_until(bench.now + 150ms);
  ASSERT_EQ(bench.sent.size(), 1U);
  EXPECT_EQ(bench.sent.front().to, test_address(2));
  EXPECT_FALSE(bench.give_cookie(6, test_address(1)));
}

TEST(RendezvousClient, RepeatsWhatIsNotAnswered) {
  Bench bench{{test_address(1)}};
  std::vector<TimePoint> at;
  while (bench.now < kTimeZero + 5s) {
    const size_t before = bench.sent.size();
    bench.run_until(bench.client.poll_timeout());
    if (bench.sent.size() > before) {
      at.push_back(bench.now);
    }
  }
  ASSERT_GE(at.size(), 6U);
  EXPECT_EQ(at[0], kTimeZero + 100ms);
  EXPECT_EQ(at[1] - at[0], 200ms);
  EXPECT_EQ(at[2] - at[1], 400ms);
  EXPECT_EQ(at.back() - at[at.size() - 2], 1s);
}

TEST(RendezvousClient, SignsWithTheCookie) {
  Bench bench;
  EXPECT_FALSE(is_signed(bench.last()));
  EXPECT_TRUE(bench.give_cookie(5));
  EXPECT_TRUE(is_signed(bench.last()));
  EXPECT_EQ(bench.last().cookie[0], std::byte{5});
  EXPECT_FALSE(bench.give_cookie(5));  // an answer to a repeat
  EXPECT_TRUE(bench.give_cookie(6));   // the relay has restarted
  EXPECT_TRUE(is_signed(bench.last()));
}

TEST(RendezvousClient, AnswersToOthersAreIgnored) {
  Bench bench;
  EXPECT_FALSE(
      bench.answer(test_address(1), serialize(CookieAnswer{bench.last().transaction + 1, {}})));
  EXPECT_FALSE(
      bench.answer(test_address(3), serialize(CookieAnswer{bench.last().transaction, {}})));
  EXPECT_FALSE(bench.answer(test_address(1),
                            serialize(StatusAnswer{bench.last().transaction + 1,
                                                   RendezvousStatus::kTogether, test_address(9)})));
  EXPECT_FALSE(bench.answer(test_address(1), {}));
  EXPECT_FALSE(bench.client.relay());
  EXPECT_FALSE(bench.client.is_together());
}

TEST(RendezvousClient, StaysRegisteredByRefreshing) {
  Bench bench;
  bench.give_cookie(5);
  EXPECT_TRUE(bench.give_status(RendezvousStatus::kAlone));
  EXPECT_EQ(bench.client.seen(), test_address(99, 5));
  EXPECT_FALSE(bench.client.is_together());
  bench.sent.clear();
  bench.run_until(bench.now + RendezvousClient::kRefresh - 1ms);
  EXPECT_TRUE(bench.sent.empty());
  bench.run_until(bench.now + 1ms);
  EXPECT_EQ(bench.sent.size(), 1U);
  EXPECT_TRUE(bench.give_status(RendezvousStatus::kTogether));
  EXPECT_TRUE(bench.client.is_together());
}

TEST(RendezvousClient, BusyIsARefusalOnlyWhenItLasts) {
  Bench bench;
  bench.give_cookie(5);
  bench.give_status(RendezvousStatus::kBusy);
  EXPECT_FALSE(bench.client.refusal());
  bench.run_until(bench.now + RendezvousClient::kBusyMax - 1ms);
  bench.give_status(RendezvousStatus::kBusy);
  EXPECT_FALSE(bench.client.refusal());
  bench.run_until(bench.now + 1ms);
  EXPECT_FALSE(bench.client.refusal()) << "a relay that does not answer refuses nothing";
  bench.give_status(RendezvousStatus::kBusy);
  EXPECT_EQ(bench.client.refusal(), RendezvousStatus::kBusy);
  bench.give_status(RendezvousStatus::kAlone);
  EXPECT_FALSE(bench.client.refusal());
  for (const auto status :
       {RendezvousStatus::kFull, RendezvousStatus::kNotOffered, RendezvousStatus::kOver}) {
    bench.give_status(status);
    EXPECT_EQ(bench.client.refusal(), status);
  }
}

TEST(RendezvousClient, ANewNetworkRegistersAgainEverywhere) {
  Bench bench;
  bench.give_cookie(5);
  bench.give_status(RendezvousStatus::kTogether);
  bench.sent.clear();
  bench.client.handle_network_change(bench.now);
  bench.drain();
  EXPECT_EQ(bench.sent.size(), 2U);
  EXPECT_TRUE(bench.give_status(RendezvousStatus::kTogether, test_address(2)));
  EXPECT_EQ(bench.client.relay(), test_address(2));
}

TEST(RendezvousClient, SilenceAsksAtMostTwiceASecond) {
  Bench bench;
  bench.give_cookie(5);
  bench.give_status(RendezvousStatus::kTogether);
  bench.run_until(bench.now + 1s);
  bench.sent.clear();
  for (int i = 0; i < 100; ++i) {
    bench.client.handle_silence(bench.now);
    bench.drain();
    if (!bench.sent.empty()) {
      bench.give_status(RendezvousStatus::kTogether);
    }
    bench.run_until(bench.now + 10ms);
  }
  EXPECT_EQ(bench.sent.size(), 2U);
}

TEST(RendezvousClient, AnyBytesAreSafe) {
  Rng rng{3};
  Bench bench;
  bench.give_cookie(5);
  const auto good = serialize(StatusAnswer{bench.last().transaction, RendezvousStatus::kAlone, {}});
  for (int i = 0; i < 20'000; ++i) {
    auto bytes = good;
    bytes.resize(rng.below(40));
    for (int flips = 0; flips < 3 && !bytes.empty(); ++flips) {
      bytes[rng.below(bytes.size())] = static_cast<std::byte>(rng.below(256));
    }
    bench.answer(test_address(static_cast<uint8_t>(rng.below(4))), bytes);
  }
}

}  // namespace
}  // namespace cress::secure
