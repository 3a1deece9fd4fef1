#include "transport/secure/handshake/credential.hh"

#include "transport/base/text.hh"

namespace cress::secure {
namespace {

Credential credential_of(const Secret& root) {
  const Secret identity = expand(root, "cress identity");
  return {expand(root, "cress psk"), hex(identity.bytes().first<kIdentitySize / 2>())};
}

}  // namespace

Credential link_credential(std::span<const std::byte> link_secret) {
  return credential_of(extract(link_secret));
}

RoomSecrets derive_room(std::span<const std::byte> link_secret) {
  const Secret root = extract(link_secret, "cress room 1");
  return {expand(root, "cress room access"), expand(root, "cress room media")};
}

Credential room_credential(const Secret& access) { return credential_of(access); }

}  // namespace cress::secure
