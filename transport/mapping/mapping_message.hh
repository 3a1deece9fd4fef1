#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "transport/base/address.hh"

namespace cress::mapping {

// Requests to a router for a port of its outer address, and the answers: the Port Control Protocol
// (PCP, RFC 6887) and the older NAT Port Mapping Protocol (NAT-PMP, RFC 6886), for UDP and IPv4.
// Layouts: RFC 6887 §7.1, §7.2, §11.1; RFC 6886 §3.2, §3.3. Numbers in network byte order.

/// Of the router's inner address, for both protocols.
inline constexpr uint16_t kRouterPort = 5351;

/// Identifies a mapping's owner to the router: random, the same in all requests for one mapping.
using MappingNonce = std::array<std::byte, 12>;

/// For PCP. A lifetime of 0 removes the mapping.
struct PcpRequest {
  uint32_t lifetime_s = 0;
  /// Our address inside and the port that is to be reachable.
  Address client{};
  MappingNonce nonce{};
  /// The outer address wanted; all zero: any.
  Address suggested{};
};
/// For NAT-PMP. A lifetime of 0 removes the mapping.
struct PmpRequest {
  uint16_t port = 0;
  uint16_t suggested = 0;
  uint32_t lifetime_s = 0;
};

std::vector<std::byte> serialize(const PcpRequest& request);
std::vector<std::byte> serialize(const PmpRequest& request);
/// NAT-PMP's other request: which address the router has outside.
std::vector<std::byte> pmp_address_request();

/// PCP's answer. With a result other than 0, `lifetime_s` says how long that will not change.
struct PcpAnswer {
  uint8_t result = 0;
  uint32_t lifetime_s = 0;
  /// Seconds since the router lost its mappings.
  uint32_t epoch_s = 0;
  MappingNonce nonce{};
  uint16_t port = 0;
  Address outside{};
  friend bool operator==(const PcpAnswer&, const PcpAnswer&) = default;
};
/// A PCP router reports its epoch, perhaps because it has just started (RFC 6887 §14.1).
struct PcpAnnouncement {
  uint32_t epoch_s = 0;
  friend bool operator==(const PcpAnnouncement&, const PcpAnnouncement&) = default;
};
/// NAT-PMP's answers. Their epoch is not used: a router announces a restart to a group
/// (RFC 6886 §3.2.1) that nobody here listens to.
struct PmpAnswer {
  uint16_t result = 0;
  uint16_t port = 0;
  uint16_t outside_port = 0;
  uint32_t lifetime_s = 0;
  friend bool operator==(const PmpAnswer&, const PmpAnswer&) = default;
};
struct PmpAddressAnswer {
  uint16_t result = 0;
  Address outside{};  ///< port 0
  friend bool operator==(const PmpAddressAnswer&, const PmpAddressAnswer&) = default;
};
/// The router does not speak the protocol's version that was used.
struct UnsupportedVersion {
  uint8_t version = 0;  ///< the one that it prefers: 0 is NAT-PMP
  friend bool operator==(const UnsupportedVersion&, const UnsupportedVersion&) = default;
};
using RouterAnswer =
    std::variant<PcpAnswer, PcpAnnouncement, PmpAnswer, PmpAddressAnswer, UnsupportedVersion>;

/// Total: nullopt for everything else. PCP's options behind a mapping are ignored.
std::optional<RouterAnswer> parse_router_answer(std::span<const std::byte> bytes);

}  // namespace cress::mapping
