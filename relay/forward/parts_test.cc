// The parts of a room, each on its own.

#include <gtest/gtest.h>

#include <map>

#include "relay/forward/frame_cache.hh"
#include "relay/forward/leg_plan.hh"
#include "relay/forward/speaker_detector.hh"
#include "transport/base/rng.hh"

namespace cress::relay {
namespace {

using Messages = std::vector<std::vector<std::byte>>;

// A frame as its sender cuts it, with the member's headers.
Messages cut(const media::EncodedFrame& frame, int parity = 0) {
  Messages messages;
  for (const auto& message : media::fragment(frame, DataSize{1100}, parity)) {
    messages.push_back(room::build_member_message(5, message));
  }
  return messages;
}

media::EncodedFrame frame_of(uint32_t id, size_t bytes, bool anchor = false) {
  media::EncodedFrame frame{.id = id,
                            .reference_id = id == 0 ? 0 : id - 1,
                            .key_frame = id == 0,
                            .anchor = anchor,
                            .data = std::vector<std::byte>(bytes)};
  for (size_t i = 0; i < bytes; ++i) {
    frame.data[i] = static_cast<std::byte>(i * 7 + id);
  }
  return frame;
}

TEST(FrameCache, HoldsFramesUnchangedAndParityRestoresLostParts) {
  FrameCache cache{{}};
  const Messages messages = cut(frame_of(0, 5000), 2);
  ASSERT_EQ(messages.size(), 7U);
  for (const size_t i : {0U, 2U, 6U, 4U}) {
    const auto added = cache.handle_fragment(kTimeZero, messages[i]);
    ASSERT_TRUE(added);
    EXPECT_FALSE(added->became_whole);
  }
  EXPECT_EQ(cache.newest_anchor(), std::nullopt);
  const auto last = cache.handle_fragment(kTimeZero, messages[5]);
  ASSERT_TRUE(last);
  EXPECT_TRUE(last->became_whole);
  EXPECT_TRUE(last->has_rebuilt);
  EXPECT_EQ(cache.rebuilt(), (std::vector<uint16_t>{1, 3}));
  const CachedFrame* frame = cache.find(0);
  ASSERT_NE(frame, nullptr);
  for (size_t i = 0; i < messages.size(); ++i) {
    EXPECT_EQ(frame->parts[i], messages[i]) << i;
  }
  EXPECT_EQ(cache.newest_anchor(), 0U);
  EXPECT_EQ(cache.handle_fragment(kTimeZero, messages[0]).error(), FrameCache::Refusal::kKnown);
}

TEST(FrameCache, AFrameIsDecodableOnceAllThatItDependsOnIsWhole) {
  FrameCache cache{{}};
  const auto arrive = [&](uint32_t id) {
    (void)cache.handle_fragment(kTimeZero, cut(frame_of(id, 100, id == 2), 0).at(0));
  };
  for (const uint32_t id : {0U, 2U, 3U, 5U}) {
    arrive(id);
  }
  EXPECT_TRUE(cache.find(0)->decodable);
  EXPECT_FALSE(cache.find(2)->decodable);
  EXPECT_FALSE(cache.find(3)->decodable);
  EXPECT_EQ(cache.anchor_of(*cache.find(3))->id(), 2U);
  EXPECT_EQ(cache.anchor_of(*cache.find(5)), nullptr) << "4 is not here";
  arrive(1);
  EXPECT_TRUE(cache.find(2)->decodable);
  EXPECT_TRUE(cache.find(3)->decodable);
  EXPECT_FALSE(cache.find(5)->decodable);
  cache.refuse(*cache.find(3));
  EXPECT_FALSE(cache.find(3)->decodable);
}

TEST(FrameCache, RejectsHostileInputWithoutChange) {
  using enum FrameCache::Refusal;
  FrameCache cache{{.frame_max = DataSize{20'000}}};
  const Messages good = cut(frame_of(1000, 3000));
  ASSERT_TRUE(cache.handle_fragment(kTimeZero, good[0]));
  const DataSize held = cache.held();
  std::vector<std::byte> other_time = good[1];
  other_time[2 + 16] ^= std::byte{1};
  EXPECT_EQ(cache.handle_fragment(kTimeZero, other_time).error(), kMalformed);
  EXPECT_EQ(cache.handle_fragment(kTimeZero, {}).error(), kMalformed);
  EXPECT_EQ(cache.handle_fragment(kTimeZero, std::vector<std::byte>(25)).error(), kMalformed);
  EXPECT_EQ(cache.handle_fragment(kTimeZero, cut(frame_of(1001, 20'001))[0]).error(), kTooLarge);
  EXPECT_EQ(cache.handle_fragment(kTimeZero, cut(frame_of(400, 10))[0]).error(), kTooOld);
  EXPECT_EQ(cache.held(), held);
}

TEST(FrameCache, StaysWithinItsBytesUnderAnyFragmentsAndForgetsWithAge) {
  const FrameCacheOptions options{.bytes_max = DataSize{300'000}};
  FrameCache cache{options};
  Rng rng{7};
  TimePoint now = kTimeZero;
  std::map<uint32_t, Messages> frames;
  for (int round = 0; round < 8'000; ++round) {
    now += rng.below(3) * 1ms;
    const auto id = static_cast<uint32_t>(round / 4 + rng.below(20));
    Messages& messages = frames[id];
    if (messages.empty()) {
      messages = cut(frame_of(id, 1 + (id * 7919U) % 60'000U, id % 9 == 0));
    }
    (void)cache.handle_fragment(now, messages[rng.below(messages.size())]);
    ASSERT_LE(cache.held(), options.bytes_max);
    if (round % 50 == 0) {
      cache.forget_aged(now);
    }
  }
  EXPECT_GT(cache.held(), DataSize{100'000});
  cache.forget_aged(now + 10s);
  EXPECT_EQ(cache.held(), DataSize{});
}

TEST(FrameCache, AnchorsOutliveOthers) {
  FrameCache cache{{}};
  for (const auto& message : cut(frame_of(0, 2000))) {
    ASSERT_TRUE(cache.handle_fragment(kTimeZero, message));
  }
  for (const auto& message : cut(frame_of(1, 2000))) {
    ASSERT_TRUE(cache.handle_fragment(kTimeZero, message));
  }
  cache.forget_aged(kTimeZero + 1s);
  EXPECT_TRUE(cache.find(0)->holds_all());
  EXPECT_FALSE(cache.find(1)->holds_all());
  EXPECT_TRUE(cache.find(1)->whole);
  EXPECT_EQ(cache.newest_anchor(), 0U);
  cache.forget_aged(kTimeZero + 4s);
  EXPECT_EQ(cache.newest_anchor(), std::nullopt);
}

DataRate kbps(int64_t value) { return DataRate::kilobits_per_second(value); }

// Three that send equally: anchors 200, base 200, layers 100 each.
std::vector<PlannedSender> three(FrameKind level = FrameKind::kNone) {
  return {3, {.rates = {kbps(0), kbps(200), kbps(200), kbps(100), kbps(100)}, .level = level}};
}

TEST(LegPlan, GoesDownTheListAsFarAsTheLegCarries) {
  using enum FrameKind;
  const LegPlanOptions plain{.raise_margin = 1};
  const auto levels = [&](int64_t capacity) {
    return plan_leg(three(), kbps(capacity), plain).levels;
  };
  EXPECT_EQ(levels(1800), (std::vector{kLayer2, kLayer2, kLayer2}));
  EXPECT_EQ(levels(1799), (std::vector{kLayer2, kLayer2, kLayer1}));
  EXPECT_EQ(levels(1300), (std::vector{kLayer1, kBase, kBase}));
  EXPECT_EQ(levels(1000), (std::vector{kBase, kBase, kAnchor}));
  EXPECT_EQ(levels(600), (std::vector{kBase, kAnchor, kNone}));
  EXPECT_EQ(levels(399), (std::vector{kAnchor, kNone, kNone}));
}

TEST(LegPlan, ANarrowLegGetsSomeOfTheFirstSendersAnchors) {
  const LegPlan some = plan_leg(three(), kbps(50), {});
  EXPECT_EQ(some.levels[0], FrameKind::kAnchor);
  EXPECT_TRUE(some.is_sparse);
  EXPECT_EQ(some.levels[1], FrameKind::kNone);
  EXPECT_EQ(plan_leg(three(), kbps(30), {}).levels[0], FrameKind::kNone);
  EXPECT_EQ(plan_leg(three(FrameKind::kAnchor), kbps(30), {}).levels[0], FrameKind::kAnchor);
}

TEST(LegPlan, StaysWithinCapacityAndNeverGivesLessForMore) {
  Rng rng{3};
  for (int round = 0; round < 2000; ++round) {
    std::vector<PlannedSender> senders(1 + rng.below(12));
    for (PlannedSender& sender : senders) {
      for (size_t kind = 1; kind < kFrameKinds; ++kind) {
        sender.rates.at(kind) = kbps(static_cast<int64_t>(rng.below(500)));
      }
      sender.level = static_cast<FrameKind>(rng.below(5));
      sender.ceiling = static_cast<FrameKind>(rng.below(5));
    }
    const DataRate capacity = kbps(static_cast<int64_t>(rng.below(8000)));
    const LegPlan plan = plan_leg(senders, capacity, {});
    DataRate total;
    for (size_t i = 0; i < senders.size(); ++i) {
      EXPECT_LE(plan.levels[i], senders[i].ceiling);
      for (size_t kind = 1; kind <= static_cast<size_t>(plan.levels[i]); ++kind) {
        total = total + senders[i].rates.at(kind);
      }
    }
    EXPECT_TRUE(total <= capacity || plan.is_sparse);
  }
}

TEST(LegPlan, LevelsHaveHysteresis) {
  // At 1800 everything fits exactly: a leg that has it keeps it, one that does not have it needs
  // the margin.
  EXPECT_EQ(plan_leg(three(FrameKind::kLayer2), kbps(1800), {}).levels[2], FrameKind::kLayer2);
  EXPECT_LT(plan_leg(three(), kbps(1800), {}).levels[2], FrameKind::kLayer2);
  EXPECT_EQ(plan_leg(three(), kbps(1830), {}).levels[2], FrameKind::kLayer2);
}

// This many times 20 ms of each one's level; then the detector's steps.
struct Voices {
  SpeakerDetector detector;
  TimePoint now = kTimeZero;
  void pass(Duration length, const std::vector<int>& levels) {
    for (const TimePoint end = now + length; now < end; now += 20ms) {
      for (size_t slot = 0; slot < levels.size(); ++slot) {
        detector.handle_level(now, slot, levels[slot]);
      }
      if ((now - kTimeZero) % SpeakerDetector::kStep == Duration{}) {
        detector.advance(now);
      }
    }
  }
};

TEST(SpeakerDetector, SpeakerIsFoundInHalfASecondAndACoughIsIgnored) {
  Voices voices;
  voices.pass(2s, {90, 80, 127});
  EXPECT_EQ(voices.detector.speaker(), std::nullopt);
  voices.pass(500ms, {90, 30, 127});
  EXPECT_EQ(voices.detector.speaker(), 1U);
  voices.pass(200ms, {5, 30, 127});  // a cough
  EXPECT_EQ(voices.detector.speaker(), 1U);
  voices.pass(3s, {90, 30, 127});
  EXPECT_EQ(voices.detector.speaker(), 1U);
  voices.pass(3s, {90, 90, 127});  // silence: the last speaker stays
  EXPECT_EQ(voices.detector.speaker(), 1U);
  voices.pass(500ms, {30, 90, 127});
  EXPECT_EQ(voices.detector.speaker(), 0U);
  voices.detector.forget(0);
  EXPECT_EQ(voices.detector.speaker(), std::nullopt);
}

TEST(SpeakerDetector, TwoWhoSpeakAtOnceDoNotMakeItFlap) {
  Voices voices;
  Rng rng{9};
  voices.pass(1s, {90, 30});
  std::optional<size_t> before = voices.detector.speaker();
  int changes = 0;
  for (int i = 0; i < 1000; ++i) {
    voices.pass(100ms,
                {static_cast<int>(rng.below(20)) + 25, static_cast<int>(rng.below(20)) + 25});
    changes += voices.detector.speaker() != before ? 1 : 0;
    before = voices.detector.speaker();
  }
  EXPECT_LE(changes, 2);
}

TEST(SpeakerDetector, TheLoudestAreHeard) {
  Voices voices;
  voices.pass(1s, {20, 25, 30, 35, 40, 45, 50, 52});
  for (size_t slot = 0; slot < 8; ++slot) {
    EXPECT_EQ(voices.detector.is_heard(slot), slot < 6) << slot;
  }
  voices.pass(1s, {20, 90, 90, 90, 90, 90, 50, 52});
  EXPECT_TRUE(voices.detector.is_heard(7));
}

}  // namespace
}  // namespace cress::relay
