#include "traces/saturate/saturator.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "traces/saturate/saturate_test_tools.hh"

namespace cress::traces {
namespace {

sim::DeliveryTrace steady(int per_second, Duration length = 10s) {
  sim::DeliveryTrace trace;
  const Duration step = Duration{1s} / per_second;
  for (Duration t = step; t <= length; t += step) {
    trace.opportunities.push_back({t});
  }
  return trace;
}

SaturatorOptions connector_options() {
  return {.connects = true,
          .token = key_of_token("secret"),
          .entropy = entropy_of(1),
          .peer = listener_address(),
          .duration = 10s};
}
SaturatorOptions listener_options() {
  return {.token = key_of_token("secret"), .entropy = entropy_of(2), .duration = 3600s};
}

/// Two ends, and a path of 4.8 Mbit/s up and 12 Mbit/s down.
struct Pair {
  explicit Pair(const SaturatorOptions& left, bool feedback = false,
                const SaturatorOptions& right = listener_options(),
                DataSize queue = sim::DropTailQueue::kUnlimited)
      : connector{with_feedback(left, feedback), feedback ? &wire : nullptr},
        listener{right, feedback ? &wire : nullptr},
        up{{.trace = std::make_shared<sim::DeliveryTrace>(steady(400)),
            .queue = std::make_unique<sim::DropTailQueue>(queue)}},
        down{{.trace = std::make_shared<sim::DeliveryTrace>(steady(1'000)),
              .queue = std::make_unique<sim::DropTailQueue>(queue)}},
        world{{connector, listener, up, down}} {}

  static SaturatorOptions with_feedback(SaturatorOptions options, bool feedback) {
    if (feedback) {
      options.feedback_peer = listener_address();
    }
    return options;
  }
  void run(Duration length) { world.run_until(world.now() + length); }
  Saturator::State left() { return connector.saturator().state(); }
  Saturator::State right() { return listener.saturator().state(); }

  FeedbackWire wire;
  SaturatorHost connector;
  SaturatorHost listener;
  sim::Link up;
  sim::Link down;
  sim::World world;
};

/// Two ends on one path whose datagrams the test handles: 20 ms and 6 Mbit/s each way.
struct Direct {
  struct Flying {
    TimePoint sent{};
    Transmit transmit;
  };
  Saturator connector{kTimeZero, connector_options()};
  Saturator listener{kTimeZero, listener_options()};
  TimePoint now = kTimeZero;
  Address connector_seen = connector_address();
  std::deque<Flying> up;
  std::deque<Flying> down;
  /// Called for each datagram that leaves the link; returning false drops it.
  std::function<bool(bool is_up, const Transmit&)> on_delivery = [](bool, const Transmit&) {
    return true;
  };

  void deliver(std::deque<Flying>& link, bool is_up) {
    for (int i = 0; i < 5 && !link.empty() && link.front().sent + 20ms <= now; ++i) {
      const Transmit transmit = std::move(link.front().transmit);
      link.pop_front();
      if (!on_delivery(is_up, transmit)) {
        continue;
      }
      if (is_up) {
        listener.handle_datagram(now, SaturatePath::kLink, connector_seen, transmit.bytes);
      } else {
        connector.handle_datagram(now, SaturatePath::kLink, listener_address(), transmit.bytes);
      }
      collect();
    }
  }
  void collect() {
    while (auto out = connector.poll_transmit(now, SaturatePath::kLink)) {
      up.push_back({now, *std::move(out)});
    }
    while (auto out = listener.poll_transmit(now, SaturatePath::kLink)) {
      down.push_back({now, *std::move(out)});
    }
  }
  void run(Duration length) {
    for (const TimePoint end = now + length; now < end; now += 10ms) {
      connector.handle_timeout(now);
      listener.handle_timeout(now);
      collect();
      deliver(up, true);
      deliver(down, false);
    }
  }
};

bool is_load(const Transmit& transmit) { return transmit.bytes.size() > 1'200; }

DirectionMeasurement measured(const SaturateMeasurement& m, bool down) {
  return measure_direction((down ? m.down : m.up).arrivals, {m.from, m.to, m.round_trip});
}

TEST(Saturator, BothEndsEndWithBothDirectionsAndTheSameNumbers) {
  Pair pair{connector_options(), true};
  pair.run(30s);
  ASSERT_EQ(pair.left(), Saturator::State::kDone);
  ASSERT_EQ(pair.right(), Saturator::State::kDone);
  for (SaturatorHost* end : {&pair.connector, &pair.listener}) {
    const SaturateMeasurement m = end->saturator().measurement();
    EXPECT_TRUE(m.up.complete && m.down.complete);
    EXPECT_NEAR(to_seconds(m.to - m.from), 10, 1e-9);
    EXPECT_NEAR(measured(m, false).capacity().kilobits_per_second(), 4'800, 24);
    EXPECT_NEAR(measured(m, true).capacity().kilobits_per_second(), 12'000, 24);
    EXPECT_TRUE(measured(m, false).unsaturated.empty());
    EXPECT_TRUE(measured(m, true).unsaturated.empty());
    EXPECT_GT(measured(m, true).over_delay_share, 0.95);
    EXPECT_LT(measured(m, true).delay_p95, 3s);
    EXPECT_NEAR(to_milliseconds(m.round_trip), 42, 5);
  }
}

TEST(Saturator, LoadIsPacketsOf1500BytesOfIp) {
  Pair pair{connector_options(), true};
  pair.run(5s);
  int64_t load = 0;
  for (const sim::PacketRecord& packet : pair.up.records()) {
    load += packet.size == DataSize{1500} ? 1 : 0;
    EXPECT_LE(packet.size, DataSize{1500});
  }
  EXPECT_GT(load, 1'000);
}

TEST(Saturator, OneWayLoadsOneDirection) {
  for (const bool down : {true, false}) {
    SaturatorOptions options = connector_options();
    options.up = !down;
    options.down = down;
    Pair pair{options};
    pair.run(30s);
    ASSERT_EQ(pair.left(), Saturator::State::kDone);
    ASSERT_EQ(pair.right(), Saturator::State::kDone);
    const SaturateMeasurement m = pair.connector.saturator().measurement();
    EXPECT_EQ(m.down.wanted, down);
    EXPECT_EQ(m.up.wanted, !down);
    EXPECT_TRUE((down ? m.up : m.down).arrivals.empty());
    EXPECT_TRUE(measured(m, down).unsaturated.empty());
    for (const sim::PacketRecord& packet : (down ? pair.up : pair.down).records()) {
      EXPECT_LT(packet.size, DataSize{1300}) << "load where none was wanted";
    }
  }
}

TEST(Saturator, DroppingQueueIsStillSaturated) {
  // 50 packets: 125 ms up, 50 ms down. The delay never comes near 750 ms.
  Pair pair{connector_options(), true, listener_options(), DataSize{75'000}};
  pair.run(40s);
  ASSERT_EQ(pair.left(), Saturator::State::kDone);
  const SaturateMeasurement m = pair.connector.saturator().measurement();
  EXPECT_NEAR(measured(m, true).capacity().kilobits_per_second(), 12'000, 24);
  EXPECT_EQ(measured(m, true).over_delay_share, 0);
  EXPECT_TRUE(measured(m, true).unsaturated.empty());
  EXPECT_GT(measured(m, true).lost, 100U);
}

TEST(Saturator, PeerWithoutTheTokenGetsNoAnswer) {
  SaturatorOptions stranger = connector_options();
  stranger.token = key_of_token("guess");
  Pair pair{stranger};
  pair.run(20s);
  EXPECT_EQ(pair.left(), Saturator::State::kFailed);
  EXPECT_EQ(pair.connector.saturator().silent_path(), SaturatePath::kLink);
  EXPECT_EQ(pair.right(), Saturator::State::kWaiting);
  EXPECT_TRUE(pair.down.records().empty());
  EXPECT_GT(pair.listener.saturator().stats().unauthenticated, 10U);
}

TEST(Saturator, ADatagramOnTheOtherPathIsNotTaken) {
  Direct direct;
  direct.connector.handle_timeout(direct.now);
  const auto hello = direct.connector.poll_transmit(direct.now, SaturatePath::kLink);
  ASSERT_TRUE(hello);
  direct.listener.handle_datagram(direct.now, SaturatePath::kFeedback, connector_address(),
                                  hello->bytes);
  EXPECT_EQ(direct.listener.stats().malformed, 1U);
  EXPECT_FALSE(direct.listener.poll_transmit(direct.now, SaturatePath::kFeedback));
  direct.listener.handle_datagram(direct.now, SaturatePath::kLink, connector_address(),
                                  hello->bytes);
  EXPECT_EQ(direct.listener.stats().malformed, 1U);
}

// Method: repeats everything that an observer of a real connector's datagrams can, ten times, from
// another address.
TEST(Saturator, UnverifiedAddressGetsLessThanItSent) {
  Direct direct;
  const Address victim = test_address(9, 9);
  size_t sent = 0;
  size_t answered = 0;
  direct.on_delivery = [&](bool is_up, const Transmit& transmit) {
    for (int i = 0; i < 10 && is_up; ++i) {
      sent += transmit.bytes.size();
      direct.listener.handle_datagram(direct.now, SaturatePath::kLink, victim, transmit.bytes);
    }
    if (!is_up && transmit.to != connector_address()) {
      answered += transmit.bytes.size();
      EXPECT_EQ(transmit.to, victim);
      EXPECT_FALSE(is_load(transmit));
      return false;
    }
    return true;
  };
  direct.run(12s);
  EXPECT_EQ(direct.listener.state(), Saturator::State::kMeasuring) << "the real one was served";
  EXPECT_GT(answered, 0U);
  EXPECT_LT(answered, sent / 2);
}

TEST(Saturator, DuplicatesCountOnce) {
  Direct direct;
  direct.on_delivery = [&](bool is_up, const Transmit& transmit) {
    for (int i = 0; i < 2 && is_up; ++i) {
      direct.listener.handle_datagram(direct.now, SaturatePath::kLink, connector_address(),
                                      transmit.bytes);
      direct.connector.handle_datagram(direct.now, SaturatePath::kLink, listener_address(),
                                       transmit.bytes);
    }
    return true;
  };
  direct.run(5s);
  const auto arrivals = direct.listener.measurement().up.arrivals;
  EXPECT_GT(arrivals.size(), 1'000U);
  EXPECT_EQ(direct.listener.stats().repeated, 2 * arrivals.size());
  EXPECT_GT(direct.connector.stats().unauthenticated, arrivals.size())
      << "its own datagrams, sent back to it";
}

TEST(Saturator, FollowsAConnectorToAVerifiedNewAddress) {
  Direct direct;
  direct.run(8s);
  const Address moved = test_address(77, 77);
  direct.connector_seen = moved;
  size_t load_to_moved = 0;
  bool answered = false;
  direct.on_delivery = [&](bool is_up, const Transmit& transmit) {
    load_to_moved += !is_up && transmit.to == moved && is_load(transmit) ? 1 : 0;
    answered = answered || (is_up && transmit.bytes.size() < kHelloSize);  // a start
    EXPECT_TRUE(answered || is_up || transmit.to != moved || !is_load(transmit));
    return is_up || transmit.to == moved;  // datagrams to the old address are lost
  };
  direct.run(10s);
  EXPECT_GT(load_to_moved, 1'000U);
  EXPECT_EQ(*direct.listener.peer(), moved);
}

TEST(Saturator, WhenTheFeedbackPathDiesTheLinkCarriesFeedback) {
  Pair pair{connector_options(), true};
  pair.run(4s);
  pair.wire.cut = true;
  pair.run(60s);
  ASSERT_EQ(pair.left(), Saturator::State::kDone);
  const SaturateMeasurement m = pair.connector.saturator().measurement();
  EXPECT_TRUE(m.up.complete && m.down.complete);
  EXPECT_GT(measured(m, true).saturated_share, 0.7);
}

TEST(Saturator, EarlyStopKeepsTheMeasuredData) {
  for (const bool connector_stops : {true, false}) {
    Pair pair{connector_options(), true};
    pair.run(6s);
    ASSERT_EQ(pair.left(), Saturator::State::kMeasuring);
    (connector_stops ? pair.connector : pair.listener).saturator().finish(pair.world.now());
    pair.run(10s);
    ASSERT_EQ(pair.left(), Saturator::State::kDone);
    ASSERT_EQ(pair.right(), Saturator::State::kDone);
    const SaturateMeasurement m = pair.connector.saturator().measurement();
    EXPECT_TRUE(m.up.complete && m.down.complete);
    EXPECT_GT(m.to - m.from, 2s);
    EXPECT_LT(m.to - m.from, 6s);
    EXPECT_NEAR(measured(m, true).capacity().kilobits_per_second(), 12'000, 50);
  }
}

TEST(Saturator, VanishedPeerStopsLoadAndKeepsTheData) {
  Direct direct;
  direct.run(8s);
  ASSERT_EQ(direct.connector.state(), Saturator::State::kMeasuring);
  size_t into_silence = 0;
  direct.on_delivery = [&](bool is_up, const Transmit& transmit) {
    into_silence += is_up && is_load(transmit) ? 1 : 0;
    return false;
  };
  direct.run(Saturator::kSilenceMax + 5s);
  EXPECT_EQ(direct.connector.state(), Saturator::State::kDone);
  EXPECT_LT(into_silence, 5'000U) << "more than ten seconds' worth";
  const SaturateMeasurement m = direct.connector.measurement();
  EXPECT_FALSE(m.up.complete);
  EXPECT_GT(m.up.arrivals.size(), 500U);
  EXPECT_GT(m.down.arrivals.size(), 1'000U);
}

TEST(Saturator, SmallerPacketsAreTriedWhenTheFullSizeDoesNotGetThrough) {
  constexpr size_t kPathMtu = 1'420;
  Direct direct;
  direct.on_delivery = [&](bool, const Transmit& transmit) {
    return transmit.bytes.size() + 28 <= kPathMtu;
  };
  direct.run(20s);
  const auto arrivals = direct.connector.measurement().down.arrivals;
  ASSERT_GT(arrivals.size(), 100U);
  EXPECT_EQ(std::ranges::max_element(arrivals, {}, &SaturateArrival::size)->size, DataSize{1'400});
  EXPECT_EQ(direct.connector.measurement().up.packet_size, DataSize{1'400});
}

TEST(Saturator, TooLargeIsAcceptedUntilAFullPacketArrives) {
  Saturator connector{kTimeZero, connector_options()};
  connector.handle_too_large(kTimeZero, SaturatePath::kLink, DataSize{1'390});
  EXPECT_EQ(connector.measurement().up.packet_size, DataSize{1'340});
  connector.handle_too_large(kTimeZero, SaturatePath::kLink, DataSize{68});
  EXPECT_EQ(connector.measurement().up.packet_size, DataSize{1'340}) << "no path is that narrow";
}

TEST(Saturator, SameInputsSameMeasurement) {
  const auto run = [] {
    Pair pair{connector_options(), true};
    pair.run(20s);
    return pair.up.records().size();
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace cress::traces
