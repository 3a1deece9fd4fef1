#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "transport/base/result.hh"
#include "transport/base/units.hh"
#include "transport/netns/route_socket.hh"

namespace cress::tunnel {

/// The scheme whose forecast fills the window. Both ends use the same one, because their feedback
/// differs.
enum class ControlKind : uint8_t { kCress = 0, kSprout = 1 };
const char* name_of(ControlKind kind);
std::optional<ControlKind> parse_control(std::string_view name);

/// What the listener chooses for both ends of a tunnel.
struct TunnelNetwork {
  /// The listener's own address in a network of two hosts: a /30 or a /31. The joiner is the other
  /// host.
  netns::Prefix listener{};
  DataSize mtu{1280};
  ControlKind control = ControlKind::kCress;

  /// The IPv4 address of either end.
  netns::Prefix own4(bool is_listener) const;
  /// fd74:756e:6e65:6c00::IPV4/126, or /127 ("tunnel"; RFC 4193), of either end.
  netns::Prefix own6(bool is_listener) const;
  friend bool operator==(const TunnelNetwork&, const TunnelNetwork&) = default;
};

/// Parses "10.9.0.1/30" as a listener's address: nullopt unless it is an IPv4 address that is one
/// of the two usable hosts of a /30 or a /31.
std::optional<netns::Prefix> parse_tunnel_prefix(std::string_view text);

/// Bounds of a tunnel's MTU, in bytes; the smaller is IPv6's minimum (RFC 8200 §5).
inline constexpr DataSize kMtuMin{1280};
inline constexpr DataSize kMtuMax{9000};

/// The messages between the ends before packets are exchanged: the listener sends greetings until
/// the joiner answers (docs/protocol/wire.md, "Tunnel").
struct Greeting {
  bool is_answer = false;
  TunnelNetwork network{};  ///< of a greeting; an answer repeats it
  friend bool operator==(const Greeting&, const Greeting&) = default;
};
inline constexpr uint8_t kGreetingVersion = 1;
inline constexpr size_t kGreetingSize = 10;

enum class GreetingError { kTruncated, kBadVersion, kBadKind, kBadControl, kBadAddress, kBadMtu };

std::array<std::byte, kGreetingSize> build_greeting(const Greeting& greeting);
/// Total: any bytes give a greeting or one error; parse_greeting(build_greeting(x)) == x. Longer
/// ones come from later versions with more fields; the rest is ignored.
Result<Greeting, GreetingError> parse_greeting(std::span<const std::byte> bytes);

}  // namespace cress::tunnel
