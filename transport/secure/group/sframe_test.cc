#include "transport/secure/group/sframe.hh"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "transport/base/rng.hh"
#include "transport/secure/crypto/hex_test_tools.hh"

namespace cress::secure {
namespace {

std::vector<std::byte> encoded(uint64_t kid, uint64_t counter) {
  std::vector<std::byte> out;
  append_sframe_header({kid, counter}, out);
  return out;
}

TEST(SFrame, HeadersAreThoseOfTheRfc) {
  struct Vector {
    uint64_t kid;
    uint64_t counter;
    const char* header;
  };
  // From RFC 9605, appendix C.1.
  constexpr Vector kVectors[] = {
      {0, 0, "00"},
      {0, 1, "01"},
      {0, 0xff, "08ff"},
      {0, 0x100, "090100"},
      {0, 0xffff, "09ffff"},
      {0, 0x10000, "0a010000"},
      {0, 0xffffff, "0affffff"},
      {0, 0x1000000, "0b01000000"},
      {0, 0xffffffff, "0bffffffff"},
      {0, 0x100000000, "0c0100000000"},
      {0, 0xffffffffff, "0cffffffffff"},
      {0, 0x10000000000, "0d010000000000"},
      {0, 0xffffffffffff, "0dffffffffffff"},
      {0, 0x1000000000000, "0e01000000000000"},
      {0, 0xffffffffffffff, "0effffffffffffff"},
      {0, 0x100000000000000, "0f0100000000000000"},
      {0, 0xffffffffffffffff, "0fffffffffffffffff"},
      {1, 0, "10"},
      {1, 1, "11"},
      {1, 0xff, "18ff"},
      {1, 0xffffffffffffffff, "1fffffffffffffffff"},
      {0xff, 0, "80ff"},
      {0xff, 1, "81ff"},
      {0xff, 0xff, "88ffff"},
      {0xff, 0x100, "89ff0100"},
      {0xff, 0x10000000000, "8dff010000000000"},
      {0x100, 0, "900100"},
      {0x100, 0xff, "980100ff"},
      {0x100, 0x100, "9901000100"},
      {0x100, 0xffffffffffffffff, "9f0100ffffffffffffffff"},
      {0xffff, 0, "90ffff"},
      {0xffff, 0xffffff, "9affffffffff"},
      {0xffff, 0xffffffffffff, "9dffffffffffffffff"},
  };
  for (const Vector& v : kVectors) {
    EXPECT_EQ(to_hex(encoded(v.kid, v.counter)), v.header);
    const auto bytes = from_hex(v.header);
    const auto parsed = parse_sframe_header(bytes);
    ASSERT_TRUE(parsed) << v.header;
    EXPECT_EQ(parsed->header, (SFrameHeader{v.kid, v.counter}));
    EXPECT_EQ(parsed->size, bytes.size());
  }
}

TEST(SFrame, FramesAreThoseOfTheRfcInBothSuites) {
  struct Vector {
    SFrameSuite suite;
    const char* frame;
  };
  // From RFC 9605, appendix C.3: KID, CTR, base key, metadata and plain text are the same in all.
  constexpr Vector kVectors[] = {
      {SFrameSuite::kAes128GcmSha256,
       "9901234567b7412c2513a1b66dbb48841bbaf17f598751176ad847681a69c6d0b091c07018ce4adb34eb"},
      {SFrameSuite::kAes256GcmSha512,
       "990123456794f509d36e9beacb0e261d99c7d1e972f1fed787d4049f17ca21353c1cc24d56ceabced279"},
  };
  constexpr uint64_t kKid = 0x0123;
  constexpr uint64_t kCounter = 0x4567;
  const auto base_key = from_hex("000102030405060708090a0b0c0d0e0f");
  const auto metadata = from_hex("4945544620534672616d65205747");
  const auto plain = from_hex("64726166742d696574662d736672616d652d656e63");
  for (const Vector& v : kVectors) {
    SFrameKey sender{v.suite, Use::kSeal, kKid, base_key};
    EXPECT_EQ(to_hex(sender.seal(kCounter, metadata, plain)), v.frame);
    SFrameKey receiver{v.suite, Use::kOpen, kKid, base_key};
    const auto frame = from_hex(v.frame);
    const auto parsed = parse_sframe_header(frame);
    ASSERT_TRUE(parsed);
    const auto opened = receiver.open(*parsed, metadata, frame);
    ASSERT_TRUE(opened);
    EXPECT_EQ(*opened, plain);
  }
}

TEST(SFrame, ParseReturnsWhatWasWrittenForEverySizeOfBothNumbers) {
  Rng rng{1};
  for (int i = 0; i < 20'000; ++i) {
    const SFrameHeader header{rng.next() >> rng.below(64), rng.next() >> rng.below(64)};
    auto bytes = encoded(header.kid, header.counter);
    EXPECT_LE(bytes.size(), kSFrameHeaderMax);
    for (size_t cut = 0; cut < bytes.size(); ++cut) {
      EXPECT_EQ(parse_sframe_header(std::span{bytes}.first(cut)).error(), SFrameError::kTruncated);
    }
    const size_t size = bytes.size();
    bytes.push_back(std::byte{9});  // of the ciphertext
    const auto parsed = parse_sframe_header(bytes);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->header, header);
    EXPECT_EQ(parsed->size, size);
  }
}

TEST(SFrame, ANumberInMoreBytesThanItNeedsIsRefused) {
  for (const char* text :
       {"0807", "80ff07", "8007", "090007", "0900ff", "9000ff08", "0f00ffffffffffffff"}) {
    const auto parsed = parse_sframe_header(from_hex(text));
    if (std::string_view{text} == "80ff07") {
      EXPECT_TRUE(parsed) << "the counter is in the config byte, 07 is text";
      continue;
    }
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error(), SFrameError::kNotMinimal) << text;
  }
}

TEST(SFrame, EveryModificationOrTruncationIsDetected) {
  const auto base_key = from_hex("000102030405060708090a0b0c0d0e0f");
  const auto metadata = from_hex("0102030405");
  const auto plain = from_hex("000102030405060708090a0b0c0d0e0f10111213");
  SFrameKey sender{SFrameSuite::kAes128GcmSha256, Use::kSeal, 300, base_key};
  SFrameKey receiver{SFrameSuite::kAes128GcmSha256, Use::kOpen, 300, base_key};
  const auto opens = [&](std::span<const std::byte> beside, std::span<const std::byte> frame) {
    const auto parsed = parse_sframe_header(frame);
    return parsed && parsed->header.kid == 300 && receiver.open(*parsed, beside, frame).has_value();
  };
  const auto frame = sender.seal(70'000, metadata, plain);
  EXPECT_TRUE(opens(metadata, frame));
  for (size_t bit = 0; bit < frame.size() * 8; ++bit) {
    auto changed = frame;
    changed[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_FALSE(opens(metadata, changed)) << bit;
  }
  for (size_t bit = 0; bit < metadata.size() * 8; ++bit) {
    auto changed = metadata;
    changed[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_FALSE(opens(changed, frame)) << bit;
  }
  for (size_t size = 0; size < frame.size(); ++size) {
    EXPECT_FALSE(opens(metadata, std::span{frame}.first(size))) << size;
  }
}

TEST(SFrame, AnEmptyFrameIsAFrame) {
  const auto base_key = from_hex("00");
  SFrameKey sender{SFrameSuite::kAes256GcmSha512, Use::kSeal, 0, base_key};
  SFrameKey receiver{SFrameSuite::kAes256GcmSha512, Use::kOpen, 0, base_key};
  const auto frame = sender.seal(0, {}, {});
  EXPECT_EQ(frame.size(), 1 + kTagSize);
  const auto opened = receiver.open(*parse_sframe_header(frame), {}, frame);
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->empty());
}

}  // namespace
}  // namespace cress::secure
