#pragma once

#include <memory>
#include <span>

#include "transport/secure/crypto/aead_cipher.hh"

namespace cress::secure {

/// Any of the AEADs by OpenSSL's EVP: everywhere at hand, but of its time for a small datagram most
/// goes to looking parameters up by their names (secure_bench).
/// Throws std::runtime_error if this build of OpenSSL is without the cipher; a key of another size
/// is a check failure.
std::unique_ptr<AeadCipher> make_evp_cipher(Aead aead, Use use, std::span<const std::byte> key);

}  // namespace cress::secure
