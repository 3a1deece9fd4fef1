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

// docs/protocol/wire.md, "Rendezvous": what the two ends of a call and the relay between them say
// to each other. Everything else between the ends passes the relay unchanged.

inline constexpr std::byte kRendezvousKind{0x1A};

/// Proof that the sender receives at its address: what the relay sent there.
using RendezvousCookie = std::array<std::byte, 16>;

/// An end asks the relay to forward what it sends to the other end of its call, and back. One that
/// has no cookie yet, or an old one, is answered with a cookie.
struct Registration {
  Role role = Role::kListener;
  /// Answers repeat it.
  uint64_t transaction = 0;
  RendezvousCookie cookie{};
  /// Names the call. Only those with the link's secret can sign for it.
  PublicKey call{};
  /// One program's, random: the same when it has moved to another address.
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
  kAlone = 1,       ///< registered; the other end is not there yet
  kTogether = 2,    ///< both ends are there: datagrams are forwarded
  kBusy = 3,        ///< another program has this end's place, and is alive
  kFull = 4,        ///< the relay has no place for one more call
  kNotOffered = 5,  ///< the relay forwards no calls
  kOver = 6,        ///< the call has lasted as long as the relay allows
};
struct StatusAnswer {
  uint64_t transaction = 0;
  RendezvousStatus status = RendezvousStatus::kAlone;
  /// Where the relay sees the end, outside its NATs.
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
