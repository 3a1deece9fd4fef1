#include "media/frame/assembler.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "media/frame/parity.hh"
#include "transport/base/rng.hh"

namespace cress::media {
namespace {

using Messages = std::vector<std::vector<std::byte>>;

EncodedFrame random_frame(Rng& rng, uint32_t id, uint64_t bytes_max) {
  EncodedFrame frame{.id = id,
                     .reference_id = id,
                     .capture_time = TimePoint{Duration{static_cast<int64_t>(rng.next() >> 8U)}},
                     .key_frame = true,
                     .data = std::vector<std::byte>(1 + rng.below(bytes_max))};
  if (id > 0 && rng.chance(0.9)) {
    frame.key_frame = false;
    frame.reference_id = id - 1 - static_cast<uint32_t>(rng.below(id));
    frame.temporal_layer = static_cast<int>(rng.below(kTemporalLayersMax));
    frame.anchor = frame.temporal_layer == 0 && rng.chance(0.5);
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

TEST(Fragment, AReferenceReachesBackToFrameZeroAndNoFurther) {
  EncodedFrame frame = frame_of(9, 100);
  frame.key_frame = false;
  frame.reference_id = 0;
  std::vector<std::byte> message = fragment(frame, DataSize{1100})[0];
  const auto parsed = parse_fragment(message);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->header.reference_distance, 9U);
  message[11] = std::byte{10};
  ASSERT_FALSE(parse_fragment(message));
  EXPECT_EQ(parse_fragment(message).error(), FragmentError::kBadReference);
}

TEST(Fragment, ParityFollowsTheFrameAndIsAsLongAsTheLongest) {
  Rng rng{4};
  for (int round = 0; round < 300; ++round) {
    const EncodedFrame frame = random_frame(rng, static_cast<uint32_t>(rng.below(1000)), 20'000);
    const DataSize message_max{64 + static_cast<int64_t>(rng.below(1400))};
    const Messages plain = fragment(frame, message_max);
    const int asked = static_cast<int>(rng.below(12));
    const Messages messages = fragment(frame, message_max, asked);
    const size_t allowed =
        plain.size() < kCodedFragmentsMax ? kCodedFragmentsMax - plain.size() : 0;
    ASSERT_EQ(messages.size(), plain.size() + std::min<size_t>(asked, allowed));
    ASSERT_TRUE(std::equal(plain.begin(), plain.end(), messages.begin()));
    const FragmentHeader first = parse_fragment(plain[0])->header;
    for (size_t i = plain.size(); i < messages.size(); ++i) {
      const auto parsed = parse_fragment(messages[i]);
      ASSERT_TRUE(parsed);
      FragmentHeader expected = first;
      expected.index = static_cast<uint16_t>(i);
      EXPECT_EQ(parsed->header, expected);
      EXPECT_TRUE(parsed->header.is_parity());
      EXPECT_EQ(messages[i].size(), messages[0].size());
    }
  }
}

TEST(Fragment, ParityIsOnlyForFramesThatLeaveRoomForIt) {
  const int64_t payload = (DataSize{1100} - kFragmentHeaderSize).bytes();
  for (const auto& [count, expected] : {std::pair{253, 2}, {254, 1}, {255, 0}, {300, 0}}) {
    const EncodedFrame frame = frame_of(1, static_cast<size_t>(payload * count));
    EXPECT_EQ(fragment(frame, DataSize{1100}, 9).size(), static_cast<size_t>(count + expected));
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
  EXPECT_FALSE(assembler.handle_fragment(kTimeZero, frames[0][1]).value());
  EXPECT_EQ(assembler.stats().frames_dropped, 2U) << "0 was given up once";
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

// A receiver's result for `messages` when it gets those of `order`, in that order: the frame must
// be returned with the `count`-th different one, once, and equal.
void expect_out_at(const Messages& messages, const std::vector<size_t>& order, size_t count,
                   const EncodedFrame& frame) {
  Assembler assembler;
  std::set<size_t> different;
  for (const size_t index : order) {
    const bool last = different.insert(index).second && different.size() == count;
    const auto result = assembler.handle_fragment(kTimeZero, messages[index]);
    ASSERT_TRUE(result);
    ASSERT_EQ(result->has_value(), last) << "after " << different.size() << " fragments";
    if (last) {
      ASSERT_EQ(**result, frame);
    }
    EXPECT_LT(assembler.incomplete_bytes().bytes(), 2 * frame.size().bytes() + 2);
  }
  const bool whole = different.size() >= count;
  EXPECT_EQ(assembler.incomplete_frames(), whole ? 0U : 1U);
  EXPECT_EQ(assembler.stats().frames_completed, whole ? 1U : 0U);
  if (whole) {
    EXPECT_EQ(assembler.incomplete_bytes(), DataSize{0});
  }
}

TEST(Assembler, AnyFragmentsEqualToTheCountGiveTheFrame) {
  Rng rng{21};
  for (int64_t count = 1; count <= 5; ++count) {
    for (int parity = 0; parity <= 4; ++parity) {
      EncodedFrame frame = random_frame(rng, 3, 1);
      for (int64_t i = 1; i < 40 * count - static_cast<int64_t>(rng.below(40)); ++i) {
        frame.data.push_back(static_cast<std::byte>(rng.next()));
      }
      const Messages messages = fragment(frame, DataSize{64}, parity);
      ASSERT_EQ(static_cast<int64_t>(messages.size()), count + parity);
      for (unsigned kept = 1; kept < 1U << messages.size(); ++kept) {
        SCOPED_TRACE(std::to_string(count) + " and " + std::to_string(parity) + ", kept " +
                     std::to_string(kept));
        std::vector<size_t> order;
        for (size_t i = 0; i < messages.size(); ++i) {
          if ((kept >> i & 1U) != 0) {
            order.push_back(i);
          }
        }
        expect_out_at(messages, order, static_cast<size_t>(count), frame);
        std::ranges::reverse(order);
        expect_out_at(messages, order, static_cast<size_t>(count), frame);
      }
    }
  }
}

TEST(Assembler, ParityGivesEachFrameOnceUnderLossAndReordering) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng{seed};
    const EncodedFrame frame = random_frame(rng, 9, 60'000);
    const Messages messages = fragment(frame, DataSize{200 + static_cast<int64_t>(rng.below(1200))},
                                       static_cast<int>(rng.below(40)));
    const size_t count = parse_fragment(messages[0])->header.count;
    std::vector<size_t> order;
    for (size_t i = 0; i < messages.size(); ++i) {
      const bool lost = rng.chance(0.1);
      for (uint64_t copies = lost ? 0 : 1 + rng.below(2); copies > 0; --copies) {
        order.push_back(i);
        std::swap(order.back(), order[rng.below(order.size())]);
      }
    }
    if (!order.empty()) {
      expect_out_at(messages, order, count, frame);
    }
  }
}

TEST(Assembler, ParityAloneGivesTheFrame) {
  Rng rng{31};
  for (const int count : {1, 2, 18, 127}) {
    EncodedFrame frame = random_frame(rng, 2, 1);
    frame.data.resize(static_cast<size_t>(1000 * count - count / 2), std::byte{0x3C});
    Messages messages = fragment(frame, DataSize{1024}, count);
    ASSERT_EQ(messages.size(), 2 * static_cast<size_t>(count));
    std::vector<size_t> order;
    for (size_t i = messages.size(); i > static_cast<size_t>(count); --i) {
      order.push_back(i - 1);
    }
    expect_out_at(messages, order, static_cast<size_t>(count), frame);
  }
}

TEST(Assembler, LargestFrameWithParityComesOutEqual) {
  Rng rng{32};
  EncodedFrame frame = random_frame(rng, 5, 1);
  frame.data.resize(static_cast<size_t>(kEncodedFrameMax.bytes()));
  for (std::byte& b : frame.data) {
    b = static_cast<std::byte>(rng.next());
  }
  const Messages messages = fragment(frame, DataSize{8300}, 127);
  ASSERT_EQ(messages.size(), 254U);
  std::vector<size_t> order;
  for (size_t i = 0; i < messages.size(); i += 2) {
    order.push_back(i);
  }
  expect_out_at(messages, order, 127, frame);
}

TEST(Assembler, ParityForTheLossBringsFrameLossToTheTarget) {
  Rng rng{41};
  for (const double loss : {0.02, 0.05, 0.15}) {
    int lost_plain = 0;
    int lost_with_parity = 0;
    constexpr int kFrames = 3000;
    Assembler plain;
    Assembler with_parity;
    for (uint32_t id = 0; id < kFrames; ++id) {
      const TimePoint now = kTimeZero + id * 33ms;
      const EncodedFrame frame = random_frame(rng, id, 12'000);
      const auto count = static_cast<int>(fragment_count(frame.size(), DataSize{1150}));
      bool out_plain = false;
      bool out_with_parity = false;
      for (const auto& message : fragment(frame, DataSize{1150}, parity_for(count, loss))) {
        if (rng.chance(loss)) {
          continue;
        }
        if (!parse_fragment(message)->header.is_parity()) {
          out_plain |= plain.handle_fragment(now, message).value().has_value();
        }
        out_with_parity |= with_parity.handle_fragment(now, message).value().has_value();
      }
      lost_plain += out_plain ? 0 : 1;
      lost_with_parity += out_with_parity ? 0 : 1;
    }
    // Each frame is lost with 1 % at most: over 1.5 % of 3000 would be 2.75 deviations off.
    EXPECT_LE(lost_with_parity, kFrames * 15 / 1000) << "at loss " << loss;
    EXPECT_GE(lost_plain, kFrames * 3 * loss) << "at loss " << loss;
    EXPECT_GT(with_parity.stats().frames_rebuilt, 0U);
    EXPECT_EQ(plain.stats().frames_rebuilt, 0U);
  }
}

TEST(Assembler, ForgedParityGivesAFrameOfTheRightLength) {
  Rng rng{51};
  const EncodedFrame frame = frame_of(7, 5000);
  Messages messages = fragment(frame, DataSize{1100}, 3);
  Assembler assembler;
  std::optional<EncodedFrame> out;
  for (size_t i = 3; i < messages.size(); ++i) {
    for (size_t at = 24; i >= 5 && at < messages[i].size(); ++at) {
      messages[i][at] = static_cast<std::byte>(rng.next());
    }
    out = assembler.handle_fragment(kTimeZero, messages[i]).value();
  }
  ASSERT_TRUE(out.has_value());
  EXPECT_EQ(out->size(), frame.size());
  EXPECT_NE(out->data, frame.data);
}

TEST(Assembler, ParityWithoutRoomIsIgnored) {
  const size_t half = static_cast<size_t>(kEncodedFrameMax.bytes()) / 2;
  const DataSize message_max{20'000};
  Assembler assembler{{.bytes_max = kEncodedFrameMax}};
  std::vector<Messages> frames;
  for (uint32_t id = 0; id < 2; ++id) {
    frames.push_back(fragment(frame_of(id, half), message_max, 5));
    ASSERT_TRUE(assembler.handle_fragment(kTimeZero, frames[id].back()));
  }
  EXPECT_EQ(assembler.incomplete_frames(), 1U) << "the second made room for itself";
  EXPECT_EQ(assembler.stats().parity_ignored, 0U);
  assembler = Assembler{{.bytes_max = kEncodedFrameMax}};
  for (uint32_t id = 0; id < 2; ++id) {
    ASSERT_TRUE(assembler.handle_fragment(kTimeZero, frames[id][0]));
  }
  for (const Messages& messages : frames) {
    EXPECT_EQ(assembler.handle_fragment(kTimeZero, messages.back()).value(), std::nullopt);
  }
  EXPECT_EQ(assembler.stats().parity_ignored, 2U);
  EXPECT_EQ(assembler.incomplete_frames(), 2U);
  EXPECT_EQ(assembler.incomplete_bytes(), kEncodedFrameMax);
  for (uint32_t id = 0; id < 2; ++id) {
    std::optional<EncodedFrame> out;
    for (size_t i = 1; !out; ++i) {
      ASSERT_LT(i, frames[id].size() - 5);
      out = assembler.handle_fragment(kTimeZero, frames[id][i]).value();
    }
    EXPECT_EQ(out, frame_of(id, half));
  }
  EXPECT_EQ(assembler.incomplete_bytes(), DataSize{0});
}

TEST(Assembler, HeldParityIsGivenBackWhenItsFrameIsDropped) {
  Assembler assembler;
  const Messages messages = fragment(frame_of(3, 9000), DataSize{1100}, 4);
  for (size_t i = messages.size() - 4; i < messages.size(); ++i) {
    ASSERT_TRUE(assembler.handle_fragment(kTimeZero, messages[i]));
  }
  EXPECT_EQ(assembler.incomplete_bytes(), DataSize{9000 + 4 * 1000});
  assembler.discard_through(3);
  EXPECT_EQ(assembler.incomplete_bytes(), DataSize{0});
}

TEST(Assembler, Last256FinishedFramesAreRemembered) {
  Assembler assembler;
  std::vector<Messages> frames;
  for (uint32_t id = 0; id < 257; ++id) {
    frames.push_back(fragment(frame_of(id, 10), DataSize{1100}));
    ASSERT_TRUE(assembler.handle_fragment(kTimeZero, frames[id][0]).value());
    ASSERT_FALSE(assembler.handle_fragment(kTimeZero, frames[0][0]).value());
  }
  EXPECT_EQ(assembler.stats().duplicates, 256U);
  EXPECT_EQ(assembler.stats().too_old, 1U);
  EXPECT_FALSE(assembler.handle_fragment(kTimeZero, frames[1][0]).value());
  EXPECT_EQ(assembler.stats().duplicates, 257U);
  EXPECT_EQ(assembler.stats().fragments, 2 * 257U + 1);
}

TEST(Assembler, DiscardedFramesNeedNoMemory) {
  Assembler assembler;
  for (uint32_t id = 0; id < 260; ++id) {
    ASSERT_TRUE(assembler.handle_fragment(kTimeZero, fragment(frame_of(id, 10), DataSize{1100})[0])
                    .value());
    if (id == 199) {
      assembler.discard_through(199);
    }
  }
  for (const uint32_t id : {150U, 199U, 200U}) {
    EXPECT_FALSE(assembler.handle_fragment(kTimeZero, fragment(frame_of(id, 10), DataSize{1100})[0])
                     .value());
  }
  EXPECT_EQ(assembler.stats().too_old, 2U);
  EXPECT_EQ(assembler.stats().duplicates, 1U);
}

TEST(Assembler, AFrameMayBeIncompleteForTwoSeconds) {
  const Messages old = fragment(frame_of(1, 2000), DataSize{1100});
  for (const auto& [age, comes] : {std::pair<Duration, bool>{2s, true}, {2s + 1us, false}}) {
    Assembler assembler;
    ASSERT_TRUE(assembler.handle_fragment(kTimeZero, old[0]));
    EXPECT_EQ(assembler.handle_fragment(kTimeZero + age, old[1]).value().has_value(), comes);
  }
}

TEST(Assembler, SixtyFourFramesMayBeIncomplete) {
  Assembler assembler;
  for (uint32_t id = 0; id < 65; ++id) {
    EXPECT_EQ(assembler.stats().frames_dropped, 0U);
    ASSERT_TRUE(
        assembler.handle_fragment(kTimeZero, fragment(frame_of(id, 2000), DataSize{1100})[0]));
  }
  EXPECT_EQ(assembler.incomplete_frames(), 64U);
  EXPECT_EQ(assembler.stats().frames_dropped, 1U);
}

TEST(Assembler, EightOfTheLargestFramesMayBeIncomplete) {
  Assembler assembler;
  for (uint32_t id = 0; id < 9; ++id) {
    EXPECT_EQ(assembler.stats().frames_dropped, 0U);
    const auto largest = static_cast<size_t>(kEncodedFrameMax.bytes());
    ASSERT_TRUE(
        assembler.handle_fragment(kTimeZero, fragment(frame_of(id, largest), DataSize{9000})[0]));
  }
  EXPECT_EQ(assembler.incomplete_frames(), 8U);
}

TEST(Assembler, DiscardLeavesNewerFramesAlone) {
  Assembler assembler;
  const Messages seven = fragment(frame_of(7, 2000), DataSize{1100});
  const Messages eight = fragment(frame_of(8, 2000), DataSize{1100});
  for (const Messages* frame : {&seven, &eight}) {
    ASSERT_TRUE(assembler.handle_fragment(kTimeZero, (*frame)[0]));
  }
  assembler.discard_through(7);
  assembler.discard_through(3);  // changes nothing
  EXPECT_EQ(assembler.stats().frames_dropped, 1U);
  EXPECT_FALSE(assembler.handle_fragment(kTimeZero, seven[1]).value());
  EXPECT_TRUE(assembler.handle_fragment(kTimeZero, eight[1]).value());
}

TEST(Fragment, AFrameMayHaveTheLargestSizeAndNoByteMore) {
  std::vector<std::byte> message = fragment(frame_of(9, 2000), DataSize{1100})[0];
  const auto with_size = [&message](int64_t size) {
    for (int i = 0; i < 3; ++i) {
      message[static_cast<size_t>(8 - i)] = static_cast<std::byte>(size >> (8 * i));
    }
    return parse_fragment(message).error();
  };
  EXPECT_EQ(with_size(kEncodedFrameMax.bytes()), FragmentError::kBadLength) << "its size is fine";
  EXPECT_EQ(with_size(kEncodedFrameMax.bytes() + 1), FragmentError::kBadSize);
  EXPECT_EQ(with_size(1), FragmentError::kBadCount) << "two fragments of one byte";
  EXPECT_EQ(with_size(2), FragmentError::kBadLength);
}

TEST(Fragment, MisuseIsOurBug) {
  const DataSize message_max{1100};
  EncodedFrame frame = frame_of(9, 2000);
  EXPECT_DEATH(fragment(frame, DataSize{63}), "too small");
  EXPECT_DEATH(fragment(frame, message_max, -1), "parity");
  frame.temporal_layer = 1;
  EXPECT_DEATH(fragment(frame, message_max), "layer");
  frame = frame_of(9, 2000);
  frame.reference_id = 8;
  EXPECT_DEATH(fragment(frame, message_max), "reference");
  frame.key_frame = false;
  frame.reference_id = 10;
  EXPECT_DEATH(fragment(frame, message_max), "reference");
  frame = frame_of(kReferenceDistanceMax + 1, 10);
  frame.key_frame = false;
  frame.reference_id = 0;
  EXPECT_DEATH(fragment(frame, message_max), "reference");
  frame.reference_id = 1;
  EXPECT_EQ(parse_fragment(fragment(frame, message_max)[0])->header.reference_distance,
            kReferenceDistanceMax);
  EXPECT_DEATH(
      fragment(frame_of(9, static_cast<size_t>(kEncodedFrameMax.bytes()) + 1), message_max),
      "too large");
  EXPECT_DEATH(fragment(frame_of(9, 0), message_max), "empty");
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
      {"lowest reserved flag", 1, {0x11}, FragmentError::kBadFlags},
      {"anchor of layer 1", 1, {0x0A}, FragmentError::kBadFlags},
      {"key anchor of layer 2", 1, {0x0D}, FragmentError::kBadFlags},
      {"layer 3", 1, {0x06}, FragmentError::kBadFlags},
      {"key frame of layer 1", 1, {0x03}, FragmentError::kBadFlags},
      {"index beyond all parity", 2, {0, 255}, FragmentError::kBadCount},
      {"other count, parity of the same frame", 4, {0, 1}, FragmentError::kBadLength},
      {"no fragments", 4, {0, 0}, FragmentError::kBadCount},
      {"more fragments than bytes", 4, {0xFF, 0xFF}, FragmentError::kBadCount},
      {"empty frame", 6, {0, 0, 0}, FragmentError::kBadSize},
      {"16 MB frame", 6, {0xFF, 0xFF, 0xFF}, FragmentError::kBadSize},
      // A delta frame: a key frame with a reference is wrong anyway.
      {"refers before frame 0",
       1,
       {0, 0, 1, 0, 2, 0, 7, 0xD0, 0, 0, 10},
       FragmentError::kBadReference},
      {"key frame that refers", 9, {0, 0, 1}, FragmentError::kBadReference},
      {"delta frame that does not", 1, {0}, FragmentError::kBadReference},
      {"other count, same frame", 4, {0, 3}, FragmentError::kBadLength},
      {"other capture time, same frame", 23, {9}, FragmentError::kConflict},
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

TEST(Assembler, HostileParityGivesItsErrorAndChangesNothing) {
  const std::vector<Hostile> cases{
      {"beyond the last index", 2, {0, 255}, FragmentError::kBadCount},
      {"far beyond it", 2, {0xFF, 0xFF}, FragmentError::kBadCount},
      {"frame of another size", 6, {0, 0x07, 0xCE}, FragmentError::kBadLength},
      {"frame of another size, same length", 6, {0, 0x07, 0xCF}, FragmentError::kConflict},
      {"another frame's time", 23, {9}, FragmentError::kConflict},
  };
  const Messages good = fragment(frame_of(9, 2000), DataSize{1100}, 1);
  ASSERT_EQ(good.size(), 3U);
  for (const Hostile& hostile : cases) {
    SCOPED_TRACE(hostile.what);
    Assembler assembler;
    ASSERT_TRUE(assembler.handle_fragment(kTimeZero, good[1]));
    std::vector<std::byte> message = good[2];
    for (size_t i = 0; i < hostile.bytes.size(); ++i) {
      message[hostile.at + i] = static_cast<std::byte>(hostile.bytes[i]);
    }
    const auto result = assembler.handle_fragment(kTimeZero, message);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error(), hostile.error) << describe(result.error());
    EXPECT_EQ(assembler.incomplete_bytes(), DataSize{2000});
    EXPECT_EQ(assembler.handle_fragment(kTimeZero, good[2]).value(), frame_of(9, 2000));
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

TEST(Fragment, CaptureTimesBeyondFourYearsAreRejected) {
  const auto parsed = [](Duration since_zero) {
    const EncodedFrame frame{
        .id = 7, .reference_id = 6, .capture_time = kTimeZero + since_zero, .data = {std::byte{1}}};
    return parse_fragment(fragment(frame, DataSize{1000}).front()).has_value();
  };
  EXPECT_TRUE(parsed(kCaptureTimeMax));
  EXPECT_TRUE(parsed(-kCaptureTimeMax));
  EXPECT_FALSE(parsed(kCaptureTimeMax + Duration{1}));
  EXPECT_FALSE(parsed(-kCaptureTimeMax - Duration{1}));
  EXPECT_FALSE(parsed(Duration::min()));
  EXPECT_FALSE(parsed(Duration::max()));
}

}  // namespace
}  // namespace cress::media
