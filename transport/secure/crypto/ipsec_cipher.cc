#include "transport/secure/crypto/aead_cipher.hh"

#ifdef CRESS_IPSEC_MB

#include <intel-ipsec-mb.h>

#include <array>
#include <memory>
#include <vector>

#include "transport/base/check.hh"

namespace cress::secure {
namespace {

const uint8_t* of_ipsec(std::span<const std::byte> bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}
uint8_t* of_ipsec(std::span<std::byte> bytes) { return reinterpret_cast<uint8_t*>(bytes.data()); }

/// The library's functions for this processor, which keep no state between calls. Null: none.
const IMB_MGR* functions() {
  struct Free {
    void operator()(IMB_MGR* manager) const { free_mb_mgr(manager); }
  };
  static const std::unique_ptr<IMB_MGR, Free> manager = [] {
    std::unique_ptr<IMB_MGR, Free> made{alloc_mb_mgr(0)};
    if (made != nullptr) {
      init_mb_mgr_auto(made.get(), nullptr);
    }
    if (made != nullptr && imb_get_errno(made.get()) != 0) {
      made.reset();
    }
    return made;
  }();
  return manager.get();
}

class IpsecCipher : public AeadCipher {
 public:
  IpsecCipher(const IMB_MGR& all, Aead aead, Use use, std::span<const std::byte> key) {
    const bool is_small = aead == Aead::kAes128Gcm;
    const bool seals = use == Use::kSeal;
    check(key.size() == (is_small ? IMB_KEY_128_BYTES : IMB_KEY_256_BYTES),
          "IpsecCipher: a key of another size");
    (is_small ? all.gcm128_pre : all.gcm256_pre)(key.data(), &key_);
    crypt_ = is_small ? (seals ? all.gcm128_enc : all.gcm128_dec)
                      : (seals ? all.gcm256_enc : all.gcm256_dec);
  }

  IpsecCipher(const IpsecCipher&) = delete;
  IpsecCipher& operator=(const IpsecCipher&) = delete;
  ~IpsecCipher() override { wipe(std::as_writable_bytes(std::span{&key_, 1})); }

  void seal(Nonce nonce, std::span<const std::byte> header, std::span<const std::byte> metadata,
            std::span<std::byte> text, std::span<std::byte, kTagSize> tag) override {
    const auto authenticated = join(header, metadata);
    gcm_context_data context{};
    crypt_(&key_, &context, of_ipsec(text), of_ipsec(std::span<const std::byte>{text}), text.size(),
           nonce.data(), of_ipsec(authenticated), authenticated.size(),
           of_ipsec(std::span<std::byte>{tag}), tag.size());
  }

  bool open(Nonce nonce, std::span<const std::byte> header, std::span<const std::byte> metadata,
            std::span<std::byte> text, std::span<const std::byte, kTagSize> tag) override {
    std::array<std::byte, kTagSize> expected{};
    seal(nonce, header, metadata, text, expected);
    return equal_in_constant_time(tag, expected);
  }

 private:
  /// Contiguous, as the library requires.
  std::span<const std::byte> join(std::span<const std::byte> header,
                                  std::span<const std::byte> metadata) {
    if (metadata.empty()) {
      return header;
    }
    joined_.assign(header.begin(), header.end());
    joined_.insert(joined_.end(), metadata.begin(), metadata.end());
    return joined_;
  }

  alignas(64) gcm_key_data key_{};
  aes_gcm_enc_dec_t crypt_ = nullptr;  // encrypts or decrypts
  std::vector<std::byte> joined_;
};

}  // namespace

std::unique_ptr<AeadCipher> make_ipsec_cipher(Aead aead, Use use, std::span<const std::byte> key) {
  const IMB_MGR* const all = functions();
  return all == nullptr || aead == Aead::kChaCha20Poly1305
             ? nullptr
             : std::make_unique<IpsecCipher>(*all, aead, use, key);
}

}  // namespace cress::secure

#else

namespace cress::secure {

std::unique_ptr<AeadCipher> make_ipsec_cipher(Aead /*aead*/, Use /*use*/,
                                              std::span<const std::byte> /*key*/) {
  return nullptr;
}

}  // namespace cress::secure

#endif
