#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "transport/secure/crypto/crypto.hh"

namespace cress::secure {

/// The input of a handshake: the pre-shared key, and the identity that the joiner sends unencrypted
/// so that a listener with several keys can select one.
struct Credential {
  Secret psk;
  std::string identity;  ///< kIdentitySize lower-case hexadecimal digits
  friend bool operator==(const Credential&, const Credential&) = default;
};
inline constexpr size_t kIdentitySize = 16;

/// For a call of two, from its link's secret.
Credential link_credential(std::span<const std::byte> link_secret);

/// Derived from a room link's secret: `access` to enter, which the relay also has, and `media` for
/// data between members, which the relay does not have and cannot compute.
struct RoomSecrets {
  Secret access;
  Secret media;
  friend bool operator==(const RoomSecrets&, const RoomSecrets&) = default;
};
RoomSecrets derive_room(std::span<const std::byte> link_secret);
/// For the leg between a member and the relay.
Credential room_credential(const Secret& access);

}  // namespace cress::secure
