#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "transport/secure/crypto/crypto.hh"

namespace cress::secure {

// Ed25519 (RFC 8032), from OpenSSL.

using PublicKey = std::array<std::byte, 32>;
using Signature = std::array<std::byte, 64>;

/// The private half of a key pair. Copies share it; it is wiped with the last. Throws
/// std::runtime_error if OpenSSL has no Ed25519. Threads: immutable.
class SigningKey {
 public:
  /// A new one, from OpenSSL's generator.
  SigningKey();
  /// RFC 8032 §5.1.5: all of the key derives from 32 random bytes.
  explicit SigningKey(const Secret& seed);

  const PublicKey& public_key() const { return public_key_; }
  Signature sign(std::span<const std::byte> message) const;

 private:
  struct Pair;
  std::shared_ptr<const Pair> pair_;
  PublicKey public_key_{};
};

/// A message to sign: a label of its use, so that no signature can be taken for one of another use,
/// and the parts one after the other.
std::vector<std::byte> labelled(std::string_view label,
                                std::initializer_list<std::span<const std::byte>> parts);

/// Total: any bytes are a key; false unless its owner signed this message.
bool is_signed_by(const PublicKey& key, std::span<const std::byte> message,
                  const Signature& signature);

}  // namespace cress::secure
