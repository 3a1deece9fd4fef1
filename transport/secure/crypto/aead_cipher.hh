#pragma once

#include <cstddef>
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

}  // namespace cress::secure
