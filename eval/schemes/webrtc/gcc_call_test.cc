#include "eval/schemes/webrtc/gcc_call.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <vector>

#include "media/source/synthetic_camera.hh"
#include "transport/base/rng.hh"
#include "transport/sim/world.hh"

namespace cress::schemes {
namespace {

constexpr DataRate kbps(int64_t rate) { return DataRate::kilobits_per_second(rate); }
constexpr TimePoint at(Duration time) { return kTimeZero + time; }

// ---- Packets ----

GccPacket parsed(const std::vector<std::byte>& datagram, GccPacket::Kind kind) {
  const auto packet = parse_gcc_packet(datagram);
  EXPECT_TRUE(packet.has_value());
  EXPECT_EQ(packet->kind, kind);
  return *packet;
}

TEST(GccPackets, EachKindComesBackAsItWas) {
  const std::vector<std::byte> fragment{std::byte{7}, std::byte{8}};
  const auto datagram = encode(GccMedia{.transport_sequence = 0xfffffffe,
                                        .media_sequence = 9,
                                        .sent_again = true,
                                        .round_trip = 1234ms,
                                        .fragment = fragment});
  const auto media = parsed(datagram, GccPacket::Kind::kMedia).media;
  EXPECT_EQ(media.transport_sequence, 0xfffffffe);
  EXPECT_EQ(media.media_sequence, 9U);
  EXPECT_TRUE(media.sent_again);
  EXPECT_EQ(media.round_trip, 1234ms);
  EXPECT_TRUE(std::ranges::equal(media.fragment, fragment));

  const auto padding = encode(GccPadding{77}, DataSize{100});
  EXPECT_EQ(padding.size(), 100U);
  EXPECT_EQ(parsed(padding, GccPacket::Kind::kPadding).padding.transport_sequence, 77U);

  const GccFeedback feedback{
      .first_sequence = 5, .arrivals = {{}, at(10ms), at(10ms + 250us), {}, at(9ms)}, .held = 12ms};
  const auto told = parsed(encode(feedback), GccPacket::Kind::kFeedback).feedback;
  EXPECT_EQ(told.first_sequence, 5U);
  EXPECT_EQ(told.arrivals, feedback.arrivals);
  EXPECT_EQ(told.held, 12ms);

  EXPECT_EQ(
      parsed(encode(GccNack{{1, 2, 0xffffffff}}), GccPacket::Kind::kNack).nack.media_sequences,
      (std::vector<uint32_t>{1, 2, 0xffffffff}));
  (void)parsed(encode(GccKeyFrameRequest{}), GccPacket::Kind::kKeyFrameRequest);
}

TEST(GccPackets, InvalidPacketsAreNamed) {
  const auto error = [](const std::vector<int>& bytes) {
    std::vector<std::byte> datagram;
    datagram.reserve(bytes.size());
    for (const int byte : bytes) {
      datagram.push_back(static_cast<std::byte>(byte));
    }
    const auto packet = parse_gcc_packet(datagram);
    EXPECT_FALSE(packet.has_value());
    return packet.error();
  };
  EXPECT_EQ(error({}), GccPacketError::kTruncated);
  EXPECT_EQ(error({9}), GccPacketError::kBadKind);
  EXPECT_EQ(error({1, 0, 0, 0}), GccPacketError::kTruncated);
  EXPECT_EQ(error({2, 0, 0}), GccPacketError::kTruncated);
  EXPECT_EQ(error({4, 0}), GccPacketError::kBadCount);
  EXPECT_EQ(error({4, 1, 0, 0, 0}), GccPacketError::kBadLength);
  EXPECT_EQ(error({5, 0}), GccPacketError::kBadLength);
  auto feedback = encode(GccFeedback{.first_sequence = 1, .arrivals = {at(1ms)}, .held = {}});
  feedback.back() = feedback[feedback.size() - 2] = std::byte{0xff};
  EXPECT_EQ(parse_gcc_packet(feedback).error(), GccPacketError::kBadCount) << "nothing arrived";
  feedback[7] = std::byte{0xff};
  EXPECT_EQ(parse_gcc_packet(feedback).error(), GccPacketError::kBadTime);
}

// ---- Pacer ----

GccPaced paced(uint32_t sequence, bool sent_again = false) {
  return {.media_sequence = sequence,
          .sent_again = sent_again,
          .fragment = {},
          .wire_size = DataSize{1250}};
}

TEST(GccPacer, SpreadsAFrameAtTwoAndAHalfTimesTheTarget) {
  GccPacer pacer;
  pacer.set_target(at(0s), kbps(400));  // 1 Mbit/s paced: 10 ms per packet, minus the burst of 5 ms
  for (uint32_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(pacer.push(at(0s), paced(i)));
  }
  std::vector<TimePoint> left;
  for (TimePoint now = at(0s); left.size() < 5; now = pacer.poll_timeout()) {
    ASSERT_LT(now, at(1s));
    while (const auto packet = pacer.poll_packet(now)) {
      EXPECT_EQ(packet->media_sequence, left.size());
      left.push_back(now);
    }
  }
  EXPECT_EQ(left[0], at(0s));
  for (int64_t i = 1; i < 5; ++i) {
    EXPECT_NEAR(to_milliseconds(left[static_cast<size_t>(i)]), 10.0 * static_cast<double>(i) - 5,
                0.01);
  }
  EXPECT_EQ(pacer.poll_timeout(), kNever);
  EXPECT_EQ(pacer.queued(), DataSize{});
}

TEST(GccPacer, RepeatsGoFirst) {
  GccPacer pacer;
  pacer.push(at(0s), paced(1));
  pacer.push(at(0s), paced(0, true));
  EXPECT_EQ(pacer.take_packet(at(0s))->media_sequence, 0U);
  EXPECT_EQ(pacer.take_packet(at(0s))->media_sequence, 1U);
  EXPECT_FALSE(pacer.take_packet(at(0s)));
}

TEST(GccPacer, ALongQueueIsGoneInAFewSecondsWhateverTheTarget) {
  GccPacer pacer;
  pacer.set_target(at(0s), kbps(30));
  for (uint32_t i = 0; i < 100; ++i) {
    pacer.push(at(0s), paced(i));
  }
  TimePoint now = at(0s);
  for (; now < at(8s) && pacer.queued_packets() > 10; now += 5ms) {
    while (pacer.poll_packet(now)) {
    }
  }
  EXPECT_LT(now, at(6s)) << "at 75 kbit/s it would take 12 s";
}

TEST(GccPacer, RejectsPacketsBeyondItsBound) {
  GccPacer pacer;
  for (size_t i = 0; i < GccPacer::kQueueMax; ++i) {
    ASSERT_TRUE(pacer.push(at(0s), paced(0)));
  }
  EXPECT_FALSE(pacer.push(at(0s), paced(1)));
}

// ---- Probes ----

/// Sends `prober`'s packets over a link of `capacity`; returns the rates that it reports.
std::vector<DataRate> probe(GccProber& prober, DataRate capacity) {
  std::vector<DataRate> told;
  TimePoint busy_until = kTimeZero;
  prober.handle_first_packet(kTimeZero);
  while (prober.poll_timeout() != kNever) {
    const TimePoint now = prober.poll_timeout();
    const int cluster = prober.handle_sent(now, DataSize{1000});
    busy_until = std::max(busy_until, now) + DataSize{1000} / capacity;
    if (const auto rate = prober.handle_result(
            cluster, {.sent = now, .arrived = busy_until + 20ms, .size = DataSize{1000}})) {
      told.push_back(*rate);
    }
  }
  return told;
}

TEST(GccProber, FindsTheRateOfFastAndSlowLinks) {
  GccProber fast{kbps(300), {.factors = {3, 6}}};
  const auto rates = probe(fast, kbps(50'000));
  ASSERT_EQ(rates.size(), 2U);
  EXPECT_NEAR(rates[0].kilobits_per_second(), 900, 20);
  EXPECT_NEAR(rates[1].kilobits_per_second(), 1800, 40);
  GccProber slow{kbps(300), {.factors = {6}}};
  const auto less = probe(slow, kbps(500));
  ASSERT_EQ(less.size(), 1U);
  EXPECT_NEAR(less[0].kilobits_per_second(), 475, 10);
}

TEST(GccProber, WithoutFactorsThereIsNoProbe) {
  GccProber prober{kbps(300), {.factors = {}}};
  EXPECT_TRUE(probe(prober, kbps(5000)).empty());
}

// ---- Resolution ----

TEST(GccQualityScaler, StepsDownByThreeQuartersAndAHalfAndUpAgain) {
  GccQualityScaler scaler{at(0s), {640, 480}};
  TimePoint now = at(0s);
  std::vector<GccPictureSize> sizes{scaler.size()};
  const auto feed = [&](Duration length, int quantizer) {
    for (const TimePoint end = now + length; now < end; now += 33ms) {
      scaler.handle_coded(now, quantizer);
      if (sizes.back() != scaler.size()) {
        sizes.push_back(scaler.size());
      }
    }
  };
  feed(20s, 40);
  EXPECT_EQ(scaler.size(), (GccPictureSize{640, 480})) << "between the thresholds";
  feed(60s, 56);
  feed(60s, 10);
  EXPECT_EQ(sizes, (std::vector<GccPictureSize>{
                       {640, 480}, {480, 360}, {320, 240}, {480, 360}, {640, 480}}))
      << "240 x 180 would be too small";
}

TEST(GccQualityScaler, ALargePictureStopsAtTheLastStep) {
  GccQualityScaler scaler{at(0s), {4096, 2304}};
  std::set<int> widths;
  for (Duration now = 0s; now < 600s; now += 33ms) {
    scaler.handle_coded(at(now), 56);
    widths.insert(scaler.size().width);
  }
  EXPECT_EQ(*widths.begin(), scaler.size().width);
  EXPECT_EQ(scaler.size(), (GccPictureSize{1024, 576})) << "a quarter";
}

TEST(GccQualityScaler, DroppedPicturesAreAsBadAsCoarseOnes) {
  GccQualityScaler scaler{at(0s), {640, 480}};
  for (int i = 0; i < 90; ++i) {
    i % 3 == 0 ? scaler.handle_coded(at(i * 33ms), 30) : scaler.handle_dropped(at(i * 33ms));
  }
  EXPECT_EQ(scaler.size(), (GccPictureSize{480, 360}));
}

TEST(GccQualityScaler, TheQuantizersScaleIsThatOfTheBitStreamFrom18Up) {
  // RFC 6386 has 0..127; libvpx's own table at some points of its 0..63.
  EXPECT_EQ(gcc_quantizer_index(18), 23);
  EXPECT_EQ(gcc_quantizer_index(24), 29);
  EXPECT_EQ(gcc_quantizer_index(27), 33);
  EXPECT_EQ(gcc_quantizer_index(42), 64);
  EXPECT_EQ(gcc_quantizer_index(52), 94);
  EXPECT_EQ(gcc_quantizer_index(63), 127);
}

// ---- Playout ----

TEST(GccPlayout, AnEvenPathCostsTenMillisecondsOrSo) {
  GccPlayout playout;
  TimePoint shown{};
  TimePoint captured{};
  for (int i = 0; i < 300; ++i) {
    captured = at(i * 33ms);
    shown = playout.handle_frame(
        captured + 30ms, {.captured = captured, .arrived = captured + 30ms, .size = DataSize{4000}},
        40ms);
  }
  EXPECT_NEAR(to_milliseconds(shown - captured), 30 + 11, 1);
}

TEST(GccPlayout, FramesOfAnUnevenPathAreDisplayedEvenly) {
  GccPlayout playout;
  Rng rng{3};
  TimePoint last_shown{};
  double jitter_in = 0;
  double jitter_out = 0;
  for (int i = 0; i < 900; ++i) {
    const TimePoint captured = at(i * 33ms);
    const Duration late = from_seconds(0.04 * rng.uniform());
    const TimePoint arrived = captured + 30ms + late;
    const TimePoint shown = playout.handle_frame(
        arrived, {.captured = captured, .arrived = arrived, .size = DataSize{4000}}, 40ms);
    EXPECT_GE(shown, arrived);
    if (i > 300) {
      jitter_in += std::abs(to_milliseconds(late) - 20);
      jitter_out += std::abs(to_milliseconds(shown - last_shown) - 33);
    }
    last_shown = shown;
  }
  EXPECT_LT(jitter_out, jitter_in * 0.6);
}

TEST(GccPlayout, FramesAfterAnOutageAreDisplayedAtOnce) {
  GccPlayout playout;
  TimePoint free_at{};
  Duration last{};
  for (int i = 0; i < 1500; ++i) {
    const TimePoint captured = at(i * 33ms);
    // An outage of five seconds from 10 s on, with its packets arriving afterwards.
    const bool out = captured >= at(10s) && captured < at(15s);
    free_at = std::max(free_at + 1ms, (out ? at(15s) : captured) + 30ms);
    const TimePoint shown = playout.handle_frame(
        free_at, {.captured = captured, .arrived = free_at, .size = DataSize{4000}}, 40ms);
    if (out && captured < at(14s)) {
      EXPECT_EQ(shown, free_at) << i;
    }
    last = shown - captured;
  }
  EXPECT_LT(last, 150ms);
}

TEST(GccJitter, RepeatsAddARoundTrip) {
  GccJitter jitter;
  const auto with = [](TimePoint captured, bool sent_again) {
    return GccFrameArrival{.captured = captured,
                           .arrived = captured + 30ms,
                           .size = DataSize{4000},
                           .sent_again = sent_again};
  };
  for (int i = 0; i < 30; ++i) {
    jitter.handle_frame(with(at(i * 33ms), false));
  }
  const Duration before = jitter.estimate(80ms);
  for (int i = 30; i < 33; ++i) {
    jitter.handle_frame(with(at(i * 33ms), true));
  }
  EXPECT_EQ(jitter.estimate(80ms), before + 80ms);
}

// ---- Arrivals and retransmissions ----

TEST(GccArrivalLog, ReportsEveryPacketOnce) {
  GccArrivalLog log;
  log.handle_arrival(1, at(10ms));
  log.handle_arrival(3, at(12ms));
  const auto first = log.take_feedback(at(20ms));
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].first_sequence, 0U);
  EXPECT_EQ(first[0].arrivals, (std::vector<std::optional<TimePoint>>{{}, at(10ms), {}, at(12ms)}));
  EXPECT_EQ(first[0].held, 8ms);
  EXPECT_TRUE(log.take_feedback(at(20ms)).empty());
  log.handle_arrival(2, at(21ms));
  EXPECT_TRUE(log.empty()) << "it was told as lost";
  log.handle_arrival(4, at(22ms));
  EXPECT_EQ(log.take_feedback(at(30ms))[0].first_sequence, 4U);
}

TEST(GccArrivalLog, AFeedbackNeverHasMoreThanItMay) {
  GccArrivalLog log;
  for (uint32_t i = 0; i < 1200; ++i) {
    log.handle_arrival(i, at(10ms));
  }
  const auto messages = log.take_feedback(at(20ms));
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[2].first_sequence, 1000U);
  EXPECT_EQ(messages[2].arrivals.size(), 200U);
  log.handle_arrival(4'000'000'000U, at(30ms));
  EXPECT_EQ(log.take_feedback(at(31ms))[0].arrivals.size(), 1U) << "a leap is no loss";
}

TEST(GccMissing, AsksAtOnceThenEveryRoundTripTenTimes) {
  GccMissing missing;
  missing.handle_arrival(0);
  missing.handle_arrival(3);
  EXPECT_EQ(missing.take_due(at(0ms), 100ms), (std::vector<uint32_t>{1, 2}));
  EXPECT_TRUE(missing.take_due(at(50ms), 100ms).empty());
  missing.handle_arrival(1);
  int asked = 1;
  for (int i = 1; i < 100; ++i) {
    const auto due = missing.take_due(at(i * 20ms), 100ms);
    asked += due == std::vector<uint32_t>{2} ? 1 : 0;
    EXPECT_LE(due.size(), 1U);
  }
  EXPECT_EQ(asked, GccMissing::kTriesMax);
  EXPECT_EQ(missing.poll_timeout(), kNever);
}

TEST(GccMissing, OverflowIsDiscardedAndReportedOnce) {
  GccMissing missing;
  missing.handle_arrival(0);
  missing.handle_arrival(static_cast<uint32_t>(GccMissing::kMissingMax) + 2);
  EXPECT_TRUE(missing.take_due(at(0ms), 100ms).empty());
  EXPECT_TRUE(missing.take_overflow());
  EXPECT_FALSE(missing.take_overflow());
}

// ---- Whole calls over links ----

std::shared_ptr<const sim::DeliveryTrace> link_of(
    const std::vector<std::pair<Duration, Duration>>& parts) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  Duration now{};
  for (const auto& [gap, until] : parts) {
    for (; now + gap <= until; now += gap) {
      trace->opportunities.push_back({now + gap});
    }
    now = until;
  }
  return trace;
}

std::shared_ptr<media::VideoSource> camera() {
  return std::make_shared<media::SyntheticCamera>(media::SyntheticCameraOptions{
      .width = 320, .height = 180, .frame_rate = {.numerator = 15, .denominator = 1}});
}

TEST(GccSender, FeedbackWithoutAnArrivalIsAsNone) {
  // Of what was known to have arrived before, and of what has not arrived (GccFeedback).
  const auto target_after = [](bool answers) {
    GccSender sender{kTimeZero, {}, camera()};
    uint32_t sent = 0;
    for (TimePoint now = kTimeZero; now < kTimeZero + 5s; now += 5ms) {
      if (now >= sender.poll_timeout()) {
        sender.handle_timeout(now);
      }
      const uint32_t first = sent;
      while (sender.poll_datagram(now)) {
        ++sent;
      }
      if (answers && sent > first) {
        GccFeedback feedback{.first_sequence = first};
        feedback.arrivals.resize(sent - first);
        sender.handle_feedback(now, feedback);
      }
    }
    EXPECT_GT(sent, 100U);
    return sender.target();
  };
  EXPECT_EQ(target_after(true), target_after(false));
}

/// A call from left to right: its displayed and its encoded frames.
struct OneWay {
  OneWay(const GccOptions& options, const std::vector<std::pair<Duration, Duration>>& parts,
         double loss = 0)
      : left(kTimeZero, options, camera()),
        right(at(7ms), options, nullptr),
        forward({.trace = link_of(parts), .loss = loss, .queue = nullptr}),
        reverse({.trace = link_of({{1ms, 1s}}), .queue = nullptr}),
        world({left, right, forward, reverse}) {}

  void run_until(TimePoint end) {
    while (world.now() < end) {
      world.run_until(std::min(end, world.now() + 100ms));
      while (auto frame = right.poll_shown()) {
        frame->picture.reset();
        shown.push_back(*std::move(frame));
      }
      while (const auto frame = left.poll_coded()) {
        coded.push_back(*frame);
      }
    }
  }
  /// The maximum age of the displayed picture in [from, to).
  Duration oldest(TimePoint from, TimePoint to) const {
    Duration age{};
    TimePoint captured{};
    for (const ShownFrame& frame : shown) {
      if (frame.shown >= from && frame.shown < to) {
        age = std::max(age, frame.shown - captured);
      }
      captured = frame.captured;
    }
    return age;
  }
  DataRate target() const { return left.sender()->target(); }

  GccCall left;
  GccCall right;
  sim::Link forward;
  sim::Link reverse;
  sim::World world;
  std::vector<ShownFrame> shown;
  std::vector<CodedFrame> coded;
};

TEST(GccCall, DisplaysEveryFrameOfAFastLinkInOrderAndSoon) {
  OneWay call{{}, {{1ms, 1s}}};
  call.run_until(at(20s));
  EXPECT_GE(call.shown.size(), 290U);
  for (size_t i = 1; i < call.shown.size(); ++i) {
    EXPECT_GT(call.shown[i].frame_id, call.shown[i - 1].frame_id);
    EXPECT_GE(call.shown[i].shown, call.shown[i - 1].shown);
  }
  EXPECT_LT(call.oldest(at(5s), at(20s)), 200ms);
  EXPECT_GT(call.target(), kbps(1200));
  EXPECT_EQ(call.left.sender()->video_target(), GccOptions{}.video_ceiling);
}

TEST(GccCall, KeepsASlowLinkBusyWithoutALongQueue) {
  OneWay call{{}, {{24ms, 24s}}};  // 500 kbit/s
  call.run_until(at(60s));
  const DataRate carried = DataRate::from(call.right.delivered(), 60s);
  EXPECT_GT(carried, kbps(320));
  EXPECT_LT(carried, kbps(500));
  EXPECT_LT(call.oldest(at(20s), at(60s)), 600ms);
}

TEST(GccCall, FallsWithTheLinkAndComesBack) {
  OneWay call{{}, {{4ms, 30s}, {40ms, 60s}, {4ms, 120s}}};  // 3, 0.3, 3 Mbit/s
  call.run_until(at(30s));
  EXPECT_GT(call.target(), kbps(1200));
  call.run_until(at(40s));
  EXPECT_LT(call.target(), kbps(320));
  call.run_until(at(60s));
  // The queue of the first second drains with the little unused capacity: a gradient does not show
  // a constant queue.
  EXPECT_GT(call.oldest(at(30s), at(40s)), 2s);
  EXPECT_LT(call.oldest(at(50s), at(60s)), call.oldest(at(30s), at(40s)));
  call.run_until(at(100s));
  EXPECT_LT(call.oldest(at(75s), at(100s)), 200ms);
  EXPECT_GT(call.target(), kbps(900));
}

TEST(GccCall, RepeatsMendALossyLinkWithoutKeyFrames) {
  OneWay call{{}, {{2ms, 1s}}, 0.03};
  call.run_until(at(30s));
  EXPECT_GT(call.forward.lost(), 20U);
  EXPECT_GT(call.shown.size(), 440U) << "of 450";
  const auto keys = std::ranges::count_if(call.coded, [](const auto& c) { return c.key_frame; });
  EXPECT_LE(keys, 2);
}

TEST(GccCall, SurvivesAnOutage) {
  OneWay call{{}, {{2ms, 20s}, {1s, 26s}, {2ms, 80s}}};
  call.run_until(at(70s));
  EXPECT_LT(call.oldest(at(40s), at(70s)), 500ms);
  const auto late = std::ranges::count_if(
      call.shown, [](const ShownFrame& frame) { return frame.captured >= at(40s); });
  EXPECT_GT(late, 400) << "of 450";
}

TEST(GccCall, ALostConnectionIsGivenUpToTheFloor) {
  OneWay call{{}, {{2ms, 10s}, {100s, 300s}}};
  call.run_until(at(60s));
  EXPECT_EQ(call.target(), GccOptions{}.estimator.delay.floor);
}

TEST(GccCall, BothEndsSeeEachOther) {
  GccCall left{kTimeZero, {}, camera()};
  GccCall right{at(5ms), {}, camera()};
  sim::Link forward{{.trace = link_of({{2ms, 1s}}), .queue = nullptr}};
  sim::Link reverse{{.trace = link_of({{2ms, 1s}}), .queue = nullptr}};
  sim::World world{{left, right, forward, reverse}};
  world.run_until(at(10s));
  int at_left = 0;
  int at_right = 0;
  while (left.poll_shown()) {
    ++at_left;
  }
  while (right.poll_shown()) {
    ++at_right;
  }
  EXPECT_GT(at_left, 130);
  EXPECT_GT(at_right, 130);
}

TEST(GccCall, EqualCallsAreEqual) {
  const auto run = [] {
    OneWay call{{}, {{24ms, 24s}}, 0.02};
    call.run_until(at(10s));
    std::vector<TimePoint> times;
    times.reserve(call.shown.size());
    for (const ShownFrame& frame : call.shown) {
      times.push_back(frame.shown);
    }
    return times;
  };
  EXPECT_EQ(run(), run());
}

TEST(GccCall, DropsInvalidDatagrams) {
  GccCall call{kTimeZero, {}, camera()};
  Rng rng{5};
  TimePoint now = kTimeZero;
  for (int i = 0; i < 5'000; ++i) {
    now += 5ms;
    std::vector<std::byte> bytes;
    bytes.push_back(static_cast<std::byte>(1 + rng.below(6)));
    for (uint64_t length = rng.below(60); length > 0; --length) {
      bytes.push_back(static_cast<std::byte>(rng.below(rng.chance(0.5) ? 4 : 256)));
    }
    call.handle_timeout(now);
    call.handle_datagram(now, {}, bytes);
    while (call.poll_transmit(now)) {
    }
    const GccEstimatorOptions options;
    ASSERT_GE(call.sender()->target(), options.delay.floor);
    ASSERT_LE(call.sender()->target(), options.delay.ceiling);
  }
}

}  // namespace
}  // namespace cress::schemes
