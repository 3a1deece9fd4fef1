#include "traces/saturate/wire.hh"

#include <gtest/gtest.h>

#include <vector>

#include "transport/base/rng.hh"

namespace cress::traces {
namespace {

SaturateNonce nonce_of(uint8_t number) {
  SaturateNonce nonce;
  nonce.fill(static_cast<std::byte>(number));
  return nonce;
}

TimePoint at(Duration t) { return kTimeZero + t; }

SaturateUpdate full_update() {
  SaturateUpdate update{.sequence = 12'345,
                        .sent = at(12'345'678us),
                        .newest = 99,
                        .newest_sent = at(-5us),
                        .newest_arrived = at(12'300ms),
                        .records_total = 1'000,
                        .records_from = 7,
                        .stopped_at = 3,
                        .measured_from = at(4ms),
                        .measured_to = at(1h),
                        .phase = SaturatePhase::kCollecting,
                        .closed = true,
                        .wants_end = true,
                        .filled = true,
                        .first_record = 950,
                        .records = {}};
  Rng rng{1};
  TimePoint arrived = at(1s);
  for (size_t i = 0; i < kUpdateRecordsMax; ++i) {
    arrived += std::chrono::microseconds{rng.below(1'000'000'000)};
    update.records.push_back({rng.below(kSaturateDatagramsMax + 1), arrived});
  }
  return update;
}

std::vector<SaturateDatagram> one_of_each() {
  return {
      {SaturatePath::kLink, true, SaturateHello{nonce_of(1)}},
      {SaturatePath::kFeedback, false, SaturateChallenge{nonce_of(1), nonce_of(2), nonce_of(3)}},
      {SaturatePath::kFeedback, true, SaturateStart{nonce_of(1), nonce_of(3), false, true, true}},
      {SaturatePath::kLink, false, full_update()},
      {SaturatePath::kLink, true, SaturateUpdate{}}};
}

TEST(SaturateWire, WrittenMessageIsReadBack) {
  const SaturateKey key = key_of_token("t");
  for (const SaturateDatagram& datagram : one_of_each()) {
    const auto bytes = encode_saturate(datagram, key, 1452);
    EXPECT_EQ(bytes.size(), 1452U);
    const auto again = parse_saturate(bytes);
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(*again, datagram);
    EXPECT_TRUE(tag_is_good(bytes, key));
    EXPECT_FALSE(tag_is_good(bytes, key_of_token("u")));
  }
}

TEST(SaturateWire, EveryTruncationIsAnErrorAndNoChangeKeepsItsTag) {
  const SaturateKey key = key_of_token("t");
  for (const SaturateDatagram& datagram : one_of_each()) {
    auto bytes = encode_saturate(datagram, key);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(parse_saturate(std::span{bytes}.first(size)).has_value()) << size;
    }
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] ^= std::byte{4};
      EXPECT_FALSE(parse_saturate(bytes).has_value() && tag_is_good(bytes, key)) << i;
      bytes[i] ^= std::byte{4};
    }
  }
}

TEST(SaturateWire, PaddingIsIgnored) {
  const SaturateKey key = key_of_token("t");
  auto bytes = encode_saturate({SaturatePath::kLink, true, full_update()}, key, 1472);
  bytes.back() = std::byte{0xff};
  EXPECT_TRUE(parse_saturate(bytes).has_value());
  EXPECT_TRUE(tag_is_good(bytes, key));
  EXPECT_LT(covered_size(bytes), kUpdateSizeMax);
}

TEST(SaturateWire, AnAnswerToAHelloIsSmallerThanTheHello) {
  const SaturateKey key = key_of_token("t");
  const auto hello = encode_saturate({SaturatePath::kLink, true, SaturateHello{}}, key);
  const auto challenge = encode_saturate({SaturatePath::kLink, false, SaturateChallenge{}}, key);
  EXPECT_EQ(hello.size(), kHelloSize);
  EXPECT_LT(challenge.size(), hello.size());
}

TEST(SaturateWire, NamesTheError) {
  const SaturateKey key = key_of_token("t");
  const auto good = encode_saturate({SaturatePath::kLink, true, full_update()}, key);
  const auto error_with = [&](size_t index, uint8_t value) {
    auto bytes = good;
    bytes[index] = static_cast<std::byte>(value);
    const auto parsed = parse_saturate(bytes);
    return parsed ? std::optional<SaturateWireError>{} : parsed.error();
  };
  EXPECT_EQ(error_with(0, 'X'), SaturateWireError::kNotOurs);
  EXPECT_EQ(error_with(4, 2), SaturateWireError::kBadVersion);
  EXPECT_EQ(error_with(5, 9), SaturateWireError::kBadType);
  EXPECT_EQ(error_with(6, 4), SaturateWireError::kBadField);
  EXPECT_EQ(error_with(8, 0xff), SaturateWireError::kTruncated);
  EXPECT_EQ(error_with(26, 0xff), SaturateWireError::kBadField) << "a sequence beyond all limits";
  EXPECT_EQ(parse_saturate({}).error(), SaturateWireError::kTruncated);
}

TEST(SaturateWire, ARecordsNumberIsWithinTheLimits) {
  const SaturateKey key = key_of_token("t");
  const auto with_records = [&](uint64_t first, uint64_t second) {
    SaturateUpdate update;
    update.records = {{first, at(1s)}, {second, at(2s)}};
    return parse_saturate(encode_saturate({SaturatePath::kLink, true, update}, key)).has_value();
  };
  EXPECT_TRUE(with_records(0, kSaturateDatagramsMax));
  EXPECT_TRUE(with_records(kSaturateDatagramsMax, 1));
  EXPECT_TRUE(with_records(kSaturateDatagramsMax, kSaturateDatagramsMax));
  EXPECT_FALSE(with_records(kSaturateDatagramsMax, kSaturateDatagramsMax + 1));
  EXPECT_FALSE(with_records(1, kSaturateDatagramsMax + 1));
}

TEST(SaturateWire, AStartAsksForADirectionAndForNothingUnknown) {
  const SaturateKey key = key_of_token("t");
  const auto good =
      encode_saturate({SaturatePath::kLink, true, SaturateStart{{}, {}, true, true, true}}, key);
  const auto less =
      encode_saturate({SaturatePath::kLink, true, SaturateStart{{}, {}, true, false, true}}, key);
  size_t settings = good.size() - 1;  // the last byte that differs
  while (good[settings] == less[settings]) {
    --settings;
  }
  for (int value = 0; value < 256; ++value) {
    auto bytes = good;
    bytes[settings] = static_cast<std::byte>(value);
    EXPECT_EQ(parse_saturate(bytes).has_value(), value < 8 && value % 4 != 0) << value;
  }
}

TEST(SaturateWire, ACookieIsGoodForOneAddressOnePathAndOneConnector) {
  const SaturateKey secret = key_of_token("s");
  Address here;
  here.port = 1;
  Address there = here;
  there.port = 2;
  const auto cookie = path_cookie(secret, here, SaturatePath::kLink, nonce_of(1));
  EXPECT_TRUE(same_nonce(cookie, path_cookie(secret, here, SaturatePath::kLink, nonce_of(1))));
  EXPECT_FALSE(same_nonce(cookie, path_cookie(secret, there, SaturatePath::kLink, nonce_of(1))));
  EXPECT_FALSE(same_nonce(cookie, path_cookie(secret, here, SaturatePath::kFeedback, nonce_of(1))));
  EXPECT_FALSE(same_nonce(cookie, path_cookie(secret, here, SaturatePath::kLink, nonce_of(2))));
  EXPECT_FALSE(
      same_nonce(cookie, path_cookie(key_of_token("r"), here, SaturatePath::kLink, nonce_of(1))));
}

}  // namespace
}  // namespace cress::traces
