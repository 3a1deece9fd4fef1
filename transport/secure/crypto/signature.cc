#include "transport/secure/crypto/signature.hh"

#include <openssl/evp.h>

#include "transport/secure/crypto/openssl.hh"

namespace cress::secure {
namespace {

struct ContextDeleter {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, ContextDeleter>;

}  // namespace

struct SigningKey::Pair {
  OpensslKey key;
};

SigningKey::SigningKey() : SigningKey(random_secret()) {}

SigningKey::SigningKey(const Secret& seed) : pair_(new Pair{private_key(EVP_PKEY_ED25519, seed)}) {
  read_public_key(*pair_->key, public_key_);
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
  const OpensslKey loaded{
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(key), key.size())};
  const Context context{EVP_MD_CTX_new()};
  return loaded != nullptr && context != nullptr &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, loaded.get()) == 1 &&
         EVP_DigestVerify(context.get(), raw(signature), signature.size(), raw(message),
                          message.size()) == 1;
}

}  // namespace cress::secure
