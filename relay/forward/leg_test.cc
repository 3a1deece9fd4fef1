// One leg without its room: each of its rules, on both sides of its limit.

#include "relay/forward/leg.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "transport/wire/datagram.hh"

namespace cress::relay {
namespace {

constexpr Duration kInstant = Duration{1};
constexpr size_t kHere = 0;  // the leg's own slot; senders have those from 1 on
constexpr size_t kPart = 1000;

struct PlainFrame {
  uint32_t id = 0;
  uint32_t reference = 0;  // its own id: a key frame
  FrameKind kind = FrameKind::kAnchor;
  size_t size = kPart;
  int parity = 0;
};

std::vector<std::vector<std::byte>> parts_of(const PlainFrame& plain) {
  const media::EncodedFrame frame{.id = plain.id,
                                  .reference_id = plain.reference,
                                  .key_frame = plain.reference == plain.id,
                                  .temporal_layer = plain.kind == FrameKind::kLayer1   ? 1
                                                    : plain.kind == FrameKind::kLayer2 ? 2
                                                                                       : 0,
                                  .anchor = plain.kind == FrameKind::kAnchor,
                                  .data = std::vector<std::byte>(plain.size)};
  std::vector<std::vector<std::byte>> messages;
  for (const auto& message :
       media::fragment(frame, media::kFragmentHeaderSize + DataSize{kPart}, plain.parity)) {
    messages.push_back(room::build_member_message(1, message));
  }
  return messages;
}

/// What the leg handed to its session.
struct SentPart {
  room::MemberNumber from = room::kNobody;
  uint32_t frame = 0;
  uint16_t index = 0;
  friend bool operator==(const SentPart&, const SentPart&) = default;
};

class LegBench {
 public:
  explicit LegBench(size_t senders = 1, const RoomOptions& its_options = {})
      : options(its_options),
        leg(kTimeZero, kHere, options, stats),
        far_(kTimeZero, {}, std::make_unique<control::CressControl>(control::room_control())) {
    for (size_t slot = 1; slot <= senders; ++slot) {
      owned_.push_back(std::make_unique<Source>(
          kTimeZero, static_cast<room::MemberNumber>(slot + 1), slot, options));
      sources.at(slot) = owned_.back().get();
    }
    for (const session::FlowId flow :
         {session::kAudioFlow, session::kControlFlow, session::kVideoFlow}) {
      far_.open_flow(flow, {.priority = session::Priority::kControl});
    }
  }

  Source& source(size_t slot = 1) { return *sources.at(slot); }
  Forwarding forwarding(uint32_t id, size_t slot = 1) {
    return source(slot).cache.find(id)->forwarding.at(kHere);
  }
  bool wants_key(size_t slot = 1) const { return (leg.wants_key_frame() >> slot & 1U) != 0; }
  void plan(TimePoint now, std::vector<Leg::Place> places) { leg.set_plan(now, places, sources); }
  void plan(TimePoint now, FrameKind level) { plan(now, {{1, level}}); }

  /// A part of a frame arrives.
  CachedFrame& arrive_part(TimePoint now, std::vector<std::byte> message, size_t slot = 1) {
    const auto added = source(slot).cache.handle_fragment(now, std::move(message));
    EXPECT_TRUE(added);
    leg.handle_fragment(now, source(slot), *added);
    return *added->frame;
  }
  /// A complete frame arrives.
  void arrive(TimePoint now, const PlainFrame& frame, size_t slot = 1) {
    for (auto& message : parts_of(frame)) {
      arrive_part(now, std::move(message), slot);
    }
  }
  /// Lets the leg hand over what it may.
  std::vector<SentPart> feed(TimePoint now) {
    leg.feed(now, sources);
    std::vector<SentPart> parts;
    while (const auto datagram = leg.endpoint().poll_transmit(now)) {
      note(*datagram, parts);
      EXPECT_TRUE(far_.handle_datagram(now, *datagram));
      while (far_.poll_message()) {
      }
    }
    while (const auto datagram = far_.poll_transmit(now)) {
      EXPECT_TRUE(leg.endpoint().handle_datagram(now, *datagram));
    }
    return parts;
  }
  /// The same until nothing is left, step by step in time.
  std::vector<SentPart> feed_all(TimePoint now) {
    std::vector<SentPart> all;
    for (const TimePoint end = now + 1s; now < end && leg.waiting() > DataSize{}; now += 5ms) {
      const auto parts = feed(now);
      all.insert(all.end(), parts.begin(), parts.end());
    }
    return all;
  }
  /// A second in which the link proves to be fast.
  void warm_up() {
    for (TimePoint now = kTimeZero; now <= kTimeZero + 1s; now += 5ms) {
      leg.endpoint().handle_timeout(now);
      far_.handle_timeout(now);
      leg.endpoint().send(now, session::kControlFlow, std::vector<std::byte>(1000));
      (void)feed(now);
    }
  }
  void outcome(TimePoint now, session::MessageId id, session::MessageOutcome::Kind kind) {
    leg.handle_outcome(now, {session::kVideoFlow, id, kind}, sources);
  }
  void lose(TimePoint now, session::MessageId id) {
    outcome(now, id, session::MessageOutcome::Kind::kLost);
  }

  RoomOptions options;
  RoomStats stats;
  Leg leg;
  Sources sources{};

 private:
  static void note(std::span<const std::byte> datagram, std::vector<SentPart>& parts) {
    const auto parsed = wire::parse_datagram(datagram);
    for (const wire::MessageView& message : parsed->messages) {
      if (message.flow == session::kVideoFlow) {
        const auto head = room::parse_member_message(message.bytes);
        const auto fragment = media::parse_fragment(head->body);
        parts.push_back({head->member, fragment->header.frame_id, fragment->header.index});
      }
    }
  }

  std::vector<std::unique_ptr<Source>> owned_;
  session::Endpoint far_;
};

constexpr TimePoint kStartOfLeg = kTimeZero + 1s;

// The key frame that all others of a test refer to, sent at once.
void begin_with_key_frame(LegBench& bench, FrameKind level = FrameKind::kLayer2) {
  bench.plan(kTimeZero, level);
  bench.arrive(kTimeZero, {.id = 0, .reference = 0});
  bench.leg.feed(kTimeZero, bench.sources);
  ASSERT_EQ(bench.leg.waiting(), DataSize{});
  ASSERT_EQ(bench.stats.fragments_out, 1U);
}

TEST(LegWait, EachKindIsDroppedOnceItIsTooLate) {
  struct Case {
    PlainFrame frame;
    Duration wait_max;
    uint64_t overruns;
  };
  using enum FrameKind;
  for (const Case& it : {Case{{1, 1, kAnchor}, 5s, 1}, Case{{1, 0, kAnchor}, 2500ms, 1},
                         Case{{1, 0, kBase}, 250ms, 1}, Case{{1, 0, kLayer1}, 100ms, 0},
                         Case{{1, 0, kLayer2}, 100ms, 0}}) {
    SCOPED_TRACE(to_milliseconds(it.wait_max));
    LegBench bench;
    begin_with_key_frame(bench);
    const TimePoint came = kTimeZero + 10ms;
    bench.arrive(came, it.frame);
    const DataSize waits = bench.leg.waiting();
    EXPECT_GT(waits, DataSize{});
    bench.leg.expire(came + it.wait_max, bench.sources);
    EXPECT_EQ(bench.leg.waiting(), waits);
    EXPECT_EQ(bench.forwarding(1), Forwarding::kForwarding);
    bench.leg.expire(came + it.wait_max + kInstant, bench.sources);
    EXPECT_EQ(bench.leg.waiting(), DataSize{});
    EXPECT_EQ(bench.forwarding(1), Forwarding::kMissed);
    EXPECT_EQ(bench.stats.frames_missed, 1U);
    EXPECT_EQ(bench.leg.take_overruns(), it.overruns);
    EXPECT_EQ(bench.leg.take_overruns(), 0U);
  }
}

TEST(LegWait, LateMessagesAreNotHandedOver) {
  for (const bool is_late : {false, true}) {
    LegBench bench;
    begin_with_key_frame(bench);
    bench.arrive(kTimeZero, {1, 0, FrameKind::kBase});
    bench.feed(kTimeZero + 250ms + (is_late ? kInstant : Duration{}));
    bench.feed(kTimeZero + 250ms + (is_late ? kInstant : Duration{}));
    EXPECT_EQ(bench.stats.fragments_out, is_late ? 1U : 2U);
    EXPECT_EQ(bench.forwarding(1), is_late ? Forwarding::kMissed : Forwarding::kForwarding);
  }
}

TEST(LegWait, DependentsOfAMissedFrameAreMissed) {
  LegBench bench;
  begin_with_key_frame(bench);
  const TimePoint later = kTimeZero + 200ms;
  bench.arrive(kTimeZero, {1, 0, FrameKind::kBase});
  bench.arrive(later, {2, 1, FrameKind::kLayer1});  // needs 1
  bench.arrive(later, {3, 1, FrameKind::kBase});    // needs 1
  bench.arrive(later, {4, 3, FrameKind::kBase});    // depends on 3, and so on 1
  bench.arrive(later, {5, 0, FrameKind::kBase});    // does not
  bench.arrive(later, {6, 6, FrameKind::kAnchor});
  bench.leg.expire(kTimeZero + 250ms + kInstant, bench.sources);
  for (const uint32_t id : {1U, 2U, 3U, 4U}) {
    EXPECT_EQ(bench.forwarding(id), Forwarding::kMissed) << id;
  }
  EXPECT_EQ(bench.forwarding(5), Forwarding::kForwarding);
  EXPECT_EQ(bench.forwarding(6), Forwarding::kForwarding);
  EXPECT_EQ(bench.stats.frames_missed, 4U);
  EXPECT_FALSE(bench.wants_key());
}

TEST(LegWait, AMissedAnchorAsksForAKeyFrameAndALayerDoesNot) {
  using enum FrameKind;
  for (const FrameKind kind : {kAnchor, kLayer1}) {
    LegBench bench;
    begin_with_key_frame(bench);
    bench.arrive(kTimeZero, {1, 0, kind});
    bench.leg.expire(kTimeZero + 3s, bench.sources);
    EXPECT_EQ(bench.forwarding(1), Forwarding::kMissed);
    EXPECT_EQ(bench.wants_key(), kind == kAnchor);
  }
  // An anchor that needs a missed base frame is missed too.
  LegBench bench;
  begin_with_key_frame(bench);
  bench.arrive(kTimeZero, {1, 0, kBase});
  bench.arrive(kTimeZero, {2, 1, kAnchor});
  bench.leg.expire(kTimeZero + 1s, bench.sources);
  EXPECT_EQ(bench.forwarding(2), Forwarding::kMissed);
  EXPECT_TRUE(bench.wants_key());
}

TEST(LegRestart, KeyFrameRequestCountsOnceASecond) {
  LegBench bench;
  bench.plan(kTimeZero, FrameKind::kLayer2);
  bench.arrive(kTimeZero, {.id = 0, .reference = 0});
  const TimePoint first = kTimeZero + 600ms;  // long after the key frame
  EXPECT_FALSE(bench.wants_key());
  bench.leg.restart(first, bench.source());
  EXPECT_TRUE(bench.wants_key());
  EXPECT_EQ(bench.forwarding(0), Forwarding::kLeftOut);
  bench.arrive(first + 10ms, {.id = 1, .reference = 1});
  EXPECT_FALSE(bench.wants_key());
  bench.leg.restart(first + 1s - kInstant, bench.source());
  EXPECT_FALSE(bench.wants_key());
  EXPECT_EQ(bench.forwarding(1), Forwarding::kForwarding);
  bench.leg.restart(first + 1s, bench.source());
  EXPECT_TRUE(bench.wants_key());
  EXPECT_EQ(bench.forwarding(1), Forwarding::kLeftOut);
}

TEST(LegRestart, RequestThatCrossedAKeyFrameIsIgnored) {
  LegBench bench;
  bench.plan(kTimeZero, FrameKind::kLayer2);
  const TimePoint came = kTimeZero + 10ms;
  bench.arrive(came, {.id = 0, .reference = 0});
  bench.leg.restart(came + 500ms - kInstant, bench.source());
  EXPECT_FALSE(bench.wants_key());
  bench.leg.restart(came + 500ms, bench.source());
  EXPECT_TRUE(bench.wants_key());
}

TEST(LegRestart, AnchorDoesNotAnswerAKeyFrameRequest) {
  LegBench bench;
  begin_with_key_frame(bench);
  bench.arrive(kTimeZero + 600ms, {1, 0, FrameKind::kAnchor});
  bench.leg.restart(kTimeZero + 610ms, bench.source());
  EXPECT_TRUE(bench.wants_key());
}

// A newcomer cannot open what was sealed before it came.
TEST(LegRestart, ACachedKeyFrameThatDidNotHelpIsNotRepeated) {
  LegBench bench;
  bench.arrive(kTimeZero, {.id = 0, .reference = 0});
  bench.plan(kTimeZero + 600ms, FrameKind::kLayer2);
  EXPECT_FALSE(bench.wants_key()) << "it has what the relay keeps";
  bench.arrive(kTimeZero + 700ms, {1, 0, FrameKind::kAnchor});
  bench.leg.restart(kTimeZero + 1s, bench.source());
  bench.leg.resume(kTimeZero + 1s, bench.source());
  EXPECT_TRUE(bench.wants_key());
  EXPECT_EQ(bench.forwarding(1), Forwarding::kLeftOut) << "it rests on the same key frame";
  bench.arrive(kTimeZero + 1100ms, {.id = 2, .reference = 2});
  EXPECT_FALSE(bench.wants_key());
  EXPECT_EQ(bench.forwarding(2), Forwarding::kForwarding);
}

TEST(LegRestart, SenderNotRequestedIsNotRestarted) {
  LegBench bench;
  bench.leg.restart(kTimeZero + 1s, bench.source());
  EXPECT_FALSE(bench.wants_key());
}

// The leg's reaction to the loss of this message of the video flow.
TEST(LegRepeat, ABaseFrameIsRepeatedForFourTenthsOfASecond) {
  for (const bool is_late : {false, true}) {
    LegBench bench;
    begin_with_key_frame(bench);
    bench.arrive(kTimeZero + 10ms, {1, 0, FrameKind::kBase});
    bench.feed(kTimeZero + 100ms);
    bench.feed(kTimeZero + 100ms);
    ASSERT_EQ(bench.stats.fragments_out, 2U);
    bench.lose(kTimeZero + 410ms - (is_late ? Duration{} : kInstant), 1);
    EXPECT_EQ(bench.leg.waiting(), is_late ? DataSize{} : DataSize{64 + 2 + 24 + 1000});
    EXPECT_EQ(bench.forwarding(1), is_late ? Forwarding::kMissed : Forwarding::kForwarding);
    bench.feed(kTimeZero + 411ms);
    bench.feed(kTimeZero + 411ms);
    EXPECT_EQ(bench.stats.fragments_repeated, is_late ? 0U : 1U);
  }
}

TEST(LegRepeat, OlderThanTheNewestAnchorABaseFrameIsNotRepeated) {
  for (const uint32_t lost : {1U, 3U}) {
    LegBench bench;
    begin_with_key_frame(bench);
    bench.arrive(kTimeZero, {1, 0, FrameKind::kBase});
    bench.arrive(kTimeZero, {2, 0, FrameKind::kAnchor});
    bench.arrive(kTimeZero, {3, 2, FrameKind::kBase});
    TimePoint now = kTimeZero;
    for (int i = 0; bench.leg.waiting() > DataSize{}; ++i) {
      bench.feed(now);
      now += 61ms;
      ASSERT_LT(i, 5);
    }
    bench.lose(now, lost);
    EXPECT_EQ(bench.forwarding(lost), lost == 3 ? Forwarding::kForwarding : Forwarding::kMissed);
  }
}

TEST(LegRepeat, AnAnchorIsRepeatedUntilANewerKeyFrameWent) {
  for (const bool has_newer : {false, true}) {
    LegBench bench;
    begin_with_key_frame(bench);
    bench.arrive(kTimeZero, {1, 0, FrameKind::kAnchor});
    bench.feed(kTimeZero + 70ms);
    bench.feed(kTimeZero + 70ms);
    ASSERT_EQ(bench.stats.fragments_out, 2U);
    if (has_newer) {
      bench.arrive(kTimeZero + 80ms, {2, 2, FrameKind::kAnchor});
    }
    bench.lose(kTimeZero + 2s, 1);
    EXPECT_EQ(bench.forwarding(1), has_newer ? Forwarding::kMissed : Forwarding::kForwarding);
  }
}

TEST(LegRepeat, AnAnchorThatIsNoLongerHeldIsMissed) {
  LegBench bench;
  begin_with_key_frame(bench);
  bench.arrive(kTimeZero, {1, 0, FrameKind::kAnchor});
  bench.feed(kTimeZero + 70ms);
  bench.feed(kTimeZero + 70ms);
  ASSERT_EQ(bench.stats.fragments_out, 2U);
  bench.source().cache.forget_aged(kTimeZero + 3s + kInstant);
  bench.lose(kTimeZero + 3s + kInstant, 1);
  EXPECT_EQ(bench.forwarding(1), Forwarding::kMissed);
  EXPECT_EQ(bench.stats.fragments_repeated, 0U);
}

TEST(LegRepeat, TheKeyFrameItselfIsRepeatedAndGoesFirst) {
  LegBench bench;
  begin_with_key_frame(bench);
  bench.arrive(kTimeZero, {1, 0, FrameKind::kAnchor});
  bench.lose(kTimeZero + 50ms, 0);
  const auto parts = bench.feed_all(kTimeZero + 70ms);
  ASSERT_GE(parts.size(), 2U);
  EXPECT_TRUE(std::ranges::is_sorted(parts, {}, &SentPart::frame));
  EXPECT_EQ(bench.stats.fragments_repeated, 1U);
  EXPECT_EQ(bench.stats.fragments_out, 3U);
}

TEST(LegRepeat, ALayerIsNeverRepeated) {
  for (const FrameKind kind : {FrameKind::kLayer1, FrameKind::kLayer2}) {
    LegBench bench;
    begin_with_key_frame(bench);
    bench.arrive(kTimeZero, {1, 0, kind});
    bench.feed(kTimeZero + 70ms);
    bench.feed(kTimeZero + 70ms);
    ASSERT_EQ(bench.stats.fragments_out, 2U);
    bench.lose(kTimeZero + 80ms, 1);
    EXPECT_EQ(bench.forwarding(1), Forwarding::kMissed);
    EXPECT_EQ(bench.leg.waiting(), DataSize{});
  }
}

TEST(LegRepeat, SenderNoLongerRequestedIsNotRepeated) {
  LegBench bench;
  begin_with_key_frame(bench);
  bench.plan(kTimeZero + 10ms, FrameKind::kNone);
  bench.lose(kTimeZero + 20ms, 0);
  EXPECT_EQ(bench.leg.waiting(), DataSize{});
}

TEST(LegRepeat, FramesOfAFormerMemberAreNotRepeated) {
  LegBench bench;
  begin_with_key_frame(bench);
  bench.source().number = 66;
  bench.lose(kTimeZero + 20ms, 0);
  EXPECT_EQ(bench.leg.waiting(), DataSize{});
  EXPECT_EQ(bench.forwarding(0), Forwarding::kForwarding);
}

TEST(LegLoss, IsAMeanOverTwoHundredMessagesWithoutThoseDropped) {
  using Kind = session::MessageOutcome::Kind;
  LegBench bench;
  begin_with_key_frame(bench);
  bench.outcome(kTimeZero, 0, Kind::kDropped);
  EXPECT_EQ(bench.leg.loss(), 0);
  bench.feed(kTimeZero + 70ms);
  bench.feed(kTimeZero + 70ms);  // repeated
  bench.lose(kTimeZero + 80ms, 1);
  EXPECT_DOUBLE_EQ(bench.leg.loss(), 1.0 / 200);
  bench.feed(kTimeZero + 150ms);
  bench.feed(kTimeZero + 150ms);
  bench.outcome(kTimeZero + 160ms, 2, Kind::kDelivered);
  EXPECT_DOUBLE_EQ(bench.leg.loss(), 1.0 / 200 * 199 / 200);
  bench.lose(kTimeZero + 170ms, 2);   // decided already
  bench.lose(kTimeZero + 170ms, 99);  // was never sent
  EXPECT_DOUBLE_EQ(bench.leg.loss(), 1.0 / 200 * 199 / 200);
}

// Loses this many consecutive messages; the loss is then 1 - 0.995^n.
void lose_in_a_row(LegBench& bench, size_t count) {
  bench.warm_up();
  bench.plan(kStartOfLeg, FrameKind::kLayer2);
  bench.arrive(kStartOfLeg, {.id = 0, .reference = 0, .size = 8 * kPart});
  ASSERT_EQ(bench.feed_all(kStartOfLeg).size(), 8U);
  for (size_t id = 0; id < 8; ++id) {
    bench.outcome(kStartOfLeg, id,
                  id < 8 - count ? session::MessageOutcome::Kind::kDropped
                                 : session::MessageOutcome::Kind::kLost);
  }
  (void)bench.feed_all(kStartOfLeg + 10ms);
}

// Frame 1 of two parts: the first, parity and so the second arrive, in this order, and are sent.
void arrive_with_parity(LegBench& bench, FrameKind kind) {
  auto messages = parts_of({1, 0, kind, 2 * kPart, 1});
  bench.arrive_part(kStartOfLeg + 20ms, messages[0]);
  bench.arrive_part(kStartOfLeg + 20ms, messages[2]);
  (void)bench.feed_all(kStartOfLeg + 30ms);
}

TEST(LegParity, GoesFromTwoPercentOfLossOnAndForAnchorsAndBaseAlone) {
  using enum FrameKind;
  for (const auto& [lost, kind, goes] : {std::tuple{4U, kBase, false},  // 1.985 %
                                         {5U, kBase, true},             // 2.475 %
                                         {5U, kAnchor, true},
                                         {5U, kLayer1, false},
                                         {5U, kLayer2, false}}) {
    LegBench bench;
    lose_in_a_row(bench, lost);
    const uint64_t before = bench.stats.fragments_out;
    arrive_with_parity(bench, kind);
    EXPECT_EQ(bench.stats.fragments_out - before, goes ? 3U : 2U) << lost;
  }
}

TEST(LegParity, LostParityIsNeitherRepeatedNorMissed) {
  LegBench bench;
  lose_in_a_row(bench, 8);
  const uint64_t before = bench.stats.fragments_out;
  arrive_with_parity(bench, FrameKind::kBase);
  ASSERT_EQ(bench.stats.fragments_out - before, 3U);
  bench.lose(kStartOfLeg + 60ms, before + 1);
  EXPECT_EQ(bench.leg.waiting(), DataSize{});
  EXPECT_EQ(bench.forwarding(1), Forwarding::kForwarding);
  bench.lose(kStartOfLeg + 60ms, before + 2);
  EXPECT_GT(bench.leg.waiting(), DataSize{});
}

TEST(LegParity, APartThatParityReconstructedGoesOn) {
  LegBench bench;
  bench.warm_up();
  bench.plan(kStartOfLeg, FrameKind::kLayer2);
  auto messages = parts_of({.id = 0, .reference = 0, .size = 3 * kPart, .parity = 1});
  for (const size_t index : {0U, 2U, 3U}) {
    bench.arrive_part(kStartOfLeg, messages[index]);
  }
  const auto parts = bench.feed_all(kStartOfLeg);
  EXPECT_EQ(parts, (std::vector<SentPart>{{1, 0, 0}, {1, 0, 2}, {1, 0, 1}}));
}

TEST(LegQueue, AFrameThatDoesNotFitIsMissedAndCountedAsOverrun) {
  for (const int64_t too_much : {0, 1}) {
    RoomOptions options;
    // The first frame's part waits with 64 + 2 + 24 bytes more than its own.
    options.leg_queue_max = DataSize{1090 + 3000 - too_much};
    LegBench bench{1, options};
    bench.plan(kTimeZero, FrameKind::kLayer2);
    bench.arrive(kTimeZero, {.id = 0, .reference = 0});
    ASSERT_EQ(bench.leg.waiting(), DataSize{1090});
    bench.arrive(kTimeZero, {1, 0, FrameKind::kAnchor, 3000});
    EXPECT_EQ(bench.forwarding(1), too_much == 0 ? Forwarding::kForwarding : Forwarding::kMissed);
    EXPECT_EQ(bench.leg.take_overruns(), static_cast<uint64_t>(too_much));
    EXPECT_EQ(bench.wants_key(), too_much == 1);
  }
}

TEST(LegSound, WithMoreThanADatagramInTheNetworkItWaits) {
  for (const int64_t too_much : {0, 1}) {
    LegBench bench;
    session::Endpoint& endpoint = bench.leg.endpoint();
    const auto outstanding = [&] { return endpoint.control().outstanding(kTimeZero); };
    const auto send = [&](int64_t size) {
      const DataSize before = outstanding();
      endpoint.send(kTimeZero, session::kControlFlow,
                    std::vector<std::byte>(static_cast<size_t>(size)), session::Leave::kNow);
      EXPECT_TRUE(endpoint.poll_transmit(kTimeZero));
      return (outstanding() - before).bytes();
    };
    send(400);
    const int64_t overhead = send(400) - 400;
    send(1500 + too_much - outstanding().bytes() - overhead);
    ASSERT_EQ(outstanding(), DataSize{1500 + too_much});
    bench.leg.send_sound(kTimeZero, std::vector<std::byte>(100), false);
    EXPECT_EQ(endpoint.poll_transmit(kTimeZero).has_value(), too_much == 0);
    EXPECT_EQ(bench.stats.sounds_out, 1U);
  }
}

TEST(LegSound, SilenceHasNoDatagramOfItsOwn) {
  for (const bool is_silent : {false, true}) {
    LegBench bench;
    session::Endpoint& endpoint = bench.leg.endpoint();
    endpoint.send(kTimeZero, session::kControlFlow, std::vector<std::byte>(500),
                  session::Leave::kNow);
    ASSERT_TRUE(endpoint.poll_transmit(kTimeZero));
    bench.leg.send_sound(kTimeZero, std::vector<std::byte>(100), is_silent);
    EXPECT_EQ(endpoint.poll_transmit(kTimeZero).has_value(), !is_silent);
  }
}

TEST(LegSound, TheOldestGoesWhenTooMuchWaits) {
  LegBench bench;
  for (int i = 0; i < 24; ++i) {
    bench.leg.send_sound(kTimeZero, std::vector<std::byte>(100), true);
    EXPECT_EQ(bench.leg.endpoint().queued(session::kAudioFlow), DataSize{100 * (i + 1)});
  }
  bench.leg.send_sound(kTimeZero, std::vector<std::byte>(100), true);
  EXPECT_EQ(bench.leg.endpoint().queued(session::kAudioFlow), DataSize{2400});
}

// The number of whole video messages that the leg hands over, and the number that fit the window.
struct Handed {
  int64_t count = 0;
  int64_t window_carries = 0;
  int64_t after_reserve = 0;
};

Handed hand_over_after_sound(Duration since_sound) {
  LegBench bench;
  bench.warm_up();
  bench.plan(kStartOfLeg, FrameKind::kLayer2);
  // A period begins with the audio; its last one counts.
  constexpr int kSounds = 5;
  constexpr size_t kSoundSize = 1000;
  for (int i = 0; i < kSounds; ++i) {
    bench.leg.send_sound(kStartOfLeg, std::vector<std::byte>(kSoundSize), true);
    (void)bench.feed(kStartOfLeg);
  }
  const TimePoint now = kStartOfLeg + since_sound;
  for (TimePoint at = kStartOfLeg; at < now; at += 5ms) {
    bench.leg.endpoint().handle_timeout(at);
    (void)bench.feed(at);
  }
  bench.leg.endpoint().handle_timeout(now);
  (void)bench.feed(now);
  bench.arrive(now, {.id = 0, .reference = 0, .size = 100 * kPart});
  const DataSize overhead = bench.leg.endpoint().control().message_overhead();
  // Other messages leave so little of the window that the frame does not fit.
  while (bench.leg.endpoint().available_window(now) > DataSize{60'000}) {
    bench.leg.endpoint().send(now, session::kControlFlow, std::vector<std::byte>(1000));
  }
  const DataSize window = bench.leg.endpoint().available_window(now);
  const int64_t cost = 2 + 24 + kPart + overhead.bytes();
  const int64_t reserve = kSounds * (static_cast<int64_t>(kSoundSize) + overhead.bytes());
  bench.leg.feed(now, bench.sources);
  return {.count = static_cast<int64_t>(bench.stats.fragments_out),
          .window_carries = window.bytes() / cost,
          .after_reserve = (window.bytes() - reserve) / cost};
}

TEST(LegSound, VideoLeavesRoomForRecentAudio) {
  const Handed next_stretch = hand_over_after_sound(60ms);
  EXPECT_GE(next_stretch.window_carries, 10);
  EXPECT_LT(next_stretch.window_carries, 100);
  EXPECT_GE(next_stretch.window_carries - next_stretch.after_reserve, 4);
  EXPECT_EQ(next_stretch.count, next_stretch.after_reserve);
  // The period is not over yet, or long over: the whole window is for video.
  const Handed same_stretch = hand_over_after_sound(55ms);
  EXPECT_EQ(same_stretch.count, same_stretch.window_carries);
  const Handed last_moment = hand_over_after_sound(115ms);
  EXPECT_EQ(last_moment.count, last_moment.after_reserve);
  const Handed long_after = hand_over_after_sound(120ms);
  EXPECT_EQ(long_after.count, long_after.window_carries);
}

TEST(LegOrder, AnchorsAndBaseFramesGoBeforeAllLayers) {
  LegBench bench{2};
  bench.warm_up();
  bench.plan(kStartOfLeg, {{2, FrameKind::kLayer2}, {1, FrameKind::kLayer2}});
  for (const size_t slot : {1U, 2U}) {
    bench.arrive(kStartOfLeg, {.id = 0, .reference = 0}, slot);
    bench.arrive(kStartOfLeg, {1, 0, FrameKind::kLayer1}, slot);
    bench.arrive(kStartOfLeg, {2, 0, FrameKind::kBase}, slot);
  }
  bench.leg.feed(kStartOfLeg, bench.sources);
  ASSERT_EQ(bench.stats.fragments_out, 6U);
  // By their messages' order in the session's queue.
  std::vector<std::pair<size_t, uint32_t>> order;
  bench.source(1).number = 77;  // its losses no longer count
  for (session::MessageId id = 0; id < 6; ++id) {
    const DataSize before = bench.leg.waiting();
    bench.lose(kStartOfLeg, id);
    order.emplace_back(bench.leg.waiting() > before ? 2 : 1, 0);
  }
  // Sender 2's base and key frame come first, its layer (not repeated) after sender 1's two.
  EXPECT_EQ(order[0].first, 2U);
  EXPECT_EQ(order[1].first, 2U);
  EXPECT_EQ(order[2].first, 1U);
  EXPECT_EQ(order[3].first, 1U);
  EXPECT_EQ(bench.forwarding(1, 2), Forwarding::kMissed);
  EXPECT_EQ(bench.forwarding(1, 1), Forwarding::kForwarding);
}

TEST(LegLevel, FramesAboveItAreLeftOut) {
  using enum FrameKind;
  for (const FrameKind level : {kAnchor, kBase, kLayer1, kLayer2}) {
    LegBench bench;
    begin_with_key_frame(bench, level);
    EXPECT_EQ(bench.leg.level(1), level);
    uint32_t id = 0;
    for (const FrameKind kind : {kAnchor, kBase, kLayer1, kLayer2}) {
      bench.arrive(kTimeZero, {++id, 0, kind});
      EXPECT_EQ(bench.forwarding(id),
                kind <= level ? Forwarding::kForwarding : Forwarding::kLeftOut)
          << id;
    }
    EXPECT_EQ(bench.stats.frames_left_out, 4U - static_cast<size_t>(level));
    EXPECT_FALSE(bench.wants_key());
  }
}

TEST(LegLevel, AFrameGoesOnlyOnceItsReferenceIsWholeAndWent) {
  LegBench bench;
  bench.plan(kTimeZero, FrameKind::kLayer2);
  auto key = parts_of({.id = 5, .reference = 5, .size = 2 * kPart});
  bench.arrive_part(kTimeZero, key[0]);
  bench.arrive(kTimeZero, {6, 5, FrameKind::kBase});
  EXPECT_EQ(bench.forwarding(5), Forwarding::kForwarding);
  EXPECT_EQ(bench.forwarding(6), Forwarding::kUndecided);
  bench.arrive(kTimeZero, {7, 6, FrameKind::kBase});
  EXPECT_EQ(bench.forwarding(7), Forwarding::kUndecided);
  bench.arrive_part(kTimeZero, key[1]);
  bench.leg.reconsider(kTimeZero, bench.source(), *bench.source().cache.find(6));
  EXPECT_EQ(bench.forwarding(6), Forwarding::kForwarding);
  bench.leg.reconsider(kTimeZero, bench.source(), *bench.source().cache.find(7));
  EXPECT_EQ(bench.forwarding(7), Forwarding::kForwarding);
  bench.arrive(kTimeZero, {9, 8, FrameKind::kBase});  // 8 never came
  EXPECT_EQ(bench.forwarding(9), Forwarding::kLeftOut);
  bench.arrive(kTimeZero, {10, 9, FrameKind::kBase});  // likewise
  EXPECT_EQ(bench.forwarding(10), Forwarding::kLeftOut);
  EXPECT_EQ(bench.stats.frames_left_out, 2U);
  EXPECT_FALSE(bench.wants_key());
  bench.arrive(kTimeZero, {11, 10, FrameKind::kAnchor});
  EXPECT_TRUE(bench.wants_key());
  bench.arrive(kTimeZero, {12, 7, FrameKind::kAnchor});
  EXPECT_FALSE(bench.wants_key());
}

TEST(LegLevel, TimeOfTheLastLoweringIsRemembered) {
  LegBench bench{2};
  EXPECT_EQ(bench.leg.lowered_at(1), kTimeZero - 1h);
  EXPECT_EQ(bench.leg.level(1), FrameKind::kNone);
  bench.plan(kTimeZero + 1s, {{1, FrameKind::kBase}, {2, FrameKind::kBase}});
  bench.plan(kTimeZero + 2s, {{1, FrameKind::kBase}, {2, FrameKind::kAnchor}});
  bench.plan(kTimeZero + 3s, {{1, FrameKind::kLayer1}, {2, FrameKind::kBase}});
  EXPECT_EQ(bench.leg.lowered_at(1), kTimeZero - 1h);
  EXPECT_EQ(bench.leg.lowered_at(2), kTimeZero + 2s);
  bench.plan(kTimeZero + 4s, {{1, FrameKind::kNone}});
  EXPECT_EQ(bench.leg.lowered_at(1), kTimeZero + 4s);
  EXPECT_EQ(bench.leg.level(2), FrameKind::kNone);  // not in the plan
}

TEST(LegLevel, RequestedSendersAreWatched) {
  LegBench bench{2};
  bench.plan(kTimeZero, {{1, FrameKind::kAnchor}, {2, FrameKind::kNone}});
  EXPECT_EQ(bench.source(1).watchers, 1U << kHere);
  EXPECT_EQ(bench.source(2).watchers, 0U);
  bench.plan(kTimeZero, {{2, FrameKind::kAnchor}});
  EXPECT_EQ(bench.source(1).watchers, 0U);
  EXPECT_EQ(bench.source(2).watchers, 1U << kHere);
}

TEST(LegLevel, WaitingFramesOfAnUnrequestedSenderAreDropped) {
  LegBench bench{2};
  bench.plan(kTimeZero, {{1, FrameKind::kLayer2}, {2, FrameKind::kLayer2}});
  bench.arrive(kTimeZero, {.id = 0, .reference = 0}, 1);
  bench.arrive(kTimeZero, {.id = 0, .reference = 0, .size = 500}, 2);
  bench.arrive(kTimeZero, {1, 0, FrameKind::kLayer1}, 1);
  bench.plan(kTimeZero, {{2, FrameKind::kLayer2}});
  EXPECT_EQ(bench.leg.waiting(), DataSize{590});
  EXPECT_EQ(bench.forwarding(0, 1), Forwarding::kMissed);
  EXPECT_EQ(bench.forwarding(1, 1), Forwarding::kMissed);
  EXPECT_EQ(bench.forwarding(0, 2), Forwarding::kForwarding);
}

TEST(LegLevel, LayersThatWaitWhenItFallsAreNotSentNorOverruns) {
  LegBench bench;
  begin_with_key_frame(bench);
  bench.arrive(kTimeZero, {1, 0, FrameKind::kLayer2});
  bench.arrive(kTimeZero, {2, 0, FrameKind::kBase});
  bench.plan(kTimeZero, FrameKind::kLayer1);
  bench.leg.expire(kTimeZero, bench.sources);
  EXPECT_EQ(bench.forwarding(1), Forwarding::kMissed);
  EXPECT_EQ(bench.forwarding(2), Forwarding::kForwarding);
  EXPECT_EQ(bench.leg.take_overruns(), 0U);
  // A base frame that has begun is finished, whatever the level is now.
  bench.plan(kTimeZero, FrameKind::kAnchor);
  bench.leg.expire(kTimeZero, bench.sources);
  EXPECT_EQ(bench.forwarding(2), Forwarding::kForwarding);
}

TEST(LegLevel, ForgottenSenderLeavesNoFramesOrRequests) {
  LegBench bench{2};
  bench.plan(kTimeZero, {{1, FrameKind::kLayer2, true}, {2, FrameKind::kLayer2}});
  bench.arrive(kTimeZero, {.id = 0, .reference = 0}, 1);
  bench.arrive(kTimeZero, {.id = 0, .reference = 0}, 2);
  bench.arrive(kTimeZero, {9, 8, FrameKind::kAnchor}, 1);
  bench.arrive(kTimeZero, {9, 8, FrameKind::kAnchor}, 2);
  EXPECT_TRUE(bench.wants_key(1));
  bench.leg.forget_source(1);
  bench.sources[1] = nullptr;
  EXPECT_FALSE(bench.wants_key(1));
  EXPECT_TRUE(bench.wants_key(2));
  EXPECT_EQ(bench.leg.waiting(), DataSize{1090});
  EXPECT_EQ(bench.leg.level(1), FrameKind::kNone);
  EXPECT_EQ(bench.leg.level(2), FrameKind::kLayer2);
  bench.leg.feed(kTimeZero, bench.sources);
  EXPECT_EQ(bench.stats.fragments_out, 1U);
  bench.leg.forget_source(1);  // again: nothing
}

// Anchors 0 (key) .. last, each of which depends on the one before, and none of which was sent.
void chain_of_anchors(LegBench& bench, uint32_t last) {
  for (uint32_t id = 0; id <= last; ++id) {
    bench.arrive(kTimeZero, {id, id == 0 ? 0 : id - 1, FrameKind::kAnchor});
  }
}

TEST(LegResume, AChainOfEightAnchorsIsCaughtUpAndNoLongerOne) {
  for (const uint32_t last : {7U, 8U}) {
    LegBench bench;
    chain_of_anchors(bench, last);
    bench.plan(kTimeZero, FrameKind::kAnchor);
    EXPECT_EQ(bench.wants_key(), last == 8);
    EXPECT_EQ(bench.leg.waiting(), last == 8 ? DataSize{} : DataSize{8 * 1090});
    EXPECT_EQ(bench.forwarding(0), last == 8 ? Forwarding::kLeftOut : Forwarding::kForwarding);
  }
}

TEST(LegResume, ChainIsSentInOrder) {
  LegBench bench;
  bench.warm_up();
  chain_of_anchors(bench, 3);
  bench.plan(kStartOfLeg, FrameKind::kAnchor);
  EXPECT_EQ(bench.feed_all(kStartOfLeg),
            (std::vector<SentPart>{{1, 0, 0}, {1, 1, 0}, {1, 2, 0}, {1, 3, 0}}));
}

TEST(LegResume, FramesSinceTheAnchorAreSentToo) {
  LegBench bench;
  chain_of_anchors(bench, 1);
  bench.arrive(kTimeZero, {2, 1, FrameKind::kBase});
  bench.arrive(kTimeZero, {3, 1, FrameKind::kLayer1});
  bench.arrive(kTimeZero, {4, 2, FrameKind::kBase});
  bench.arrive(kTimeZero, {6, 5, FrameKind::kBase});  // 5 is not here
  auto half = parts_of({7, 4, FrameKind::kBase, 2 * kPart});
  bench.arrive_part(kTimeZero, half[0]);
  bench.plan(kTimeZero, FrameKind::kLayer2);
  EXPECT_FALSE(bench.wants_key());
  EXPECT_EQ(bench.forwarding(2), Forwarding::kForwarding);
  EXPECT_EQ(bench.forwarding(3), Forwarding::kLeftOut);
  EXPECT_EQ(bench.forwarding(4), Forwarding::kForwarding);
  EXPECT_EQ(bench.forwarding(6), Forwarding::kLeftOut);
  EXPECT_EQ(bench.forwarding(7), Forwarding::kUndecided);
}

TEST(LegResume, WithoutAnAnchorAKeyFrameIsWanted) {
  LegBench bench;
  bench.plan(kTimeZero, FrameKind::kAnchor);
  EXPECT_TRUE(bench.wants_key());
  bench.plan(kTimeZero, FrameKind::kNone);
  EXPECT_FALSE(bench.wants_key());
  bench.leg.resume(kTimeZero, bench.source());
  EXPECT_FALSE(bench.wants_key());
}

TEST(LegResume, NotWhileTooMuchWaits) {
  for (const int64_t too_much : {0, 1}) {
    RoomOptions options;
    options.leg_queue_max = DataSize{1090 - too_much};
    LegBench bench{2, options};
    bench.arrive(kTimeZero, {.id = 0, .reference = 0}, 1);
    bench.plan(kTimeZero, {{2, FrameKind::kAnchor}});
    bench.arrive(kTimeZero, {.id = 0, .reference = 0}, 2);
    ASSERT_EQ(bench.leg.waiting(), DataSize{1090});
    bench.plan(kTimeZero, {{2, FrameKind::kAnchor}, {1, FrameKind::kAnchor}});
    EXPECT_EQ(bench.wants_key(1), too_much == 1);
  }
}

TEST(LegSparse, OneAnchorIsInTransitAtATime) {
  LegBench bench;
  bench.plan(kTimeZero, {{1, FrameKind::kAnchor, true}});
  bench.arrive(kTimeZero, {.id = 0, .reference = 0});
  EXPECT_EQ(bench.forwarding(0), Forwarding::kForwarding);
  bench.arrive(kTimeZero, {1, 0, FrameKind::kAnchor});
  bench.arrive(kTimeZero, {2, 0, FrameKind::kAnchor});
  EXPECT_EQ(bench.forwarding(1), Forwarding::kLeftOut);
  EXPECT_EQ(bench.forwarding(2), Forwarding::kLeftOut);
  EXPECT_FALSE(bench.wants_key());
  const Source& source = bench.source();
  EXPECT_FALSE(bench.leg.holds_back(source, *source.cache.find(0)));  // a key frame
  EXPECT_TRUE(bench.leg.holds_back(source, *source.cache.find(2)));
  bench.leg.feed(kTimeZero, bench.sources);
  EXPECT_EQ(bench.leg.waiting(), DataSize{});
  bench.leg.feed(kTimeZero + 70ms, bench.sources);
  EXPECT_EQ(bench.forwarding(1), Forwarding::kLeftOut);
  EXPECT_EQ(bench.forwarding(2), Forwarding::kForwarding);
  // Still in its lane: no frame may refer to it yet.
  EXPECT_GT(bench.leg.waiting(), DataSize{});
  EXPECT_TRUE(bench.leg.holds_back(source, *source.cache.find(2)));
  (void)bench.feed_all(kTimeZero + 80ms);
  EXPECT_FALSE(bench.leg.holds_back(source, *source.cache.find(2)));
  EXPECT_TRUE(bench.leg.holds_back(source, *source.cache.find(1)));
  bench.plan(kTimeZero + 2s, FrameKind::kAnchor);
  EXPECT_FALSE(bench.leg.holds_back(source, *source.cache.find(1)));
}

TEST(LegCarriage, IsTheCapacityAfterTwoBusySeconds) {
  LegBench bench;
  begin_with_key_frame(bench);
  EXPECT_FALSE(bench.leg.step_carriage().is_all);
  bench.arrive(kTimeZero, {.id = 1, .reference = 1});
  for (int step = 1; step < 20; ++step) {
    EXPECT_FALSE(bench.leg.step_carriage().is_all) << step;
  }
  EXPECT_TRUE(bench.leg.step_carriage().is_all);
  (void)bench.feed_all(kTimeZero + 70ms);
  EXPECT_FALSE(bench.leg.step_carriage().is_all);
}

TEST(LegCarriage, CountsAudioAndVideoWithMessageOverhead) {
  LegBench bench;
  begin_with_key_frame(bench);
  bench.leg.send_sound(kTimeZero, std::vector<std::byte>(100), false);
  const int64_t overhead = bench.leg.endpoint().control().message_overhead().bytes();
  const DataSize carried{1026 + 100 + 2 * overhead};
  EXPECT_EQ(bench.leg.step_carriage().rate, DataRate::from(carried, 100ms));
  EXPECT_EQ(bench.leg.step_carriage().rate, DataRate::from(carried, 200ms));
}

}  // namespace
}  // namespace cress::relay
