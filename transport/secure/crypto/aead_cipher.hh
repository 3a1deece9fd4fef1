#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "transport/secure/crypto/crypto.hh"

namespace cress::secure {

/// One of crypto.hh's AEADs with one key, for one direction, implemented by some library: a nonce
/// of 12 bytes, a tag of 16, text of any size without padding. Threads: none inside; one owner.
class AeadCipher {
 public:
  using Nonce = std::span<const unsigned char, kNonceSize>;

  AeadCipher() = default;
  AeadCipher(const AeadCipher&) = delete;
  AeadCipher& operator=(const AeadCipher&) = delete;
  virtual ~AeadCipher() = default;

  /// As AeadKey's; the header, then the metadata, are authenticated but not encrypted.
  virtual void seal(Nonce nonce, std::span<const std::byte> header,
                    std::span<const std::byte> metadata, std::span<std::byte> text,
                    std::span<std::byte, kTagSize> tag) = 0;
  [[nodiscard]] virtual bool open(Nonce nonce, std::span<const std::byte> header,
                                  std::span<const std::byte> metadata, std::span<std::byte> text,
                                  std::span<const std::byte, kTagSize> tag) = 0;
};

/// Any of the AEADs by OpenSSL's EVP: available everywhere, but for a small datagram most of its
/// time goes into looking up parameters by name (secure_bench). Throws std::runtime_error if this
/// build of OpenSSL lacks the cipher; a key of another size is a check failure.
std::unique_ptr<AeadCipher> make_evp_cipher(Aead aead, Use use, std::span<const std::byte> key);

/// AES-GCM by Intel's library for IPsec, which is designed for datagrams: a sixth of EVP's time for
/// an audio message, a quarter for a full datagram (secure_bench). Null for other AEADs, on
/// processors it cannot use, and if the program was built without the library, which is for x86-64
/// only. A key of another size is a check failure.
std::unique_ptr<AeadCipher> make_ipsec_cipher(Aead aead, Use use, std::span<const std::byte> key);

}  // namespace cress::secure
