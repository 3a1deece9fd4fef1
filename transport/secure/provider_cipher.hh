#pragma once

#include <openssl/core_dispatch.h>
#include <openssl/evp.h>

#include <cstddef>
#include <memory>
#include <span>

#include "transport/secure/crypto.hh"

namespace cress::secure {

/// One of OpenSSL's AEAD ciphers under one key, by the functions that its provider hands out
/// (provider-cipher(7)). EVP calls the same ones, but looks parameters up by their names many times
/// a message, which for a datagram is more work than is in its AES (secure_bench). The AEADs of
/// crypto.hh only: a nonce of 12 bytes, a tag of 16, text of any size without padding.
/// Threads: none inside; one owner.
class ProviderCipher {
 public:
  /// `name`: as for EVP_CIPHER_fetch. `key`: of the cipher's size, a check failure else. Throws
  /// std::runtime_error if this build of OpenSSL is without it.
  ProviderCipher(const char* name, Use use, std::span<const std::byte> key);

  /// A message begins, to be sealed or opened as was said at first. `tag`: borrowed for the call.
  void begin_sealing(std::span<const unsigned char> nonce);
  void begin_opening(std::span<const unsigned char> nonce, std::span<const std::byte> tag);
  /// What is authenticated only, before all text.
  void authenticate(std::span<const std::byte> bytes);
  /// The text, in place.
  void crypt(std::span<std::byte> text);
  /// It has ended: the tag made,
  void finish_sealing(std::span<std::byte> tag);
  /// or whether the given one was right.
  [[nodiscard]] bool finish_opening();

 private:
  struct Free {
    void operator()(EVP_CIPHER* cipher) const { EVP_CIPHER_free(cipher); }
  };
  struct FreeContext {
    OSSL_FUNC_cipher_freectx_fn* function;
    void operator()(void* context) const { function(context); }
  };

  void take(const OSSL_DISPATCH* functions);
  bool finish();

  std::unique_ptr<EVP_CIPHER, Free> cipher_;  // keeps the provider
  OSSL_FUNC_cipher_newctx_fn* new_context_ = nullptr;
  OSSL_FUNC_cipher_freectx_fn* free_context_ = nullptr;
  OSSL_FUNC_cipher_encrypt_init_fn* encrypt_init_ = nullptr;
  OSSL_FUNC_cipher_decrypt_init_fn* decrypt_init_ = nullptr;
  OSSL_FUNC_cipher_update_fn* update_ = nullptr;
  OSSL_FUNC_cipher_final_fn* final_ = nullptr;
  OSSL_FUNC_cipher_get_ctx_params_fn* get_parameters_ = nullptr;
  std::unique_ptr<void, FreeContext> context_;
};

}  // namespace cress::secure
