#include "transport/secure/crypto/signature.hh"

#include <openssl/evp.h>

#include "transport/secure/crypto/openssl.hh"

namespace cress::secure {
namespace {

struct KeyDeleter {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct ContextDeleter {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Key = std::unique_ptr<EVP_PKEY, KeyDeleter>;
using Context = std::unique_ptr<EVP_MD_CTX, ContextDeleter>;

Secret random_seed() {
  Secret seed;
  fill_random(seed.bytes());
  return seed;
}

}  // namespace

struct SigningKey::Pair {
  Key key;
};

SigningKey::SigningKey() : SigningKey(random_seed()) {}

SigningKey::SigningKey(const Secret& seed)
    : pair_(new Pair{Key{EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, raw(seed.bytes()),
                                                      Secret::kSize)}}) {
  require(pair_->key != nullptr, "make an Ed25519 key");
  size_t size = public_key_.size();
  require(EVP_PKEY_get_raw_public_key(pair_->key.get(), raw_out(public_key_), &size) == 1 &&
              size == public_key_.size(),
          "derive an Ed25519 key");
}

Signature SigningKey::sign(std::span<const std::byte> message) const {
  const Context context{EVP_MD_CTX_new()};
  Signature signature{};
  size_t size = signature.size();
  const bool ok =
      context != nullptr &&
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, pair_->key.get()) == 1 &&
      EVP_DigestSign(context.get(), raw_out(signature), &size, raw(message), message.size()) == 1;
  require(ok && size == signature.size(), "sign with Ed25519");
  return signature;
}

std::vector<std::byte> labelled(std::string_view label,
                                std::initializer_list<std::span<const std::byte>> parts) {
  size_t size = label.size();
  for (const auto part : parts) {
    size += part.size();
  }
  std::vector<std::byte> message;
  message.reserve(size);
  for (const char c : label) {
    message.push_back(static_cast<std::byte>(c));
  }
  for (const auto part : parts) {
    message.insert(message.end(), part.begin(), part.end());
  }
  return message;
}

bool is_signed_by(const PublicKey& key, std::span<const std::byte> message,
                  const Signature& signature) {
  const Key loaded{EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(key), key.size())};
  const Context context{EVP_MD_CTX_new()};
  return loaded != nullptr && context != nullptr &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, loaded.get()) == 1 &&
         EVP_DigestVerify(context.get(), raw(signature), signature.size(), raw(message),
                          message.size()) == 1;
}

}  // namespace cress::secure
