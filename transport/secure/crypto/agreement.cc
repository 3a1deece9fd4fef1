#include "transport/secure/crypto/agreement.hh"

#include <openssl/evp.h>

#include "transport/secure/crypto/openssl.hh"

namespace cress::secure {

struct AgreementKey::Pair {
  OpensslKey key;
};

AgreementKey::AgreementKey() : AgreementKey(random_secret()) {}

AgreementKey::AgreementKey(const Secret& seed)
    : pair_(new Pair{private_key(EVP_PKEY_X25519, seed)}) {
  read_public_key(*pair_->key, public_key_);
}

std::optional<Secret> AgreementKey::agree(const AgreementPublic& other) const {
  const OpensslKey theirs{
      EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, raw(other), other.size())};
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context{
      EVP_PKEY_CTX_new(pair_->key.get(), nullptr), &EVP_PKEY_CTX_free};
  require(theirs != nullptr && context != nullptr && EVP_PKEY_derive_init(context.get()) == 1,
          "use X25519");
  Secret secret;
  size_t size = Secret::kSize;
  const bool ok = EVP_PKEY_derive_set_peer(context.get(), theirs.get()) == 1 &&
                  EVP_PKEY_derive(context.get(), raw_out(secret.bytes()), &size) == 1;
  return ok && size == Secret::kSize ? std::optional{secret} : std::nullopt;
}

}  // namespace cress::secure
