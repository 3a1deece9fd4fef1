// The parts of a room at their limits.

#include <gtest/gtest.h>

#include "relay/forward/frame_cache.hh"
#include "relay/forward/key_frame_requests.hh"
#include "relay/forward/leg_plan.hh"
#include "relay/forward/rate_meter.hh"
#include "relay/forward/room_options.hh"
#include "relay/forward/speaker_detector.hh"

namespace cress::relay {
namespace {

constexpr Duration kTinyBit = Duration{1};

struct CacheFrame {
  uint32_t id = 0;
  bool is_key = false;
  size_t size = 1000;
  int64_t message_max = 1100;
};

std::vector<std::vector<std::byte>> messages_of(const CacheFrame& of) {
  const media::EncodedFrame frame{.id = of.id,
                                  .reference_id = of.is_key ? of.id : of.id - 1,
                                  .key_frame = of.is_key,
                                  .data = std::vector<std::byte>(of.size)};
  std::vector<std::vector<std::byte>> messages;
  for (const auto& message : media::fragment(frame, DataSize{of.message_max}, 0)) {
    messages.push_back(room::build_member_message(5, message));
  }
  return messages;
}

/// All parts, or the reason for the first refusal.
std::optional<FrameCache::Refusal> put(FrameCache& cache, TimePoint now, const CacheFrame& frame) {
  for (auto& message : messages_of(frame)) {
    const auto added = cache.handle_fragment(now, std::move(message));
    if (!added) {
      return added.error();
    }
  }
  return std::nullopt;
}

TEST(FrameCacheLimit, AFrameMayBeAsLargeAsAllowedAndNoLarger) {
  FrameCache cache{{.frame_max = DataSize{20'000}}};
  EXPECT_EQ(put(cache, kTimeZero, {.id = 1, .size = 20'000}), std::nullopt);
  EXPECT_EQ(put(cache, kTimeZero, {.id = 2, .size = 20'001}), FrameCache::Refusal::kTooLarge);
}

TEST(FrameCacheLimit, AFrameMayHaveFiveHundredAndTwelveParts) {
  FrameCache cache{{}};
  EXPECT_EQ(put(cache, kTimeZero, {.id = 1, .size = 512 * 40, .message_max = 64}), std::nullopt);
  EXPECT_EQ(put(cache, kTimeZero, {.id = 2, .size = 512 * 40 + 1, .message_max = 64}),
            FrameCache::Refusal::kTooLarge);
}

TEST(FrameCacheLimit, AFrameMayBeFiveHundredAndElevenBehind) {
  FrameCache cache{{}};
  EXPECT_EQ(put(cache, kTimeZero, {.id = 1000}), std::nullopt);
  EXPECT_EQ(cache.newest(), 1000U);
  EXPECT_EQ(put(cache, kTimeZero, {.id = 489}), std::nullopt);
  EXPECT_EQ(put(cache, kTimeZero, {.id = 488}), FrameCache::Refusal::kTooOld);
  EXPECT_EQ(cache.newest(), 1000U);
  EXPECT_EQ(put(cache, kTimeZero, {.id = 1001}), std::nullopt);  // in the place of 489
  EXPECT_EQ(cache.find(489), nullptr);
  EXPECT_NE(cache.find(1000), nullptr);
  EXPECT_EQ(cache.find(1002), nullptr);
}

TEST(FrameCacheLimit, WhatIsHeldIsItsBytesAndATableEntryForEachPart) {
  FrameCache cache{{}};
  auto messages = messages_of({.id = 1, .size = 2000});
  ASSERT_EQ(messages.size(), 2U);
  const auto size = static_cast<int64_t>(messages[0].size());
  const int64_t entry = sizeof(std::vector<std::byte>);
  ASSERT_TRUE(cache.handle_fragment(kTimeZero, messages[0]));
  EXPECT_EQ(cache.held(), DataSize{size + 2 * entry});
  ASSERT_TRUE(cache.handle_fragment(kTimeZero, messages[1]));
  EXPECT_EQ(cache.held(), DataSize{2 * (size + entry)});
  EXPECT_EQ(put(cache, kTimeZero, {.id = 2, .size = 2000}), std::nullopt);
  EXPECT_EQ(cache.held(), DataSize{4 * (size + entry)});
  cache.refuse(*cache.find(1));
  EXPECT_EQ(cache.held(), DataSize{2 * (size + entry)});
  EXPECT_EQ(cache.handle_fragment(kTimeZero, messages[0]).error(), FrameCache::Refusal::kRefused);
}

TEST(FrameCacheLimit, OverItsBytesTheOldestGoesAnchorsLast) {
  constexpr int64_t kOne = 2 + 24 + 1000 + sizeof(std::vector<std::byte>);
  FrameCache cache{{.bytes_max = DataSize{3 * kOne}, .frame_max = DataSize{1000}}};
  EXPECT_EQ(put(cache, kTimeZero, {.id = 1, .is_key = true}), std::nullopt);
  EXPECT_EQ(put(cache, kTimeZero, {.id = 2}), std::nullopt);
  EXPECT_EQ(put(cache, kTimeZero, {.id = 3}), std::nullopt);
  EXPECT_TRUE(cache.find(2)->holds_all());
  EXPECT_EQ(put(cache, kTimeZero, {.id = 4}), std::nullopt);
  EXPECT_FALSE(cache.find(2)->holds_all());
  for (const uint32_t id : {1U, 3U, 4U}) {
    EXPECT_TRUE(cache.find(id)->holds_all()) << id;
  }
  for (const uint32_t id : {5U, 6U, 7U}) {
    EXPECT_EQ(put(cache, kTimeZero, {.id = id, .is_key = true}), std::nullopt);
  }
  EXPECT_FALSE(cache.find(1)->holds_all());
  EXPECT_EQ(cache.held(), DataSize{3 * kOne});
}

TEST(FrameCacheLimit, AnchorsAreKeptForThreeSecondsOthersForSixTenths) {
  FrameCache cache{{}};
  EXPECT_EQ(put(cache, kTimeZero, {.id = 1, .is_key = true}), std::nullopt);
  EXPECT_EQ(put(cache, kTimeZero, {.id = 2}), std::nullopt);
  cache.forget_aged(kTimeZero + 600ms);
  EXPECT_TRUE(cache.find(2)->holds_all());
  cache.forget_aged(kTimeZero + 600ms + kTinyBit);
  EXPECT_FALSE(cache.find(2)->holds_all());
  cache.forget_aged(kTimeZero + 3s);
  EXPECT_TRUE(cache.find(1)->holds_all());
  cache.forget_aged(kTimeZero + 3s + kTinyBit);
  EXPECT_FALSE(cache.find(1)->holds_all());
}

TEST(FrameCacheLimit, TheNewestAnchorIsOneThatIsHeld) {
  FrameCache cache{{}};
  for (const uint32_t id : {3U, 1U, 2U}) {
    EXPECT_EQ(put(cache, kTimeZero, {.id = id, .is_key = true}), std::nullopt);
  }
  EXPECT_EQ(cache.newest_anchor(), 3U);
  (void)cache.handle_fragment(kTimeZero, messages_of({.id = 4, .is_key = true, .size = 2000})[0]);
  EXPECT_EQ(cache.newest_anchor(), 3U);
  cache.refuse(*cache.find(3));
  EXPECT_EQ(cache.newest_anchor(), 2U);
  cache.refuse(*cache.find(1));
  EXPECT_EQ(cache.newest_anchor(), 2U);
}

TEST(FrameCacheLimit, StatesOfALegAreSetForItAlone) {
  FrameCache cache{{}};
  EXPECT_EQ(put(cache, kTimeZero, {.id = 1}), std::nullopt);
  EXPECT_EQ(put(cache, kTimeZero, {.id = 2}), std::nullopt);
  cache.find(1)->forwarding[7] = Forwarding::kForwarding;
  cache.settle_forwarding(7);
  EXPECT_EQ(cache.find(1)->forwarding[7], Forwarding::kForwarding);
  EXPECT_EQ(cache.find(2)->forwarding[7], Forwarding::kLeftOut);
  EXPECT_EQ(cache.find(2)->forwarding[8], Forwarding::kUndecided);
  cache.reset_forwarding(8, Forwarding::kMissed);
  EXPECT_EQ(cache.find(1)->forwarding[8], Forwarding::kMissed);
  EXPECT_EQ(cache.find(1)->forwarding[7], Forwarding::kForwarding);
}

DataRate in_kbps(int64_t value) { return DataRate::kilobits_per_second(value); }

LegPlan plan_one(FrameKind level, int64_t capacity, FrameKind ceiling = FrameKind::kLayer2) {
  const PlannedSender sender{
      .rates = {in_kbps(0), in_kbps(200), in_kbps(200), in_kbps(100), in_kbps(100)},
      .level = level,
      .ceiling = ceiling};
  return plan_leg(std::vector{sender}, in_kbps(capacity), {});
}

TEST(LegPlanLimit, MoreIsGivenWhereThirteenTenthsFit) {
  using enum FrameKind;
  EXPECT_EQ(plan_one(kAnchor, 459).levels[0], kAnchor);
  EXPECT_EQ(plan_one(kAnchor, 460).levels[0], kBase);  // 200 and 260
  EXPECT_EQ(plan_one(kBase, 400).levels[0], kBase);
  EXPECT_EQ(plan_one(kBase, 399).levels[0], kAnchor);
  EXPECT_EQ(plan_one(kBase, 529).levels[0], kBase);
  EXPECT_EQ(plan_one(kBase, 530).levels[0], kLayer1);
  EXPECT_EQ(plan_one(kLayer1, 629).levels[0], kLayer1);
  EXPECT_EQ(plan_one(kLayer1, 630).levels[0], kLayer2);
}

TEST(LegPlanLimit, AFifthOfTheAnchorsIsEnoughToBeginAndATenthToGoOn) {
  using enum FrameKind;
  EXPECT_EQ(plan_one(kNone, 39), (LegPlan{.levels = {kNone}}));
  EXPECT_EQ(plan_one(kNone, 40), (LegPlan{.levels = {kAnchor}, .is_sparse = true}));
  EXPECT_EQ(plan_one(kAnchor, 19), (LegPlan{.levels = {kNone}}));
  EXPECT_EQ(plan_one(kAnchor, 20), (LegPlan{.levels = {kAnchor}, .is_sparse = true}));
  EXPECT_EQ(plan_one(kAnchor, 199), (LegPlan{.levels = {kAnchor}, .is_sparse = true}));
  EXPECT_EQ(plan_one(kAnchor, 200), (LegPlan{.levels = {kAnchor}}));
  EXPECT_EQ(plan_one(kNone, 259), (LegPlan{.levels = {kAnchor}, .is_sparse = true}));
  EXPECT_EQ(plan_one(kNone, 260), (LegPlan{.levels = {kAnchor}}));
  EXPECT_EQ(plan_one(kNone, 100, kNone), (LegPlan{.levels = {kNone}}));
}

TEST(LegPlanLimit, NothingGoesAboveTheCeiling) {
  using enum FrameKind;
  for (const FrameKind ceiling : {kNone, kAnchor, kBase, kLayer1, kLayer2}) {
    EXPECT_EQ(plan_one(kNone, 10'000, ceiling).levels[0], ceiling);
  }
}

TEST(SpeakerLimit, EachFrameMovesLoudnessByASixteenth) {
  SpeakerDetector detector;
  detector.handle_level(kTimeZero, 3, 20);
  EXPECT_DOUBLE_EQ(detector.loudness(3), 40.0 / 16);
  detector.handle_level(kTimeZero + 15ms - kTinyBit, 3, 20);  // too soon
  EXPECT_DOUBLE_EQ(detector.loudness(3), 40.0 / 16);
  detector.handle_level(kTimeZero + 15ms, 3, 20);
  EXPECT_DOUBLE_EQ(detector.loudness(3), 40.0 / 16 + (40 - 40.0 / 16) / 16);
  EXPECT_EQ(detector.loudness(2), 0);
  detector.handle_level(kTimeZero, 2, 60);
  detector.handle_level(kTimeZero + 20ms, 2, 127);
  EXPECT_EQ(detector.loudness(2), 0);
  detector.handle_level(kTimeZero + 40ms, 2, 59);
  EXPECT_DOUBLE_EQ(detector.loudness(2), 1.0 / 16);
}

TEST(SpeakerLimit, LoudnessFadesOnceNothingWasHeardForLong) {
  SpeakerDetector detector;
  detector.handle_level(kTimeZero, 0, 20);
  detector.advance(kTimeZero + 120ms);
  EXPECT_DOUBLE_EQ(detector.loudness(0), 2.5);
  detector.advance(kTimeZero + 120ms + kTinyBit);
  EXPECT_DOUBLE_EQ(detector.loudness(0), 2.5 * 0.7);
}

// Each slot's loudness becomes this and stays, from one call to the next.
void speak(SpeakerDetector& detector, TimePoint from, TimePoint to,
           const std::vector<int>& loudness) {
  for (TimePoint now = from; now < to; now += 20ms) {
    for (size_t slot = 0; slot < loudness.size(); ++slot) {
      detector.handle_level(now, slot, 60 - loudness[slot]);
    }
  }
}

TEST(SpeakerLimit, EightDecibelsAboveTheFloorIsSpeech) {
  SpeakerDetector detector;
  EXPECT_EQ(detector.last_spoke(0), kTimeZero - 1h);
  speak(detector, kTimeZero, kTimeZero + 20s, {7});
  detector.advance(kTimeZero + 20s);
  EXPECT_EQ(detector.speaker(), std::nullopt);
  EXPECT_EQ(detector.last_spoke(0), kTimeZero - 1h);
  speak(detector, kTimeZero + 20s, kTimeZero + 40s, {9});
  detector.advance(kTimeZero + 40s);
  EXPECT_EQ(detector.speaker(), 0U);
  EXPECT_EQ(detector.last_spoke(0), kTimeZero + 40s);
}

TEST(SpeakerLimit, SixDecibelsMoreForSixTenthsOfASecondTakeOver) {
  for (const int louder : {5, 7}) {
    SpeakerDetector detector;
    const TimePoint later = kTimeZero + 20s;
    speak(detector, kTimeZero, later, {20, 0});
    detector.advance(later);
    ASSERT_EQ(detector.speaker(), 0U);
    speak(detector, later, later + 20s, {20, 20 + louder});
    const TimePoint challenge = later + 20s;
    for (Duration after{}; after < 600ms; after += 20ms) {
      detector.advance(challenge + after);
      EXPECT_EQ(detector.speaker(), 0U);
      speak(detector, challenge + after, challenge + after + 20ms, {20, 20 + louder});
    }
    detector.advance(challenge + 600ms - kTinyBit);
    EXPECT_EQ(detector.speaker(), 0U);
    detector.advance(challenge + 600ms);
    EXPECT_EQ(detector.speaker(), louder == 7 ? 1U : 0U);
  }
}

TEST(SpeakerLimit, ASpeakerSilentForFourTenthsIsReplacedByAnybody) {
  SpeakerDetector detector;
  speak(detector, kTimeZero, kTimeZero + 20s, {40, 9});
  detector.advance(kTimeZero + 20s);
  ASSERT_EQ(detector.speaker(), 0U);
  // Slot 0 falls below the threshold for speech; the other continues, as quiet as before.
  TimePoint now = kTimeZero + 20s;
  TimePoint spoke = now;
  while (detector.speaker() == 0U && now < kTimeZero + 30s) {
    speak(detector, now, now + 20ms, {0, 9});
    now += 20ms;
    detector.advance(now);
    spoke = std::max(spoke, detector.last_spoke(0));
  }
  EXPECT_EQ(detector.speaker(), 1U);
  EXPECT_EQ(now - spoke, 400ms);
}

TEST(SpeakerLimit, SixSpeakersAreHeardAndQuietOnesDoNotCount) {
  SpeakerDetector detector;
  speak(detector, kTimeZero, kTimeZero + 20s, {10, 11, 12, 13, 14, 15, 1});
  detector.advance(kTimeZero + 20s);
  for (size_t slot = 0; slot < 7; ++slot) {
    EXPECT_TRUE(detector.is_heard(slot)) << slot;
  }
  speak(detector, kTimeZero + 20s, kTimeZero + 40s, {10, 11, 12, 13, 14, 15, 16});
  detector.advance(kTimeZero + 40s);
  for (size_t slot = 0; slot < 7; ++slot) {
    EXPECT_EQ(detector.is_heard(slot), slot != 0) << slot;
  }
}

// One frame each, of 16 times this loudness: it is exact.
SpeakerDetector after_one_frame(SpeakerDetectorOptions options,
                                const std::vector<int>& sixteenths) {
  options.floor_level = 127;
  SpeakerDetector detector{options};
  for (size_t slot = 0; slot < sixteenths.size(); ++slot) {
    detector.handle_level(kTimeZero, slot, 127 - sixteenths[slot]);
  }
  detector.advance(kTimeZero);
  return detector;
}

TEST(SpeakerLimit, MoreThanOneDecibelIsHeardAndTheFirstOfEquals) {
  const SpeakerDetectorOptions two{.heard_max = 2};
  const auto heard = [](const SpeakerDetector& detector) {
    std::vector<size_t> slots;
    for (size_t slot = 0; slot < 64; ++slot) {
      if (detector.is_heard(slot)) {
        slots.push_back(slot);
      }
    }
    return slots;
  };
  EXPECT_EQ(heard(after_one_frame(two, {17, 16, 17})).size(), 64U) << "one is not above 1 dB";
  SpeakerDetector detector = after_one_frame(two, {17, 17, 17});
  EXPECT_EQ(heard(detector).size(), 63U);
  EXPECT_FALSE(detector.is_heard(2)) << "the first of equals are heard";
  detector.forget(0);
  detector.advance(kTimeZero);
  EXPECT_EQ(heard(detector).size(), 64U);
  detector = after_one_frame({.heard_max = 1}, std::vector<int>(62, 0));
  detector.handle_level(kTimeZero, 62, 100);
  detector.handle_level(kTimeZero, 63, 20);
  detector.advance(kTimeZero);
  EXPECT_FALSE(detector.is_heard(62)) << "the last slots, too";
  EXPECT_TRUE(detector.is_heard(63));
}

TEST(SpeakerLimit, ThresholdsAreReachedByTheirExactValues) {
  const SpeakerDetectorOptions options{.speaking = 2, .louder = 1, .louder_for = 0ms};
  EXPECT_EQ(after_one_frame(options, {31}).speaker(), std::nullopt);
  EXPECT_EQ(after_one_frame(options, {32}).speaker(), 0U);
  EXPECT_EQ(after_one_frame(options, {32, 33, 33}).speaker(), 1U) << "the first of the loudest";
  for (const auto& [other, speaker] : {std::pair{47, size_t{0}}, {48, size_t{1}}}) {
    SpeakerDetector detector = after_one_frame(options, {32});
    detector.handle_level(kTimeZero, 1, 127 - other);
    detector.advance(kTimeZero);
    EXPECT_EQ(detector.speaker(), speaker) << other;
  }
}

TEST(SpeakerLimit, AForgottenChallengerBeginsAgain) {
  SpeakerDetector detector;
  const std::vector<int> levels{10, 40};
  speak(detector, kTimeZero, kTimeZero + 20s, {10, 0});
  detector.advance(kTimeZero + 20s);
  ASSERT_EQ(detector.speaker(), 0U);
  TimePoint now = kTimeZero + 20s;
  const auto pass = [&](Duration length) {
    for (const TimePoint end = now + length; now < end; now += 20ms) {
      speak(detector, now, now + 20ms, levels);
      detector.advance(now);
    }
  };
  while (detector.loudness(1) < 30) {
    speak(detector, now, now + 20ms, levels);
    now += 20ms;
  }
  pass(600ms);
  EXPECT_EQ(detector.speaker(), 0U) << "20 ms are missing";
  detector.forget(1);
  EXPECT_EQ(detector.loudness(1), 0.0);
  EXPECT_EQ(detector.speaker(), 0U);
  while (detector.loudness(1) < 30) {
    speak(detector, now, now + 20ms, levels);
    now += 20ms;
  }
  pass(600ms);
  EXPECT_EQ(detector.speaker(), 0U) << "the slot's new member has its own 600 ms";
  pass(20ms);
  EXPECT_EQ(detector.speaker(), 1U);
}

TEST(RateMeterLimit, IsTheMeanOfUpToTwentySteps) {
  RateMeter meter;
  EXPECT_EQ(meter.rate(), DataRate{});
  meter.add(DataSize{100});
  EXPECT_EQ(meter.rate(), DataRate{});  // the current step does not count
  meter.step();
  EXPECT_EQ(meter.rate(), DataRate::bits_per_second(8000));
  meter.step();
  EXPECT_EQ(meter.rate(), DataRate::bits_per_second(4000));
  for (int i = 2; i < 20; ++i) {
    meter.step();
  }
  EXPECT_EQ(meter.rate(), DataRate::bits_per_second(400));
  meter.add(DataSize{300});
  meter.step();
  EXPECT_EQ(meter.rate(), DataRate::bits_per_second(1200));
  for (int i = 0; i < 19; ++i) {
    meter.step();
  }
  EXPECT_EQ(meter.rate(), DataRate::bits_per_second(1200));
  meter.step();
  EXPECT_EQ(meter.rate(), DataRate{});
}

TEST(KeyFrameRequestsLimit, OnePerIntervalAndAgainAtOnceAfterALoss) {
  KeyFrameRequests requests{1s};
  EXPECT_TRUE(requests.is_due(kTimeZero));
  requests.handle_asked(kTimeZero);
  EXPECT_FALSE(requests.is_due(kTimeZero + 1s - kTinyBit));
  EXPECT_TRUE(requests.is_due(kTimeZero + 1s));
  requests.handle_loss();
  EXPECT_TRUE(requests.is_due(kTimeZero));
  requests.handle_key_frame(kTimeZero + 2s);
  EXPECT_FALSE(requests.is_due(kTimeZero + 3s - kTinyBit));
  EXPECT_TRUE(requests.is_due(kTimeZero + 3s));
}

TEST(FrameKindLimit, IsByAnchorAndLayerAndNumbersNameTheirLeg) {
  using enum FrameKind;
  EXPECT_EQ(kind_of({.key_frame = true}), kAnchor);
  EXPECT_EQ(kind_of({.anchor = true}), kAnchor);
  EXPECT_EQ(kind_of({.temporal_layer = 0}), kBase);
  EXPECT_EQ(kind_of({.temporal_layer = 1}), kLayer1);
  EXPECT_EQ(kind_of({.temporal_layer = 2}), kLayer2);
  EXPECT_EQ(leg_of(1), 0U);
  EXPECT_EQ(leg_of(64), 63U);
  EXPECT_EQ(leg_of(65), 0U);
}

TEST(RoomStats, AreAddedNumberByNumber) {
  RoomStats one{1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,
                15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27};
  one += one;
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, last] =
      one;
  uint64_t expected = 0;
  for (const uint64_t value :
       {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, last}) {
    EXPECT_EQ(value, expected += 2);
  }
}

}  // namespace
}  // namespace cress::relay
