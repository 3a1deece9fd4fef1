// Goal: a parsed forecast keeps every rule of docs/protocol/wire.md, so that code using it need not
// check. Method: each rule at its limit, where it is accepted, and one beyond, where it is refused.

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "forecast.pb.h"
#include "transport/wire/datagram.hh"
#include "transport/wire/wire_test_tools.hh"

namespace cress::wire {
namespace {

using Message = proto::DeliveryForecast;
using Pairs = std::vector<std::pair<uint64_t, uint64_t>>;

/// A plain datagram whose only frame has this type and body.
std::vector<std::byte> datagram_of(uint8_t type, std::span<const std::byte> body) {
  std::vector<std::byte> bytes(16);
  bytes[0] = std::byte{0x10};
  bytes.insert(bytes.end(), {std::byte{type}, static_cast<std::byte>(body.size() >> 8U),
                             static_cast<std::byte>(body.size())});
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

std::vector<std::byte> datagram_of(const Message& message) {
  const std::string body = message.SerializeAsString();
  return datagram_of(1, std::as_bytes(std::span{body}));
}

/// The parsed forecast of `message`; nullopt if it is refused, and then as a bad forecast.
std::optional<ForecastFrame> parsed(const Message& message) {
  const auto datagram = parse_datagram(datagram_of(message));
  if (!datagram) {
    EXPECT_EQ(datagram.error(), WireError::kBadForecast);
    return std::nullopt;
  }
  EXPECT_EQ(broken_rule(*datagram->forecast), "");
  return datagram->forecast;
}
bool accepts(const Message& message) { return parsed(message).has_value(); }

/// Everything below 1000 is decided, losses are complete from 700 on.
Message with_lost(const Pairs& lost) {
  Message message;
  message.set_received_or_lost(1000);
  message.set_complete_lag(300);
  for (const auto& [down, length] : lost) {
    message.add_lost(down);
    message.add_lost(length);
  }
  return message;
}

/// The newest arrival has sequence 500; the report was made at 90.
Message with_arrivals(const Pairs& arrivals) {
  Message message;
  message.set_time_100us(90);
  message.set_newest_arrival(500);
  for (const auto& [down, age] : arrivals) {
    message.add_arrivals(down);
    message.add_arrivals(age);
  }
  return message;
}

Message with_counts(size_t number, uint32_t value) {
  Message message;
  for (size_t i = 0; i < number; ++i) {
    message.add_counts(value);
  }
  return message;
}

TEST(WireForecast, PointsMayMeetButNotCross) {
  Message message;
  message.set_received_or_lost(1000);
  message.set_decided_lag(400);
  message.set_complete_lag(600);
  ASSERT_TRUE(accepts(message));
  EXPECT_EQ(parsed(message)->received_or_lost, 1000U);
  EXPECT_EQ(parsed(message)->decided_before, 600U);
  EXPECT_EQ(parsed(message)->lost_complete_from, 0U);
  message.set_complete_lag(601);
  EXPECT_FALSE(accepts(message));
  message.set_complete_lag(0);
  message.set_decided_lag(1000);
  EXPECT_TRUE(accepts(message));
  message.set_decided_lag(1001);
  EXPECT_FALSE(accepts(message));
}

TEST(WireForecast, LostRangesAreReadNewestFirst) {
  const auto forecast = parsed(with_lost({{100, 50}, {20, 30}, {0, 7}}));
  ASSERT_TRUE(forecast);
  EXPECT_EQ(forecast->lost, (std::vector<LostRange>{{793, 800}, {800, 830}, {850, 900}}));
}

TEST(WireForecast, LostRangeStaysAboveTheCompletePoint) {
  EXPECT_TRUE(accepts(with_lost({{100, 200}})));
  EXPECT_FALSE(accepts(with_lost({{100, 201}})));
  EXPECT_TRUE(accepts(with_lost({{299, 1}})));
  EXPECT_FALSE(accepts(with_lost({{300, 1}})));
  EXPECT_FALSE(accepts(with_lost({{301, 1}})));
  EXPECT_FALSE(accepts(with_lost({{UINT64_MAX, 1}})));
  EXPECT_FALSE(accepts(with_lost({{100, UINT64_MAX}})));
}

TEST(WireForecast, SecondLostRangeIsBoundedByTheFirst) {
  // The first is [800, 900): 100 bytes remain below it.
  EXPECT_TRUE(accepts(with_lost({{100, 100}, {50, 50}})));
  EXPECT_FALSE(accepts(with_lost({{100, 100}, {50, 51}})));
  EXPECT_FALSE(accepts(with_lost({{100, 100}, {101, 1}})));
}

TEST(WireForecast, EmptyLostRangeIsRefused) {
  EXPECT_FALSE(accepts(with_lost({{100, 0}})));
  EXPECT_FALSE(accepts(with_lost({{100, 10}, {5, 0}})));
}

TEST(WireForecast, LostRangesAreBoundedAndComeInPairs) {
  Message message = with_lost(Pairs(kLostRangesMax, {1, 1}));
  ASSERT_TRUE(accepts(message));
  EXPECT_EQ(parsed(message)->lost.size(), 32U);
  message.add_lost(1);
  EXPECT_FALSE(accepts(message)) << "half a pair";
  message.add_lost(1);
  EXPECT_FALSE(accepts(message)) << "one too many";
  message = with_lost({{1, 1}});
  message.add_lost(1);
  EXPECT_FALSE(accepts(message));
}

TEST(WireForecast, ArrivalsAreReadNewestFirst) {
  const auto forecast = parsed(with_arrivals({{0, 5}, {100, 90}, {1, 0}}));
  ASSERT_TRUE(forecast);
  EXPECT_EQ(forecast->arrivals, (std::vector<ArrivalStamp>{{399, 90}, {400, 0}, {500, 85}}));
}

TEST(WireForecast, SameArrivalTwiceIsRefused) {
  EXPECT_TRUE(accepts(with_arrivals({{0, 5}, {1, 5}})));
  EXPECT_FALSE(accepts(with_arrivals({{0, 5}, {0, 5}})));
  EXPECT_FALSE(accepts(with_arrivals({{0, 5}, {1, 5}, {0, 6}})));
}

TEST(WireForecast, ArrivalStaysWithinSequenceAndTime) {
  EXPECT_TRUE(accepts(with_arrivals({{0, 5}, {500, 5}})));
  EXPECT_FALSE(accepts(with_arrivals({{0, 5}, {501, 5}})));
  EXPECT_FALSE(accepts(with_arrivals({{300, 5}, {201, 5}})));
  EXPECT_TRUE(accepts(with_arrivals({{0, 90}})));
  EXPECT_FALSE(accepts(with_arrivals({{0, 91}})));
}

TEST(WireForecast, MarksAreThoseOfTheirArrivals) {
  Message message = with_arrivals({{0, 5}, {100, 90}, {1, 0}});
  message.add_marked(0);
  message.add_marked(1);
  message.set_sees_ecn(true);
  const auto forecast = parsed(message);
  ASSERT_TRUE(forecast);
  EXPECT_EQ(forecast->arrivals,
            (std::vector<ArrivalStamp>{{399, 90, true}, {400, 0}, {500, 85, true}}));
  EXPECT_TRUE(forecast->sees_ecn);
  DatagramBuilder builder{DataSize{1200}};
  ASSERT_TRUE(builder.add_forecast(*forecast));
  EXPECT_EQ(parse_datagram(builder.finish({}))->forecast, forecast);
}

TEST(WireForecast, AMarkOfNoArrivalIsRefused) {
  const auto accepts_marks = [](const Pairs& arrivals, const std::vector<uint32_t>& marked) {
    Message message = with_arrivals(arrivals);
    message.mutable_marked()->Add(marked.begin(), marked.end());
    return accepts(message);
  };
  EXPECT_TRUE(accepts_marks({{0, 5}, {1, 5}}, {1}));
  EXPECT_FALSE(accepts_marks({{0, 5}, {1, 5}}, {2}));
  EXPECT_TRUE(accepts_marks({{0, 5}, {1, 5}}, {0, 0}));
  EXPECT_FALSE(accepts_marks({{0, 5}, {1, 5}}, {0, 1}));
  EXPECT_FALSE(accepts_marks({{0, 5}, {1, 5}}, {0, 0, 0}));
  EXPECT_FALSE(accepts_marks({{0, 5}, {1, 5}}, {UINT32_MAX}));
  EXPECT_FALSE(accepts_marks({}, {0}));
}

TEST(WireForecast, ArrivalsAreBoundedAndComeInPairs) {
  Message message = with_arrivals(Pairs(kArrivalsMax, {1, 1}));
  ASSERT_TRUE(accepts(message));
  EXPECT_EQ(parsed(message)->arrivals.size(), 128U);
  message.add_arrivals(1);
  EXPECT_FALSE(accepts(message)) << "half a pair";
  message.add_arrivals(1);
  EXPECT_FALSE(accepts(message)) << "one too many";
  message = with_arrivals({{1, 1}});
  message.add_arrivals(1);
  EXPECT_FALSE(accepts(message));
}

TEST(WireForecast, CountsAreBoundedInNumberAndValue) {
  EXPECT_TRUE(accepts(with_counts(64, 7)));
  EXPECT_FALSE(accepts(with_counts(65, 7)));
  EXPECT_TRUE(accepts(with_counts(3, 1'000'000)));
  EXPECT_FALSE(accepts(with_counts(3, 1'000'001)));
  Message message = with_counts(1, 7);
  message.add_counts(8);
  ASSERT_TRUE(accepts(message));
  EXPECT_EQ(parsed(message)->counts, (std::vector<uint32_t>{7, 8}));
  message.add_counts(7);
  EXPECT_FALSE(accepts(message)) << "it falls";
  message.set_counts(2, 1'000'001);
  EXPECT_FALSE(accepts(message)) << "the last one is too large";
}

TEST(WireForecast, OnlyTheFirstOfADatagramIsRead) {
  auto bytes = datagram_of(with_counts(1, 7));
  const auto second = datagram_of(with_counts(1, 9));
  bytes.insert(bytes.end(), second.begin() + 16, second.end());
  bytes.insert(bytes.end(), {std::byte{1}, std::byte{0}, std::byte{1}, std::byte{0xFF}});
  const auto datagram = parse_datagram(bytes);
  ASSERT_TRUE(datagram.has_value());
  EXPECT_EQ(datagram->forecast->counts, std::vector<uint32_t>{7});
}

TEST(WireForecast, BuilderChecksItsInput) {
  const auto build = [](const std::function<void(ForecastFrame&)>& spoil) {
    ForecastFrame forecast{.received_or_lost = 1000,
                           .time_100us = 90,
                           .counts = {},
                           .arrivals = {{300, 90}, {500, 0}},
                           .decided_before = 1000,
                           .lost_complete_from = 700,
                           .lost = {{700, 701}, {701, 1000}}};
    spoil(forecast);
    return DatagramBuilder{DataSize{1200}}.add_forecast(forecast);
  };
  EXPECT_TRUE(build([](ForecastFrame&) {}));
  EXPECT_DEATH(build([](ForecastFrame& f) { f.received_or_lost = 999; }), "points out of order");
  EXPECT_DEATH(build([](ForecastFrame& f) { f.lost_complete_from = 1001; }), "points out of order");
  EXPECT_DEATH(build([](ForecastFrame& f) { f.lost[0].to = 700; }), "ranges out of order");
  EXPECT_DEATH(build([](ForecastFrame& f) { f.lost[1].to = 1001; }), "ranges out of order");
  EXPECT_DEATH(build([](ForecastFrame& f) { f.lost[0].to = 702; }), "ranges out of order");
  EXPECT_DEATH(build([](ForecastFrame& f) { f.arrivals[0].time_100us = 91; }), "arrivals out of");
  EXPECT_DEATH(build([](ForecastFrame& f) { f.arrivals[0].sequence = 501; }), "arrivals out of");
}

TEST(Datagram, FramesMayEndExactlyAtTheDatagramsEnd) {
  const std::vector<std::byte> body(5);
  auto bytes = datagram_of(200, {});
  EXPECT_TRUE(parse_datagram(bytes).has_value());
  for (const size_t size : {size_t{17}, size_t{18}}) {
    EXPECT_EQ(parse_datagram(std::span{bytes}.first(size)).error(), WireError::kTruncated) << size;
  }
  bytes = datagram_of(200, body);
  EXPECT_TRUE(parse_datagram(bytes).has_value());
  bytes[18] = std::byte{6};  // its length
  EXPECT_EQ(parse_datagram(bytes).error(), WireError::kTruncated);
}

TEST(Datagram, MessageMayBeEmpty) {
  const auto datagram = parse_datagram(datagram_of(2, std::vector<std::byte>{std::byte{9}}));
  ASSERT_TRUE(datagram.has_value());
  ASSERT_EQ(datagram->messages.size(), 1U);
  EXPECT_EQ(datagram->messages[0].flow, 9);
  EXPECT_TRUE(datagram->messages[0].bytes.empty());
}

TEST(Datagram, BytesAreThoseOfTheDocument) {
  DatagramBuilder builder{DataSize{1200}};
  const std::vector<std::byte> message(0x0102, std::byte{0xAB});
  ASSERT_TRUE(builder.add_message(7, message));
  const auto bytes = builder.finish({.protection = Protection::kPlain,
                                     .time_to_next_ms = 0x1122,
                                     .sequence = WireSeq{0x33445566},
                                     .throwaway = 0x778899AA,
                                     .timestamp_ms = 0xBBCC,
                                     .timestamp_reply_ms = 0xDDEE});
  const std::vector<int> head{0x10, 0,    0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99,
                              0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 2,    0x01, 0x03, 7,    0xAB};
  ASSERT_EQ(bytes.size(), 16 + 4 + message.size());
  for (size_t i = 0; i < head.size(); ++i) {
    EXPECT_EQ(std::to_integer<int>(bytes[i]), head[i]) << "offset " << i;
  }
}

TEST(Datagram, LargestAndSmallestSizes) {
  EXPECT_EQ(DatagramBuilder{DataSize{16}}.finish({}).size(), 16U);
  EXPECT_DEATH(DatagramBuilder{DataSize{15}}, "size out of range");
  EXPECT_DEATH(DatagramBuilder{DataSize{65'508}}, "size out of range");
  DatagramBuilder largest{DataSize{65'507}};
  const std::vector<std::byte> message(65'507 - 20);
  ASSERT_TRUE(largest.add_message(2, message));
  const auto parsed = parse_datagram(largest.finish({}));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->payload, DataSize{65'507 - 16});
}

TEST(Datagram, BuilderAcceptsAnExactFit) {
  DatagramBuilder builder{DataSize{100}};
  EXPECT_TRUE(builder.fits_message(DataSize{80}));
  EXPECT_FALSE(builder.fits_message(DataSize{81}));
  ASSERT_TRUE(builder.add_message(0, std::vector<std::byte>(10)));
  EXPECT_EQ(builder.payload(), DataSize{14});
  EXPECT_TRUE(builder.fits_message(DataSize{66}));
  EXPECT_FALSE(builder.fits_message(DataSize{67}));
  const ForecastFrame forecast{.received_or_lost = 5,
                               .time_100us = 0,
                               .counts = {},
                               .arrivals = {},
                               .decided_before = 5,
                               .lost_complete_from = 5,
                               .lost = {}};
  // Two bytes of protobuf and the frame's header.
  EXPECT_FALSE(DatagramBuilder{DataSize{20}}.add_forecast(forecast));
  EXPECT_TRUE(DatagramBuilder{DataSize{21}}.add_forecast(forecast));
}

TEST(Datagram, BuilderReusesItsBufferWithRoomForTheTag) {
  std::vector<std::byte> buffer(50, std::byte{0xFF});
  buffer.reserve(116);
  const std::byte* const where = buffer.data();
  DatagramBuilder builder{DataSize{100}, std::move(buffer)};
  EXPECT_EQ(builder.payload(), DataSize{0});
  ASSERT_TRUE(builder.add_message(0, std::vector<std::byte>(80)));
  const auto bytes = builder.finish({});
  EXPECT_EQ(bytes.data(), where);
  EXPECT_EQ(bytes[1], std::byte{0});
  EXPECT_GE(DatagramBuilder{DataSize{100}}.finish({}).capacity(), 116U);
}

TEST(WireSeq, NeverUnwrapsBelowZero) {
  for (const uint64_t checkpoint : {uint64_t{0}, uint64_t{5}, uint64_t{0x7FFF'FFFE}}) {
    EXPECT_EQ(WireSeq{0xFFFF'FFFF}.unwrap(checkpoint), 0xFFFF'FFFFU);
  }
}

TEST(WireSeq, HalfASpanAwayStaysInTheCheckpointsSpan) {
  constexpr uint64_t kSpan = uint64_t{1} << 32U;
  constexpr uint64_t kHalf = kSpan / 2;
  const uint64_t base = 3 * kSpan;
  EXPECT_EQ(WireSeq{0}.unwrap(base + kHalf), base);
  EXPECT_EQ(WireSeq{0}.unwrap(base + kHalf + 1), base + kSpan);
  EXPECT_EQ(WireSeq{0x8000'0000}.unwrap(base), base + kHalf);
  EXPECT_EQ(WireSeq{0x8000'0001}.unwrap(base), base - kHalf + 1);
  EXPECT_EQ(WireSeq{0x8000'0001}.unwrap(kSpan), kHalf + 1) << "the lowest span there is";
}

TEST(WireSeq, DoesNotOverflowAtTheEndOf64Bits) {
  EXPECT_EQ(WireSeq{0}.unwrap(UINT64_MAX), UINT64_MAX - 0xFFFF'FFFFU);
  EXPECT_EQ(WireSeq{0}.unwrap(UINT64_MAX - (uint64_t{1} << 32U)), UINT64_MAX - 0xFFFF'FFFFU);
}

}  // namespace
}  // namespace cress::wire
