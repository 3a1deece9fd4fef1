#include "transport/session/endpoint.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "transport/base/rng.hh"
#include "transport/control/cress/cress_control.hh"
#include "transport/control/sprout/sprout_control.hh"
#include "transport/sim/world.hh"

namespace cress::session {
namespace {

/// Shared by all tests of the file: creating it takes 10 ms.
struct Model {
  control::BeliefDynamics dynamics{control::SproutModel{}};
  control::ForecastTable table{dynamics};
};

const Model& model() {
  static const Model shared;
  return shared;
}

std::unique_ptr<control::Control> control() {
  return std::make_unique<control::SproutControl>(
      std::make_unique<control::BayesianEstimator>(model().dynamics, model().table));
}

/// An endpoint as a host of the simulated world, with an application that offers `rate` on one flow
/// in messages of `message` bytes, and records of arrivals and outcomes.
class TestHost final : public Machine {
 public:
  struct Offer {
    DataRate rate;
    DataSize message{1000};
    FlowId flow = kVideoFlow;
  };

  explicit TestHost(EndpointOptions options = {},
                    std::unique_ptr<control::Control> rate_control = control())
      : endpoint_(kTimeZero, options, std::move(rate_control)) {
    endpoint_.open_flow(kAudioFlow, {.priority = Priority::kAudio});
    endpoint_.open_flow(kVideoFlow, {.priority = Priority::kVideo});
    endpoint_.open_flow(kBulkFlow, {.priority = Priority::kBulk});
  }

  void offer(const Offer& offer) { offers_.push_back({offer, kTimeZero}); }

  void handle_datagram(TimePoint now, const Address& /*from*/,
                       std::span<const std::byte> bytes) override {
    (void)endpoint_.handle_datagram(now, bytes);
    drain();
  }
  void handle_timeout(TimePoint now) override {
    endpoint_.handle_timeout(now);
    for (auto& [offer, due] : offers_) {
      while (due <= now) {
        std::vector<std::byte> bytes(static_cast<size_t>(offer.message.bytes()));
        const MessageId id = endpoint_.send(now, offer.flow, bytes);
        sent_[offer.flow].insert(id);
        due += offer.message / offer.rate;
      }
    }
    drain();
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    auto bytes = endpoint_.poll_transmit(now);
    if (!bytes) {
      return std::nullopt;
    }
    const DataSize size{static_cast<int64_t>(bytes->size())};
    largest_ = std::max(largest_, size);
    return Transmit{.to = {}, .bytes = *std::move(bytes)};
  }
  TimePoint poll_timeout() const override {
    TimePoint next = endpoint_.poll_timeout();
    for (const auto& [offer, due] : offers_) {
      next = std::min(next, due);
    }
    return next;
  }

  Endpoint& endpoint() { return endpoint_; }
  DataSize received(FlowId flow) { return received_[flow]; }
  const std::set<MessageId>& sent(FlowId flow) { return sent_[flow]; }
  const std::set<MessageId>& outcome(FlowId flow, MessageOutcome::Kind kind) {
    return outcomes_[{flow, kind}];
  }
  DataSize largest() const { return largest_; }

 private:
  void drain() {
    while (const auto message = endpoint_.poll_message()) {
      received_[message->flow] += DataSize{static_cast<int64_t>(message->bytes.size())};
    }
    while (const auto outcome = endpoint_.poll_outcome()) {
      EXPECT_TRUE(outcomes_[std::pair(outcome->flow, outcome->kind)].insert(outcome->id).second)
          << "told twice";
    }
  }

  Endpoint endpoint_;
  std::vector<std::pair<Offer, TimePoint>> offers_;
  std::map<FlowId, DataSize> received_;
  std::map<FlowId, std::set<MessageId>> sent_;
  std::map<std::pair<FlowId, MessageOutcome::Kind>, std::set<MessageId>> outcomes_;
  DataSize largest_;
};

std::shared_ptr<const sim::DeliveryTrace> constant_link(DataRate rate, Duration silence_from = 1h,
                                                        Duration silence_to = 1h) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  for (Duration at = sim::kOpportunitySize / rate; at <= 60s; at += sim::kOpportunitySize / rate) {
    if (at < silence_from || at >= silence_to) {
      trace->opportunities.push_back({at});
    }
  }
  return trace;
}

struct Path {
  sim::Link forward;
  sim::Link reverse;
  static Path make(const std::shared_ptr<const sim::DeliveryTrace>& trace, double loss = 0,
                   uint64_t seed = 1) {
    return {sim::Link{{.trace = trace, .loss = loss, .seed = seed, .queue = nullptr}},
            sim::Link{{.trace = trace, .loss = loss, .seed = seed + 1000, .queue = nullptr}}};
  }
};

TEST(Endpoint, CarriesDataBothWaysWithForecastsOnTheSameDatagrams) {
  Path path = Path::make(constant_link(DataRate::kilobits_per_second(8000)));
  TestHost left;
  TestHost right;
  left.offer({.rate = DataRate::kilobits_per_second(120)});
  right.offer({.rate = DataRate::kilobits_per_second(80)});
  sim::World world{{left, right, path.forward, path.reverse}};
  world.run_until(kTimeZero + 20s);
  EXPECT_GT(right.received(kVideoFlow).bytes(), 120'000 / 8 * 19);
  EXPECT_GT(left.received(kVideoFlow).bytes(), 80'000 / 8 * 19);
  EXPECT_EQ(left.endpoint().stats().datagrams_malformed, 0U);
  ASSERT_TRUE(left.endpoint().stats().smoothed_rtt.has_value());
  EXPECT_NEAR(to_milliseconds(*left.endpoint().stats().smoothed_rtt), 43, 5);
  EXPECT_LE(left.largest(), EndpointOptions{}.datagram_max);
}

TEST(Endpoint, EveryMessageHasOneOutcomeAndItIsTheRightOne) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Path path = Path::make(constant_link(DataRate::kilobits_per_second(4000)), 0.1, seed);
    TestHost left;
    TestHost right;
    left.offer({.rate = DataRate::kilobits_per_second(400)});
    sim::World world{{left, right, path.forward, path.reverse}};
    world.run_until(kTimeZero + 30s);
    const auto count = [&](MessageOutcome::Kind kind) {
      return static_cast<int64_t>(left.outcome(kVideoFlow, kind).size());
    };
    const int64_t delivered = count(MessageOutcome::Kind::kDelivered);
    const int64_t lost = count(MessageOutcome::Kind::kLost);
    const int64_t dropped = count(MessageOutcome::Kind::kDropped);
    const auto sent = static_cast<int64_t>(left.sent(kVideoFlow).size());
    EXPECT_GE(delivered + lost + dropped, sent - 60)
        << "seed " << seed << ": only the last ones are open";
    // The receiver's counts are those reported to the sender, except for the last ones.
    EXPECT_NEAR(static_cast<double>(right.received(kVideoFlow).bytes()) / 1000,
                static_cast<double>(delivered), 60)
        << "seed " << seed;
    EXPECT_NEAR(static_cast<double>(lost) / static_cast<double>(delivered + lost), 0.1, 0.03);
  }
}

TEST(Endpoint, LossIsKnownWithinAFeedbackRoundTrip) {
  Path path = Path::make(constant_link(DataRate::kilobits_per_second(8000)), 0.05, 3);
  TestHost left;
  TestHost right;
  left.offer({.rate = DataRate::kilobits_per_second(800)});  // a message every 10 ms
  sim::World world{{left, right, path.forward, path.reverse}};
  world.run_until(kTimeZero + 10s);
  const auto& lost = left.outcome(kVideoFlow, MessageOutcome::Kind::kLost);
  ASSERT_GT(lost.size(), 10U);
  const auto lost_count = lost.size();
  // Message n was offered at 10 ms · n. Half a second later all losses before must be known.
  const MessageId before = *left.sent(kVideoFlow).rbegin();
  world.run_until(kTimeZero + 10'500ms);
  const auto known_late =
      std::count_if(lost.begin(), lost.end(), [&](MessageId id) { return id + 20 < before; });
  EXPECT_GE(static_cast<size_t>(known_late) + 3, lost_count)
      << "some losses took more than 200 ms to tell";
}

TEST(Endpoint, JitterIsNotLoss) {
  for (const Duration jitter : {10ms, 30ms, 80ms}) {
    sim::Link forward{{.trace = nullptr, .jitter = jitter, .seed = 5, .queue = nullptr}};
    sim::Link reverse{{.trace = nullptr, .jitter = jitter, .seed = 6, .queue = nullptr}};
    const auto cress = [] {
      return std::make_unique<control::CressControl>(control::CressControl::Options{});
    };
    TestHost left{{}, cress()};
    TestHost right{{}, cress()};
    left.offer({.rate = DataRate::kilobits_per_second(2000)});
    sim::World world{{left, right, forward, reverse}};
    world.run_until(kTimeZero + 2s);
    const size_t at_first = left.outcome(kVideoFlow, MessageOutcome::Kind::kLost).size();
    world.run_until(kTimeZero + 22s);
    EXPECT_LE(left.outcome(kVideoFlow, MessageOutcome::Kind::kLost).size(), at_first + 1)
        << to_milliseconds(jitter) << " ms of jitter: of 5000 messages";
    EXPECT_GE(left.outcome(kVideoFlow, MessageOutcome::Kind::kDelivered).size(), 5300U);
  }
}

TEST(Endpoint, AudioPassesBulkWhenTheWindowIsShort) {
  Path path = Path::make(constant_link(DataRate::kilobits_per_second(300)));
  TestHost left;
  TestHost right;
  left.offer(
      {.rate = DataRate::kilobits_per_second(50), .message = DataSize{125}, .flow = kAudioFlow});
  left.offer(
      {.rate = DataRate::kilobits_per_second(2000), .message = DataSize{1000}, .flow = kBulkFlow});
  sim::World world{{left, right, path.forward, path.reverse}};
  world.run_until(kTimeZero + 30s);
  EXPECT_TRUE(left.outcome(kAudioFlow, MessageOutcome::Kind::kDropped).empty());
  EXPECT_GT(right.received(kAudioFlow).bytes(), 50'000 / 8 * 28);
  EXPECT_GT(left.outcome(kBulkFlow, MessageOutcome::Kind::kDropped).size(), 1000U);
  EXPECT_LE(left.endpoint().queued(),
            std::max(left.endpoint().control().forecast_total(), EndpointOptions{}.queue_floor));
}

TEST(Endpoint, ReportsOfWildSequencesAndLossesAlwaysFitADatagram) {
  Rng rng{11};
  for (int round = 0; round < 50; ++round) {
    Endpoint endpoint{kTimeZero, EndpointOptions{},
                      std::make_unique<control::CressControl>(control::CressControl::Options{})};
    endpoint.open_flow(kVideoFlow, {.priority = Priority::kVideo});
    TimePoint now = kTimeZero;
    uint64_t sequence = 0;
    for (int i = 0; i < 300; ++i) {
      now += std::chrono::microseconds{rng.below(3'000)};
      sequence += rng.below(uint64_t{1} << (1 + rng.below(31)));
      wire::DatagramBuilder builder{DataSize{1200}};
      builder.add_message(kVideoFlow, std::vector<std::byte>(rng.below(20)));
      wire::Header header;
      header.sequence = wire::WireSeq::wrap(sequence);
      header.throwaway = static_cast<uint32_t>(rng.below(100));
      const auto datagram = builder.finish(header);
      ASSERT_TRUE(endpoint.handle_datagram(now, datagram));
      while (rng.chance(0.3) && endpoint.poll_transmit(now)) {
      }
    }
    EXPECT_GT(endpoint.stats().datagrams_sent, 10U);
  }
}

TEST(Endpoint, StopsInAnOutageAndGoesOnAfterIt) {
  Path path = Path::make(constant_link(DataRate::kilobits_per_second(2000), 10s, 14s));
  TestHost left;
  TestHost right;
  left.offer({.rate = DataRate::kilobits_per_second(400)});
  sim::World world{{left, right, path.forward, path.reverse}};
  world.run_until(kTimeZero + 10s);
  const DataSize before = path.forward.queued();
  world.run_until(kTimeZero + 14s);
  // 4 s of offered video are 200 kB; Sprout lets no more into the network than its last forecast.
  EXPECT_LT((path.forward.queued() - before).bytes(), 60'000);
  const DataSize at_return = right.received(kVideoFlow);
  world.run_until(kTimeZero + 16s);
  EXPECT_GT((right.received(kVideoFlow) - at_return).bytes(), 400'000 / 8);
}

TEST(Endpoint, HostileDatagramsAreCountedAndNeverFailACheck) {
  Rng rng{5};
  TestHost host;
  TestHost peer;
  for (int i = 0; i < 5'000; ++i) {
    const TimePoint now = kTimeZero + i * 1ms;
    auto bytes = rng.chance(0.5) ? peer.poll_transmit(now).value_or(Transmit{}).bytes
                                 : std::vector<std::byte>(rng.below(80));
    for (uint64_t flips = rng.below(12); flips > 0 && !bytes.empty(); --flips) {
      bytes[rng.below(bytes.size())] = static_cast<std::byte>(rng.next());
    }
    if (!bytes.empty() && rng.chance(0.5)) {
      bytes[0] = std::byte{0x10};
    }
    host.handle_datagram(now, {}, bytes);
    host.handle_timeout(now);
    while (host.poll_transmit(now)) {
    }
  }
  EXPECT_GT(host.endpoint().stats().datagrams_malformed, 100U);
}

TEST(FlowQueues, FlowsOfAClassTakeTurnsAndClassesGoInOrder) {
  FlowQueues queues;
  queues.open(10, {.priority = Priority::kBulk});
  queues.open(11, {.priority = Priority::kBulk});
  queues.open(12, {.priority = Priority::kAudio});
  for (int i = 0; i < 2; ++i) {
    queues.push(10, std::vector<std::byte>(100));
    queues.push(11, std::vector<std::byte>(100));
  }
  queues.push(12, std::vector<std::byte>(10));
  std::vector<int> order;
  while (!queues.empty()) {
    order.push_back(queues.pop().flow);
  }
  EXPECT_EQ(order, (std::vector<int>{12, 10, 11, 10, 11}));
}

TEST(FlowQueues, DropsTheHeadOfTheLongest) {
  FlowQueues queues;
  queues.open(1, {});
  queues.open(2, {});
  queues.push(1, std::vector<std::byte>(300));
  queues.push(2, std::vector<std::byte>(200));
  queues.push(2, std::vector<std::byte>(200));
  const QueuedMessage dropped = queues.drop_from_longest();
  EXPECT_EQ(dropped.flow, 2);
  EXPECT_EQ(dropped.id, 0U);
  EXPECT_EQ(queues.size(), DataSize{500});
}

}  // namespace
}  // namespace cress::session
