#include "transport/secure/crypto/crypto.hh"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <vector>

#include "transport/base/check.hh"
#include "transport/secure/crypto/aead_cipher.hh"
#include "transport/secure/crypto/openssl.hh"

namespace cress::secure {
Secret::~Secret() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

void fill_random(std::span<std::byte> out) {
  require(RAND_bytes(raw_out(out), narrow<int>(out.size())) == 1, "make random bytes");
}

Secret random_secret() {
  Secret secret;
  fill_random(secret.bytes());
  return secret;
}

Secret hmac(std::span<const std::byte> key, std::span<const std::byte> message) {
  Secret out;
  unsigned length = 0;
  const void* done = HMAC(EVP_sha256(), key.data(), narrow<int>(key.size()), raw(message),
                          message.size(), raw_out(out.bytes()), &length);
  require(done != nullptr && length == Secret::kSize, "compute HMAC-SHA-256");
  return out;
}

Secret expand(const Secret& secret, std::string_view label) {
  const auto bytes = std::as_bytes(std::span{label});
  std::vector<std::byte> message{bytes.begin(), bytes.end()};
  message.push_back(std::byte{1});  // 32 bytes are one block, the first
  return hmac(secret.bytes(), message);
}

Secret extract(std::span<const std::byte> input, std::string_view salt) {
  return hmac(std::as_bytes(std::span{salt}), input);
}

std::array<std::byte, 32> sha256(std::span<const std::byte> first,
                                 std::span<const std::byte> second) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free};
  std::array<std::byte, 32> out{};
  const bool ok = context != nullptr &&
                  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1 &&
                  EVP_DigestUpdate(context.get(), first.data(), first.size()) == 1 &&
                  EVP_DigestUpdate(context.get(), second.data(), second.size()) == 1 &&
                  EVP_DigestFinal_ex(context.get(), raw_out(out), nullptr) == 1;
  require(ok, "compute SHA-256");
  return out;
}

std::vector<std::byte> hkdf(Hash hash, std::string_view salt, std::span<const std::byte> input,
                            std::span<const std::byte> info, size_t size) {
  const EVP_MD* const kind = hash == Hash::kSha256 ? EVP_sha256() : EVP_sha512();
  const auto block = narrow<size_t>(EVP_MD_get_size(kind));
  check(size <= block, "hkdf: more than a block was asked for");
  std::array<std::byte, EVP_MAX_MD_SIZE> secret{};
  std::array<std::byte, EVP_MAX_MD_SIZE> output{};
  std::vector<std::byte> message{info.begin(), info.end()};
  message.push_back(std::byte{1});
  unsigned length = 0;
  const bool ok = HMAC(kind, salt.data(), narrow<int>(salt.size()), raw(input), input.size(),
                       raw_out(secret), &length) != nullptr &&
                  HMAC(kind, secret.data(), narrow<int>(block), raw(message), message.size(),
                       raw_out(output), &length) != nullptr;
  require(ok && length == block, "compute HKDF");
  std::vector<std::byte> out{output.begin(), output.begin() + narrow<std::ptrdiff_t>(size)};
  OPENSSL_cleanse(secret.data(), secret.size());
  OPENSSL_cleanse(output.data(), output.size());
  return out;
}

void wipe(std::span<std::byte> bytes) { OPENSSL_cleanse(bytes.data(), bytes.size()); }

bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

struct AeadKey::Context {
  /// The nonce of this datagram.
  std::array<unsigned char, kNonceSize> nonce(uint64_t sequence) const {
    std::array<unsigned char, kNonceSize> out = nonce_base;
    for (size_t i = 0; i < sizeof sequence; ++i) {
      out[kNonceSize - 1 - i] ^= static_cast<unsigned char>(sequence >> (8 * i));
    }
    return out;
  }

  std::unique_ptr<AeadCipher> cipher;
  Use use;
  std::array<unsigned char, kNonceSize> nonce_base{};
};

AeadKey::AeadKey(Aead aead, Use use, const Secret& secret)
    : AeadKey(aead, use,
              expand(secret, "cress key").bytes().first(aead == Aead::kAes128Gcm ? 16 : 32),
              expand(secret, "cress iv").bytes().first<kNonceSize>()) {}

AeadKey::AeadKey(Aead aead, Use use, std::span<const std::byte> key,
                 std::span<const std::byte, kNonceSize> base)
    : context_(new Context{.cipher = make_ipsec_cipher(aead, use, key), .use = use}) {
  if (context_->cipher == nullptr) {
    context_->cipher = make_evp_cipher(aead, use, key);
  }
  std::copy_n(raw(base), kNonceSize, context_->nonce_base.begin());
}

AeadKey::~AeadKey() = default;
AeadKey::AeadKey(AeadKey&&) noexcept = default;
AeadKey& AeadKey::operator=(AeadKey&&) noexcept = default;

void AeadKey::seal(uint64_t sequence, std::span<const std::byte> header, std::span<std::byte> text,
                   std::span<std::byte, kTagSize> tag, std::span<const std::byte> metadata) {
  check(context_->use == Use::kSeal, "AeadKey: a key to open does not seal");
  context_->cipher->seal(context_->nonce(sequence), header, metadata, text, tag);
}

bool AeadKey::open(uint64_t sequence, std::span<const std::byte> header, std::span<std::byte> text,
                   std::span<const std::byte, kTagSize> tag, std::span<const std::byte> metadata) {
  check(context_->use == Use::kOpen, "AeadKey: a key to seal does not open");
  return context_->cipher->open(context_->nonce(sequence), header, metadata, text, tag);
}

}  // namespace cress::secure
