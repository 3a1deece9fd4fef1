#pragma once

#include <memory>
#include <span>

#include "transport/secure/crypto/aead_cipher.hh"

namespace cress::secure {

/// AES-GCM by Intel's library for IPsec, which is made for datagrams: a sixth of EVP's time for a
/// sound, a quarter for a full one (secure_bench). Null for other AEADs, on
/// processors it cannot use, and where the program was built without the library, which is for
/// x86-64 only. A key of another size is a check failure.
std::unique_ptr<AeadCipher> make_ipsec_cipher(Aead aead, Use use, std::span<const std::byte> key);

}  // namespace cress::secure
