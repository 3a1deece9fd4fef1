#include "transport/secure/crypto/aead_cipher.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "transport/secure/crypto/hex_test_tools.hh"

namespace cress::secure {
namespace {

// McGrew and Viega, "The Galois/Counter Mode of Operation", test case 4.
constexpr auto kKey = "feffe9928665731c6d6a8f9467308308";
constexpr auto kNonce = "cafebabefacedbaddecaf888";
constexpr auto kPlain =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
constexpr auto kAuthenticated = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
constexpr auto kSealed =
    "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
    "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091";
constexpr auto kTag = "5bc94fbc3221a5db94fae95ae7121a47";

/// Those that this machine has.
std::vector<std::unique_ptr<AeadCipher>> ciphers(Use use) {
  std::vector<std::unique_ptr<AeadCipher>> all;
  all.push_back(make_evp_cipher(Aead::kAes128Gcm, use, from_hex(kKey)));
  if (auto cipher = make_ipsec_cipher(Aead::kAes128Gcm, use, from_hex(kKey))) {
    all.push_back(std::move(cipher));
  }
  return all;
}

std::array<unsigned char, kNonceSize> nonce() {
  std::array<unsigned char, kNonceSize> bytes{};
  std::ranges::transform(from_hex(kNonce), bytes.begin(),
                         [](std::byte byte) { return std::to_integer<unsigned char>(byte); });
  return bytes;
}

TEST(AeadCipher, HeaderAndMetadataAreAuthenticatedAsOne) {
  const auto authenticated = from_hex(kAuthenticated);
  for (const auto& cipher : ciphers(Use::kSeal)) {
    // Every split with the same cipher: nothing is left of the one before.
    for (size_t split = 0; split <= authenticated.size(); ++split) {
      const auto header = std::span{authenticated}.first(split);
      auto text = from_hex(kPlain);
      std::array<std::byte, kTagSize> tag{};
      cipher->seal(nonce(), header, std::span{authenticated}.subspan(split), text, tag);
      EXPECT_EQ(to_hex(text), kSealed) << split;
      EXPECT_EQ(to_hex(tag), kTag) << split;
    }
  }
}

TEST(AeadCipher, OpensNothingWithOtherMetadata) {
  const auto authenticated = from_hex(kAuthenticated);
  std::array<std::byte, kTagSize> tag{};
  std::ranges::copy(from_hex(kTag), tag.begin());
  for (const auto& cipher : ciphers(Use::kOpen)) {
    const auto opens = [&](std::span<const std::byte> header, std::span<const std::byte> metadata) {
      auto text = from_hex(kSealed);
      const bool is_right = cipher->open(nonce(), header, metadata, text, tag);
      EXPECT_EQ(to_hex(text), kPlain) << "decrypted, whatever the tag says";
      return is_right;
    };
    const std::span all{authenticated};
    EXPECT_TRUE(opens(all.first(4), all.subspan(4)));
    EXPECT_FALSE(opens(all.first(4), all.subspan(5)));
    EXPECT_FALSE(opens(all.first(3), all.subspan(4)));
    EXPECT_FALSE(opens({}, {}));
  }
}

}  // namespace
}  // namespace cress::secure
