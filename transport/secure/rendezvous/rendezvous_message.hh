#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/base/address.hh"
#include "transport/secure/crypto/signature.hh"
#include "transport/secure/handshake/handshake.hh"

namespace cress::secure {

// docs/protocol/wire.md, "Rendezvous": messages between an end of a call and its relay. The relay
// forwards all other datagrams unchanged.

inline constexpr std::byte kRendezvousKind{0x1A};

/// Sent by the relay to an address; returning it proves that the sender receives there.
using RendezvousCookie = std::array<std::byte, 16>;

/// Requests that the relay forward datagrams between this end and the other end of the call.
/// Without a valid cookie the answer is a cookie.
struct Registration {
  Role role = Role::kListener;
  /// Answers repeat it.
  uint64_t transaction = 0;
  RendezvousCookie cookie{};
  /// The call's name. Signing for it takes the link's secret.
  PublicKey call{};
  /// Random, of one program: unchanged when the program moves to another address.
  std::array<std::byte, 16> party{};
  Signature signature{};
  friend bool operator==(const Registration&, const Registration&) = default;
};
struct CookieAnswer {
  uint64_t transaction = 0;
  RendezvousCookie cookie{};
  friend bool operator==(const CookieAnswer&, const CookieAnswer&) = default;
};
enum class RendezvousStatus : uint8_t {
  kAlone = 1,       ///< registered; the other end is not
  kTogether = 2,    ///< both ends are registered: datagrams are forwarded
  kBusy = 3,        ///< another program has this end's place, and is alive
  kFull = 4,        ///< the relay has no place for one more call
  kNotOffered = 5,  ///< the relay forwards no calls
  kOver = 6,        ///< the call has lasted as long as the relay allows
};
struct StatusAnswer {
  uint64_t transaction = 0;
  RendezvousStatus status = RendezvousStatus::kAlone;
  /// The end's address outside its NATs, as the relay sees it.
  Address seen{};
  friend bool operator==(const StatusAnswer&, const StatusAnswer&) = default;
};

/// The pair of keys that names a call, from its link's secret.
SigningKey rendezvous_key(std::span<const std::byte> link_secret);
/// Signs everything else in it.
void sign(Registration& registration, const SigningKey& key);
bool is_signed(const Registration& registration);

std::vector<std::byte> serialize(const Registration& registration);
std::vector<std::byte> serialize(const CookieAnswer& answer);
std::vector<std::byte> serialize(const StatusAnswer& answer);
/// Total: nullopt for anything that serialize() does not write.
std::optional<Registration> parse_registration(std::span<const std::byte> bytes);
std::optional<CookieAnswer> parse_cookie_answer(std::span<const std::byte> bytes);
std::optional<StatusAnswer> parse_status_answer(std::span<const std::byte> bytes);

}  // namespace cress::secure
