#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include "transport/secure/crypto/crypto.hh"

namespace cress::secure {

// X25519 (RFC 7748), from OpenSSL.

using AgreementPublic = std::array<std::byte, 32>;

/// The private half of a key pair with which two agree on a secret. Copies share it; it is wiped
/// with the last. Throws std::runtime_error if OpenSSL has no X25519. Threads: immutable.
class AgreementKey {
 public:
  /// A new one, from OpenSSL's generator.
  AgreementKey();
  /// RFC 7748 §5: 32 random bytes.
  explicit AgreementKey(const Secret& seed);

  const AgreementPublic& public_key() const { return public_key_; }
  /// What the owner of `other` computes from our public key: to be expanded, not used as it is.
  /// Total: nullopt for a public key that gives everybody the same secret (§6.1).
  std::optional<Secret> agree(const AgreementPublic& other) const;

 private:
  struct Pair;
  std::shared_ptr<const Pair> pair_;
  AgreementPublic public_key_{};
};

}  // namespace cress::secure
