#include "eval/schemes/tcp/tcp_segment.hh"

#include <gtest/gtest.h>

#include "transport/base/rng.hh"

namespace cress::schemes {
namespace {

TcpSegment random_segment(Rng& rng) {
  TcpSegment segment;
  segment.sequence = static_cast<int64_t>(rng.below(uint64_t{1} << 60));
  segment.payload = DataSize{static_cast<int64_t>(rng.below(1449))};
  segment.acknowledgement = static_cast<int64_t>(rng.below(uint64_t{1} << 60));
  segment.window = DataSize{static_cast<int64_t>(rng.below(uint64_t{1} << 30))};
  segment.timestamp = TimePoint{Duration{static_cast<int64_t>(rng.below(uint64_t{1} << 62))}};
  if (rng.chance(0.7)) {
    segment.echo = TimePoint{Duration{static_cast<int64_t>(rng.below(uint64_t{1} << 62))}};
  }
  for (uint64_t blocks = rng.below(4); blocks > 0; --blocks) {
    const auto begin = static_cast<int64_t>(rng.below(uint64_t{1} << 59));
    segment.sacks.push_back({begin, begin + 1 + static_cast<int64_t>(rng.below(1'000'000))});
  }
  return segment;
}

TEST(TcpSegment, ReadsWhatItWrites) {
  Rng rng{1};
  for (int i = 0; i < 5'000; ++i) {
    const TcpSegment segment = random_segment(rng);
    const auto parsed = parse_tcp_segment(encode(segment));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, segment);
  }
}

TEST(TcpSegment, EveryCutAndEveryExtraByteIsAnError) {
  Rng rng{2};
  for (int i = 0; i < 200; ++i) {
    std::vector<std::byte> bytes = encode(random_segment(rng));
    for (size_t length = 0; length < bytes.size(); ++length) {
      const auto cut = parse_tcp_segment({bytes.data(), length});
      ASSERT_FALSE(cut);
      EXPECT_EQ(cut.error(), TcpSegmentError::kTruncated);
    }
    bytes.push_back(std::byte{0});
    const auto longer = parse_tcp_segment(bytes);
    ASSERT_FALSE(longer);
    EXPECT_EQ(longer.error(), TcpSegmentError::kTrailing);
  }
}

TEST(TcpSegment, AnyBytesAreReadAsTheyAreOrRefused) {
  Rng rng{3};
  int accepted = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::vector<std::byte> bytes = encode(random_segment(rng));
    for (uint64_t changes = 1 + rng.below(3); changes > 0; --changes) {
      bytes[rng.below(bytes.size())] = static_cast<std::byte>(rng.below(256));
    }
    if (const auto parsed = parse_tcp_segment(bytes)) {
      ++accepted;
      ASSERT_EQ(encode(*parsed), bytes);
    }
  }
  EXPECT_GT(accepted, 1'000);
}

TEST(TcpSegment, NamesTheError) {
  std::vector<std::byte> bytes = encode({.sacks = {{1448, 2896}}});
  const auto error_with = [&](size_t at, uint8_t value) {
    std::vector<std::byte> changed = bytes;
    changed[at] = static_cast<std::byte>(value);
    const auto parsed = parse_tcp_segment(changed);
    EXPECT_FALSE(parsed) << "byte " << at;
    return parsed.error();
  };
  EXPECT_EQ(error_with(0, 2), TcpSegmentError::kBadFlags);
  EXPECT_EQ(error_with(1, 4), TcpSegmentError::kBadFlags);
  EXPECT_EQ(error_with(3, 0xff), TcpSegmentError::kBadRange);   // payload over the maximum
  EXPECT_EQ(error_with(7, 0xff), TcpSegmentError::kBadRange);   // window over 1 GiB
  EXPECT_EQ(error_with(15, 0x80), TcpSegmentError::kBadRange);  // negative sequence
  EXPECT_EQ(error_with(32, 1), TcpSegmentError::kBadRange);     // an echo that is not there
  EXPECT_EQ(error_with(42, 1), TcpSegmentError::kBadRange);  // a block that ends before it begins
}

TEST(TcpSegment, IsChargedAsOnARealWire) {
  EXPECT_EQ(wire_size({.payload = kTcpPayloadMax}), DataSize{1500});
  EXPECT_EQ(wire_size({}), DataSize{52});
  EXPECT_EQ(wire_size({.sacks = {{0, 1}}}), DataSize{64});
  EXPECT_EQ(wire_size({.sacks = {{0, 1}, {2, 3}, {4, 5}}}), DataSize{80});
}

TEST(TcpRangeSet, AgreesWithASetOfNumbers) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng{seed};
    TcpRangeSet ranges;
    std::vector<bool> slow(200, false);
    for (int step = 0; step < 100; ++step) {
      const auto begin = static_cast<int64_t>(rng.below(190));
      const TcpRange added{begin, begin + 1 + static_cast<int64_t>(rng.below(10))};
      int64_t last = -1;
      ranges.add(added, [&](TcpRange fresh) {
        ASSERT_GE(fresh.begin, added.begin);
        ASSERT_LE(fresh.end, added.end);
        ASSERT_GT(fresh.begin, last);
        last = fresh.end;
        for (int64_t i = fresh.begin; i < fresh.end; ++i) {
          ASSERT_FALSE(slow[static_cast<size_t>(i)]) << "seed " << seed;
          slow[static_cast<size_t>(i)] = true;
        }
      });
      if (rng.chance(0.1)) {
        const auto limit = static_cast<int64_t>(rng.below(200));
        ranges.erase_below(limit);
        std::fill(slow.begin(), slow.begin() + limit, false);
      }
      int64_t total = 0;
      size_t runs = 0;
      for (size_t i = 0; i < slow.size(); ++i) {
        total += slow[i] ? 1 : 0;
        runs += slow[i] && (i == 0 || !slow[i - 1]) ? 1 : 0;
        ASSERT_EQ(ranges.contains(static_cast<int64_t>(i)), slow[i]) << "seed " << seed;
      }
      ASSERT_EQ(ranges.total(), total);
      ASSERT_EQ(ranges.size(), runs);
    }
  }
}

}  // namespace
}  // namespace cress::schemes
