#include "transport/runtime/clock.hh"

#include <gtest/gtest.h>

#include "transport/base/rng.hh"

namespace cress::runtime {
namespace {

TEST(MonotonicClock, BeginsAtZeroAndNeverGoesBack) {
  const MonotonicClock clock;
  TimePoint last = kTimeZero;
  for (int i = 0; i < 10'000; ++i) {
    const TimePoint now = clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_LT(last, kTimeZero + 1h);
}

TEST(MonotonicClock, ReadsTheWallClockAtTheSameTime) {
  const MonotonicClock clock;
  const auto first = clock.read_both();
  const auto second = clock.read_both();
  EXPECT_GE(second.now, first.now);
  EXPECT_GT(first.wall, 24h * 365 * 50) << "the wall clock of this machine is before 2020";
}

TEST(ArrivalClock, AStampBecomesItsAgeBeforeThePresent) {
  ArrivalClock arrivals;
  const MonotonicClock::Reading reading{kTimeZero + 10s, 1'000'000s};
  EXPECT_EQ(arrivals.arrival(999'999'900ms, reading), kTimeZero + 9'900ms);
  EXPECT_EQ(arrivals.arrival(1'000'000s, reading), kTimeZero + 10s);
}

TEST(ArrivalClock, AStampOfTheFutureIsThePresent) {
  ArrivalClock arrivals;
  EXPECT_EQ(arrivals.arrival(2'000'000s, {kTimeZero + 10s, 1'000'000s}), kTimeZero + 10s);
}

TEST(ArrivalClock, WallClockStepNeverPredatesTheEmptySocket) {
  ArrivalClock arrivals;
  arrivals.not_before(kTimeZero + 9'980ms);
  EXPECT_EQ(arrivals.arrival(1'000'000s, {kTimeZero + 10s, 1'003'600s}), kTimeZero + 9'980ms);
}

TEST(ArrivalClock, ArrivalTimesAscendDespiteTheWallClock) {
  Rng rng{7};
  ArrivalClock arrivals;
  MonotonicClock::Reading reading{kTimeZero, 1'000'000s};
  TimePoint last = TimePoint::min();
  for (int i = 0; i < 100'000; ++i) {
    const Duration pause{static_cast<int64_t>(rng.below(50'000'000))};
    reading.now += pause;
    reading.wall += rng.chance(0.01) ? from_seconds(rng.uniform(-1e5, 1e5)) : pause;
    const TimePoint at =
        arrivals.arrival(reading.wall - from_seconds(rng.uniform(-0.1, 0.1)), reading);
    ASSERT_GE(at, last);
    ASSERT_LE(at, reading.now);
    last = at;
  }
}

TEST(SleepDetector, ReportsASuspendOnceAndNoReadingErrors) {
  SleepDetector detector{5s};
  EXPECT_EQ(detector.update(5s + 20us), Duration{});
  EXPECT_EQ(detector.update(5s - 20us), Duration{});
  EXPECT_EQ(detector.update(65s), 60s);
  EXPECT_EQ(detector.update(65s), Duration{});
}

TEST(SleepDetector, ManyShortSleepsAddUpToOne) {
  SleepDetector detector{Duration{}};
  Duration told{};
  for (int i = 1; i <= 100; ++i) {
    told += detector.update(i * 10ms);
  }
  EXPECT_EQ(told, 1s);
}

TEST(SleepDetector, NoSuspendIsReportedWhileAwake) {
  SleepDetector detector{MonotonicClock::slept()};
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(detector.update(MonotonicClock::slept()), Duration{});
  }
}

}  // namespace
}  // namespace cress::runtime
