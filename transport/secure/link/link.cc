#include "transport/secure/link/link.hh"

#include <algorithm>
#include <optional>
#include <span>

#include "transport/base/text.hh"
#include "transport/secure/crypto/crypto.hh"

namespace cress::secure {
namespace {

constexpr std::string_view kScheme = "cress://";
constexpr std::string_view kAccessScheme = "cress-access://";
constexpr std::string_view kRelayedCall = "@call";  // no room's name
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_host(std::string_view host, bool in_brackets) {
  constexpr size_t kHostMax = 255;
  const std::string_view extra = in_brackets ? ":.%" : ".-_";
  // Text in brackets is an IPv6 address, otherwise it would be written without them.
  return !host.empty() && host.size() <= kHostMax &&
         (!in_brackets || host.find(':') != std::string_view::npos) &&
         std::all_of(host.begin(), host.end(), [&](char c) {
           return is_alphanumeric(c) || extra.find(c) != std::string_view::npos;
         });
}

std::optional<uint16_t> parse_port(std::string_view text) {
  const auto port = parse_number<uint16_t>(text);
  return port && *port != 0 ? port : std::nullopt;
}

std::string encode_base64url(std::span<const std::byte> bytes) {
  std::string text;
  uint32_t bits = 0;
  int count = 0;
  for (const std::byte byte : bytes) {
    bits = (bits << 8U) | std::to_integer<uint32_t>(byte);
    for (count += 8; count >= 6; count -= 6) {
      text += kDigits[(bits >> static_cast<unsigned>(count - 6)) & 63U];
    }
  }
  if (count > 0) {
    text += kDigits[(bits << static_cast<unsigned>(6 - count)) & 63U];
  }
  return text;
}

/// Only what encode_base64url writes: left-over bits must be 0, so that a secret has one text.
std::optional<std::vector<std::byte>> decode_base64url(std::string_view text) {
  std::vector<std::byte> bytes;
  uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) {
      return std::nullopt;
    }
    bits = (bits << 6U) | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<std::byte>((bits >> count) & 255U));
    }
  }
  if (count == 6 || (bits & ((1U << count) - 1U)) != 0) {
    return std::nullopt;
  }
  return bytes;
}

}  // namespace

bool is_room_name(std::string_view text) {
  constexpr std::string_view kExtra = "._-";
  return !text.empty() && text.size() <= kRoomNameMax &&
         text.find_first_not_of('.') != std::string_view::npos &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return is_alphanumeric(c) || kExtra.find(c) != std::string_view::npos;
         });
}

std::string_view describe(LinkError error) {
  switch (error) {
    case LinkError::kNotALink:
      return "not a Cress link: it begins with cress://";
    case LinkError::kTooLong:
      return "too long for a Cress link: copy just the link";
    case LinkError::kBadHost:
      return "the link names no host; it reads cress://HOST:PORT/#SECRET, an IPv6 address in "
             "brackets";
    case LinkError::kBadPort:
      return "the link has no port of 1 to 65535 behind its host";
    case LinkError::kBadRoom:
      return "the link's room has a character that no room's name has: copy the link again";
    case LinkError::kNoSecret:
      return "the link has no secret: copy it whole, with all that follows the #";
    case LinkError::kBadSecret:
      return "the link's secret is damaged: copy the link again";
    case LinkError::kShortSecret:
      return "the link's secret is too short: copy the link whole, to its end";
  }
  return "unknown";
}

Result<Link, LinkError> parse_link(std::string_view text) {
  if (!text.starts_with(kScheme)) {
    return LinkError::kNotALink;
  }
  if (text.size() > kLinkLengthMax) {
    return LinkError::kTooLong;
  }
  text.remove_prefix(kScheme.size());
  const size_t hash = text.find('#');
  const std::string_view before = text.substr(0, hash);
  const size_t bracket = before.starts_with('[') ? before.find(']') : std::string_view::npos;
  const size_t slash = before.find('/', bracket == std::string_view::npos ? 0 : bracket);
  const std::string_view place = before.substr(0, slash);
  const std::string_view room =
      slash == std::string_view::npos ? std::string_view{} : before.substr(slash + 1);
  const bool in_brackets = place.starts_with('[');
  const size_t colon = in_brackets ? place.find("]:") : place.find(':');
  // Without a port the host may still be the error.
  std::string_view host = place.substr(0, colon);
  if (in_brackets) {
    host.remove_prefix(1);
    if (colon == std::string_view::npos && host.ends_with(']')) {
      host.remove_suffix(1);
    }
  }
  if (!is_host(host, in_brackets)) {
    return LinkError::kBadHost;
  }
  if (colon == std::string_view::npos) {
    return LinkError::kBadPort;
  }
  const auto port = parse_port(place.substr(colon + (in_brackets ? 2 : 1)));
  if (!port) {
    return LinkError::kBadPort;
  }
  const bool is_relayed = room == kRelayedCall;
  if (!room.empty() && !is_relayed && !is_room_name(room)) {
    return LinkError::kBadRoom;
  }
  if (hash == std::string_view::npos || hash + 1 == text.size()) {
    return LinkError::kNoSecret;
  }
  auto secret = decode_base64url(text.substr(hash + 1));
  if (!secret || secret->size() > kLinkSecretMax) {
    return LinkError::kBadSecret;
  }
  if (secret->size() < kLinkSecretMin) {
    return LinkError::kShortSecret;
  }
  return Link{std::string{host}, *port, *std::move(secret), is_relayed ? "" : std::string{room},
              is_relayed};
}

std::string host_and_port(const Link& link) {
  const bool is_ipv6 = link.host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + link.host + "]" : link.host) + ":" + std::to_string(link.port);
}

std::string format_link(const Link& link) {
  return std::string{kScheme} + host_and_port(link) + "/" +
         (link.is_relayed ? std::string{kRelayedCall} : link.room) + "#" +
         encode_base64url(link.secret);
}

std::optional<Link> link_at_relay(std::string_view relay, std::string_view room) {
  const std::string place{room.empty() ? kRelayedCall : room};
  const auto link = parse_link(std::string{kScheme} + std::string{relay} + "/" + place + "#" +
                               encode_base64url(make_secret()));
  return link ? std::optional{*link} : std::nullopt;
}

std::optional<RoomAccess> parse_room_access(std::string_view text) {
  if (!text.starts_with(kAccessScheme) || text.size() > kLinkLengthMax) {
    return std::nullopt;
  }
  text.remove_prefix(kAccessScheme.size());
  const size_t hash = text.find('#');
  if (hash == std::string_view::npos || !is_room_name(text.substr(0, hash))) {
    return std::nullopt;
  }
  const auto key = decode_base64url(text.substr(hash + 1));
  if (!key || key->size() != Secret::kSize) {
    return std::nullopt;
  }
  RoomAccess access{.room = std::string{text.substr(0, hash)}, .key = {}};
  std::ranges::copy(*key, access.key.bytes().begin());
  return access;
}

std::string format_room_access(const RoomAccess& access) {
  return std::string{kAccessScheme} + access.room + "#" + encode_base64url(access.key.bytes());
}

std::vector<std::byte> make_secret() {
  std::vector<std::byte> secret(kLinkSecretMin);
  fill_random(secret);
  return secret;
}

}  // namespace cress::secure
