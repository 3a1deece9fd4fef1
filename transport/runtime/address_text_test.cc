#include "transport/runtime/address_text.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "transport/base/rng.hh"

namespace cress::runtime {
namespace {

AddressError error_of(std::string_view text) {
  const auto address = parse_address(text);
  EXPECT_FALSE(address.has_value()) << text;
  return address.error();
}

std::string refusal_of(std::string_view text) {
  try {
    resolve(text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

TEST(AddressText, Ipv4IsAMappedAddress) {
  const auto address = parse_address("192.0.2.7:4433");
  ASSERT_TRUE(address.has_value());
  EXPECT_TRUE(address->is_ipv4());
  EXPECT_EQ(address->ip[12], 192);
  EXPECT_EQ(address->ip[15], 7);
  EXPECT_EQ(address->port, 4433);
  EXPECT_EQ(format_address(*address), "192.0.2.7:4433");
  EXPECT_EQ(parse_address("[::ffff:192.0.2.7]:4433"), address);
}

TEST(AddressText, Ipv6StandsInBrackets) {
  const auto address = parse_address("[2001:db8::7]:5");
  ASSERT_TRUE(address.has_value());
  EXPECT_FALSE(address->is_ipv4());
  EXPECT_EQ(address->ip[0], 0x20);
  EXPECT_EQ(address->ip[15], 7);
  EXPECT_EQ(format_address(*address), "[2001:db8::7]:5");
  EXPECT_EQ(error_of("2001:db8::7:5"), AddressError::kNeedsBrackets);
}

TEST(AddressText, LinkLocalNamesItsInterface) {
  const auto by_name = parse_address("[fe80::1%lo]:5");
  const auto by_number = parse_address("[fe80::1%1]:5");
  ASSERT_TRUE(by_number.has_value());
  EXPECT_EQ(by_number->scope, 1U);
  if (by_name.has_value()) {  // nearly every Linux names its first interface so
    EXPECT_EQ(by_name, by_number);
  }
  EXPECT_EQ(format_address(*by_number), "[fe80::1%1]:5");
  EXPECT_EQ(error_of("[fe80::1%no-such-interface]:5"), AddressError::kBadScope);
  EXPECT_EQ(error_of("[fe80::1%]:5"), AddressError::kBadScope);
}

TEST(AddressText, FormattedAddressIsParsed) {
  Rng rng{1};
  for (int i = 0; i < 20'000; ++i) {
    Address address;
    for (uint8_t& byte : address.ip) {
      byte = static_cast<uint8_t>(rng.chance(0.5) ? 0 : rng.next());
    }
    if (rng.chance(0.3)) {
      std::fill(address.ip.begin(), address.ip.begin() + 10, uint8_t{0});
      address.ip[10] = address.ip[11] = 0xff;
    }
    address.port = static_cast<uint16_t>(rng.next());
    address.scope = rng.chance(0.2) ? static_cast<uint32_t>(rng.next()) : 0;
    const std::string text = format_address(address);
    const auto back = parse_address(text);
    ASSERT_TRUE(back.has_value()) << text;
    EXPECT_EQ(*back, address) << text;
  }
}

TEST(AddressText, EveryMistakeHasItsName) {
  EXPECT_EQ(error_of(""), AddressError::kEmpty);
  EXPECT_EQ(error_of("192.0.2.7"), AddressError::kNoPort);
  EXPECT_EQ(error_of("192.0.2.7:"), AddressError::kNoPort);
  EXPECT_EQ(error_of("[::1]"), AddressError::kNoPort);
  EXPECT_EQ(error_of("[::1]5"), AddressError::kNoPort);
  EXPECT_EQ(error_of("192.0.2.7:65536"), AddressError::kBadPort);
  EXPECT_EQ(error_of("192.0.2.7:-1"), AddressError::kBadPort);
  EXPECT_EQ(error_of("192.0.2.7:12x"), AddressError::kBadPort);
  EXPECT_EQ(error_of("192.0.2.7: 12"), AddressError::kBadPort);
  EXPECT_EQ(error_of("[::1:5"), AddressError::kUnclosedBracket);
  EXPECT_EQ(error_of("192.0.2:5"), AddressError::kBadIp);
  EXPECT_EQ(error_of("192.0.2.256:5"), AddressError::kBadIp);
  EXPECT_EQ(error_of("[192.0.2.7]:5"), AddressError::kBadIp);
  EXPECT_EQ(error_of("[:::]:5"), AddressError::kBadIp);
  EXPECT_EQ(error_of(std::string_view{"192.0.2.7\0:5", 12}), AddressError::kBadIp);
  EXPECT_EQ(error_of(":5"), AddressError::kBadIp);
}

TEST(AddressText, ResolveNeedsNoNameServerForNumbers) {
  EXPECT_EQ(resolve("[::1]:9"), std::vector<Address>{*parse_address("[::1]:9")});
  EXPECT_EQ(resolve("127.0.0.1:9"), std::vector<Address>{*parse_address("127.0.0.1:9")});
}

TEST(AddressText, ResolveKnowsLocalhostOnce) {
  const auto addresses = resolve("localhost:4433");
  ASSERT_FALSE(addresses.empty());
  const Address ipv4 = *parse_address("127.0.0.1:4433");
  const Address ipv6 = *parse_address("[::1]:4433");
  for (const Address& address : addresses) {
    EXPECT_TRUE(address == ipv4 || address == ipv6) << format_address(address);
    EXPECT_EQ(std::count(addresses.begin(), addresses.end(), address), 1);
  }
}

TEST(AddressText, RefusalNamesTheErrorAndTheSyntax) {
  for (const char* text : {"", "nowhere.invalid:5", "nowhere.invalid", "host:70000", "::1:5",
                           "[::1%no-such]:5", "[localhost]:5", ":5"}) {
    const std::string refusal = refusal_of(text);
    EXPECT_TRUE(refusal.starts_with(std::string{"\""}.append(text).append("\": "))) << refusal;
    EXPECT_NE(refusal.find("type IP:PORT or HOST:PORT"), std::string::npos) << refusal;
  }
  EXPECT_NE(refusal_of("nowhere.invalid:5").find("\"nowhere.invalid\" has no address"),
            std::string::npos);
  EXPECT_NE(refusal_of("::1:5").find("needs brackets"), std::string::npos);
}

}  // namespace
}  // namespace cress::runtime
