#include <algorithm>

#include "transport/base/big_endian.hh"
#include "transport/secure/handshake/handshake.hh"

namespace cress::secure {
namespace {

// RFC 6347 §4.1, §4.2.2: record header, then handshake header, then ClientHello.
constexpr size_t kRecordHeader = 13;
constexpr size_t kRecordSequenceOffset = 3;  // epoch and sequence, 8 bytes
constexpr size_t kRecordLengthOffset = 11;
constexpr size_t kHandshakeHeader = 12;
constexpr size_t kVersionSize = 2;
constexpr auto kHandshakeType = std::byte{22};
constexpr auto kClientHello = std::byte{1};
constexpr auto kHelloVerifyRequest = std::byte{3};
constexpr Duration kCookiePeriod = 30s;

struct Hello {
  HelloGate::HelloRandom random{};
  std::span<const std::byte> cookie;
};

std::optional<Hello> parse_hello(std::span<const std::byte> datagram) {
  constexpr size_t kFixed = kRecordHeader + kHandshakeHeader + kVersionSize;
  constexpr size_t kRandom = 32;
  if (datagram.size() < kFixed + kRandom + 2 || datagram[0] != kHandshakeType ||
      number_at(datagram, kRecordSequenceOffset, 2) != 0 ||
      number_at(datagram, kRecordLengthOffset, 2) != datagram.size() - kRecordHeader) {
    return std::nullopt;
  }
  const auto message = datagram.subspan(kRecordHeader);
  const size_t length = message.size() - kHandshakeHeader;
  // Type, length, sequence, fragment's offset and length: the whole message in one piece.
  if (message[0] != kClientHello || number_at(message, 1, 3) != length ||
      number_at(message, 6, 3) != 0 || number_at(message, 9, 3) != length) {
    return std::nullopt;
  }
  Hello hello;
  auto rest = datagram.subspan(kFixed);
  std::copy_n(rest.begin(), kRandom, hello.random.begin());
  rest = rest.subspan(kRandom);
  const auto session_size = std::to_integer<size_t>(rest[0]);
  if (rest.size() < 1 + session_size + 1) {
    return std::nullopt;
  }
  rest = rest.subspan(1 + session_size);
  const auto cookie_size = std::to_integer<size_t>(rest[0]);
  if (rest.size() < 1 + cookie_size) {
    return std::nullopt;
  }
  hello.cookie = rest.subspan(1, cookie_size);
  return hello;
}

std::vector<std::byte> hello_verify_request(std::span<const std::byte> record_sequence,
                                            std::span<const std::byte> cookie) {
  constexpr size_t kDtls10 = 0xFEFF;  // the version to answer with, RFC 6347 §4.2.1
  const size_t length = kVersionSize + 1 + cookie.size();
  std::vector<std::byte> out;
  out.push_back(kHandshakeType);
  append_number(kDtls10, 2, out);
  out.insert(out.end(), record_sequence.begin(), record_sequence.end());
  append_number(kHandshakeHeader + length, 2, out);
  out.push_back(kHelloVerifyRequest);
  append_number(length, 3, out);
  append_number(0, 2, out);
  append_number(0, 3, out);
  append_number(length, 3, out);
  append_number(kDtls10, 2, out);
  append_number(cookie.size(), 1, out);
  out.insert(out.end(), cookie.begin(), cookie.end());
  return out;
}

}  // namespace

bool HelloGate::may_be_hello(std::span<const std::byte> datagram) {
  return datagram.size() > kRecordHeader && datagram[0] == kHandshakeType &&
         datagram[kRecordHeader] == kClientHello;
}

HelloGate::Cookie HelloGate::cookie(int64_t period, std::span<const std::byte> address,
                                    const HelloRandom& random) const {
  std::vector<std::byte> message;
  message.reserve(sizeof period + 1 + address.size() + random.size());
  append_number(static_cast<uint64_t>(period), sizeof period, message);
  append_number(address.size(), 1, message);
  message.insert(message.end(), address.begin(), address.end());
  message.insert(message.end(), random.begin(), random.end());
  Cookie out{};
  static_assert(out.size() == 2 * sizeof(uint64_t));
  put_number(out, 0, sizeof(uint64_t), first_(message));
  put_number(out, sizeof(uint64_t), sizeof(uint64_t), second_(message));
  return out;
}

HelloGate::Outcome HelloGate::judge(TimePoint now, std::span<const std::byte> address,
                                    std::span<const std::byte> datagram) const {
  Outcome outcome;
  const auto hello = parse_hello(datagram);
  if (!hello) {
    return outcome;
  }
  outcome.random = hello->random;
  const int64_t period = now.time_since_epoch() / kCookiePeriod;
  const Cookie fresh = cookie(period, address, hello->random);
  if (hello->cookie.size() == kCookieSize &&
      (equal_in_constant_time(hello->cookie, fresh) ||
       equal_in_constant_time(hello->cookie, cookie(period - 1, address, hello->random)))) {
    outcome.verdict = Verdict::kProven;
    return outcome;
  }
  outcome.answer = hello_verify_request(datagram.subspan(kRecordSequenceOffset, 8), fresh);
  // A hello so small that the answer would be larger is not from a DTLS client.
  if (outcome.answer.size() <= datagram.size()) {
    outcome.verdict = Verdict::kAnswer;
  }
  return outcome;
}

}  // namespace cress::secure
