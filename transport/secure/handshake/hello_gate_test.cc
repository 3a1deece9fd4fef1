#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "transport/secure/connection.hh"
#include "transport/secure/crypto/hex_test_tools.hh"
#include "transport/secure/handshake/handshake.hh"
#include "transport/secure/secure_test_tools.hh"

namespace cress::secure {
namespace {

using Verdict = HelloGate::Verdict;

// RFC 6347: record header (13), handshake header (12), version (2), random (32), then the session
// id with its size and the cookie with its size.
constexpr size_t kSessionSizeOffset = 13 + 12 + 2 + 32;
constexpr size_t kGateCookieSize = 16;

std::vector<std::byte> sender_bytes(const Address& address) {
  const auto bytes = KeyedHash::bytes_of(address);
  return {bytes.begin(), bytes.end()};
}
const std::vector<std::byte> kSender = sender_bytes(test_address(1));

void put_length(std::vector<std::byte>& bytes, size_t at, size_t size, size_t value) {
  for (size_t i = 0; i < size; ++i) {
    bytes[at + i] = static_cast<std::byte>((value >> (8 * (size - 1 - i))) & 255U);
  }
}

/// Corrects the three lengths in a ClientHello of one record.
std::vector<std::byte> with_lengths(std::vector<std::byte> hello) {
  put_length(hello, 11, 2, hello.size() - 13);
  put_length(hello, 14, 3, hello.size() - 25);
  put_length(hello, 22, 3, hello.size() - 25);
  return hello;
}

/// A ClientHello that ends after its cookie: the part that the gate reads.
std::vector<std::byte> short_hello(size_t session_size = 0,
                                   const std::vector<std::byte>& cookie = {}) {
  std::vector<std::byte> hello(kSessionSizeOffset);
  hello[0] = std::byte{22};
  put_length(hello, 3, 8, 0x0000'0102'0304'0506U);
  hello[13] = std::byte{1};
  for (size_t i = 0; i < 32; ++i) {
    hello[27 + i] = static_cast<std::byte>(100 + i);
  }
  hello.push_back(static_cast<std::byte>(session_size));
  hello.resize(hello.size() + session_size);
  hello.push_back(static_cast<std::byte>(cookie.size()));
  hello.insert(hello.end(), cookie.begin(), cookie.end());
  return with_lengths(std::move(hello));
}

std::vector<std::byte> cookie_of(const HelloGate::Outcome& outcome) {
  if (outcome.answer.size() < kGateCookieSize) {
    return {};
  }
  return {outcome.answer.end() - kGateCookieSize, outcome.answer.end()};
}
std::vector<std::byte> cookie_at(const HelloGate& gate, TimePoint now) {
  return cookie_of(gate.judge(now, kSender, short_hello()));
}

TEST(HelloGate, CookieProvesTheSender) {
  // Also with OpenSSL's output.
  Connection joiner{kTimeZero,
                    {.role = Role::kJoiner, .secret = test_secret(), .listener = test_address(2)}};
  auto hello = joiner.poll_transmit(kTimeZero)->bytes;
  const HelloGate gate;
  const auto first = gate.judge(kTimeZero, kSender, hello);
  ASSERT_EQ(first.verdict, Verdict::kAnswer);
  const auto cookie = cookie_of(first);
  const size_t at = kSessionSizeOffset + 1 + std::to_integer<size_t>(hello[kSessionSizeOffset]);
  hello[at] = std::byte{kGateCookieSize};
  hello.insert(hello.begin() + static_cast<ptrdiff_t>(at + 1), cookie.begin(), cookie.end());
  const auto second = gate.judge(kTimeZero, kSender, with_lengths(hello));
  EXPECT_EQ(second.verdict, Verdict::kProven);
  EXPECT_TRUE(second.answer.empty());
  EXPECT_EQ(second.random, first.random);
  EXPECT_TRUE(std::equal(second.random.begin(), second.random.end(), hello.begin() + 27));
}

TEST(HelloGate, CookieIsRefusedFromAnotherAddress) {
  const HelloGate gate;
  const auto hello = short_hello(0, cookie_at(gate, kTimeZero));
  ASSERT_EQ(gate.judge(kTimeZero, kSender, hello).verdict, Verdict::kProven);
  for (size_t i = 0; i < kSender.size(); ++i) {
    auto other = kSender;
    other[i] ^= std::byte{1};
    EXPECT_EQ(gate.judge(kTimeZero, other, hello).verdict, Verdict::kAnswer) << "byte " << i;
  }
  auto longer = kSender;
  longer.push_back(std::byte{0});
  EXPECT_EQ(gate.judge(kTimeZero, longer, hello).verdict, Verdict::kAnswer);
  EXPECT_EQ(gate.judge(kTimeZero, std::span{kSender}.first(23), hello).verdict, Verdict::kAnswer);
  EXPECT_EQ(gate.judge(kTimeZero, {}, hello).verdict, Verdict::kAnswer);
}

TEST(HelloGate, AddressAndRandomAreNotConfused) {
  // The address's last byte moved to the front of the random number, all later bytes equal: only
  // the address's length in the cookie distinguishes the two.
  const HelloGate gate;
  auto hello = short_hello();
  std::fill(hello.begin() + 27, hello.begin() + kSessionSizeOffset, std::byte{5});
  const std::vector<std::byte> address(20, std::byte{5});
  const auto cookie = cookie_of(gate.judge(kTimeZero, address, hello));
  const auto shorter = cookie_of(gate.judge(kTimeZero, std::span{address}.first(19), hello));
  EXPECT_NE(cookie, shorter);
}

TEST(HelloGate, CookieExpiresAfterOneMorePeriod) {
  const HelloGate gate;
  // Periods of 30 s: the cookie is good in its own and in the next one.
  for (const TimePoint made : {kTimeZero + 60s, kTimeZero + 90s - Duration{1}}) {
    const auto hello = short_hello(0, cookie_at(gate, made));
    EXPECT_EQ(gate.judge(made, kSender, hello).verdict, Verdict::kProven);
    EXPECT_EQ(gate.judge(kTimeZero + 90s, kSender, hello).verdict, Verdict::kProven);
    EXPECT_EQ(gate.judge(kTimeZero + 120s - Duration{1}, kSender, hello).verdict, Verdict::kProven);
    EXPECT_EQ(gate.judge(kTimeZero + 120s, kSender, hello).verdict, Verdict::kAnswer);
    EXPECT_EQ(gate.judge(kTimeZero + 10min, kSender, hello).verdict, Verdict::kAnswer);
  }
  const auto next = short_hello(0, cookie_at(gate, kTimeZero + 90s));
  EXPECT_EQ(gate.judge(kTimeZero + 120s, kSender, next).verdict, Verdict::kProven);
}

TEST(HelloGate, CookieIsBoundToTheWholeRandomNumber) {
  const HelloGate gate;
  const auto hello = short_hello(0, cookie_at(gate, kTimeZero));
  for (size_t i = 27; i < kSessionSizeOffset; ++i) {
    auto other = hello;
    other[i] ^= std::byte{128};
    EXPECT_EQ(gate.judge(kTimeZero, kSender, other).verdict, Verdict::kAnswer) << "byte " << i;
  }
}

TEST(HelloGate, EveryByteOfACookieCounts) {
  const HelloGate gate;
  const auto cookie = cookie_at(gate, kTimeZero);
  ASSERT_EQ(cookie.size(), kGateCookieSize);
  std::vector<std::set<std::byte>> values(kGateCookieSize);
  for (size_t i = 0; i < kGateCookieSize; ++i) {
    auto other = cookie;
    other[i] ^= std::byte{1};
    EXPECT_EQ(gate.judge(kTimeZero, kSender, short_hello(0, other)).verdict, Verdict::kAnswer) << i;
  }
  auto size = cookie;
  size.push_back(std::byte{0});
  EXPECT_EQ(gate.judge(kTimeZero, kSender, short_hello(0, size)).verdict, Verdict::kAnswer);
  size.resize(15);
  EXPECT_EQ(gate.judge(kTimeZero, kSender, short_hello(0, size)).verdict, Verdict::kAnswer);
  // No byte is the same in all cookies, and the two halves are two hashes.
  for (int second = 0; second < 64; ++second) {
    const auto next = cookie_at(gate, kTimeZero + second * 30s);
    EXPECT_FALSE(std::equal(next.begin(), next.begin() + 8, next.begin() + 8));
    for (size_t i = 0; i < kGateCookieSize; ++i) {
      values[i].insert(next[i]);
    }
  }
  for (const auto& seen : values) {
    EXPECT_GT(seen.size(), 8U);
  }
}

TEST(HelloGate, CookieOfAnotherGateIsRefused) {
  const HelloGate one;
  const HelloGate other;
  const auto hello = short_hello(0, cookie_at(one, kTimeZero));
  EXPECT_EQ(other.judge(kTimeZero, kSender, hello).verdict, Verdict::kAnswer);
}

TEST(HelloGate, AnswerIsTheHelloVerifyRequestOfTheRfc) {
  const HelloGate gate;
  const auto outcome = gate.judge(kTimeZero, kSender, short_hello());
  ASSERT_EQ(outcome.answer.size(), 44U);
  // Type, DTLS 1.0, the hello's record number, length 31; type, length 19, number 0, offset 0,
  // length 19; DTLS 1.0, length of the cookie.
  EXPECT_EQ(to_hex(std::span{outcome.answer}.first(28)),
            "16feff0000010203040506001f"
            "030000130000000000000013"
            "feff10");
}

TEST(HelloGate, ReadsHellosOfEverySessionAndCookieSize) {
  const HelloGate gate;
  for (const size_t session : {0, 1, 32, 255}) {
    const auto first = gate.judge(kTimeZero, kSender, short_hello(session));
    ASSERT_EQ(first.verdict, Verdict::kAnswer) << session;
    for (const size_t size : {0, 1, 15, 17, 255}) {
      const std::vector<std::byte> wrong(size, std::byte{7});
      EXPECT_EQ(gate.judge(kTimeZero, kSender, short_hello(session, wrong)).verdict,
                Verdict::kAnswer);
    }
    const auto proof = short_hello(session, cookie_of(first));
    EXPECT_EQ(gate.judge(kTimeZero, kSender, proof).verdict, Verdict::kProven) << session;
  }
}

TEST(HelloGate, InconsistentLengthsAreNoHello) {
  const HelloGate gate;
  const auto verdict = [&](const std::vector<std::byte>& bytes) {
    return gate.judge(kTimeZero, kSender, bytes).verdict;
  };
  const auto hello = short_hello(1, {std::byte{0}});
  ASSERT_EQ(verdict(hello), Verdict::kAnswer);
  auto changed = hello;
  changed[kSessionSizeOffset] = std::byte{2};
  EXPECT_EQ(verdict(changed), Verdict::kAnswer) << "the last byte is the cookie's size: 0";
  changed[kSessionSizeOffset] = std::byte{3};
  EXPECT_EQ(verdict(changed), Verdict::kNoHello);
  changed[kSessionSizeOffset] = std::byte{255};
  EXPECT_EQ(verdict(changed), Verdict::kNoHello);
  changed = hello;
  changed[kSessionSizeOffset + 2] = std::byte{2};
  EXPECT_EQ(verdict(changed), Verdict::kNoHello);
  for (size_t size = 0; size < kSessionSizeOffset + 2; ++size) {
    auto cut = short_hello();
    cut.resize(size);
    EXPECT_EQ(verdict(size < 25 ? cut : with_lengths(cut)), Verdict::kNoHello) << size;
  }
}

TEST(HelloGate, OnlyAWholeClientHelloInOneRecordIsOne) {
  const HelloGate gate;
  const auto changed_at = [&](size_t at, int by) {
    auto hello = short_hello();
    hello[at] = static_cast<std::byte>(std::to_integer<int>(hello[at]) + by);
    return gate.judge(kTimeZero, kSender, hello).verdict;
  };
  EXPECT_EQ(changed_at(0, 1), Verdict::kNoHello) << "record's type";
  EXPECT_EQ(changed_at(3, 1), Verdict::kNoHello) << "epoch";
  EXPECT_EQ(changed_at(4, 1), Verdict::kNoHello) << "epoch";
  EXPECT_EQ(changed_at(5, 1), Verdict::kAnswer) << "record's number";
  EXPECT_EQ(changed_at(10, 1), Verdict::kAnswer) << "record's number";
  EXPECT_EQ(changed_at(13, 1), Verdict::kNoHello) << "message's type";
  for (const size_t at : {12, 16, 24}) {  // lengths of record, message and fragment
    EXPECT_EQ(changed_at(at, 1), Verdict::kNoHello) << at;
    EXPECT_EQ(changed_at(at, -1), Verdict::kNoHello) << at;
  }
  for (const size_t at : {11, 14, 15, 22, 23}) {
    EXPECT_EQ(changed_at(at, 1), Verdict::kNoHello) << at;
  }
  for (const size_t at : {19, 20, 21}) {  // the fragment's offset
    EXPECT_EQ(changed_at(at, 1), Verdict::kNoHello) << at;
  }
  EXPECT_EQ(changed_at(17, 1), Verdict::kAnswer) << "message's number";
  EXPECT_EQ(changed_at(18, 1), Verdict::kAnswer) << "message's number";
}

TEST(HelloGate, MayBeHelloReadsTwoBytes) {
  auto bytes = short_hello();
  EXPECT_TRUE(HelloGate::may_be_hello(bytes));
  EXPECT_TRUE(HelloGate::may_be_hello(std::span{bytes}.first(14)));
  EXPECT_FALSE(HelloGate::may_be_hello(std::span{bytes}.first(13)));
  EXPECT_FALSE(HelloGate::may_be_hello({}));
  bytes[13] = std::byte{2};
  EXPECT_FALSE(HelloGate::may_be_hello(bytes));
  bytes[13] = std::byte{1};
  bytes[0] = std::byte{23};
  EXPECT_FALSE(HelloGate::may_be_hello(bytes));
}

}  // namespace
}  // namespace cress::secure
