#include "eval/schemes/tcp/tcp_sender.hh"

#include <gtest/gtest.h>

#include <vector>

#include "eval/schemes/congestion/cubic.hh"
#include "eval/schemes/congestion/reno.hh"
#include "transport/base/rng.hh"

namespace cress::schemes {
namespace {

constexpr int64_t kMss = kTcpPayloadMax.bytes();

/// Answers a sender in segment numbers.
class Talk {
 public:
  explicit Talk(std::unique_ptr<CongestionControl> control = std::make_unique<Reno>(),
                DataSize peer_window = DataSize{10'000'000})
      : sender(std::move(control), {.peer_window = peer_window}), window_(peer_window) {}

  /// The segments sent at `now`, by number.
  std::vector<int64_t> sent(TimePoint now) {
    std::vector<int64_t> numbers;
    for (;;) {
      const std::optional<Transmit> datagram = sender.poll_transmit(now);
      if (!datagram) {
        return numbers;
      }
      EXPECT_EQ(datagram->wire_size, DataSize{1500});
      const auto parsed = parse_tcp_segment(datagram->bytes);
      EXPECT_TRUE(parsed);
      EXPECT_EQ(parsed->timestamp, now);
      numbers.push_back(parsed->sequence / kMss);
    }
  }
  std::vector<int64_t> start() {
    EXPECT_EQ(sender.poll_timeout(), kTimeZero);
    sender.handle_timeout(kTimeZero);
    return sent(kTimeZero);
  }
  std::vector<int64_t> acknowledge(TimePoint now, int64_t number, TimePoint echo,
                                   const std::vector<TcpRange>& sacks = {}) {
    TcpSegment ack{
        .acknowledgement = number * kMss, .window = window_, .timestamp = now, .echo = echo};
    for (const TcpRange& range : sacks) {
      ack.sacks.push_back({range.begin * kMss, range.end * kMss});
    }
    sender.handle_datagram(now, {}, encode(ack));
    return sent(now);
  }
  std::vector<int64_t> wake(TimePoint now) {
    sender.handle_timeout(now);
    return sent(now);
  }

  TcpSender sender;

 private:
  DataSize window_;
};

using Numbers = std::vector<int64_t>;

TEST(TcpSender, StartsWithTenSegments) {
  Talk talk;
  EXPECT_EQ(talk.start(), (Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(talk.sender.in_flight(), kTcpInitialWindow);
}

TEST(TcpSender, DoublesEveryRoundTripInSlowStart) {
  Talk talk;
  auto flight = static_cast<int64_t>(talk.start().size());
  int64_t acknowledged = 0;
  for (int round = 1; round < 8; ++round) {
    const TimePoint now = kTimeZero + round * 100ms;
    int64_t sent = 0;
    for (int64_t i = 0; i < flight; ++i) {
      sent += static_cast<int64_t>(talk.acknowledge(now, ++acknowledged, now - 100ms).size());
    }
    EXPECT_EQ(sent, 2 * flight);
    flight = sent;
  }
}

TEST(TcpSender, NeverGoesBeyondTheReceiversWindow) {
  Talk talk{std::make_unique<Reno>(), kTcpPayloadMax * 25 + DataSize{700}};
  talk.start();
  int64_t acknowledged = 0;
  for (int round = 1; round < 10; ++round) {
    for (int i = 0; i < 10; ++i) {
      const TimePoint now = kTimeZero + round * 100ms;
      ++acknowledged;
      for (const int64_t number : talk.acknowledge(now, acknowledged, now - 100ms)) {
        EXPECT_LT(number, acknowledged + 25);
      }
    }
  }
  EXPECT_EQ(talk.sender.in_flight(), kTcpPayloadMax * 25);
  // An unused window does not grow without bound.
  EXPECT_LE(talk.sender.window(), kTcpPayloadMax * 51);
}

TEST(TcpSender, RepeatsAHoleAtTheThirdSegmentBeyondIt) {
  Talk talk;
  talk.start();
  const TimePoint now = kTimeZero + 100ms;
  // Limited transmit: data that leaves the network permits new data (RFC 3042).
  EXPECT_EQ(talk.acknowledge(now, 0, kTimeZero, {{1, 2}}), (Numbers{10}));
  EXPECT_EQ(talk.acknowledge(now, 0, kTimeZero, {{1, 3}}), (Numbers{11}));
  EXPECT_EQ(talk.sender.stats().recoveries, 0U);
  const Numbers third = talk.acknowledge(now, 0, kTimeZero, {{1, 4}});
  ASSERT_FALSE(third.empty());
  EXPECT_EQ(third[0], 0);
  EXPECT_EQ(talk.sender.stats().recoveries, 1U);
  EXPECT_EQ(talk.sender.stats().retransmissions, 1U);
}

TEST(TcpSender, HalvesItsFlightWithinOneRoundTripOfALossAndKeepsSending) {
  Talk talk;
  talk.start();
  int64_t acknowledged = 0;
  for (int round = 1; round <= 3; ++round) {
    for (int64_t i = 0; i < 10 * (int64_t{1} << (round - 1)); ++i) {
      const TimePoint now = kTimeZero + round * 100ms;
      talk.acknowledge(now, ++acknowledged, now - 100ms);
    }
  }
  ASSERT_EQ(acknowledged, 70);
  ASSERT_EQ(talk.sender.in_flight(), kTcpPayloadMax * 80);
  // Segment 70 of 70..149 is lost; each of the others is reported as it arrives.
  const TimePoint now = kTimeZero + 400ms;
  int64_t new_data = 0;
  int64_t retransmitted = 0;
  for (int64_t i = 72; i <= 150; ++i) {
    for (const int64_t number : talk.acknowledge(now, 70, now - 100ms, {{71, i}})) {
      (number == 70 ? retransmitted : new_data) += 1;
    }
  }
  EXPECT_EQ(retransmitted, 1);
  // Grown for two segments by limited transmit; PRR spreads the rest, one for every two delivered.
  EXPECT_NEAR(static_cast<double>(talk.sender.in_flight().bytes()) / static_cast<double>(kMss), 40,
              2);
  EXPECT_NEAR(static_cast<double>(new_data), 40, 3);
  talk.acknowledge(kTimeZero + 500ms, 150, now);
  EXPECT_NEAR(static_cast<double>(talk.sender.window().bytes()) / static_cast<double>(kMss), 40, 2);
  EXPECT_EQ(talk.sender.stats().timeouts, 0U);
  EXPECT_EQ(talk.sender.stats().undone, 0U);
}

TEST(TcpSender, SeesThatARetransmissionWasLost) {
  Talk talk;
  talk.start();
  TimePoint now = kTimeZero + 100ms;
  const Numbers first = talk.acknowledge(now, 0, kTimeZero, {{1, 10}});
  ASSERT_EQ(first[0], 0);
  ASSERT_GT(first.size(), 1U);  // new data behind the retransmission
  // The new data arrives, the retransmission sent before it does not.
  now += 100ms;
  const Numbers second = talk.acknowledge(now, 0, kTimeZero, {{1, first.back() + 1}});
  ASSERT_FALSE(second.empty());
  EXPECT_EQ(second[0], 0);
  EXPECT_EQ(talk.sender.stats().timeouts, 0U);
  EXPECT_EQ(talk.sender.stats().recoveries, 1U);
}

TEST(TcpSender, BacksOffItsTimerTwofoldAndUpToTwoMinutes) {
  Talk talk;
  talk.start();
  Duration wait = 1s;  // no sample yet
  TimePoint now = kTimeZero;
  for (int i = 0; i < 12; ++i) {
    ASSERT_EQ(talk.sender.poll_timeout(), now + wait) << i;
    now += wait;
    EXPECT_EQ(talk.wake(now), (Numbers{0})) << i;
    wait = std::min<Duration>(2 * wait, 120s);
  }
  EXPECT_EQ(talk.sender.stats().timeouts, 12U);
  EXPECT_EQ(wait, 120s);
}

TEST(TcpSender, RepeatsEverythingInOrderAfterATimeout) {
  Talk talk;
  talk.start();
  ASSERT_EQ(talk.wake(kTimeZero + 1s), (Numbers{0}));
  // The answer is to the retransmission: the rest was lost too.
  EXPECT_EQ(talk.acknowledge(kTimeZero + 1100ms, 1, kTimeZero + 1s), (Numbers{1, 2}));
  EXPECT_EQ(talk.acknowledge(kTimeZero + 1200ms, 3, kTimeZero + 1100ms), (Numbers{3, 4, 5, 6}));
  EXPECT_EQ(talk.acknowledge(kTimeZero + 1300ms, 7, kTimeZero + 1200ms)[0], 7);
  EXPECT_EQ(talk.sender.stats().undone, 0U);
}

TEST(TcpSender, UndoesATimeoutWhenTheOriginalArrives) {
  Talk talk;
  talk.start();
  ASSERT_EQ(talk.wake(kTimeZero + 1s), (Numbers{0}));
  EXPECT_EQ(talk.sender.window(), kTcpPayloadMax);
  // The echo is of the first transmission: a late answer, not a loss.
  const Numbers next = talk.acknowledge(kTimeZero + 1200ms, 1, kTimeZero);
  EXPECT_EQ(next, (Numbers{10}));
  EXPECT_GE(talk.sender.window(), kTcpInitialWindow);
  EXPECT_EQ(talk.sender.stats().undone, 1U);
  EXPECT_EQ(talk.sender.stats().retransmissions, 1U);
}

TEST(TcpSender, UndoesARecoveryThatReorderingCaused) {
  Talk talk;
  talk.start();
  const TimePoint now = kTimeZero + 100ms;
  talk.acknowledge(now, 0, kTimeZero, {{1, 6}});
  ASSERT_EQ(talk.sender.stats().recoveries, 1U);
  // Segment 0 was only late: the acknowledgement still echoes its first transmission.
  talk.acknowledge(now + 1ms, 6, kTimeZero);
  EXPECT_EQ(talk.sender.stats().undone, 1U);
  EXPECT_GE(talk.sender.window(), kTcpInitialWindow);
}

TEST(TcpSender, IgnoresWithdrawnSacks) {
  Talk talk;
  talk.start();
  // A receiver that SACKs 0 without acknowledging it, for ever.
  talk.acknowledge(kTimeZero + 100ms, 0, kTimeZero, {{0, 10}});
  bool repeated = false;
  for (int i = 0; i < 20 && !repeated; ++i) {
    const TimePoint now = talk.sender.poll_timeout();
    ASSERT_NE(now, kNever);
    for (const int64_t number : talk.wake(now)) {
      repeated |= number == 0;
    }
  }
  EXPECT_TRUE(repeated);
}

TEST(TcpSender, CountsAndIgnoresNonsense) {
  Talk talk;
  talk.start();
  const DataSize before = talk.sender.in_flight();
  talk.sender.handle_datagram(kTimeZero + 1ms, {}, std::vector{std::byte{9}});
  EXPECT_EQ(talk.sender.stats().malformed, 1U);
  talk.acknowledge(kTimeZero + 2ms, 11, kTimeZero);      // never sent
  talk.acknowledge(kTimeZero + 3ms, 1, kTimeZero + 1h);  // echo from the future
  EXPECT_EQ(talk.sender.stats().unexpected, 2U);
  talk.acknowledge(kTimeZero + 4ms, 0, kTimeZero, {{500, 900}});  // SACK of nothing we know
  EXPECT_EQ(talk.sender.in_flight(), before);
}

TEST(TcpSender, SurvivesAnyPeer) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng{seed};
    Talk talk{seed % 2 == 0 ? std::unique_ptr<CongestionControl>(std::make_unique<Reno>())
                            : std::make_unique<Cubic>()};
    talk.start();
    TimePoint now = kTimeZero;
    for (int step = 0; step < 300; ++step) {
      now += from_seconds(rng.exponential(0.05));
      if (talk.sender.poll_timeout() <= now) {
        talk.wake(now);
      }
      TcpSegment ack{.acknowledgement = static_cast<int64_t>(rng.below(300 * kMss)),
                     .window = DataSize{static_cast<int64_t>(rng.below(1'000'000))},
                     .timestamp = now,
                     .echo = kTimeZero +
                             Duration{static_cast<int64_t>(
                                 rng.below(static_cast<uint64_t>((now - kTimeZero).count() + 1)))}};
      for (uint64_t blocks = rng.below(4); blocks > 0; --blocks) {
        const auto begin = static_cast<int64_t>(rng.below(400 * kMss));
        ack.sacks.push_back({begin, begin + 1 + static_cast<int64_t>(rng.below(50 * kMss))});
      }
      talk.sender.handle_datagram(now, {}, encode(ack));
      talk.sent(now);
      ASSERT_GE(talk.sender.in_flight(), DataSize{});
      ASSERT_GT(talk.sender.poll_timeout(), now) << "seed " << seed;
    }
  }
}

/// A window that never closes and a pacing rate that never changes.
class FixedPace final : public CongestionControl {
 public:
  void on_ack(const AckEvent& ack) override { last = ack; }
  void on_loss(TimePoint /*now*/) override {}
  void on_timeout(TimePoint /*now*/, bool /*repeated*/) override {}
  void on_spurious_loss(TimePoint /*now*/) override {}
  DataSize window() const override { return kTcpPayloadMax * 1'000; }
  std::optional<DataRate> pacing_rate() const override {
    return DataRate::kilobits_per_second(1'200);  // 1500 bytes in 10 ms
  }
  AckEvent last;
};

TEST(TcpSender, KeepsThePaceItsControlAsksFor) {
  Talk talk{std::make_unique<FixedPace>()};
  EXPECT_EQ(talk.start(), (Numbers{0}));
  for (int64_t i = 1; i < 50; ++i) {
    const TimePoint due = kTimeZero + i * 10ms;
    ASSERT_EQ(talk.sender.poll_timeout(), due);
    EXPECT_TRUE(talk.wake(due - 1ns).empty());
    EXPECT_EQ(talk.wake(due), (Numbers{i}));
  }
}

TEST(TcpSender, ReportsTheDeliveryRateToItsControl) {
  Talk talk{std::make_unique<FixedPace>()};
  talk.start();
  // Sent every 10 ms, acknowledged 100 ms later: 1448 bytes in 10 ms.
  for (int64_t i = 1; i < 60; ++i) {
    const TimePoint now = kTimeZero + i * 10ms;
    talk.wake(now);
    if (i >= 10) {
      talk.acknowledge(now, i - 9, now - 100ms);
    }
  }
  const AckEvent& last = static_cast<const FixedPace&>(talk.sender.control()).last;
  ASSERT_TRUE(last.delivery_rate);
  EXPECT_NEAR(last.delivery_rate.value_or(DataRate{}).kilobits_per_second(), 1448 * 8 / 10.0,
              120.0);
  EXPECT_EQ(last.round_trip, 100ms);
  EXPECT_EQ(last.delivered_total, kTcpPayloadMax * 50);
}

TEST(TcpRoundTrip, KeepsAtLeastTwoHundredMillisecondsAboveTheRoundTrip) {
  TcpRoundTrip round_trip;
  EXPECT_EQ(round_trip.timeout(0), 1s);
  for (int i = 0; i < 200; ++i) {
    round_trip.observe(50ms, true);
  }
  EXPECT_NEAR(to_milliseconds(round_trip.smoothed().value_or(0ns)), 50.0, 0.01);
  EXPECT_NEAR(to_milliseconds(round_trip.timeout(0)), 250.0, 1.0);
  EXPECT_NEAR(to_milliseconds(round_trip.timeout(3)), 2000.0, 8.0);
}

TEST(TcpRoundTrip, FollowsRfc6298WhenTheRoundTripRises) {
  TcpRoundTrip round_trip;
  double smoothed = 0;
  double variation = 0;
  for (int i = 0; i < 30; ++i) {
    const double sample = 0.2 + 0.1 * i;  // seconds, rising: the variation only grows
    if (i == 0) {
      smoothed = sample;
      variation = sample / 2;
    } else {
      variation = 0.75 * variation + 0.25 * std::abs(smoothed - sample);
      smoothed = 0.875 * smoothed + 0.125 * sample;
    }
    round_trip.observe(from_seconds(sample), false);
    EXPECT_NEAR(to_seconds(round_trip.smoothed().value_or(0ns)), smoothed, 1e-6);
    EXPECT_GE(to_seconds(round_trip.timeout(0)), smoothed + 4 * variation - 1e-6);
  }
  EXPECT_NEAR(to_seconds(round_trip.timeout(0)), smoothed + 4 * variation, 0.05);
}

}  // namespace
}  // namespace cress::schemes
