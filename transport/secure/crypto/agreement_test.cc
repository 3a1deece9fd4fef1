#include "transport/secure/crypto/agreement.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "transport/secure/crypto/hex_test_tools.hh"

namespace cress::secure {
namespace {

Secret secret_of(std::string_view hex) {
  Secret secret;
  std::ranges::copy(from_hex(hex), secret.bytes().begin());
  return secret;
}

AgreementPublic public_of(std::string_view hex) {
  AgreementPublic key{};
  std::ranges::copy(from_hex(hex), key.begin());
  return key;
}

// RFC 7748 §6.1: Bob, with Alice's public key.
TEST(AgreementKey, AgreesAsTheRfcDoes) {
  const AgreementKey bob{
      secret_of("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")};
  EXPECT_EQ(to_hex(bob.public_key()),
            "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
  const auto agreed =
      bob.agree(public_of("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"));
  ASSERT_TRUE(agreed);
  EXPECT_EQ(to_hex(agreed->bytes()),
            "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
}

TEST(AgreementKey, BothEndsAgreeAndNobodyElse) {
  const AgreementKey ada;
  const AgreementKey bo;
  const AgreementKey other;
  EXPECT_EQ(ada.agree(bo.public_key()), bo.agree(ada.public_key()));
  EXPECT_NE(ada.agree(bo.public_key()), other.agree(bo.public_key()));
  EXPECT_NE(ada.agree(bo.public_key()), ada.agree(other.public_key()));
}

TEST(AgreementKey, APublicKeyThatGivesAllTheSameSecretIsRefused) {
  AgreementPublic one{};
  one[0] = std::byte{1};
  EXPECT_EQ(AgreementKey{}.agree(AgreementPublic{}), std::nullopt);
  EXPECT_EQ(AgreementKey{}.agree(one), std::nullopt);
}

}  // namespace
}  // namespace cress::secure
