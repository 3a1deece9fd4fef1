#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace cress::secure {

// The few primitives that the folder depends on, all from OpenSSL. Functions throw
// std::runtime_error if OpenSSL lacks one (a build without it): a set-up error that no peer can
// cause.

inline constexpr size_t kTagSize = 16;
inline constexpr size_t kNonceSize = 12;

/// 32 bytes that are overwritten on destruction.
class Secret {
 public:
  static constexpr size_t kSize = 32;
  Secret() = default;
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret();

  std::span<std::byte, kSize> bytes() { return bytes_; }
  std::span<const std::byte, kSize> bytes() const { return bytes_; }
  friend bool operator==(const Secret&, const Secret&) = default;

 private:
  std::array<std::byte, kSize> bytes_{};
};

/// From OpenSSL's generator.
void fill_random(std::span<std::byte> out);
Secret random_secret();
/// HMAC-SHA-256 (RFC 2104).
Secret hmac(std::span<const std::byte> key, std::span<const std::byte> message);
/// HKDF-Expand (RFC 5869 §2.3) of 32 bytes, the label being its info.
Secret expand(const Secret& secret, std::string_view label);
/// HKDF-Extract (§2.2) of any input; the default salt is that of two-party links.
Secret extract(std::span<const std::byte> input, std::string_view salt = "cress link 1");

/// SHA-256 (FIPS 180-4) of one text after the other.
std::array<std::byte, 32> sha256(std::span<const std::byte> first,
                                 std::span<const std::byte> second = {});

enum class Hash : uint8_t { kSha256, kSha512 };
/// HKDF-Extract and HKDF-Expand of `info` to at most one block of the hash, as other protocols
/// prescribe.
std::vector<std::byte> hkdf(Hash hash, std::string_view salt, std::span<const std::byte> input,
                            std::span<const std::byte> info, size_t size);
/// Overwrites secret bytes in memory.
void wipe(std::span<std::byte> bytes);
/// True if equal; takes the same time wherever they differ.
bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b);

enum class Aead : uint8_t { kAes128Gcm, kAes256Gcm, kChaCha20Poly1305 };
enum class Use : uint8_t { kSeal, kOpen };

/// One AEAD key with its nonce base, both derived from one secret, for one direction. The cipher is
/// set up once and reused, so the cost of a datagram is that of its bytes. Nonce (RFC 8446 §5.3):
/// the 64-bit sequence, left-padded to 96 bits, XOR the base. Threads: none inside; one owner.
class AeadKey {
 public:
  AeadKey(Aead aead, Use use, const Secret& secret);
  /// A key and a nonce base derived elsewhere; the key has the cipher's size (16 or 32).
  AeadKey(Aead aead, Use use, std::span<const std::byte> key,
          std::span<const std::byte, kNonceSize> base);
  ~AeadKey();
  AeadKey(AeadKey&&) noexcept;
  AeadKey& operator=(AeadKey&&) noexcept;

  /// Encrypts `text` in place; authenticates it and, before it, `header` and `metadata`. A sequence
  /// must not be used twice; the caller ensures that.
  void seal(uint64_t sequence, std::span<const std::byte> header, std::span<std::byte> text,
            std::span<std::byte, kTagSize> tag, std::span<const std::byte> metadata = {});
  /// Decrypts `text` in place; false if the tag is wrong, and then `text` is meaningless.
  [[nodiscard]] bool open(uint64_t sequence, std::span<const std::byte> header,
                          std::span<std::byte> text, std::span<const std::byte, kTagSize> tag,
                          std::span<const std::byte> metadata = {});

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace cress::secure
