#include "media/frame/assembler.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "transport/base/rng.hh"

namespace cress::media {
namespace {

using Messages = std::vector<std::vector<std::byte>>;

EncodedFrame random_frame(Rng& rng, uint32_t id, uint64_t bytes_max) {
  EncodedFrame frame{.id = id,
                     .reference_id = id,
                     .capture_time = TimePoint{Duration{static_cast<int64_t>(rng.next())}},
                     .key_frame = true,
                     .data = std::vector<std::byte>(1 + rng.below(bytes_max))};
  if (id > 0 && rng.chance(0.9)) {
    frame.key_frame = false;
    frame.reference_id = id - 1 - static_cast<uint32_t>(rng.below(id));
    frame.temporal_layer = static_cast<int>(rng.below(kTemporalLayersMax));
  }
  for (std::byte& b : frame.data) {
    b = static_cast<std::byte>(rng.next());
  }
  return frame;
}

void shuffle(Messages& messages, Rng& rng) {
  for (size_t i = messages.size(); i > 1; --i) {
    std::swap(messages[i - 1], messages[rng.below(i)]);
  }
}

EncodedFrame frame_of(uint32_t id, size_t bytes) {
  return {.id = id,
          .reference_id = id,
          .capture_time = kTimeZero + Duration{id * 33'333'333LL},
          .key_frame = true,
          .data = std::vector<std::byte>(bytes, static_cast<std::byte>(id))};
}

TEST(Fragment, SplitsEvenlyAndWithinTheLimit) {
  Rng rng{3};
  for (int round = 0; round < 300; ++round) {
    const EncodedFrame frame = random_frame(rng, static_cast<uint32_t>(rng.below(1000)), 20'000);
    const DataSize message_max{64 + static_cast<int64_t>(rng.below(1400))};
    const Messages messages = fragment(frame, message_max);
    ASSERT_EQ(static_cast<int64_t>(messages.size()), fragment_count(frame.size(), message_max));
    const auto [least, most] = std::ranges::minmax(
        messages, {}, [](const std::vector<std::byte>& message) { return message.size(); });
    EXPECT_LE(static_cast<int64_t>(most.size()), message_max.bytes());
    EXPECT_LE(most.size() - least.size(), 1U);
  }
}

TEST(Fragment, HeaderHasTheDocumentedLayout) {
  EncodedFrame frame{.id = 0x01020304,
                     .reference_id = 0x01020302,
                     .capture_time = TimePoint{Duration{0x0A0B0C0D0E0F1011}},
                     .key_frame = false,
                     .temporal_layer = 2,
                     .data = std::vector<std::byte>(70'000, std::byte{0x55})};
  const Messages messages = fragment(frame, DataSize{1024});
  ASSERT_EQ(messages.size(), 70U);
  const std::vector<int> expected{1, 4, 0, 69, 0,    70,   1,    0x11, 0x70, 0,    0,    2,
                                  1, 2, 3, 4,  0x0A, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F, 0x10, 0x11};
  ASSERT_EQ(static_cast<int64_t>(expected.size()), kFragmentHeaderSize.bytes());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(std::to_integer<int>(messages[69][i]), expected[i]) << "at byte " << i;
  }
}

TEST(Assembler, LargestFrameInTheSmallestMessagesComesOutEqual) {
  Rng rng{8};
  EncodedFrame frame = random_frame(rng, 5, 10);
  frame.data.assign(static_cast<size_t>(kEncodedFrameMax.bytes()), std::byte{7});
  Assembler assembler;
  std::optional<EncodedFrame> out;
  for (const auto& message : fragment(frame, kFragmentMessageMin)) {
    ASSERT_FALSE(out.has_value());
    out = assembler.handle_fragment(kTimeZero, message).value();
  }
  EXPECT_EQ(out, frame);
}

TEST(Assembler, ReorderedAndDuplicatedFramesComeOutEqualAndOnce) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng{seed};
    std::map<uint32_t, EncodedFrame> sent;
    Messages messages;
    for (uint32_t id = 0; id < 40; ++id) {
      sent.emplace(id, random_frame(rng, id, 9000));
      for (auto& message : fragment(sent.at(id), DataSize{1100})) {
        if (rng.chance(0.3)) {
          messages.push_back(message);
        }
        messages.push_back(std::move(message));
      }
    }
    shuffle(messages, rng);
    Assembler assembler;
    std::map<uint32_t, EncodedFrame> received;
    for (const auto& message : messages) {
      auto result = assembler.handle_fragment(kTimeZero, message);
      ASSERT_TRUE(result);
      if (const std::optional<EncodedFrame> frame = std::move(result).value()) {
        EXPECT_TRUE(received.emplace(frame->id, *frame).second) << "frame came out twice";
      }
    }
    EXPECT_EQ(received, sent);
    EXPECT_EQ(assembler.incomplete_frames(), 0U);
    EXPECT_EQ(assembler.incomplete_bytes(), DataSize{0});
    EXPECT_EQ(assembler.stats().frames_completed, sent.size());
  }
}

TEST(Assembler, LossLeavesOnlyTheLostFramesOut) {
  Rng rng{12};
  Assembler assembler;
  size_t whole = 0;
  size_t received = 0;
  TimePoint now = kTimeZero;
  for (uint32_t id = 0; id < 500; ++id) {
    now += 33ms;
    bool lost = false;
    for (const auto& message : fragment(random_frame(rng, id, 5000), DataSize{1100})) {
      if (rng.chance(0.1)) {
        lost = true;
        continue;
      }
      received += assembler.handle_fragment(now, message).value().has_value() ? 1 : 0;
    }
    whole += lost ? 0 : 1;
  }
  EXPECT_EQ(received, whole);
  EXPECT_LE(assembler.incomplete_frames(), 62U) << "age_max is two seconds of frames";
}

TEST(Assembler, FullDropsTheOldestFirstAndCountsIt) {
  Assembler assembler{{.frames_max = 3}};
  std::vector<Messages> frames;
  for (uint32_t id = 0; id < 5; ++id) {
    frames.push_back(fragment(frame_of(id, 2000), DataSize{1100}));
  }
  for (const uint32_t id : {1, 2, 3, 4}) {
    ASSERT_TRUE(assembler.handle_fragment(kTimeZero, frames[id][0]));
  }
  EXPECT_EQ(assembler.incomplete_frames(), 3U);
  EXPECT_EQ(assembler.stats().frames_dropped, 1U);
  EXPECT_FALSE(assembler.handle_fragment(kTimeZero, frames[1][1]).value()) << "1 was given up";
  EXPECT_FALSE(assembler.handle_fragment(kTimeZero, frames[0][0]).value()) << "0 is older than all";
  EXPECT_EQ(assembler.stats().frames_dropped, 2U);
  EXPECT_EQ(assembler.handle_fragment(kTimeZero, frames[2][1]).value(), frame_of(2, 2000));
}

TEST(Assembler, BytesAreReservedWhenAFrameBegins) {
  Assembler assembler{{.bytes_max = kEncodedFrameMax}};
  const size_t half = static_cast<size_t>(kEncodedFrameMax.bytes()) / 2;
  for (uint32_t id = 0; id < 3; ++id) {
    ASSERT_TRUE(
        assembler.handle_fragment(kTimeZero, fragment(frame_of(id, half), DataSize{1100})[0]));
    EXPECT_LE(assembler.incomplete_bytes(), kEncodedFrameMax);
  }
  EXPECT_EQ(assembler.incomplete_frames(), 2U);
}

TEST(Assembler, IncompleteFramesAge) {
  Assembler assembler{{.age_max = 100ms}};
  const Messages old = fragment(frame_of(1, 2000), DataSize{1100});
  ASSERT_TRUE(assembler.handle_fragment(kTimeZero, old[0]));
  ASSERT_TRUE(
      assembler.handle_fragment(kTimeZero + 101ms, fragment(frame_of(2, 10), DataSize{1100})[0]));
  EXPECT_EQ(assembler.incomplete_frames(), 0U);
  EXPECT_FALSE(assembler.handle_fragment(kTimeZero + 102ms, old[1]).value());
  EXPECT_EQ(assembler.stats().frames_dropped, 1U);
}

TEST(Assembler, DiscardedFramesDoNotComeBack) {
  Assembler assembler;
  const Messages frame = fragment(frame_of(7, 2000), DataSize{1100});
  ASSERT_TRUE(assembler.handle_fragment(kTimeZero, frame[0]));
  assembler.discard_through(7);
  EXPECT_EQ(assembler.incomplete_frames(), 0U);
  EXPECT_FALSE(assembler.handle_fragment(kTimeZero, frame[1]).value());
  EXPECT_FALSE(assembler.handle_fragment(kTimeZero, frame[0]).value());
  EXPECT_EQ(assembler.stats().too_old, 2U);
  EXPECT_TRUE(
      assembler.handle_fragment(kTimeZero, fragment(frame_of(8, 5), DataSize{1100})[0]).value());
}

struct Hostile {
  const char* what;
  size_t at;
  std::vector<int> bytes;
  FragmentError error;
};

TEST(Assembler, EachHostileHeaderGivesItsErrorAndChangesNothing) {
  const std::vector<Hostile> cases{
      {"version 2", 0, {2}, FragmentError::kBadVersion},
      {"reserved flag", 1, {0x81}, FragmentError::kBadFlags},
      {"lowest reserved flag", 1, {0x09}, FragmentError::kBadFlags},
      {"layer 3", 1, {0x06}, FragmentError::kBadFlags},
      {"key frame of layer 1", 1, {0x03}, FragmentError::kBadFlags},
      {"index beyond the count", 2, {0, 2}, FragmentError::kBadCount},
      {"no fragments", 4, {0, 0}, FragmentError::kBadCount},
      {"more fragments than bytes", 4, {0xFF, 0xFF}, FragmentError::kBadCount},
      {"empty frame", 6, {0, 0, 0}, FragmentError::kBadSize},
      {"16 MB frame", 6, {0xFF, 0xFF, 0xFF}, FragmentError::kBadSize},
      {"refers before frame 0", 9, {0, 0, 100}, FragmentError::kBadReference},
      {"key frame that refers", 9, {0, 0, 1}, FragmentError::kBadReference},
      {"delta frame that does not", 1, {0}, FragmentError::kBadReference},
      {"other count, same frame", 4, {0, 3}, FragmentError::kBadLength},
      {"other capture time, same frame", 16, {9}, FragmentError::kConflict},
  };
  const Messages good = fragment(frame_of(9, 2000), DataSize{1100});
  ASSERT_EQ(good.size(), 2U);
  for (const Hostile& hostile : cases) {
    SCOPED_TRACE(hostile.what);
    Assembler assembler;
    ASSERT_TRUE(assembler.handle_fragment(kTimeZero, good[0]));
    std::vector<std::byte> message = good[1];
    for (size_t i = 0; i < hostile.bytes.size(); ++i) {
      message[hostile.at + i] = static_cast<std::byte>(hostile.bytes[i]);
    }
    const auto result = assembler.handle_fragment(kTimeZero, message);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error(), hostile.error) << describe(result.error());
    EXPECT_EQ(assembler.stats().malformed, 1U);
    EXPECT_EQ(assembler.handle_fragment(kTimeZero, good[1]).value(), frame_of(9, 2000));
  }
}

TEST(Assembler, TruncatedMessagesAreNamedAtEveryLength) {
  const Messages good = fragment(frame_of(9, 2000), DataSize{1100});
  Assembler assembler;
  for (size_t length = 0; length < good[0].size(); ++length) {
    const auto result = assembler.handle_fragment(kTimeZero, std::span{good[0]}.first(length));
    ASSERT_FALSE(result) << length;
    EXPECT_EQ(result.error(), length < 24 ? FragmentError::kTruncated : FragmentError::kBadLength);
  }
  EXPECT_EQ(assembler.incomplete_frames(), 0U);
}

}  // namespace
}  // namespace cress::media
