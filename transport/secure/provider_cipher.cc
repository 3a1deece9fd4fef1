#include "transport/secure/provider_cipher.hh"

#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/provider.h>

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

#include "transport/base/check.hh"

namespace cress::secure {
namespace {

/// `names`: all that a provider calls an algorithm, with colons between them; EVP goes by the
/// first.
bool is_of(const EVP_CIPHER* cipher, std::string_view names) {
  return names.substr(0, names.find(':')) == EVP_CIPHER_get0_name(cipher);
}

unsigned char* of_openssl(std::span<std::byte> bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}
const unsigned char* of_openssl(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

/// The one parameter that a message needs.
std::array<OSSL_PARAM, 2> tag_parameter(std::span<const std::byte> tag) {
  // OpenSSL reads or writes it, as it is asked to.
  return {OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG,
                                            const_cast<std::byte*>(tag.data()),  // NOLINT
                                            tag.size()),
          OSSL_PARAM_construct_end()};
}

}  // namespace

ProviderCipher::ProviderCipher(const char* name, Use use, std::span<const std::byte> key)
    : cipher_(EVP_CIPHER_fetch(nullptr, name, nullptr)) {
  if (cipher_ != nullptr) {
    const OSSL_PROVIDER* const provider = EVP_CIPHER_get0_provider(cipher_.get());
    int may_change = 0;
    const OSSL_ALGORITHM* const all =
        OSSL_PROVIDER_query_operation(provider, OSSL_OP_CIPHER, &may_change);
    for (const OSSL_ALGORITHM* one = all; one != nullptr && one->algorithm_names != nullptr;
         ++one) {
      if (is_of(cipher_.get(), one->algorithm_names)) {
        take(one->implementation);
        break;
      }
    }
    OSSL_PROVIDER_unquery_operation(provider, OSSL_OP_CIPHER, all);
    if (new_context_ != nullptr && free_context_ != nullptr) {
      context_ = {new_context_(OSSL_PROVIDER_get0_provider_ctx(provider)), {free_context_}};
    }
  }
  if (context_ == nullptr || encrypt_init_ == nullptr || decrypt_init_ == nullptr ||
      update_ == nullptr || final_ == nullptr || get_parameters_ == nullptr) {
    throw std::runtime_error(std::string{"OpenSSL has no cipher "} + name +
                             ": is this a build of it without that?");
  }
  check(key.size() == narrow<size_t>(EVP_CIPHER_get_key_length(cipher_.get())),
        "ProviderCipher: a key of another size");
  const auto init = use == Use::kSeal ? encrypt_init_ : decrypt_init_;
  check(init(context_.get(), of_openssl(key), key.size(), nullptr, 0, nullptr) == 1,
        "ProviderCipher: OpenSSL refused a key that it must take");
}

void ProviderCipher::take(const OSSL_DISPATCH* functions) {
  for (const OSSL_DISPATCH* one = functions; one->function_id != 0; ++one) {
    switch (one->function_id) {
      case OSSL_FUNC_CIPHER_NEWCTX:
        new_context_ = OSSL_FUNC_cipher_newctx(one);
        break;
      case OSSL_FUNC_CIPHER_FREECTX:
        free_context_ = OSSL_FUNC_cipher_freectx(one);
        break;
      case OSSL_FUNC_CIPHER_ENCRYPT_INIT:
        encrypt_init_ = OSSL_FUNC_cipher_encrypt_init(one);
        break;
      case OSSL_FUNC_CIPHER_DECRYPT_INIT:
        decrypt_init_ = OSSL_FUNC_cipher_decrypt_init(one);
        break;
      case OSSL_FUNC_CIPHER_UPDATE:
        update_ = OSSL_FUNC_cipher_update(one);
        break;
      case OSSL_FUNC_CIPHER_FINAL:
        final_ = OSSL_FUNC_cipher_final(one);
        break;
      case OSSL_FUNC_CIPHER_GET_CTX_PARAMS:
        get_parameters_ = OSSL_FUNC_cipher_get_ctx_params(one);
        break;
      default:
        break;
    }
  }
}

void ProviderCipher::begin_sealing(std::span<const unsigned char> nonce) {
  check(encrypt_init_(context_.get(), nullptr, 0, nonce.data(), nonce.size(), nullptr) == 1,
        "ProviderCipher: OpenSSL refused a nonce that it must take");
}

void ProviderCipher::begin_opening(std::span<const unsigned char> nonce,
                                   std::span<const std::byte> tag) {
  const auto parameters = tag_parameter(tag);
  check(
      decrypt_init_(context_.get(), nullptr, 0, nonce.data(), nonce.size(), parameters.data()) == 1,
      "ProviderCipher: OpenSSL refused a nonce or tag that it must take");
}

void ProviderCipher::authenticate(std::span<const std::byte> bytes) {
  size_t length = 0;
  check(bytes.empty() || update_(context_.get(), nullptr, &length, bytes.size(), of_openssl(bytes),
                                 bytes.size()) == 1,
        "ProviderCipher: OpenSSL refused bytes that it must take");
}

void ProviderCipher::crypt(std::span<std::byte> text) {
  size_t length = 0;
  check(text.empty() || update_(context_.get(), of_openssl(text), &length, text.size(),
                                of_openssl(std::span<const std::byte>{text}), text.size()) == 1,
        "ProviderCipher: OpenSSL refused text that it must take");
}

bool ProviderCipher::finish() {
  std::array<unsigned char, EVP_MAX_BLOCK_LENGTH> rest{};  // of which there is none
  size_t length = 0;
  return final_(context_.get(), rest.data(), &length, rest.size()) == 1;
}

void ProviderCipher::finish_sealing(std::span<std::byte> tag) {
  auto parameters = tag_parameter(tag);
  check(finish() && get_parameters_(context_.get(), parameters.data()) == 1,
        "ProviderCipher: OpenSSL made no tag");
}

bool ProviderCipher::finish_opening() { return finish(); }

}  // namespace cress::secure
