#include "transport/secure/group/sframe.hh"

#include <algorithm>
#include <bit>
#include <string_view>

#include "transport/base/big_endian.hh"
#include "transport/base/check.hh"

namespace cress::secure {
namespace {

constexpr uint64_t kInlineMax = 7;  // fits the three bits of the config byte

unsigned bytes_needed(uint64_t value) {
  return (static_cast<unsigned>(std::bit_width(value)) + 7U) / 8U;
}

/// Four bits of the config byte: a value below 8, or 8 and the number of bytes less one.
unsigned config_of(uint64_t value) {
  return value <= kInlineMax ? static_cast<unsigned>(value) : 8U + bytes_needed(value) - 1U;
}

/// Takes the value that `config` announces from the front of `rest`.
Result<uint64_t, SFrameError> take_number(unsigned config, std::span<const std::byte>& rest) {
  if ((config & 8U) == 0) {
    return uint64_t{config};
  }
  const size_t size = (config & 7U) + 1U;
  if (rest.size() < size) {
    return SFrameError::kTruncated;
  }
  const uint64_t value = number_at(rest, 0, size);
  if (value <= kInlineMax || bytes_needed(value) != size) {
    return SFrameError::kNotMinimal;
  }
  rest = rest.subspan(size);
  return value;
}

/// §4.4.2, sframe_key or sframe_salt.
std::vector<std::byte> derive(SFrameSuite suite, std::string_view label, uint64_t kid,
                              std::span<const std::byte> base_key, size_t size) {
  const auto text = std::as_bytes(std::span{label});
  std::vector<std::byte> info{text.begin(), text.end()};
  append_number(kid, 8, info);
  append_number(static_cast<uint64_t>(suite), 2, info);
  const Hash hash = suite == SFrameSuite::kAes128GcmSha256 ? Hash::kSha256 : Hash::kSha512;
  return hkdf(hash, "", base_key, info, size);
}

AeadKey make_key(SFrameSuite suite, Use use, uint64_t kid, std::span<const std::byte> base_key) {
  const bool is_small = suite == SFrameSuite::kAes128GcmSha256;
  auto key = derive(suite, "SFrame 1.0 Secret key ", kid, base_key, is_small ? 16 : 32);
  const auto salt = derive(suite, "SFrame 1.0 Secret salt ", kid, base_key, kNonceSize);
  AeadKey out{is_small ? Aead::kAes128Gcm : Aead::kAes256Gcm, use, key,
              std::span{salt}.first<kNonceSize>()};
  wipe(key);
  return out;
}

}  // namespace

void append_sframe_header(const SFrameHeader& header, std::vector<std::byte>& out) {
  const unsigned kid = config_of(header.kid);
  const unsigned counter = config_of(header.counter);
  out.push_back(static_cast<std::byte>((kid << 4U) | counter));
  append_number(header.kid, kid < 8 ? 0 : kid - 7, out);
  append_number(header.counter, counter < 8 ? 0 : counter - 7, out);
}

Result<ParsedSFrameHeader, SFrameError> parse_sframe_header(std::span<const std::byte> frame) {
  if (frame.empty()) {
    return SFrameError::kTruncated;
  }
  const auto config = std::to_integer<unsigned>(frame[0]);
  auto rest = frame.subspan(1);
  const auto kid = take_number(config >> 4U, rest);
  if (!kid) {
    return kid.error();
  }
  const auto counter = take_number(config & 15U, rest);
  if (!counter) {
    return counter.error();
  }
  return ParsedSFrameHeader{{*kid, *counter}, frame.size() - rest.size()};
}

SFrameKey::SFrameKey(SFrameSuite suite, Use use, uint64_t kid, std::span<const std::byte> base_key)
    : kid_(kid), key_(make_key(suite, use, kid, base_key)) {}

std::vector<std::byte> SFrameKey::seal(uint64_t counter, std::span<const std::byte> metadata,
                                       std::span<const std::byte> plain) {
  std::vector<std::byte> out;
  out.reserve(kSFrameOverheadMax + plain.size());
  append_sframe_header({kid_, counter}, out);
  const size_t header = out.size();
  out.insert(out.end(), plain.begin(), plain.end());
  out.resize(out.size() + kTagSize);
  const std::span<std::byte> all{out};
  key_.seal(counter, all.first(header), all.subspan(header, plain.size()), all.last<kTagSize>(),
            metadata);
  return out;
}

Result<std::vector<std::byte>, SFrameError> SFrameKey::open(const ParsedSFrameHeader& parsed,
                                                            std::span<const std::byte> metadata,
                                                            std::span<const std::byte> frame) {
  check(parsed.header.kid == kid_ && parsed.size <= frame.size(),
        "SFrameKey: opens what its KID names");
  if (frame.size() < parsed.size + kTagSize) {
    return SFrameError::kTruncated;
  }
  const auto text = frame.subspan(parsed.size, frame.size() - parsed.size - kTagSize);
  std::vector<std::byte> plain{text.begin(), text.end()};
  if (!key_.open(parsed.header.counter, frame.first(parsed.size), plain, frame.last<kTagSize>(),
                 metadata)) {
    return SFrameError::kBadTag;
  }
  return plain;
}

}  // namespace cress::secure
