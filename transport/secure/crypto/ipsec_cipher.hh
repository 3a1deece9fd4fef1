#pragma once

#include <memory>
#include <span>

#include "transport/secure/crypto/aead_cipher.hh"

namespace cress::secure {

/// AES-GCM by Intel's library for IPsec, which is designed for datagrams: a sixth of EVP's time for
/// an audio message, a quarter for a full datagram (secure_bench). Null for other AEADs, on
/// processors it cannot use, and if the program was built without the library, which is for x86-64
/// only. A key of another size is a check failure.
std::unique_ptr<AeadCipher> make_ipsec_cipher(Aead aead, Use use, std::span<const std::byte> key);

}  // namespace cress::secure
