#pragma once

#include <memory>
#include <span>

#include "transport/secure/crypto/aead_cipher.hh"

namespace cress::secure {

/// Any of the AEADs by OpenSSL's EVP: available everywhere, but for a small datagram most of its
/// time goes into looking up parameters by name (secure_bench). Throws std::runtime_error if this
/// build of OpenSSL lacks the cipher; a key of another size is a check failure.
std::unique_ptr<AeadCipher> make_evp_cipher(Aead aead, Use use, std::span<const std::byte> key);

}  // namespace cress::secure
