// Goal: each rule of links, queues, traces and the world, at its limit and just beyond.

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "transport/base/rng.hh"
#include "transport/sim/queue_codel.hh"
#include "transport/sim/queue_red.hh"
#include "transport/sim/world.hh"

namespace cress::sim {
namespace {

std::shared_ptr<const DeliveryTrace> opportunities(const std::vector<Duration>& times) {
  auto trace = std::make_shared<DeliveryTrace>();
  for (const Duration at : times) {
    trace->opportunities.push_back({at});
  }
  return trace;
}

Datagram sized(int64_t size) { return {{}, DataSize{size}}; }
QueuedDatagram queued(TimePoint sent, int64_t size) { return {sized(size), sent}; }

TEST(DropTailQueue, TakesExactlyItsLimit) {
  DropTailQueue queue{DataSize{3000}};
  queue.push(kTimeZero, queued(kTimeZero, 1500));
  queue.push(kTimeZero, queued(kTimeZero + 1s, 1500));
  EXPECT_EQ(queue.stats().dropped, 0U);
  queue.push(kTimeZero, queued(kTimeZero, 1));
  EXPECT_EQ(queue.stats().dropped, 1U);
  EXPECT_EQ(queue.stats().dropped_size, DataSize{1});
  EXPECT_EQ(queue.pop(kTimeZero)->sent, kTimeZero);
  EXPECT_EQ(queue.size(), DataSize{1500});
  EXPECT_EQ(queue.pop(kTimeZero)->sent, kTimeZero + 1s);
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.pop(kTimeZero));
}

TEST(Link, TimeoutIsExactlyTheNextEvent) {
  Link link{{.trace = opportunities({10ms, 20ms}), .queue = nullptr}};
  EXPECT_EQ(link.poll_timeout(), kNever);
  link.push(kTimeZero + 3ms, sized(2000));
  EXPECT_EQ(link.poll_timeout(), kTimeZero + 10ms);
  EXPECT_EQ(link.queued(), DataSize{2000});
  link.handle_timeout(kTimeZero + 10ms - 1ns);
  EXPECT_EQ(link.queued(), DataSize{2000});
  link.handle_timeout(kTimeZero + 10ms);
  EXPECT_EQ(link.queued(), DataSize{500}) << "it is being served";
  EXPECT_EQ(link.poll_timeout(), kTimeZero + 20ms);
  link.handle_timeout(kTimeZero + 20ms);
  EXPECT_EQ(link.queued(), DataSize{0});
  EXPECT_EQ(link.poll_timeout(), kTimeZero + 40ms) << "20 ms of propagation, as usual";
  EXPECT_FALSE(link.poll_delivered(kTimeZero + 40ms - 1ns));
  EXPECT_EQ(link.poll_delivered(kTimeZero + 40ms)->wire_size, DataSize{2000});
  EXPECT_FALSE(link.poll_delivered(kTimeZero + 1h));
  EXPECT_EQ(link.poll_timeout(), kNever);
  ASSERT_EQ(link.records().size(), 1U);
  EXPECT_EQ(link.records()[0].sent, kTimeZero + 3ms);
  EXPECT_EQ(link.records()[0].left, kTimeZero + 20ms);
  EXPECT_EQ(link.records()[0].arrived, kTimeZero + 40ms);
  EXPECT_EQ(link.records()[0].size, DataSize{2000});
}

TEST(Link, ArrivalsBeforeTheNextOpportunityComeFirst) {
  Link link{{.trace = opportunities({1ms, 100ms}), .propagation = 5ms, .queue = nullptr}};
  link.push(kTimeZero, sized(1500));
  link.push(kTimeZero, sized(1500));
  link.handle_timeout(kTimeZero + 1ms);
  EXPECT_EQ(link.poll_timeout(), kTimeZero + 6ms);
}

// Opportunities that a busy link does not skip must be found by an idle one: compared with counting
// every line.
TEST(Link, IdleLinkFindsTheNextOpportunityOfAnyPeriod) {
  Rng rng{5};
  for (int round = 0; round < 300; ++round) {
    std::vector<Duration> times{std::chrono::milliseconds{rng.below(3)}};
    for (uint64_t more = rng.below(5); more > 0; --more) {
      times.push_back(times.back() + std::chrono::milliseconds{rng.below(4)});
    }
    times.back() = std::max<Duration>(times.back(), 1ms);
    Link link{{.trace = opportunities(times), .propagation = 0ms, .queue = nullptr}};
    TimePoint now = kTimeZero;
    TimePoint used = kTimeZero - 1ns;  // opportunities up to here are used
    for (int i = 0; i < 30; ++i) {
      now = std::max(now, used) + std::chrono::milliseconds{rng.below(9)};
      TimePoint next = kNever;
      for (Duration period{}; next == kNever; period += times.back()) {
        for (const Duration at : times) {
          if (next == kNever && kTimeZero + period + at >= now && kTimeZero + period + at > used) {
            next = kTimeZero + period + at;
          }
        }
      }
      link.push(now, sized(1500));
      const TimePoint due = link.poll_timeout();
      // Several at one instant: the link may use another of those.
      ASSERT_TRUE(due == next || due == used) << "round " << round << " push " << i;
      link.handle_timeout(due);
      ASSERT_TRUE(link.poll_delivered(due));
      used = due;
    }
  }
}

TEST(Link, OpportunitiesOfOneInstantServeOnceEach) {
  for (const Duration start : {Duration{0ms}, Duration{20ms}, Duration{1s}}) {
    Link link{{.trace = opportunities({4ms, 10ms, 10ms}), .propagation = 0ms, .queue = nullptr}};
    // The two are at the end of a period, which is also the start of the next one.
    for (const Duration at : {10ms, 10ms, 14ms}) {
      link.push(kTimeZero + start + 10ms, sized(1500));
      ASSERT_EQ(link.poll_timeout(), kTimeZero + start + at);
      link.handle_timeout(kTimeZero + start + at);
      ASSERT_TRUE(link.poll_delivered(kTimeZero + start + at));
    }
  }
}

TEST(Link, RejectsInvalidInput) {
  const auto make = [](std::shared_ptr<const DeliveryTrace> trace, double loss) {
    Link{{.trace = std::move(trace), .loss = loss, .queue = nullptr}};
  };
  make(opportunities({1ns}), 0);
  make(opportunities({1ms}), 1);
  EXPECT_DEATH(make(opportunities({0ms}), 0), "positive period");
  EXPECT_DEATH(make(opportunities({}), 0), "positive period");
  make(nullptr, 0);  // no rate limit
  EXPECT_DEATH(make(opportunities({1ms}), -0.01), "probability");
  EXPECT_DEATH(make(opportunities({1ms}), 1.01), "probability");
}

TEST(Link, CertainLossLosesEverything) {
  Link link{{.trace = opportunities({1ms}), .loss = 1, .queue = nullptr}};
  for (int i = 0; i < 10; ++i) {
    link.push(kTimeZero, sized(100));
  }
  EXPECT_EQ(link.lost(), 10U);
  EXPECT_EQ(link.poll_timeout(), kNever);
}

TEST(Link, LossFollowsItsSeed) {
  const auto losses = [](uint64_t seed) {
    Link link{{.trace = opportunities({1ms}), .loss = 0.5, .seed = seed, .queue = nullptr}};
    std::vector<uint64_t> lost;
    for (int i = 0; i < 50; ++i) {
      link.push(kTimeZero, sized(100));
      lost.push_back(link.lost());
    }
    return lost;
  };
  EXPECT_EQ(losses(1), losses(1));
  EXPECT_NE(losses(1), losses(2));
  Rng rng{1};
  EXPECT_EQ(losses(1).front(), rng.chance(0.5) ? 1U : 0U);
}

/// RFC 8289, section 5, following its pseudocode.
class PlainCodel {
 public:
  void push(TimePoint now, int64_t size) {
    queue_.push_back({now, size});
    bytes_ += size;
  }
  /// When the next one was sent; nothing when there is none.
  std::optional<TimePoint> pop(TimePoint now) {
    auto [packet, ok_to_drop] = dodequeue(now);
    if (dropping_) {
      if (!ok_to_drop) {
        dropping_ = false;
      }
      while (now >= drop_next_ && dropping_) {
        ++dropped;
        ++count_;
        std::tie(packet, ok_to_drop) = dodequeue(now);
        if (!ok_to_drop) {
          dropping_ = false;
        } else {
          drop_next_ = control_law(drop_next_);
        }
      }
    } else if (ok_to_drop) {
      ++dropped;
      std::tie(packet, ok_to_drop) = dodequeue(now);
      dropping_ = true;
      const int delta = count_ - lastcount_;
      count_ = 1;
      if (delta > 1 && now - drop_next_ < 16 * 100ms) {
        count_ = delta;
        ++returned;
      }
      drop_next_ = control_law(now);
      lastcount_ = count_;
    }
    return packet;
  }

  uint64_t dropped = 0;
  int returned = 0;

 private:
  std::pair<std::optional<TimePoint>, bool> dodequeue(TimePoint now) {
    if (queue_.empty()) {
      first_above_time_ = TimePoint{};
      return {std::nullopt, false};
    }
    const auto [sent, size] = queue_.front();
    queue_.pop_front();
    bytes_ -= size;
    bool ok_to_drop = false;
    const Duration sojourn_time = now - sent;
    if (sojourn_time < 5ms || bytes_ <= 1500) {
      first_above_time_ = TimePoint{};
    } else if (first_above_time_ == TimePoint{}) {
      first_above_time_ = now + 100ms;
    } else if (now >= first_above_time_) {
      ok_to_drop = true;
    }
    return {sent, ok_to_drop};
  }
  TimePoint control_law(TimePoint time) const {
    return time + from_seconds(0.1 / std::sqrt(static_cast<double>(count_)));
  }

  std::deque<std::pair<TimePoint, int64_t>> queue_;
  int64_t bytes_ = 0;
  TimePoint first_above_time_{};
  TimePoint drop_next_{};
  int count_ = 0;
  int lastcount_ = 0;
  bool dropping_ = false;
};

TEST(CodelQueue, DropsLikeThePseudocode) {
  int returned = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Rng rng{seed};
    CodelQueue queue;
    PlainCodel plain;
    TimePoint now = kTimeZero + 1s;
    for (int spell = 0; spell < 20; ++spell) {
      // A period of overload or of calm; whole milliseconds, so that limits are met exactly.
      const bool busy = spell % 2 == 0;
      for (TimePoint end = now + std::chrono::milliseconds{rng.below(busy ? 1500 : 2500)};
           now < end; now += 1ms) {
        for (uint64_t n = rng.below(busy ? 4 : 2); n > 0; --n) {
          const auto size = static_cast<int64_t>(500 * (1 + rng.below(3)));
          queue.push(now, queued(now, size));
          plain.push(now, size);
        }
        for (uint64_t n = busy ? 1 : 1 + rng.below(3); n > 0; --n) {
          const auto popped = queue.pop(now);
          const auto expected = plain.pop(now);
          ASSERT_EQ(popped.has_value(), expected.has_value()) << "seed " << seed;
          ASSERT_TRUE(!popped || popped->sent == *expected) << "seed " << seed;
          ASSERT_EQ(queue.stats().dropped, plain.dropped) << "seed " << seed;
        }
      }
    }
    returned += plain.returned;
  }
  EXPECT_GT(returned, 20) << "rates that were taken up again";
}

TEST(CodelQueue, TakesExactlyItsLimit) {
  CodelQueue queue{{.limit = DataSize{3000}}};
  queue.push(kTimeZero, queued(kTimeZero, 3000));
  EXPECT_EQ(queue.stats().dropped, 0U);
  queue.push(kTimeZero, queued(kTimeZero, 1));
  EXPECT_EQ(queue.stats().dropped, 1U);
  EXPECT_EQ(queue.size(), DataSize{3000});
}

TEST(RedQueue, TakesExactlyItsLimit) {
  RedQueue queue{{.limit = DataSize{3000}}, Rng{1}};
  queue.push(kTimeZero, queued(kTimeZero, 3000));
  EXPECT_EQ(queue.stats().dropped, 0U);
  queue.push(kTimeZero, queued(kTimeZero, 1));
  EXPECT_EQ(queue.stats().dropped, 1U);
  EXPECT_EQ(queue.stats().dropped_size, DataSize{1});
  EXPECT_TRUE(queue.pop(kTimeZero));
  EXPECT_FALSE(queue.pop(kTimeZero));
}

TEST(RedQueue, SettingsAreFloydsAndJacobsons) {
  const RedOptions options;
  EXPECT_EQ(options.unit, RedUnit::kBytes);
  EXPECT_EQ(options.threshold_min, 5 * 1500);
  EXPECT_EQ(options.threshold_max, 15 * 1500);
  EXPECT_EQ(options.drop_chance_max, 0.1);
  EXPECT_EQ(options.weight, 0.002);
  EXPECT_TRUE(options.gentle);
  EXPECT_EQ(options.datagram_size, DataSize{1500});
  EXPECT_EQ(options.datagram_time, 12ms);
}

TEST(RedQueue, RefusesOptionsOutOfRange) {
  const auto make = [](const RedOptions& options) { RedQueue{options, Rng{1}}; };
  make({.threshold_min = 1, .threshold_max = 2, .drop_chance_max = 1, .weight = 1});
  make({.datagram_size = DataSize{1}, .datagram_time = 1ns});
  EXPECT_DEATH(make({.threshold_min = 0}), "threshold_min");
  EXPECT_DEATH(make({.threshold_min = 5, .threshold_max = 5}), "threshold_min");
  EXPECT_DEATH(make({.drop_chance_max = 0}), "in range");
  EXPECT_DEATH(make({.drop_chance_max = 1.01}), "in range");
  EXPECT_DEATH(make({.weight = 0}), "in range");
  EXPECT_DEATH(make({.weight = 1.01}), "in range");
  EXPECT_DEATH(make({.datagram_time = 0ns}), "in range");
  EXPECT_DEATH(make({.datagram_size = DataSize{0}}), "in range");
}

TEST(RedQueue, DropsAllAtTwiceTheUpperThreshold) {
  RedQueue queue{{.unit = RedUnit::kDatagrams, .threshold_min = 1, .threshold_max = 2, .weight = 1},
                 Rng{1}};
  for (int i = 0; i < 1000; ++i) {
    queue.push(kTimeZero, queued(kTimeZero, 100));
    ASSERT_LE(queue.size(), DataSize{400});
  }
  EXPECT_EQ(queue.size(), DataSize{400});
  EXPECT_EQ(queue.average(), 4);
}

TEST(RedQueue, DroppedArrivalAgesTheAverageOnce) {
  RedQueue queue{{.unit = RedUnit::kDatagrams,
                  .threshold_min = 1,
                  .threshold_max = 2,
                  .weight = 0.5,
                  .datagram_time = 10ms,
                  .limit = DataSize{100}},
                 Rng{1}};
  queue.push(kTimeZero, queued(kTimeZero, 100));
  queue.push(kTimeZero, queued(kTimeZero, 100));
  EXPECT_DOUBLE_EQ(queue.average(), 0.5);
  queue.pop(kTimeZero + 5ms);
  queue.push(kTimeZero + 20ms, queued(kTimeZero, 101));  // too large: dropped
  EXPECT_DOUBLE_EQ(queue.average(), 0.25) << "one datagram's time";
  queue.push(kTimeZero + 24ms, queued(kTimeZero, 101));
  EXPECT_DOUBLE_EQ(queue.average(), 0.25) << "the rest was not yet another";
  queue.push(kTimeZero + 25ms, queued(kTimeZero, 101));
  EXPECT_DOUBLE_EQ(queue.average(), 0.125);
}

/// Asks to be woken at its start time again and again.
class InsistentHost final : public Machine {
 public:
  explicit InsistentHost(int times, TimePoint at = kTimeZero) : left_(times), at_(at) {}
  void handle_datagram(TimePoint /*now*/, const Address& /*from*/,
                       std::span<const std::byte> /*bytes*/) override {}
  void handle_timeout(TimePoint /*now*/) override { --left_; }
  std::optional<Transmit> poll_transmit(TimePoint /*now*/) override { return std::nullopt; }
  TimePoint poll_timeout() const override { return left_ > 0 ? at_ : kNever; }
  int left() const { return left_; }

 private:
  int left_;
  TimePoint at_;
};

/// Two hosts of which the left one is woken so often, at this time.
struct Insistence {
  explicit Insistence(int times, TimePoint at = kTimeZero)
      : left{times, at},
        right{0},
        forward{{.trace = opportunities({1ms}), .queue = nullptr}},
        reverse{{.trace = opportunities({1ms}), .queue = nullptr}},
        world{{left, right, forward, reverse}} {}
  InsistentHost left, right;
  Link forward, reverse;
  World world;
};

TEST(World, SameInstantIsWantedAtMost100000Times) {
  Insistence patient{99'999};
  patient.world.run_until(kTimeZero);
  EXPECT_EQ(patient.left.left(), 0);
  Insistence restless{100'000};
  EXPECT_DEATH(restless.world.run_until(kTimeZero), "same instant");
}

TEST(World, RunsUpToAndWithItsEnd) {
  Insistence just{1, kTimeZero + 1s};
  just.world.run_until(kTimeZero + 1s - 1ns);
  EXPECT_EQ(just.left.left(), 1);
  EXPECT_EQ(just.world.now(), kTimeZero + 1s - 1ns);
  just.world.run_until(kTimeZero + 1s);
  EXPECT_EQ(just.left.left(), 0);
  just.world.run_until(kTimeZero + 1s);
  EXPECT_DEATH(just.world.run_until(kTimeZero + 1s - 1ns), "does not go back");
}

/// Wants to be woken every 100 ms.
class TickingHost final : public Machine {
 public:
  void handle_datagram(TimePoint /*now*/, const Address& /*from*/,
                       std::span<const std::byte> /*bytes*/) override {}
  void handle_timeout(TimePoint now) override { next_ = now + 100ms; }
  std::optional<Transmit> poll_transmit(TimePoint /*now*/) override { return std::nullopt; }
  TimePoint poll_timeout() const override { return next_; }

 private:
  TimePoint next_ = kTimeZero;
};

TEST(World, ReportsProgressEverySecond) {
  TickingHost left;
  TickingHost right;
  Link forward{{.trace = opportunities({1ms}), .queue = nullptr}};
  Link reverse{{.trace = opportunities({1ms}), .queue = nullptr}};
  World world{{left, right, forward, reverse}};
  std::vector<double> seconds;
  world.run_until(kTimeZero + 3500ms, [&](TimePoint now) { seconds.push_back(to_seconds(now)); });
  EXPECT_EQ(seconds, (std::vector<double>{1, 2, 3}));
}

TEST(Trace, EachErrorHasItsSentence) {
  using Kind = TraceError::Kind;
  const std::vector<std::pair<Kind, std::string>> sentences{
      {Kind::kEmpty, "the trace is empty; write one time in milliseconds a line"},
      {Kind::kNotANumber,
       "not a number of milliseconds; each line of a trace is one whole number of milliseconds"},
      {Kind::kNegative, "a time before the trace's start; times count from 0 at the start"},
      {Kind::kOutOfRange,
       "a time beyond seven days; times are milliseconds; cut the trace into shorter ones"},
      {Kind::kBackwards, "a time earlier than the line before; sort the lines by time"},
      {Kind::kTooMany, "more than 50 million lines; cut the trace into shorter ones"},
      {Kind::kZeroPeriod,
       "every time is 0, so the trace cannot repeat; the last time must be at least 1"}};
  for (const auto& [kind, sentence] : sentences) {
    EXPECT_EQ(describe({kind, 0}), sentence);
    EXPECT_EQ(describe({kind, 12}), "line 12: " + sentence);
  }
}

TEST(Trace, ErrorQuotes32CharactersOfTheLine) {
  const std::filesystem::path path =
      std::filesystem::path{testing::TempDir()} / "cress-trace-quote";
  for (const auto& [length, tail] : {std::pair{32, "\""}, std::pair{33, "...\""}}) {
    std::ofstream{path} << " ~\x1f\x7f" << std::string(static_cast<size_t>(length) - 4, 'x');
    try {
      load_trace(path);
      ADD_FAILURE() << "it loads";
    } catch (const std::runtime_error& error) {
      const std::string quoted = "(\" ~\?\?" + std::string(28, 'x') + tail + ")";
      EXPECT_NE(std::string{error.what()}.find(quoted), std::string::npos) << error.what();
    }
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace cress::sim
