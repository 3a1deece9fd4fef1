#include "eval/schemes/like/like_controller.hh"

#include <gtest/gtest.h>

#include "eval/schemes/like/like_test_tools.hh"
#include "transport/base/rng.hh"

namespace cress::schemes {
namespace {

using namespace like_test;

constexpr RateFeedback kCalm{.loss = 0, .queueing_delay = 20ms, .received = kbps(300)};
constexpr RateFeedback kDelayed{.loss = 0, .queueing_delay = 900ms, .received = kbps(200)};
constexpr RateFeedback kLossy{.loss = 0.3, .queueing_delay = 20ms, .received = kbps(200)};

/// A report every 200 ms from `now` on for `length`, with the controller's own time-outs on time.
TimePoint run(LikeController& controller, TimePoint now, Duration length,
              const RateFeedback& feedback) {
  for (const TimePoint end = now + length; now < end;) {
    now += 200ms;
    while (controller.poll_timeout() <= now) {
      controller.handle_timeout(controller.poll_timeout());
    }
    controller.handle_feedback(now, feedback);
  }
  return now;
}

TEST(LikeController, RaisesOncePerIntervalByItsFactor) {
  const LikeOptions options;
  LikeController controller{kTimeZero, options};
  EXPECT_EQ(controller.target(), options.start);
  DataRate expected = options.start;
  TimePoint now = kTimeZero;
  for (int second = 1; second <= 20; ++second) {
    now = run(controller, now, 1s, kCalm);
    expected = expected * options.raise_factor;
    EXPECT_EQ(controller.target(), expected) << "after " << second << " s";
  }
}

TEST(LikeController, ReachesItsCeilingFromTheFloorInAboutAHundredSecondsAndStays) {
  LikeOptions options;
  options.start = options.floor;
  LikeController controller{kTimeZero, options};
  TimePoint now = run(controller, kTimeZero, 80s, kCalm);
  EXPECT_LT(controller.target(), options.ceiling);
  now = run(controller, now, 40s, kCalm);
  EXPECT_EQ(controller.target(), options.ceiling);
  run(controller, now, 100s, kCalm);
  EXPECT_EQ(controller.target(), options.ceiling);
}

TEST(LikeController, DoesNotRaiseWithoutReports) {
  LikeController controller{kTimeZero, {}};
  for (int second = 1; second <= 30; ++second) {
    controller.handle_timeout(at(second * 1s));
  }
  EXPECT_EQ(controller.target(), LikeOptions{}.start);
}

TEST(LikeController, DoesNotLowerBeforeItsPatienceEnds) {
  const LikeOptions options;
  for (const RateFeedback& trouble : {kDelayed, kLossy}) {
    LikeController controller{kTimeZero, options};
    // Trouble begins with the first report, 200 ms from now.
    const TimePoint now = run(controller, kTimeZero, options.patience, trouble);
    EXPECT_EQ(controller.target(), options.start);
    run(controller, now, 200ms, trouble);
    EXPECT_LT(controller.target(), options.start);
  }
}

TEST(LikeController, TroubleThatPausesIsForgiven) {
  const LikeOptions options;
  LikeController controller{kTimeZero, options};
  TimePoint now = kTimeZero;
  for (int i = 0; i < 30; ++i) {
    now = run(controller, now, options.patience - 200ms, kDelayed);
    now = run(controller, now, 200ms, kCalm);
  }
  EXPECT_GE(controller.target(), options.start);
}

TEST(LikeController, LowersToItsShareOfWhatArrivedDuringTheTrouble) {
  const LikeOptions options;
  LikeController controller{kTimeZero, options};
  // Half of the reports have 100, half have 300 kbit/s: bursts must not decide.
  const auto reports = options.patience / 200ms + 1;
  for (int64_t i = 0; i < reports; ++i) {
    RateFeedback report = kDelayed;
    report.received = kbps(i % 2 == 0 ? 100 : 300);
    controller.handle_feedback(at(i * 200ms), report);
  }
  const int64_t low = (reports + 1) / 2;
  const int64_t sum_kbps = 100 * low + 300 * (reports - low);
  const double mean = static_cast<double>(sum_kbps) / static_cast<double>(reports);
  EXPECT_NEAR(controller.target().kilobits_per_second(), mean * options.lower_factor, 0.01);
}

TEST(LikeController, NeverFallsBelowItsFloorNorRisesByLowering) {
  const LikeOptions options;
  LikeController starved{kTimeZero, options};
  run(starved, kTimeZero, 60s, {.loss = 1, .queueing_delay = 60s, .received = {}});
  EXPECT_EQ(starved.target(), options.floor);
  // The reported rate may be far above the target (a queue that drains): that is no reason to
  // raise.
  run(starved, at(60s), 60s, {.loss = 1, .queueing_delay = 60s, .received = kbps(1'000'000)});
  EXPECT_EQ(starved.target(), options.floor);
}

TEST(LikeController, HoldsAfterLoweringThenRaisesAgain) {
  const LikeOptions options;
  LikeController controller{kTimeZero, options};
  const TimePoint lowered_at = run(controller, kTimeZero, options.patience + 200ms, kDelayed);
  const DataRate lowered = controller.target();
  ASSERT_LT(lowered, options.start);
  const TimePoint now = run(controller, lowered_at, options.hold - 200ms, kCalm);
  EXPECT_EQ(controller.target(), lowered);
  run(controller, now, 200ms, kCalm);
  EXPECT_EQ(controller.target(), lowered * options.raise_factor);
}

TEST(LikeController, StaysWithinItsBoundsWhateverIsReported) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const LikeOptions options;
    LikeController controller{kTimeZero, options};
    Rng rng{seed};
    TimePoint now = kTimeZero;
    for (int i = 0; i < 3'000; ++i) {
      now += std::chrono::milliseconds{rng.below(500)};
      controller.handle_timeout(now);
      controller.handle_feedback(
          now, {.loss = rng.chance(0.5) ? 0 : rng.uniform(),
                .queueing_delay = std::chrono::milliseconds{rng.below(rng.chance(0.5) ? 400 : ~0U)},
                .received = kbps(static_cast<int64_t>(rng.below(~0U)))});
      ASSERT_GE(controller.target(), options.floor) << "seed " << seed;
      ASSERT_LE(controller.target(), options.ceiling) << "seed " << seed;
    }
  }
}

/// A loss of -1 means that there was no feedback.
RateFeedback take(ArrivalBooks& books) {
  return books.take_feedback(200ms).value_or(RateFeedback{.loss = -1, .received = {}});
}

TEST(ArrivalBooks, CountsLossDelayAndRate) {
  ArrivalBooks books;
  EXPECT_FALSE(books.take_feedback(200ms).has_value());
  books.handle_arrival(10, 30ms, DataSize{1000});
  books.handle_arrival(11, 50ms, DataSize{1000});
  books.handle_arrival(13, 70ms, DataSize{500});
  EXPECT_EQ(books.take_feedback(200ms),
            (RateFeedback{.loss = 0.25, .queueing_delay = 40ms, .received = kbps(100)}));
  // An interval without arrivals: no loss is known, and the last delay is repeated.
  EXPECT_EQ(books.take_feedback(200ms),
            (RateFeedback{.loss = 0, .queueing_delay = 40ms, .received = kbps(0)}));
}

TEST(ArrivalBooks, SequenceNumbersWrapWithoutLoss) {
  ArrivalBooks books;
  for (uint32_t i = 0; i < 20; ++i) {
    books.handle_arrival(i - 10, 20ms, DataSize{100});
  }
  EXPECT_EQ(take(books).loss, 0);
  books.handle_arrival(11, 20ms, DataSize{100});
  EXPECT_EQ(take(books).loss, 0.5) << "number 10 is missing";
}

TEST(ArrivalBooks, LateAndRepeatedDatagramsAndLeapsAreNoLoss) {
  ArrivalBooks books;
  for (const uint32_t sequence : {100U, 102U, 101U, 102U, 0x7000'0000U, 0x7000'0001U}) {
    books.handle_arrival(sequence, 20ms, DataSize{100});
  }
  EXPECT_EQ(take(books).loss, 0);
}

TEST(ArrivalBooks, ReportsNoQueueBeyondAMinute) {
  ArrivalBooks books;
  books.handle_arrival(1, -24h * 1000, DataSize{100});
  books.handle_arrival(2, 24h * 1000, DataSize{100});
  EXPECT_EQ(take(books).queueing_delay, kQueueingDelayMax);
}

}  // namespace
}  // namespace cress::schemes
