#pragma once

#include <openssl/evp.h>

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "transport/secure/crypto/crypto.hh"

namespace cress::secure {

// OpenSSL takes bytes as unsigned char.
inline const unsigned char* raw(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
inline unsigned char* raw_out(std::span<std::byte> bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

inline void require(bool condition, const char* what) {
  if (!condition) {
    throw std::runtime_error(std::string{"OpenSSL cannot "} + what +
                             ": is this a build of it without that?");
  }
}

struct OpensslKeyDeleter {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using OpensslKey = std::unique_ptr<EVP_PKEY, OpensslKeyDeleter>;

/// `type`: EVP_PKEY_ED25519 or EVP_PKEY_X25519.
inline OpensslKey private_key(int type, const Secret& seed) {
  OpensslKey key{EVP_PKEY_new_raw_private_key(type, nullptr, raw(seed.bytes()), Secret::kSize)};
  require(key != nullptr, "make a key");
  return key;
}

inline void read_public_key(EVP_PKEY& key, std::span<std::byte, 32> out) {
  size_t size = out.size();
  require(EVP_PKEY_get_raw_public_key(&key, raw_out(out), &size) == 1 && size == out.size(),
          "derive a public key");
}

}  // namespace cress::secure
