#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "transport/base/check.hh"
#include "transport/secure/crypto/aead_cipher.hh"

namespace cress::secure {
namespace {

const unsigned char* of_evp(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

const EVP_CIPHER* kind_of(Aead aead) {
  switch (aead) {
    case Aead::kAes128Gcm:
      return EVP_aes_128_gcm();
    case Aead::kAes256Gcm:
      return EVP_aes_256_gcm();
    case Aead::kChaCha20Poly1305:
      return EVP_chacha20_poly1305();
  }
  return nullptr;
}

class EvpCipher : public AeadCipher {
 public:
  EvpCipher(Aead aead, Use use, std::span<const std::byte> key) {
    const EVP_CIPHER* const cipher = kind_of(aead);
    check(key.size() == narrow<size_t>(EVP_CIPHER_get_key_length(cipher)),
          "EvpCipher: a key of another size");
    if (EVP_CipherInit_ex2(context_.get(), cipher, of_evp(key), nullptr, use == Use::kSeal ? 1 : 0,
                           nullptr) != 1) {
      throw std::runtime_error(
          "OpenSSL cannot make a cipher: is this a build of it without AES-GCM or "
          "ChaCha20-Poly1305?");
    }
  }

  void seal(Nonce nonce, std::span<const std::byte> header, std::span<const std::byte> metadata,
            std::span<std::byte> text, std::span<std::byte, kTagSize> tag) override {
    run(nonce, header, metadata, text);
    check(finish() &&
              EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, kTagSize, tag.data()) == 1,
          "EvpCipher: OpenSSL made no tag");
  }

  bool open(Nonce nonce, std::span<const std::byte> header, std::span<const std::byte> metadata,
            std::span<std::byte> text, std::span<const std::byte, kTagSize> tag) override {
    run(nonce, header, metadata, text);
    std::array<std::byte, kTagSize> expected{};
    std::ranges::copy(tag, expected.begin());
    check(
        EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, kTagSize, expected.data()) == 1,
        "EvpCipher: OpenSSL refused a tag that it must take");
    return finish();
  }

 private:
  struct Free {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
  };

  void run(Nonce nonce, std::span<const std::byte> header, std::span<const std::byte> metadata,
           std::span<std::byte> text) {
    check(EVP_CipherInit_ex2(context_.get(), nullptr, nullptr, nonce.data(), -1, nullptr) == 1,
          "EvpCipher: OpenSSL refused a nonce that it must take");
    update(header, nullptr);
    update(metadata, nullptr);
    update(text, reinterpret_cast<unsigned char*>(text.data()));
  }

  void update(std::span<const std::byte> in, unsigned char* out) {
    int length = 0;
    check(in.empty() || EVP_CipherUpdate(context_.get(), out, &length, of_evp(in),
                                         narrow<int>(in.size())) == 1,
          "EvpCipher: OpenSSL refused bytes that it must take");
  }

  bool finish() {
    std::array<unsigned char, EVP_MAX_BLOCK_LENGTH> rest{};  // of which there is none
    int length = 0;
    return EVP_CipherFinal_ex(context_.get(), rest.data(), &length) == 1;
  }

  std::unique_ptr<EVP_CIPHER_CTX, Free> context_{EVP_CIPHER_CTX_new()};
};

}  // namespace

std::unique_ptr<AeadCipher> make_evp_cipher(Aead aead, Use use, std::span<const std::byte> key) {
  return std::make_unique<EvpCipher>(aead, use, key);
}

}  // namespace cress::secure
