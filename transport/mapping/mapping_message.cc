#include "transport/mapping/mapping_message.hh"

#include <algorithm>

#include "transport/base/big_endian.hh"

namespace cress::mapping {
namespace {

constexpr uint8_t kPcpVersion = 2;
constexpr uint8_t kPmpVersion = 0;
constexpr uint8_t kIsAnswer = 0x80;
constexpr uint8_t kAnnounce = 0;  // PCP's operations
constexpr uint8_t kMap = 1;
constexpr uint8_t kPmpAddress = 0;  // NAT-PMP's
constexpr uint8_t kPmpMapUdp = 1;
constexpr uint8_t kUnsupportedVersion = 1;  // a result of both
constexpr uint8_t kUdp = 17;                // RFC 768's number, of IANA

constexpr size_t kPcpHeader = 24;
constexpr size_t kPcpMapping = 60;
constexpr size_t kPcpMax = 1100;  // RFC 6887 §7
constexpr size_t kPmpMapping = 16;
constexpr size_t kPmpAddressSize = 12;
constexpr size_t kAnswerMin = 8;  // version, operation, result, epoch

uint8_t byte_at(std::span<const std::byte> bytes, size_t at) {
  return std::to_integer<uint8_t>(bytes[at]);
}
template <class T>
T read(std::span<const std::byte> bytes, size_t at) {
  return static_cast<T>(number_at(bytes, at, sizeof(T)));
}

void append_ip(const Address& address, std::vector<std::byte>& out) {
  for (const uint8_t byte : address.ip) {
    append_number(byte, 1, out);
  }
}

std::optional<RouterAnswer> parse_pcp(std::span<const std::byte> bytes) {
  if (bytes.size() < kPcpHeader || bytes.size() > kPcpMax || bytes.size() % 4 != 0) {
    return std::nullopt;
  }
  const auto operation = byte_at(bytes, 1);
  if (operation == (kIsAnswer | kAnnounce)) {
    return PcpAnnouncement{read<uint32_t>(bytes, 8)};
  }
  if (operation != (kIsAnswer | kMap) || bytes.size() < kPcpMapping || byte_at(bytes, 36) != kUdp) {
    return std::nullopt;
  }
  PcpAnswer answer{.result = byte_at(bytes, 3),
                   .lifetime_s = read<uint32_t>(bytes, 4),
                   .epoch_s = read<uint32_t>(bytes, 8)};
  std::ranges::copy(bytes.subspan(24, answer.nonce.size()), answer.nonce.begin());
  answer.port = read<uint16_t>(bytes, 40);
  answer.outside.port = read<uint16_t>(bytes, 42);
  for (size_t i = 0; i < answer.outside.ip.size(); ++i) {
    answer.outside.ip[i] = byte_at(bytes, 44 + i);
  }
  return answer;
}

std::optional<RouterAnswer> parse_pmp(std::span<const std::byte> bytes) {
  const auto operation = byte_at(bytes, 1);
  const auto result = read<uint16_t>(bytes, 2);
  // A refusal may end after the epoch.
  if (operation == (kIsAnswer | kPmpAddress)) {
    if (bytes.size() == kPmpAddressSize) {
      return PmpAddressAnswer{result, ipv4_at(bytes, 8)};
    }
    return result != 0 ? std::optional<RouterAnswer>{PmpAddressAnswer{result, {}}} : std::nullopt;
  }
  if (operation != (kIsAnswer | kPmpMapUdp)) {
    return std::nullopt;
  }
  if (bytes.size() == kPmpMapping) {
    return PmpAnswer{result, read<uint16_t>(bytes, 8), read<uint16_t>(bytes, 10),
                     read<uint32_t>(bytes, 12)};
  }
  return result != 0 ? std::optional<RouterAnswer>{PmpAnswer{.result = result}} : std::nullopt;
}

}  // namespace

std::vector<std::byte> serialize(const PcpRequest& request) {
  std::vector<std::byte> out;
  append_number(kPcpVersion, 1, out);
  append_number(kMap, 1, out);
  append_number(0, 2, out);
  append_number(request.lifetime_s, 4, out);
  append_ip(request.client, out);
  out.insert(out.end(), request.nonce.begin(), request.nonce.end());
  append_number(kUdp, 1, out);
  append_number(0, 3, out);
  append_number(request.client.port, 2, out);
  append_number(request.suggested.port, 2, out);
  append_ip(request.suggested, out);
  return out;
}

std::vector<std::byte> serialize(const PmpRequest& request) {
  std::vector<std::byte> out;
  append_number(kPmpVersion, 1, out);
  append_number(kPmpMapUdp, 1, out);
  append_number(0, 2, out);
  append_number(request.port, 2, out);
  append_number(request.suggested, 2, out);
  append_number(request.lifetime_s, 4, out);
  return out;
}

std::vector<std::byte> pmp_address_request() {
  return {std::byte{kPmpVersion}, std::byte{kPmpAddress}};
}

std::optional<RouterAnswer> parse_router_answer(std::span<const std::byte> bytes) {
  if (bytes.size() < kAnswerMin || (byte_at(bytes, 1) & kIsAnswer) == 0) {
    return std::nullopt;
  }
  const uint8_t version = byte_at(bytes, 0);
  // Of all versions of both protocols, so that each understands the refusal of another.
  if (byte_at(bytes, 3) == kUnsupportedVersion && byte_at(bytes, 2) == 0) {
    return UnsupportedVersion{version};
  }
  return version == kPcpVersion   ? parse_pcp(bytes)
         : version == kPmpVersion ? parse_pmp(bytes)
                                  : std::nullopt;
}

}  // namespace cress::mapping
