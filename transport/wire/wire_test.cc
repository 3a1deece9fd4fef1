#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <vector>

#include "transport/base/rng.hh"
#include "transport/wire/datagram.hh"
#include "transport/wire/wire_test_tools.hh"

namespace cress::wire {
namespace {

template <class T>
concept Ordered = requires(T a, T b) { a < b; };

std::vector<std::byte> random_bytes(Rng& rng, size_t size) {
  std::vector<std::byte> bytes(size);
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::byte>(rng.next()); });
  return bytes;
}

ForecastFrame random_forecast(Rng& rng) {
  ForecastFrame f;
  f.decided_before = rng.next() >> (1 + rng.below(63));
  f.received_or_lost = f.decided_before + rng.below(100'000);
  f.lost_complete_from =
      f.decided_before - rng.below(std::min<uint64_t>(f.decided_before, 200'000) + 1);
  f.time_100us = rng.next() >> rng.below(64);
  f.counts.resize(1 + rng.below(kForecastCountsMax));
  std::generate(f.counts.begin(), f.counts.end(),
                [&] { return static_cast<uint32_t>(rng.below(kForecastCountMax + 1)); });
  std::sort(f.counts.begin(), f.counts.end());
  uint64_t at = f.lost_complete_from;
  while (f.lost.size() < kLostRangesMax && f.decided_before - at > 20'000 && rng.chance(0.7)) {
    const uint64_t from = at + rng.below(5'000);
    f.lost.push_back({from, from + 1 + rng.below(5'000)});
    at = f.lost.back().to;
  }
  uint64_t sequence = rng.next() >> (1 + rng.below(63));
  for (uint64_t count = rng.below(kArrivalsMax + 1); count > 0 && rng.chance(0.98); --count) {
    f.arrivals.push_back(
        {sequence, f.time_100us - rng.below(std::min<uint64_t>(f.time_100us, 9'000) + 1)});
    sequence += 1 + rng.below(5'000);
  }
  return f;
}

TEST(WireSeq, CannotBeOrderedOnlyUnwrapped) { EXPECT_FALSE(Ordered<WireSeq>); }

TEST(WireSeq, UnwrapsToTheNearestValueAcrossEveryWrap) {
  Rng rng{1};
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t sequence = rng.next() >> (2 + rng.below(60));
    const uint64_t apart = rng.below(1U << 31U);
    const uint64_t checkpoint =
        rng.chance(0.5) ? sequence + apart : sequence - std::min(apart, sequence);
    ASSERT_EQ(WireSeq::wrap(sequence).unwrap(checkpoint), sequence)
        << sequence << " near " << checkpoint;
  }
}

TEST(Datagram, AHeaderBeginsWithNothingToSay) {
  const Header header;
  EXPECT_EQ(header.time_to_next_ms, 0);
  EXPECT_EQ(header.throwaway, 0U);
  EXPECT_EQ(header.sequence, WireSeq{0});
  EXPECT_EQ(header.timestamp_ms, kNoTimestamp);
  EXPECT_EQ(header.timestamp_reply_ms, kNoTimestamp);
}

TEST(Datagram, ParseReturnsWhatWasBuilt) {
  Rng rng{2};
  for (int i = 0; i < 2'000; ++i) {
    const Header header{.protection = Protection::kPlain,
                        .time_to_next_ms = static_cast<uint16_t>(rng.next()),
                        .sequence = WireSeq{static_cast<uint32_t>(rng.next())},
                        .throwaway = static_cast<uint32_t>(rng.next()),
                        .timestamp_ms = static_cast<uint16_t>(rng.next()),
                        .timestamp_reply_ms = static_cast<uint16_t>(rng.next())};
    DatagramBuilder builder{DataSize{1200}};
    const auto forecast = random_forecast(rng);
    const bool has_forecast = rng.chance(0.5) && builder.add_forecast(forecast);
    std::vector<std::pair<uint8_t, std::vector<std::byte>>> sent;
    for (uint64_t n = rng.below(4); n > 0; --n) {
      const auto message = random_bytes(rng, rng.below(500));
      const auto flow = static_cast<uint8_t>(rng.next());
      if (builder.add_message(flow, message)) {
        sent.emplace_back(flow, message);
      }
    }
    const DataSize payload = builder.payload();
    const auto bytes = builder.finish(header);
    ASSERT_LE(bytes.size(), 1200U);
    const auto parsed = parse_datagram(bytes);
    ASSERT_TRUE(parsed.has_value()) << i;
    EXPECT_EQ(parsed->header, header);
    EXPECT_EQ(parsed->payload, payload);
    EXPECT_EQ(parsed->forecast.has_value(), has_forecast);
    if (has_forecast) {
      EXPECT_EQ(*parsed->forecast, forecast);
    }
    ASSERT_EQ(parsed->messages.size(), sent.size());
    for (size_t m = 0; m < sent.size(); ++m) {
      EXPECT_EQ(parsed->messages[m].flow, sent[m].first);
      EXPECT_TRUE(std::ranges::equal(parsed->messages[m].bytes, sent[m].second));
    }
  }
}

TEST(Datagram, BuilderRejectsWhatDoesNotFitWithoutChange) {
  DatagramBuilder builder{DataSize{100}};
  const std::vector<std::byte> message(81);
  EXPECT_FALSE(builder.fits_message(DataSize{81}));
  EXPECT_FALSE(builder.add_message(0, message));
  EXPECT_EQ(builder.payload(), DataSize{0});
  EXPECT_TRUE(builder.add_message(0, std::span{message}.first(80)));
  EXPECT_EQ(builder.finish({}).size(), 100U);
}

TEST(Datagram, UnknownFramesAndPaddingAreSkipped) {
  DatagramBuilder builder{DataSize{1200}};
  const std::vector<std::byte> message(5, std::byte{7});
  builder.add_message(2, message);
  auto bytes = builder.finish({});
  for (const auto type : {std::byte{0}, std::byte{3}, std::byte{200}}) {
    bytes.insert(bytes.end(), {type, std::byte{0}, std::byte{2}, std::byte{1}, std::byte{1}});
  }
  const auto parsed = parse_datagram(bytes);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->messages.size(), 1U);
}

TEST(Datagram, EachKindOfBadInputHasItsError) {
  DatagramBuilder builder{DataSize{1200}};
  builder.add_message(2, std::vector<std::byte>(5));
  const auto good = builder.finish({});
  auto bad = good;
  bad[0] = std::byte{0x20};
  EXPECT_EQ(parse_datagram(bad).error(), WireError::kBadVersion);
  bad[0] = std::byte{0x11};
  EXPECT_EQ(parse_datagram(bad).error(), WireError::kUnsupportedProtection);
  EXPECT_EQ(parse_datagram(std::span{good}.first(15)).error(), WireError::kTruncated);
  EXPECT_EQ(parse_datagram(std::span{good}.first(17)).error(), WireError::kTruncated);
  EXPECT_EQ(parse_datagram(std::span{good}.first(good.size() - 1)).error(), WireError::kTruncated);
  EXPECT_EQ(parse_datagram(std::vector<std::byte>(65'508)).error(), WireError::kTooLong);
  bad = good;
  bad.resize(16);
  bad.insert(bad.end(), {std::byte{2}, std::byte{0}, std::byte{0}});
  EXPECT_EQ(parse_datagram(bad).error(), WireError::kBadFrame);
  bad.resize(16);
  bad.insert(bad.end(), {std::byte{1}, std::byte{0}, std::byte{1}, std::byte{0xFF}});
  EXPECT_EQ(parse_datagram(bad).error(), WireError::kBadForecast);
  bad.resize(16);
  EXPECT_TRUE(parse_datagram(bad).has_value()) << "a header alone is a heartbeat";
}

TEST(Datagram, AnyBytesGiveADatagramOrAnError) {
  Rng rng{4};
  for (int i = 0; i < 20'000; ++i) {
    DatagramBuilder builder{DataSize{1200}};
    builder.add_forecast(random_forecast(rng));
    builder.add_message(2, random_bytes(rng, rng.below(60)));
    auto bytes = builder.finish({});
    for (uint64_t flips = 1 + rng.below(6); flips > 0; --flips) {
      bytes[rng.below(bytes.size())] ^= static_cast<std::byte>(1U << rng.below(8));
    }
    bytes.resize(rng.chance(0.3) ? rng.below(bytes.size() + 1) : bytes.size());
    const auto parsed = parse_datagram(bytes);
    if (parsed && parsed->forecast) {
      EXPECT_EQ(broken_rule(*parsed->forecast), "");
    }
  }
}

}  // namespace
}  // namespace cress::wire
