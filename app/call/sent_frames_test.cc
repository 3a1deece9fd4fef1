#include "app/call/sent_frames.hh"

#include <gtest/gtest.h>

#include <string>

namespace cress::app {
namespace {

using Kind = session::MessageOutcome::Kind;

constexpr DataSize kRoom{10'000};

std::vector<std::byte> fragment(uint32_t frame_id, size_t index) {
  return std::vector<std::byte>(100 + index, static_cast<std::byte>(frame_id));
}

/// Frames of fragments of 100, 101, ... bytes.
struct Sent {
  explicit Sent(bool repairs = true) : frames(repairs) {}
  void send(uint32_t frame_id, int fragments, int parity, TimePoint captured = kTimeZero) {
    frames.begin(captured, frame_id, parity);
    for (int i = 0; i < fragments; ++i) {
      frames.add(next++, frame_id, fragment(frame_id, static_cast<size_t>(i)));
    }
  }
  SentFrames::Consequence outcome(session::MessageId id, Kind kind,
                                  TimePoint now = kTimeZero + 60ms, DataSize room = kRoom) {
    return frames.handle_outcome(now, {.flow = session::kVideoFlow, .id = id, .kind = kind}, room);
  }

  SentFrames frames;
  session::MessageId next = 7;
};

TEST(SentFrames, LossesUpToTheParityHaveNoConsequence) {
  Sent sent;
  sent.send(1, 5, 2);
  for (const session::MessageId id : {7, 8}) {
    const auto consequence = sent.outcome(id, Kind::kLost);
    EXPECT_FALSE(consequence.lost);
    EXPECT_FALSE(consequence.again);
  }
}

TEST(SentFrames, EachLossBeyondIsSentAgainAndTheFrameIsLostOnce) {
  Sent sent;
  sent.send(1, 5, 1);
  sent.outcome(7, Kind::kLost);
  const auto first = sent.outcome(8, Kind::kLost);
  EXPECT_EQ(first.lost, 1U);
  ASSERT_TRUE(first.again);
  EXPECT_EQ(first.again->frame_id, 1U);
  EXPECT_EQ(first.again->message, fragment(1, 1));
  EXPECT_FALSE(sent.outcome(9, Kind::kDelivered).again);
  const auto second = sent.outcome(10, Kind::kLost);
  EXPECT_FALSE(second.lost);
  ASSERT_TRUE(second.again);
  EXPECT_EQ(second.again->message, fragment(1, 3));
}

TEST(SentFrames, FragmentThatWasSentAgainMayBeSentOnceMore) {
  Sent sent;
  sent.send(1, 1, 0);
  auto again = sent.outcome(7, Kind::kLost).again;
  ASSERT_TRUE(again);
  sent.send(2, 1, 0, kTimeZero + 33ms);  // message 8
  sent.frames.add(9, 1, std::move(again->message));
  EXPECT_EQ(sent.frames.frames(), 2U);
  EXPECT_FALSE(sent.outcome(8, Kind::kDelivered, kTimeZero + 100ms).again);
  EXPECT_EQ(sent.frames.frames(), 1U);
  const auto consequence = sent.outcome(9, Kind::kLost, kTimeZero + 120ms);
  EXPECT_FALSE(consequence.lost);
  ASSERT_TRUE(consequence.again);
  EXPECT_EQ(consequence.again->message, fragment(1, 0));
}

TEST(SentFrames, NothingIsSentAgainTooLateOrWithoutRoom) {
  const auto again = [](TimePoint now, DataSize room, Kind kind, bool repairs) {
    Sent sent{repairs};
    sent.send(1, 1, 0);
    const auto consequence = sent.outcome(7, kind, now, room);
    EXPECT_EQ(consequence.lost, 1U);
    return consequence.again.has_value();
  };
  EXPECT_TRUE(again(kTimeZero + 120ms, DataSize{100}, Kind::kLost, true));
  EXPECT_FALSE(again(kTimeZero + 121ms, DataSize{100}, Kind::kLost, true));
  EXPECT_FALSE(again(kTimeZero + 120ms, DataSize{99}, Kind::kLost, true));
  EXPECT_FALSE(again(kTimeZero + 120ms, DataSize{100}, Kind::kDropped, true))
      << "our own queue is full";
  EXPECT_FALSE(again(kTimeZero + 120ms, DataSize{100}, Kind::kLost, false));
}

TEST(SentFrames, NothingIsKeptOfFramesWhoseOutcomesAreKnown) {
  Sent sent;
  for (uint32_t id = 0; id < 100; ++id) {
    sent.send(id, 3, 1);
  }
  EXPECT_EQ(sent.frames.frames(), 100U);
  sent.outcome(7 + 298, Kind::kLost);  // of frame 99: all before it are known
  EXPECT_EQ(sent.frames.frames(), 1U);
  sent.outcome(7 + 299, Kind::kDelivered);
  EXPECT_EQ(sent.frames.frames(), 0U);
  const auto unknown = sent.outcome(7 + 299, Kind::kLost);
  EXPECT_FALSE(unknown.lost);
  EXPECT_FALSE(unknown.again);
}

TEST(SentFrames, FragmentBeforeOneSentAgainFreesItsOwnFrame) {
  Sent sent;
  sent.send(1, 1, 0);
  sent.send(2, 1, 0);
  const auto consequence = sent.outcome(8, Kind::kLost);  // frame 1 is known with it
  ASSERT_TRUE(consequence.again);
  EXPECT_EQ(consequence.again->frame_id, 2U);
  EXPECT_EQ(sent.frames.frames(), 1U);
}

}  // namespace
}  // namespace cress::app
