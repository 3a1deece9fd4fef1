#include "transport/secure/handshake/handshake_limits.hh"

#include <gtest/gtest.h>

#include "transport/secure/secure_test_tools.hh"

namespace cress::secure {
namespace {

constexpr TokenBucket::Options kPlenty{.per_second = 1, .burst = 1000};
constexpr TokenBucket::Options kOne{.per_second = 0, .burst = 1};
constexpr TokenBucket::Options kTwo{.per_second = 0, .burst = 2};

HandshakeLimits::Options plenty_but(const TokenBucket::Options& handshakes,
                                    const TokenBucket::Options& of_network) {
  return {.hellos = kPlenty,
          .answers = kPlenty,
          .handshakes = handshakes,
          .handshakes_of_network = of_network,
          .networks = 1024};
}

Address in_network(uint8_t network, uint8_t host) {
  Address address = test_address(host);
  address.ip[14] = network;
  return address;
}
Address ipv6_of(uint8_t sixth, uint8_t seventh) {
  Address address;
  address.ip = {0x20, 0x01, 0x0d, 0xb8, 0, sixth, seventh};
  return address;
}

/// How many of 100 addresses may begin a handshake, the i-th being `make(i)`.
template <class Make>
int allowed_of_100(const HandshakeLimits::Options& options, Make make) {
  HandshakeLimits limits{options};
  int allowed = 0;
  for (uint8_t i = 0; i < 100; ++i) {
    allowed += limits.allow_handshake(kTimeZero, make(i)) ? 1 : 0;
  }
  return allowed;
}

TEST(HandshakeLimits, ANetworkIsSlash24OfIpv4AndSlash48OfIpv6) {
  const auto options = plenty_but(kPlenty, kTwo);
  EXPECT_EQ(allowed_of_100(options, [](uint8_t i) { return in_network(7, i); }), 2);
  EXPECT_EQ(allowed_of_100(options, [](uint8_t i) { return ipv6_of(7, i); }), 2);
  // Few networks of 100 share one of 1024 buckets by chance; each has room for two.
  EXPECT_GE(allowed_of_100(options, [](uint8_t i) { return in_network(i, 7); }), 90);
  EXPECT_GE(allowed_of_100(options, [](uint8_t i) { return ipv6_of(i, 7); }), 90);
}

TEST(HandshakeLimits, AllNetworksTogetherHaveALimitToo) {
  EXPECT_EQ(allowed_of_100(plenty_but(kTwo, kPlenty), [](uint8_t i) { return in_network(i, 7); }),
            2);
}

TEST(HandshakeLimits, NetworkRefusalDoesNotUseTheCommonBudget) {
  HandshakeLimits limits{plenty_but(kTwo, kOne)};
  for (uint8_t i = 0; i < 50; ++i) {
    EXPECT_EQ(limits.allow_handshake(kTimeZero, in_network(7, i)), i == 0);
  }
  int allowed = 0;
  for (uint8_t i = 100; i < 150; ++i) {
    allowed += limits.allow_handshake(kTimeZero, in_network(i, 7)) ? 1 : 0;
  }
  EXPECT_EQ(allowed, 1);
}

TEST(HandshakeLimits, HellosAnswersAndHandshakesAreCountedApart) {
  HandshakeLimits limits{{.hellos = kOne,
                          .answers = kTwo,
                          .handshakes = kOne,
                          .handshakes_of_network = kOne,
                          .networks = 1}};
  EXPECT_TRUE(limits.allow_hello(kTimeZero));
  EXPECT_FALSE(limits.allow_hello(kTimeZero));
  EXPECT_TRUE(limits.allow_answer(kTimeZero));
  EXPECT_TRUE(limits.allow_answer(kTimeZero));
  EXPECT_FALSE(limits.allow_answer(kTimeZero));
  EXPECT_TRUE(limits.allow_handshake(kTimeZero, test_address(1)));
  EXPECT_FALSE(limits.allow_handshake(kTimeZero, test_address(1)));
}

}  // namespace
}  // namespace cress::secure
