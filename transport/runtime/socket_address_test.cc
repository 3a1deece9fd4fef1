#include "transport/runtime/socket_address.hh"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstring>

#include "transport/runtime/address_text.hh"
#include "transport/runtime/clock.hh"

namespace cress::runtime {
namespace {

TEST(SocketAddress, Ipv6SocketTakesEveryAddress) {
  for (const char* text : {"192.0.2.7:4433", "[2001:db8::7]:5", "[fe80::1%9]:65535"}) {
    const Address address = *parse_address(text);
    const auto written = to_sockaddr(address, false);
    ASSERT_TRUE(written) << text;
    EXPECT_EQ(written->size, sizeof(sockaddr_in6));
    EXPECT_EQ(written->storage.ss_family, AF_INET6);
    EXPECT_EQ(from_sockaddr(written->storage), address) << text;
  }
}

TEST(SocketAddress, Ipv4SocketTakesIpv4Only) {
  const Address address = *parse_address("192.0.2.7:4433");
  const auto written = to_sockaddr(address, true);
  ASSERT_TRUE(written);
  EXPECT_EQ(written->size, sizeof(sockaddr_in));
  sockaddr_in ipv4{};
  std::memcpy(&ipv4, &written->storage, sizeof ipv4);
  EXPECT_EQ(ipv4.sin_family, AF_INET);
  EXPECT_EQ(ipv4.sin_port, htons(4433));
  EXPECT_EQ(ipv4.sin_addr.s_addr, htonl(0xC000'0207));
  EXPECT_EQ(from_sockaddr(written->storage), address);
  EXPECT_EQ(to_sockaddr(*parse_address("[2001:db8::7]:5"), true), std::nullopt);
}

TEST(SocketAddress, OtherFamiliesAreNone) {
  sockaddr_storage storage{};
  storage.ss_family = AF_UNIX;
  EXPECT_EQ(from_sockaddr(storage), std::nullopt);
}

TEST(AddressText, EachErrorHasItsSentence) {
  EXPECT_STREQ(describe(AddressError::kEmpty), "no address");
  EXPECT_STREQ(describe(AddressError::kNoPort), "no port after the address");
  EXPECT_STREQ(describe(AddressError::kBadPort), "the port is no whole number from 0 to 65535");
  EXPECT_STREQ(describe(AddressError::kBadIp), "no IP address");
  EXPECT_STREQ(describe(AddressError::kUnclosedBracket), "the bracket is not closed");
  EXPECT_STREQ(describe(AddressError::kNeedsBrackets), "an IPv6 address needs brackets around it");
  EXPECT_STREQ(describe(AddressError::kBadScope), "this machine has no such network interface");
}

TEST(AddressText, MappedAddressWithAScopeIsWrittenAsIpv6) {
  Address address = *parse_address("192.0.2.7:4433");
  address.scope = 3;
  EXPECT_EQ(format_address(address), "[::ffff:192.0.2.7%3]:4433");
}

TEST(SleepDetector, SleepBeginsAtATenthOfASecond) {
  SleepDetector detector{5s};
  EXPECT_EQ(detector.update(5s + 100ms - 1ns), 0ms);
  EXPECT_EQ(detector.update(5s + 100ms), 100ms);
}

TEST(ArrivalClock, EmptySocketNeverMakesTimeGoBack) {
  ArrivalClock arrivals;
  arrivals.not_before(kTimeZero + 5s);
  arrivals.not_before(kTimeZero + 4s);
  EXPECT_EQ(arrivals.arrival(0s, {kTimeZero + 10s, 100s}), kTimeZero + 5s);
  EXPECT_EQ(arrivals.arrival(97s, {kTimeZero + 10s, 100s}), kTimeZero + 7s);
  EXPECT_EQ(arrivals.arrival(96s, {kTimeZero + 10s, 100s}), kTimeZero + 7s) << "never before";
}

}  // namespace
}  // namespace cress::runtime
