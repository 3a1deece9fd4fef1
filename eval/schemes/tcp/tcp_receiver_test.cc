#include "eval/schemes/tcp/tcp_receiver.hh"

#include <gtest/gtest.h>

#include <vector>

namespace cress::schemes {
namespace {

constexpr int64_t kMss = kTcpPayloadMax.bytes();

/// Sends to a receiver in segment numbers.
class Talk {
 public:
  explicit Talk(const TcpReceiver::Options& options = {.quick_acks = 0}) : receiver(options) {}

  std::vector<TcpSegment> send(TimePoint now, int64_t number) {
    const TcpSegment segment{
        .sequence = number * kMss, .payload = kTcpPayloadMax, .timestamp = now};
    receiver.handle_datagram(now, {}, encode(segment));
    return answers(now);
  }
  std::vector<TcpSegment> answers(TimePoint now) {
    std::vector<TcpSegment> all;
    for (;;) {
      const std::optional<Transmit> datagram = receiver.poll_transmit(now);
      if (!datagram) {
        return all;
      }
      const auto parsed = parse_tcp_segment(datagram->bytes);
      EXPECT_TRUE(parsed);
      EXPECT_EQ(datagram->wire_size, wire_size(*parsed));
      all.push_back(*parsed);
    }
  }

  TcpReceiver receiver;
};

TcpRange block(int64_t first, int64_t last) { return {first * kMss, (last + 1) * kMss}; }

TEST(TcpReceiver, AcknowledgesEverySecondSegment) {
  Talk talk;
  for (int64_t i = 0; i < 100; i += 2) {
    EXPECT_TRUE(talk.send(kTimeZero, i).empty());
    const auto acks = talk.send(kTimeZero, i + 1);
    ASSERT_EQ(acks.size(), 1U);
    EXPECT_EQ(acks[0].acknowledgement, (i + 2) * kMss);
    EXPECT_EQ(talk.receiver.poll_timeout(), kNever);
  }
}

TEST(TcpReceiver, AcknowledgesALoneSegmentAfterFortyMilliseconds) {
  Talk talk;
  EXPECT_TRUE(talk.send(kTimeZero + 5ms, 0).empty());
  ASSERT_EQ(talk.receiver.poll_timeout(), kTimeZero + 45ms);
  talk.receiver.handle_timeout(kTimeZero + 44ms);
  EXPECT_TRUE(talk.answers(kTimeZero + 44ms).empty());
  talk.receiver.handle_timeout(kTimeZero + 45ms);
  const auto acks = talk.answers(kTimeZero + 45ms);
  ASSERT_EQ(acks.size(), 1U);
  EXPECT_EQ(acks[0].acknowledgement, kMss);
  EXPECT_EQ(acks[0].echo, kTimeZero + 5ms);
  EXPECT_EQ(talk.receiver.poll_timeout(), kNever);
}

TEST(TcpReceiver, AcknowledgesTheFirstSegmentsAtOnce) {
  Talk talk{{.quick_acks = 16}};
  for (int64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(talk.send(kTimeZero, i).size(), 1U) << i;
  }
  EXPECT_TRUE(talk.send(kTimeZero, 16).empty());
}

TEST(TcpReceiver, ReportsRangesBeyondAGapNewestFirst) {
  Talk talk;
  talk.send(kTimeZero, 0);
  talk.send(kTimeZero, 1);
  EXPECT_EQ(talk.send(kTimeZero, 3)[0].sacks, (std::vector<TcpRange>{block(3, 3)}));
  EXPECT_EQ(talk.send(kTimeZero, 4)[0].sacks, (std::vector<TcpRange>{block(3, 4)}));
  EXPECT_EQ(talk.send(kTimeZero, 6)[0].sacks, (std::vector<TcpRange>{block(6, 6), block(3, 4)}));
  EXPECT_EQ(talk.send(kTimeZero, 8)[0].sacks,
            (std::vector<TcpRange>{block(8, 8), block(6, 6), block(3, 4)}));
  // Three blocks at most: the oldest is dropped.
  EXPECT_EQ(talk.send(kTimeZero, 10)[0].sacks,
            (std::vector<TcpRange>{block(10, 10), block(8, 8), block(6, 6)}));
  // Joining two makes one block of them.
  EXPECT_EQ(talk.send(kTimeZero, 7)[0].sacks[0], block(6, 8));
  EXPECT_EQ(talk.receiver.received(), kTcpPayloadMax * 2);
  const auto filled = talk.send(kTimeZero, 2);
  ASSERT_EQ(filled.size(), 1U);
  EXPECT_EQ(filled[0].acknowledgement, 5 * kMss);
  EXPECT_EQ(talk.receiver.received(), kTcpPayloadMax * 5);
}

TEST(TcpReceiver, EchoesTheOldestSegmentThatIsNotYetAcknowledged) {
  Talk talk;
  talk.send(kTimeZero + 1ms, 0);
  EXPECT_EQ(talk.send(kTimeZero + 2ms, 1)[0].echo, kTimeZero + 1ms);
  // Out of order: the last in-order one stays. For the segment that fills the gap: its own.
  EXPECT_EQ(talk.send(kTimeZero + 3ms, 3)[0].echo, kTimeZero + 1ms);
  EXPECT_EQ(talk.send(kTimeZero + 9ms, 2)[0].echo, kTimeZero + 9ms);
}

// RFC 7323 §4.3: a datagram delayed by the network must not make round trips look longer.
TEST(TcpReceiver, AnOldDuplicatesTimestampIsNotEchoed) {
  Talk talk;
  talk.send(kTimeZero + 5ms, 0);
  talk.send(kTimeZero + 6ms, 1);
  EXPECT_EQ(talk.send(kTimeZero + 7ms, 2).size() + talk.send(kTimeZero + 8ms, 3).size(), 1U);
  const TcpSegment late{.sequence = 0,
                        .payload = kTcpPayloadMax,
                        .acknowledgement = 0,
                        .window = DataSize{},
                        .timestamp = kTimeZero + 1ms,
                        .echo = std::nullopt,
                        .sacks = {}};
  talk.receiver.handle_datagram(kTimeZero + 9ms, {}, encode(late));
  EXPECT_EQ(talk.answers(kTimeZero + 9ms).at(0).echo, kTimeZero + 7ms);
}

TEST(TcpReceiver, AnswersADuplicateAtOnceAndCountsItOnce) {
  Talk talk;
  talk.send(kTimeZero, 0);
  talk.send(kTimeZero, 1);
  const auto acks = talk.send(kTimeZero, 0);
  ASSERT_EQ(acks.size(), 1U);
  EXPECT_EQ(acks[0].acknowledgement, 2 * kMss);
  EXPECT_EQ(talk.receiver.received(), kTcpPayloadMax * 2);
  EXPECT_EQ(talk.receiver.stats().duplicates, 1U);
}

TEST(TcpReceiver, CountsADuplicateAheadOfAGapOnce) {
  Talk talk;
  talk.send(kTimeZero, 2);
  EXPECT_EQ(talk.receiver.stats().duplicates, 0U);
  talk.send(kTimeZero, 2);
  EXPECT_EQ(talk.receiver.stats().duplicates, 1U);
}

TEST(TcpReceiver, RejectsSegmentsBeyondItsWindow) {
  Talk talk{{.window = kTcpPayloadMax * 10, .quick_acks = 0}};
  EXPECT_EQ(talk.send(kTimeZero, 9)[0].sacks, (std::vector<TcpRange>{block(9, 9)}));
  const auto acks = talk.send(kTimeZero, 10);
  ASSERT_EQ(acks.size(), 1U);
  EXPECT_EQ(acks[0].window, kTcpPayloadMax * 10);
  EXPECT_EQ(acks[0].sacks, (std::vector<TcpRange>{block(9, 9)}));
  EXPECT_EQ(talk.receiver.stats().beyond_window, 1U);
}

TEST(TcpReceiver, CountsAndIgnoresInvalidSegments) {
  Talk talk;
  talk.receiver.handle_datagram(kTimeZero, {}, std::vector{std::byte{1}, std::byte{2}});
  EXPECT_EQ(talk.receiver.stats().malformed, 1U);
  EXPECT_TRUE(talk.answers(kTimeZero).empty());
  EXPECT_EQ(talk.receiver.received(), DataSize{});
}

}  // namespace
}  // namespace cress::schemes
