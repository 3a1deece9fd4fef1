#include "transport/secure/crypto/signature.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "transport/secure/crypto/hex_test_tools.hh"

namespace cress::secure {
namespace {

SigningKey key_of(std::string_view seed) {
  Secret secret;
  std::ranges::copy(from_hex(seed), secret.bytes().begin());
  return SigningKey{secret};
}

// RFC 8032 §7.1, tests 1 and 2.
TEST(SigningKey, SignsAsTheRfcDoes) {
  const SigningKey first =
      key_of("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
  EXPECT_EQ(to_hex(first.public_key()),
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  EXPECT_EQ(
      to_hex(first.sign({})),
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701c"
      "f9b46bd25bf5f0595bbe24655141438e7a100b");
  const SigningKey second =
      key_of("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
  EXPECT_EQ(
      to_hex(second.sign(from_hex("72"))),
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0"
      "f11d8c387b2eaeb4302aeeb00d291612bb0c00");
}

TEST(SigningKey, OnlyItsOwnSignatureOfThatMessageHolds) {
  const SigningKey key;
  const SigningKey other;
  EXPECT_NE(key.public_key(), other.public_key());
  const auto message = from_hex("00112233");
  const Signature signature = key.sign(message);
  EXPECT_TRUE(is_signed_by(key.public_key(), message, signature));
  EXPECT_FALSE(is_signed_by(other.public_key(), message, signature));
  EXPECT_FALSE(is_signed_by(key.public_key(), from_hex("00112234"), signature));
  EXPECT_FALSE(is_signed_by(PublicKey{}, message, signature));
  for (size_t i = 0; i < signature.size(); ++i) {
    Signature changed = signature;
    changed[i] ^= std::byte{1};
    EXPECT_FALSE(is_signed_by(key.public_key(), message, changed)) << i;
  }
}

TEST(SigningKey, ACopySignsTheSame) {
  const SigningKey key;
  const SigningKey copy = key;
  EXPECT_EQ(copy.public_key(), key.public_key());
  EXPECT_EQ(copy.sign({}), key.sign({}));
}

}  // namespace
}  // namespace cress::secure
