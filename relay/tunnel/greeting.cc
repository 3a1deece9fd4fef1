#include "relay/tunnel/greeting.hh"

#include <algorithm>
#include <string>

#include "transport/base/check.hh"
#include "transport/base/text.hh"
#include "transport/runtime/address_text.hh"

namespace cress::tunnel {
namespace {

// Layout: version, kind (0 greeting, 1 answer), control, prefix length, IPv4 address (4), MTU (2,
// the high byte first).
constexpr size_t kIpv4At = 12;  // in an Address
constexpr uint8_t kMulticastFirst = 224;

bool is_network_of_two(const netns::Prefix& prefix) {
  const uint8_t first = prefix.address.ip[kIpv4At];
  const unsigned last = prefix.address.ip.back() & 3U;
  return prefix.address.is_ipv4() && first != 0 && first != 127 && first < kMulticastFirst &&
         (prefix.length == 31 || (prefix.length == 30 && (last == 1 || last == 2)));
}

}  // namespace

const char* name_of(ControlKind kind) { return kind == ControlKind::kSprout ? "sprout" : "cress"; }

std::optional<ControlKind> parse_control(std::string_view name) {
  if (name == "cress") {
    return ControlKind::kCress;
  }
  return name == "sprout" ? std::optional{ControlKind::kSprout} : std::nullopt;
}

netns::Prefix TunnelNetwork::own4(bool is_listener) const {
  netns::Prefix own = listener;
  if (!is_listener) {
    own.address.ip.back() ^= own.length == 31 ? 1 : 3;
  }
  return own;
}

netns::Prefix TunnelNetwork::own6(bool is_listener) const {
  netns::Prefix own;
  own.address.ip = {0xfd, 't', 'u', 'n', 'n', 'e', 'l', 0, 0, 0, 0, 0};
  const netns::Prefix ipv4 = own4(is_listener);
  std::copy_n(ipv4.address.ip.begin() + kIpv4At, 4, own.address.ip.begin() + kIpv4At);
  own.length = 96 + ipv4.length;
  return own;
}

std::optional<netns::Prefix> parse_tunnel_prefix(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const auto address = runtime::parse_address(std::string{text.substr(0, slash)} + ":0");
  const auto length = parse_number<int>(text.substr(slash + 1));
  if (!address || !length) {
    return std::nullopt;
  }
  const netns::Prefix prefix{*address, *length};
  return is_network_of_two(prefix) ? std::optional{prefix} : std::nullopt;
}

std::array<std::byte, kGreetingSize> build_greeting(const Greeting& greeting) {
  const TunnelNetwork& network = greeting.network;
  check(is_network_of_two(network.listener) && network.mtu >= kMtuMin && network.mtu <= kMtuMax,
        "build_greeting: no such network");
  const auto mtu = narrow<uint16_t>(network.mtu.bytes());
  const auto& ip = network.listener.address.ip;
  const std::array<uint8_t, kGreetingSize> bytes{kGreetingVersion,
                                                 greeting.is_answer ? uint8_t{1} : uint8_t{0},
                                                 static_cast<uint8_t>(network.control),
                                                 narrow<uint8_t>(network.listener.length),
                                                 ip[12],
                                                 ip[13],
                                                 ip[14],
                                                 ip[15],
                                                 static_cast<uint8_t>(mtu >> 8),
                                                 static_cast<uint8_t>(mtu & 0xff)};
  std::array<std::byte, kGreetingSize> built{};
  std::ranges::transform(bytes, built.begin(), [](uint8_t byte) { return std::byte{byte}; });
  return built;
}

Result<Greeting, GreetingError> parse_greeting(std::span<const std::byte> bytes) {
  if (bytes.size() < kGreetingSize) {
    return GreetingError::kTruncated;
  }
  const auto at = [&](size_t i) { return std::to_integer<uint8_t>(bytes[i]); };
  if (at(0) != kGreetingVersion) {
    return GreetingError::kBadVersion;
  }
  if (at(1) > 1) {
    return GreetingError::kBadKind;
  }
  if (at(2) > static_cast<uint8_t>(ControlKind::kSprout)) {
    return GreetingError::kBadControl;
  }
  Greeting greeting{.is_answer = at(1) == 1};
  greeting.network.control = static_cast<ControlKind>(at(2));
  greeting.network.listener.length = at(3);
  greeting.network.listener.address.ip = {0, 0, 0,    0,    0,     0,     0,     0,
                                          0, 0, 0xff, 0xff, at(4), at(5), at(6), at(7)};
  if (!is_network_of_two(greeting.network.listener)) {
    return GreetingError::kBadAddress;
  }
  greeting.network.mtu = DataSize{at(8) << 8 | at(9)};
  if (greeting.network.mtu < kMtuMin || greeting.network.mtu > kMtuMax) {
    return GreetingError::kBadMtu;
  }
  return greeting;
}

}  // namespace cress::tunnel
