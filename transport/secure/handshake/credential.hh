#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "transport/secure/crypto/crypto.hh"

namespace cress::secure {

/// What a handshake is made with: the pre-shared key, and the name that the joiner says in the open
/// so that a listener with several keys knows which one is meant.
struct Credential {
  Secret psk;
  std::string identity;  ///< kIdentitySize lower-case hexadecimal digits
  friend bool operator==(const Credential&, const Credential&) = default;
};
inline constexpr size_t kIdentitySize = 16;

/// Of a call of two, from its link's secret.
Credential link_credential(std::span<const std::byte> link_secret);

/// What a room link's secret gives: `access` for the door, which the relay is told too, and `media`
/// for what members say to each other, which it is not and cannot compute.
struct RoomSecrets {
  Secret access;
  Secret media;
  friend bool operator==(const RoomSecrets&, const RoomSecrets&) = default;
};
RoomSecrets derive_room(std::span<const std::byte> link_secret);
/// Of a leg between a member and the relay.
Credential room_credential(const Secret& access);

}  // namespace cress::secure
