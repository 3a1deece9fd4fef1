#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/base/check.hh"
#include "transport/netns/packet.hh"

// Any bytes give a header that lies inside them, or an error with words; what follows the packet
// changes nothing, and without its last byte the packet is truncated.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer wants this name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using cress::check;
  namespace netns = cress::netns;
  const std::span<const std::byte> bytes{reinterpret_cast<const std::byte*>(data), size};
  const auto header = netns::parse_packet(bytes);
  if (!header) {
    check(*netns::describe(header.error()) != '\0', "an error without words");
    return 0;
  }
  const auto length = static_cast<size_t>(header->length.bytes());
  check(length <= size, "a packet longer than its bytes");
  check(header->transport_offset <= header->length, "a transport behind the packet's end");
  check(header->dscp < 64 && header->ecn < 4, "bits from elsewhere");
  (void)netns::is_routable(*header);
  std::vector<std::byte> longer{bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length)};
  const std::vector<std::byte> shorter{longer.begin(), longer.end() - 1};
  longer.push_back(std::byte{0xa5});
  check(netns::parse_packet(longer) == header, "what follows a packet changed it");
  const auto cut = netns::parse_packet(shorter);
  check(!cut && cut.error() != netns::PacketError::kBadVersion, "a packet that was cut is whole");
  return 0;
}
