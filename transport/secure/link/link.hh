#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/base/result.hh"
#include "transport/secure/crypto/crypto.hh"

namespace cress::secure {

/// Anyone with the link may join: cress://HOST:PORT/#SECRET calls the listener there,
/// cress://HOST:PORT/@call#SECRET meets the listener at the relay there, and
/// cress://HOST:PORT/ROOM#SECRET enters a room of the relay there. HOST is a name, an IPv4 address
/// or an IPv6 address in brackets; ROOM is a label for people; SECRET is base64url (RFC 4648 §5, no
/// padding). The secret is in the fragment after '#' because programs that open links do not send
/// that part.
struct Link {
  std::string host;  ///< without brackets
  uint16_t port = 0;
  std::vector<std::byte> secret;  ///< kLinkSecretMin..kLinkSecretMax bytes
  std::string room{};             ///< satisfies is_room_name, or empty: a call of two
  bool is_relayed = false;        ///< a call of two through the relay at host and port
  friend bool operator==(const Link&, const Link&) = default;
};

/// 128 bits: too many to search, so a value derived from them may be compared in public.
inline constexpr size_t kLinkSecretMin = 16;
inline constexpr size_t kLinkSecretMax = 64;
inline constexpr size_t kLinkLengthMax = 512;
inline constexpr size_t kRoomNameMax = 64;

enum class LinkError {
  kNotALink,     ///< does not begin with cress://
  kTooLong,      ///< over kLinkLengthMax characters
  kBadHost,      ///< missing, or with characters that no host name has
  kBadPort,      ///< missing, or not 1..65535
  kBadRoom,      ///< the text after the port's '/' is not a room name
  kNoSecret,     ///< the part from '#' on is missing: cut off when it was copied
  kBadSecret,    ///< not base64url
  kShortSecret,  ///< under kLinkSecretMin bytes: also cut off
};

/// 1 to kRoomNameMax characters of A-Z a-z 0-9 . _ - that are not all dots (a browser would take
/// those for a parent folder).
bool is_room_name(std::string_view text);

/// One clear sentence: what is wrong and what to do.
std::string_view describe(LinkError error);

/// Total: any text gives a link or one error. White space around it is not accepted.
Result<Link, LinkError> parse_link(std::string_view text);
/// The inverse: parse_link(format_link(x)) == x for every link with a valid host, port, secret and
/// room.
std::string format_link(const Link& link);
/// Where it leads: "relay.example:4433", "[2001:db8::7]:4433".
std::string host_and_port(const Link& link);
/// A link with a new secret to a place at a relay: a room, or ("") a call of two. nullopt: `relay`
/// is not HOST:PORT. Throws as make_secret.
std::optional<Link> link_at_relay(std::string_view relay, std::string_view room);
/// What a relay needs of a room, and all that it should have: the name, and the key with which
/// members enter (RoomSecrets::access). What members say cannot be computed from it. As text:
/// cress-access://ROOM#KEY, KEY being base64url of its 32 bytes.
struct RoomAccess {
  std::string room;
  Secret key;
  friend bool operator==(const RoomAccess&, const RoomAccess&) = default;
};
/// Total: nullopt for any text that format_room_access does not write.
std::optional<RoomAccess> parse_room_access(std::string_view text);
std::string format_room_access(const RoomAccess& access);

/// kLinkSecretMin bytes from OpenSSL's generator. Throws std::runtime_error if it has none.
std::vector<std::byte> make_secret();

}  // namespace cress::secure
