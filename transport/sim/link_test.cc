#include "transport/sim/link.hh"

#include <gtest/gtest.h>

#include <algorithm>

#include "transport/base/rng.hh"
#include "transport/sim/world.hh"

namespace cress::sim {
namespace {

std::shared_ptr<const DeliveryTrace> trace_of(const std::vector<Duration>& times) {
  auto trace = std::make_shared<DeliveryTrace>();
  for (const Duration at : times) {
    trace->opportunities.push_back({at});
  }
  return trace;
}

Datagram datagram(int64_t size) { return {{}, DataSize{size}}; }

/// Runs a lone link to `end` and returns what arrived.
const std::vector<PacketRecord>& run(Link& link, TimePoint end) {
  while (link.poll_timeout() <= end) {
    const TimePoint now = link.poll_timeout();
    link.handle_timeout(now);
    while (link.poll_delivered(now)) {
    }
  }
  return link.records();
}

TEST(Link, DatagramsMaySplitAndShareOpportunities) {
  Link link{{.trace = trace_of({1ms, 2ms, 3ms, 100ms}), .propagation = 20ms, .queue = nullptr}};
  link.push(kTimeZero, datagram(2000));  // all of the first, a third of the second
  link.push(kTimeZero, datagram(500));   // another third
  link.push(kTimeZero, datagram(600));   // the rest, and a little of the third
  const auto& records = run(link, kTimeZero + 99ms);
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].left, kTimeZero + 2ms);
  EXPECT_EQ(records[1].left, kTimeZero + 2ms);
  EXPECT_EQ(records[2].left, kTimeZero + 3ms);
  EXPECT_EQ(records[0].arrived, kTimeZero + 22ms);
}

TEST(Link, UnusedOpportunitiesAreLost) {
  Link link{{.trace = trace_of({1ms, 2ms, 3ms, 50ms}), .queue = nullptr}};
  link.push(kTimeZero + 10ms, datagram(1500));
  EXPECT_EQ(run(link, kTimeZero + 49ms).size(), 0U);
  EXPECT_EQ(run(link, kTimeZero + 50ms + 20ms).size(), 1U);
}

TEST(Link, TheTraceRepeatsWithThePeriodOfItsLastLine) {
  Link link{{.trace = trace_of({4ms, 10ms}), .propagation = 0ms, .queue = nullptr}};
  std::vector<double> left;
  for (const Duration at : {0ms, 5ms, 11ms, 15ms, 1003ms, 1020ms}) {
    link.push(kTimeZero + at, datagram(1500));
    run(link, kTimeZero + at + 10ms);
    left.push_back(to_milliseconds(link.records().back().left));
  }
  EXPECT_EQ(left, (std::vector<double>{4, 10, 14, 20, 1004, 1020}));
}

TEST(Link, OpportunityServesDatagramsOfItsOwnInstant) {
  Link link{{.trace = trace_of({7ms, 9ms}), .propagation = 0ms, .queue = nullptr}};
  link.push(kTimeZero + 7ms, datagram(1500));
  EXPECT_EQ(run(link, kTimeZero + 8ms).size(), 1U);
}

TEST(Link, ASaturatedLinkCarriesEveryByteOfItsTrace) {
  Rng rng{4};
  auto trace = std::make_shared<DeliveryTrace>();
  Duration at{};
  while (at < 20s) {
    at += std::chrono::milliseconds{rng.below(7)};
    trace->opportunities.push_back({at});
  }
  Link link{{.trace = trace, .propagation = 0ms, .queue = nullptr}};
  for (int i = 0; i < 20'000; ++i) {
    link.push(kTimeZero, datagram(1 + static_cast<int64_t>(rng.below(1500))));
  }
  DataSize carried;
  for (const PacketRecord& record : run(link, kTimeZero + 10s)) {
    carried += record.size;
  }
  const DataSize capacity = trace->capacity(kTimeZero, kTimeZero + 10s + 1ns);
  EXPECT_LE(carried, capacity);
  EXPECT_GT(carried, capacity - DataSize{1500}) << "only the datagram being served may be missing";
}

TEST(Link, LosesAtRandomBeforeTheQueueAtTheGivenRate) {
  Link link{{.trace = trace_of({1ms}), .loss = 0.1, .seed = 3, .queue = nullptr}};
  for (int i = 0; i < 10'000; ++i) {
    link.push(kTimeZero, datagram(100));
  }
  EXPECT_NEAR(static_cast<double>(link.lost()), 1000, 100);
  EXPECT_EQ(link.queued().bytes(), (10'000 - static_cast<int64_t>(link.lost())) * 100);
}

/// Records the notifications.
class Notebook final : public LinkObserver {
 public:
  void handle_queued(TimePoint now, DataSize size) override {
    queued += size;
    in_order = in_order && now >= last;
    last = now;
  }
  void handle_dropped(TimePoint now, uint64_t count, DataSize size) override {
    dropped += count;
    dropped_size += size;
    in_order = in_order && now >= last;
    last = now;
  }
  void handle_left(const PacketRecord& record) override {
    left.push_back(record);
    in_order = in_order && record.left >= last;
    last = record.left;
  }
  DataSize queued, dropped_size;
  uint64_t dropped = 0;
  std::vector<PacketRecord> left;
  TimePoint last{};
  bool in_order = true;
};

TEST(Link, ObserverGetsTheRecordsInsteadOfTheLink) {
  Notebook notebook;
  const auto trace = trace_of({3ms, 4ms, 9ms});
  Link watched{{.trace = trace,
                .queue = std::make_unique<DropTailQueue>(DataSize{4000}),
                .observer = &notebook}};
  Link kept{{.trace = trace, .queue = std::make_unique<DropTailQueue>(DataSize{4000})}};
  Rng rng{8};
  DataSize pushed;
  TimePoint now = kTimeZero;
  for (int i = 0; i < 2000; ++i) {
    now += Duration{static_cast<int64_t>(rng.below(4'000'000))};
    const Datagram one = datagram(1 + static_cast<int64_t>(rng.below(1500)));
    pushed += one.wire_size;
    for (Link* link : {&watched, &kept}) {
      run(*link, now);
      link->push(now, one);
    }
  }
  EXPECT_TRUE(watched.records().empty());
  EXPECT_TRUE(notebook.in_order);
  EXPECT_EQ(notebook.queued, pushed);
  EXPECT_GT(notebook.dropped, 0U);
  EXPECT_EQ(notebook.dropped, watched.queue_stats().dropped);
  EXPECT_EQ(notebook.dropped_size, watched.queue_stats().dropped_size);
  ASSERT_EQ(notebook.left.size(), kept.records().size());
  for (size_t i = 0; i < notebook.left.size(); ++i) {
    EXPECT_EQ(notebook.left[i].left, kept.records()[i].left);
    EXPECT_EQ(notebook.left[i].sent, kept.records()[i].sent);
    EXPECT_EQ(notebook.left[i].size, kept.records()[i].size);
  }
}

TEST(DropTailQueue, DropsAndCountsDatagramsBeyondItsLimit) {
  DropTailQueue queue{DataSize{3000}};
  for (int i = 0; i < 3; ++i) {
    queue.push(kTimeZero, {datagram(1400), kTimeZero});
  }
  EXPECT_EQ(queue.size(), DataSize{2800});
  EXPECT_EQ(queue.stats().dropped, 1U);
  EXPECT_EQ(queue.stats().dropped_size, DataSize{1400});
}

/// Sends one datagram every `interval`; answers each that arrives when `echoes`.
class PingHost final : public Machine {
 public:
  PingHost(Duration interval, bool echoes) : interval_(interval), echoes_(echoes) {}
  void handle_datagram(TimePoint now, const Address& /*from*/,
                       std::span<const std::byte> /*bytes*/) override {
    heard_.push_back(now);
    pending_ += echoes_ ? 1 : 0;
  }
  void handle_timeout(TimePoint /*now*/) override {
    if (interval_ > Duration{}) {
      ++pending_;
      next_ += interval_;
    }
  }
  std::optional<Transmit> poll_transmit(TimePoint /*now*/) override {
    if (pending_ == 0) {
      return std::nullopt;
    }
    --pending_;
    return Transmit{.to = {}, .bytes = {}, .wire_size = DataSize{100}};
  }
  TimePoint poll_timeout() const override { return interval_ > Duration{} ? next_ : kNever; }
  const std::vector<TimePoint>& heard() const { return heard_; }

 private:
  Duration interval_;
  bool echoes_;
  TimePoint next_ = kTimeZero;
  int pending_ = 0;
  std::vector<TimePoint> heard_;
};

TEST(World, CarriesDatagramsBothWaysInVirtualTime) {
  auto every_ms = std::make_shared<DeliveryTrace>();
  for (int i = 1; i <= 100; ++i) {
    every_ms->opportunities.push_back({i * Duration{1ms}});
  }
  Link forward{{.trace = every_ms, .queue = nullptr}};
  Link reverse{{.trace = every_ms, .queue = nullptr}};
  PingHost pinger{10ms, false};
  PingHost echo{0ms, true};
  World world{{pinger, echo, forward, reverse}};
  world.run_until(kTimeZero + 1s);
  ASSERT_FALSE(pinger.heard().empty());
  // Sent at 0, into the opportunity at 1 ms, 20 ms of propagation; returned at once and 20 ms more.
  EXPECT_EQ(echo.heard().front(), kTimeZero + 21ms);
  EXPECT_EQ(pinger.heard().front(), kTimeZero + 41ms);
  EXPECT_EQ(echo.heard().size(), 99U);  // those sent at 0, 10, ..., 980 ms
  EXPECT_EQ(world.now(), kTimeZero + 1s);
}

/// A machine with a bug: it wants to be woken at once, for ever.
class RestlessHost final : public Machine {
 public:
  void handle_datagram(TimePoint /*now*/, const Address& /*from*/,
                       std::span<const std::byte> /*bytes*/) override {}
  void handle_timeout(TimePoint /*now*/) override {}
  std::optional<Transmit> poll_transmit(TimePoint /*now*/) override { return std::nullopt; }
  TimePoint poll_timeout() const override { return kTimeZero; }
};

TEST(World, AMachineThatNeverSleepsIsABugNotAHang) {
  Link forward{{.trace = trace_of({1ms}), .queue = nullptr}};
  Link reverse{{.trace = trace_of({1ms}), .queue = nullptr}};
  RestlessHost left;
  RestlessHost right;
  World world{{left, right, forward, reverse}};
  EXPECT_DEATH(world.run_until(kTimeZero + 1s), "keeps asking for the same instant");
}

}  // namespace
}  // namespace cress::sim
