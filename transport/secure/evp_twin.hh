#pragma once

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "transport/base/check.hh"
#include "transport/secure/crypto.hh"

namespace cress::secure {

/// The slow twin of AeadKey: the same bytes by OpenSSL's documented front, EVP. For tests and
/// benchmarks. Threads: none inside; one owner.
class EvpTwin {
 public:
  /// As of AeadKey.
  EvpTwin(Aead aead, Use use, std::span<const std::byte> key,
          std::span<const std::byte, kNonceSize> base) {
    const EVP_CIPHER* const cipher = aead == Aead::kAes128Gcm   ? EVP_aes_128_gcm()
                                     : aead == Aead::kAes256Gcm ? EVP_aes_256_gcm()
                                                                : EVP_chacha20_poly1305();
    for (size_t i = 0; i < kNonceSize; ++i) {
      base_.at(i) = std::to_integer<unsigned char>(base[i]);
    }
    check(EVP_CipherInit_ex2(context_.get(), cipher, of(key), base_.data(),
                             use == Use::kSeal ? 1 : 0, nullptr) == 1,
          "EvpTwin: no such cipher");
  }

  void seal(uint64_t sequence, std::span<const std::byte> header, std::span<std::byte> text,
            std::span<std::byte, kTagSize> tag, std::span<const std::byte> metadata = {}) {
    run(sequence, header, metadata, text);
    check(finish() &&
              EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, kTagSize, tag.data()) == 1,
          "EvpTwin: no tag");
  }
  bool open(uint64_t sequence, std::span<const std::byte> header, std::span<std::byte> text,
            std::span<const std::byte, kTagSize> tag, std::span<const std::byte> metadata = {}) {
    run(sequence, header, metadata, text);
    std::array<std::byte, kTagSize> expected{};
    std::copy(tag.begin(), tag.end(), expected.begin());
    check(
        EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, kTagSize, expected.data()) == 1,
        "EvpTwin: tag refused");
    return finish();
  }

 private:
  struct Free {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
  };

  static const unsigned char* of(std::span<const std::byte> bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
  }

  void run(uint64_t sequence, std::span<const std::byte> header,
           std::span<const std::byte> metadata, std::span<std::byte> text) {
    auto nonce = base_;
    for (size_t i = 0; i < sizeof sequence; ++i) {
      nonce.at(kNonceSize - 1 - i) ^= static_cast<unsigned char>(sequence >> (8 * i));
    }
    check(EVP_CipherInit_ex2(context_.get(), nullptr, nullptr, nonce.data(), -1, nullptr) == 1,
          "EvpTwin: nonce refused");
    update(header, nullptr);
    update(metadata, nullptr);
    update(text, reinterpret_cast<unsigned char*>(text.data()));
  }
  void update(std::span<const std::byte> in, unsigned char* out) {
    int length = 0;
    check(in.empty() ||
              EVP_CipherUpdate(context_.get(), out, &length, of(in), narrow<int>(in.size())) == 1,
          "EvpTwin: bytes refused");
  }
  bool finish() {
    std::array<unsigned char, EVP_MAX_BLOCK_LENGTH> rest{};
    int length = 0;
    return EVP_CipherFinal_ex(context_.get(), rest.data(), &length) == 1;
  }

  std::unique_ptr<EVP_CIPHER_CTX, Free> context_{EVP_CIPHER_CTX_new()};
  std::array<unsigned char, kNonceSize> base_{};
};

}  // namespace cress::secure
