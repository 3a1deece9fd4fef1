#include "media/playout/frame_clock.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::media {
namespace {

EncodedFrame key(uint32_t id) {
  return {.id = id, .reference_id = id, .key_frame = true, .data = {std::byte{1}}};
}

EncodedFrame delta(uint32_t id, uint32_t reference_id) {
  return {.id = id, .reference_id = reference_id, .key_frame = false, .data = {std::byte{2}}};
}

EncodedFrame delta(uint32_t id) { return delta(id, id - 1); }

std::vector<uint32_t> drain(FrameClock& clock, TimePoint now) {
  std::vector<uint32_t> ids;
  for (auto frame = clock.poll_decode(now); frame.has_value(); frame = clock.poll_decode(now)) {
    ids.push_back(frame->id);  // NOLINT(bugprone-unchecked-optional-access): the loop checks
  }
  return ids;
}

using Ids = std::vector<uint32_t>;

TEST(FrameClock, FramesInOrderGoAtOnce) {
  FrameClock clock;
  clock.handle_frame(kTimeZero, key(0));
  EXPECT_EQ(drain(clock, kTimeZero), Ids{0});
  for (uint32_t id = 1; id < 100; ++id) {
    clock.handle_frame(kTimeZero + id * 33ms, delta(id));
    EXPECT_EQ(drain(clock, kTimeZero + id * 33ms), Ids{id});
    EXPECT_EQ(clock.poll_timeout(), kNever) << "nothing waits";
  }
  EXPECT_FALSE(clock.needs_key_frame());
}

TEST(FrameClock, AReorderedFrameIsWaitedForAndThenAllGoInOrder) {
  FrameClock clock;
  clock.handle_frame(kTimeZero, key(0));
  drain(clock, kTimeZero);
  clock.handle_frame(kTimeZero + 70ms, delta(2));
  clock.handle_frame(kTimeZero + 75ms, delta(3));
  EXPECT_EQ(drain(clock, kTimeZero + 75ms), Ids{});
  EXPECT_EQ(clock.poll_timeout(), kTimeZero + 270ms);
  clock.handle_frame(kTimeZero + 80ms, delta(1));
  EXPECT_EQ(drain(clock, kTimeZero + 80ms), (Ids{1, 2, 3}));
  EXPECT_FALSE(clock.needs_key_frame());
}

TEST(FrameClock, ALostReferenceNeedsAKeyFrameAfterTheWaitAndNotBefore) {
  FrameClock clock;
  clock.handle_frame(kTimeZero, key(0));
  drain(clock, kTimeZero);
  clock.handle_frame(kTimeZero + 66ms, delta(2));
  clock.handle_timeout(kTimeZero + 265ms);
  EXPECT_FALSE(clock.needs_key_frame());
  EXPECT_EQ(clock.held_frames(), 1U);
  clock.handle_timeout(kTimeZero + 266ms);
  EXPECT_TRUE(clock.needs_key_frame());
  EXPECT_EQ(clock.held_frames(), 0U);
  EXPECT_EQ(clock.stats().expired, 1U);
  clock.handle_frame(kTimeZero + 300ms, delta(3));
  EXPECT_EQ(drain(clock, kTimeZero + 300ms), Ids{});
  clock.handle_frame(kTimeZero + 333ms, key(9));
  EXPECT_EQ(drain(clock, kTimeZero + 333ms), Ids{9});
  EXPECT_FALSE(clock.needs_key_frame());
  EXPECT_EQ(clock.stats().superseded, 1U) << "3 has become pointless";
}

TEST(FrameClock, OlderReferenceRepairsALossWithoutAKeyFrame) {
  FrameClock clock;
  clock.handle_frame(kTimeZero, key(0));
  clock.handle_frame(kTimeZero, delta(1));
  clock.handle_frame(kTimeZero, delta(2));
  drain(clock, kTimeZero);
  clock.handle_frame(kTimeZero + 1ms, delta(4));     // 3 is lost
  clock.handle_frame(kTimeZero + 2ms, delta(5, 1));  // the sender knows of it
  EXPECT_EQ(drain(clock, kTimeZero + 2ms), Ids{5});
  clock.handle_frame(kTimeZero + 3ms, delta(3));
  EXPECT_EQ(drain(clock, kTimeZero + 3ms), Ids{}) << "older than what is on the screen";
  EXPECT_EQ(clock.stats().late, 2U);
  EXPECT_FALSE(clock.needs_key_frame());
}

TEST(FrameClock, TheNewestKeyFrameSupersedesEverythingOlder) {
  FrameClock clock;
  clock.handle_frame(kTimeZero, key(0));
  clock.handle_frame(kTimeZero, delta(1));
  clock.handle_frame(kTimeZero, key(2));
  clock.handle_frame(kTimeZero, delta(3));
  EXPECT_EQ(drain(clock, kTimeZero), (Ids{2, 3}));
  EXPECT_EQ(clock.stats().superseded, 2U);
  clock.handle_frame(kTimeZero, delta(4, 1));
  EXPECT_EQ(drain(clock, kTimeZero), Ids{}) << "a key frame ends all earlier references";
}

TEST(FrameClock, AfterADecodeFailureOnlyAKeyFrameGoes) {
  FrameClock clock;
  clock.handle_frame(kTimeZero, key(0));
  clock.handle_frame(kTimeZero, delta(1));
  drain(clock, kTimeZero);
  clock.handle_decode_failure(kTimeZero);
  EXPECT_TRUE(clock.needs_key_frame());
  clock.handle_frame(kTimeZero, delta(2));
  EXPECT_EQ(drain(clock, kTimeZero), Ids{});
  clock.handle_frame(kTimeZero, key(3));
  EXPECT_EQ(drain(clock, kTimeZero), Ids{3});
}

TEST(FrameClock, HoldsNoMoreThanItMay) {
  FrameClock clock{{.held_max = 5}};
  for (uint32_t id = 100; id < 200; ++id) {
    clock.handle_frame(kTimeZero, delta(id));
    ASSERT_LE(clock.held_frames(), 5U);
  }
  EXPECT_TRUE(clock.needs_key_frame());
  EXPECT_EQ(clock.stats().overflowed, 95U);
  FrameClock heavy{{.held_bytes_max = kEncodedFrameMax}};
  EncodedFrame half = delta(7);
  half.data.resize(static_cast<size_t>(kEncodedFrameMax.bytes()) / 2);
  for (uint32_t id = 7; id < 17; ++id) {
    half.id = id;
    heavy.handle_frame(kTimeZero, half);
    ASSERT_LE(heavy.held_frames(), 2U);
  }
}

TEST(FrameClock, RandomLossKeepsOrderAndDecodedReferences) {
  size_t decoded_in_all = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng{seed};
    struct Arrival {
      TimePoint at;
      EncodedFrame frame;
    };
    std::vector<Arrival> arrivals;
    for (uint32_t id = 0; id < 600; ++id) {
      EncodedFrame frame = id == 0 || rng.chance(0.05) ? key(id) : delta(id);
      if (!frame.key_frame && rng.chance(0.1)) {
        frame.reference_id = id - 1 - static_cast<uint32_t>(rng.below(std::min(id, 4U)));
      }
      if (!rng.chance(0.03)) {
        arrivals.push_back({kTimeZero + id * 33ms + from_seconds(rng.exponential(0.03)), frame});
      }
    }
    std::ranges::stable_sort(arrivals, {}, &Arrival::at);
    FrameClock clock;
    std::vector<EncodedFrame> decoded;
    for (const Arrival& arrival : arrivals) {
      clock.handle_timeout(arrival.at);
      clock.handle_frame(arrival.at, arrival.frame);
      for (auto frame = clock.poll_decode(arrival.at); frame.has_value();
           frame = clock.poll_decode(arrival.at)) {
        // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the loop checks
        decoded.push_back(frame.value());
      }
      EXPECT_GT(clock.poll_timeout(), arrival.at) << "whatever waits has a deadline ahead";
    }
    for (size_t i = 1; i < decoded.size(); ++i) {
      ASSERT_GT(decoded[i].id, decoded[i - 1].id);
      if (!decoded[i].key_frame) {
        const auto reference =
            std::ranges::find(decoded, decoded[i].reference_id, &EncodedFrame::id);
        ASSERT_NE(reference, decoded.end());
        const auto current = decoded.begin() + static_cast<ptrdiff_t>(i);
        EXPECT_TRUE(std::none_of(reference + 1, current,
                                 [](const EncodedFrame& f) { return f.key_frame; }));
      }
    }
    const FrameClockStats& stats = clock.stats();
    EXPECT_EQ(stats.received, stats.decoded + stats.late + stats.duplicates + stats.superseded +
                                  stats.expired + stats.overflowed + clock.held_frames());
    decoded_in_all += decoded.size();
  }
  EXPECT_GT(decoded_in_all, 40U * 600U / 3U) << "and a third of the pictures still arrives";
}

TEST(FrameClock, AThousandAndTwentyFourReferencesAreRemembered) {
  FrameClock clock;
  for (uint32_t id = 0; id < 1'024; ++id) {
    clock.handle_frame(kTimeZero, id == 0 ? key(0) : delta(id));
    ASSERT_EQ(drain(clock, kTimeZero), Ids{id});
  }
  clock.handle_frame(kTimeZero, delta(1'024, 0));
  EXPECT_EQ(drain(clock, kTimeZero), Ids{1'024});
  clock.handle_frame(kTimeZero, delta(1'025, 0));
  EXPECT_EQ(drain(clock, kTimeZero), Ids{}) << "0 is forgotten";
  clock.handle_frame(kTimeZero, delta(1'026, 1));
  EXPECT_EQ(drain(clock, kTimeZero), Ids{1'026});
}

EncodedFrame large(EncodedFrame frame) {
  frame.data.resize(static_cast<size_t>(kEncodedFrameMax.bytes()) / 2);
  return frame;
}

TEST(FrameClock, BytesAreFreeAgainHoweverTheirFrameWent) {
  FrameClock clock{{.held_bytes_max = kEncodedFrameMax}};
  TimePoint now = kTimeZero;
  for (uint32_t id = 0; id < 40; id += 4) {
    now += 1s;
    clock.handle_frame(now, large(delta(id + 1, 9'999)));  // never decodable
    clock.handle_frame(now, large(key(id + 2)));           // supersedes it
    EXPECT_EQ(drain(clock, now), Ids{id + 2});
    clock.handle_frame(now, large(delta(id + 4, 9'999)));
    clock.handle_timeout(now + 200ms);  // without effect
    now += 200ms;
  }
  EXPECT_EQ(clock.stats().overflowed, 0U);
  EXPECT_EQ(clock.stats().superseded, 10U);
  EXPECT_EQ(clock.stats().expired, 10U);
  clock.handle_frame(now, large(delta(101, 9'999)));
  clock.handle_frame(now, large(delta(102, 9'999)));
  EXPECT_EQ(clock.stats().overflowed, 0U) << "both fit, exactly";
  clock.handle_frame(now, delta(103, 9'999));
  EXPECT_EQ(clock.stats().overflowed, 1U);
  EXPECT_EQ(clock.held_frames(), 2U);
}

TEST(FrameClock, OverflowTakesTheOldest) {
  FrameClock clock{{.held_max = 2}};
  clock.handle_frame(kTimeZero, key(4));
  clock.handle_frame(kTimeZero, delta(6, 9));
  EXPECT_FALSE(clock.needs_key_frame());
  clock.handle_frame(kTimeZero, delta(5));
  EXPECT_TRUE(clock.needs_key_frame());
  EXPECT_EQ(drain(clock, kTimeZero), Ids{}) << "the key frame has gone";
}

TEST(FrameClock, DuplicatesAndLateFramesAreDistinguished) {
  FrameClock clock;
  clock.handle_frame(kTimeZero, key(3));
  clock.handle_frame(kTimeZero, key(3));
  EXPECT_EQ(clock.stats().duplicates, 1U);
  EXPECT_EQ(drain(clock, kTimeZero), Ids{3});
  EXPECT_EQ(clock.last_decoded(), 3U);
  clock.handle_frame(kTimeZero, key(3));
  clock.handle_frame(kTimeZero, key(2));
  EXPECT_EQ(clock.stats().late, 2U);
  EXPECT_EQ(clock.stats().received, 4U);
  EXPECT_EQ(clock.stats().decoded, 1U);
}

TEST(FrameClock, TheEarliestDeadlineIsTheTimeout) {
  FrameClock clock;
  clock.handle_frame(kTimeZero + 10ms, delta(8, 1));
  clock.handle_frame(kTimeZero + 30ms, delta(5, 1));
  EXPECT_EQ(clock.poll_timeout(), kTimeZero + 210ms);
  clock.handle_timeout(kTimeZero + 210ms);
  EXPECT_EQ(clock.held_frames(), 1U);
  EXPECT_EQ(clock.poll_timeout(), kTimeZero + 230ms);
  EXPECT_DEATH(clock.handle_timeout(kTimeZero), "time went back");
}

}  // namespace
}  // namespace cress::media
