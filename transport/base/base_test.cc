#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <type_traits>

#include "transport/base/check.hh"
#include "transport/base/file_descriptor.hh"
#include "transport/base/result.hh"
#include "transport/base/rng.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress {
namespace {

template <class Clock>
concept HasNow = requires { Clock::now(); };

TEST(Time, ProtocolClockCannotBeRead) { EXPECT_FALSE(HasNow<ProtocolClock>); }

TEST(Time, FloorsTowardsMinusInfinity) {
  EXPECT_EQ(floor_milliseconds(kTimeZero + 1999us), 1);
  EXPECT_EQ(floor_milliseconds(kTimeZero - 1us), -1);
}

TEST(Units, RateTimesTimeIsSizeAndBack) {
  const DataRate rate = DataRate::kilobits_per_second(1200);
  EXPECT_EQ(rate * Duration{10ms}, DataSize{1500});
  EXPECT_EQ(DataSize{1500} / rate, 10ms);
  EXPECT_EQ(DataRate::from(DataSize{1500}, 10ms), rate);
}

TEST(Check, FailureSaysWhatAndWhere) {
  EXPECT_DEATH(check(1 + 1 == 3, "sums add up"), "base_test.cc:[0-9]+: check failed: sums add up");
}

TEST(FileDescriptor, ClosesNumberZeroToo) {
  const int kept = ::dup(STDIN_FILENO);
  ::close(STDIN_FILENO);
  {
    const FileDescriptor first{::open("/dev/null", O_RDONLY)};
    EXPECT_EQ(first.get(), 0);
  }
  EXPECT_EQ(::fcntl(0, F_GETFD), -1);
  if (kept >= 0) {
    ::dup2(kept, STDIN_FILENO);
    ::close(kept);
  }
}

TEST(Narrow, RefusesToLoseTheValue) {
  EXPECT_EQ(narrow<uint8_t>(255), 255);
  EXPECT_DEATH(narrow<uint8_t>(256), "out of range");
  EXPECT_DEATH(narrow<unsigned>(-1), "out of range");
  EXPECT_DEATH(narrow<int>(3e9), "out of range");
}

TEST(Result, HoldsValueOrErrorAndReadingTheOtherIsABug) {
  enum class Error { kBad };
  const Result<int, Error> good = 7;
  const Result<int, Error> bad = Error::kBad;
  EXPECT_TRUE(good);
  EXPECT_EQ(*good, 7);
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.error(), Error::kBad);
  EXPECT_DEATH((void)bad.value(), "value\\(\\) of an error");
}

TEST(Rng, SameSeedSameNumbersOnEveryMachine) {
  Rng rng{1};
  // First values of xoshiro256++ seeded by splitmix64(1), computed independently in Python.
  EXPECT_EQ(rng.next(), 14971601782005023387U);
  EXPECT_EQ(rng.next(), 13781649495232077965U);
  Rng again{1};
  EXPECT_EQ(again.next(), 14971601782005023387U);
}

TEST(Rng, ForkDoesNotDependOnHowMuchTheParentWasUsed) {
  Rng a{5};
  const Rng b{5};
  a.next();
  EXPECT_EQ(a.fork(3).next(), b.fork(3).next());
  EXPECT_NE(b.fork(3).next(), b.fork(4).next());
}

TEST(Rng, MomentsMatchTheDistributions) {
  Rng rng{42};
  constexpr int kDraws = 200'000;
  double normal_sum = 0;
  double normal_squares = 0;
  double exponential_sum = 0;
  double poisson_sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double z = rng.normal();
    normal_sum += z;
    normal_squares += z * z;
    exponential_sum += rng.exponential(3.0);
    poisson_sum += static_cast<double>(rng.poisson(4.5));
  }
  EXPECT_NEAR(normal_sum / kDraws, 0.0, 0.01);
  EXPECT_NEAR(normal_squares / kDraws, 1.0, 0.02);
  EXPECT_NEAR(exponential_sum / kDraws, 3.0, 0.05);
  EXPECT_NEAR(poisson_sum / kDraws, 4.5, 0.03);
}

TEST(Rng, BelowCoversItsRangeEvenly) {
  Rng rng{9};
  std::array<int, 3> counts{};
  for (int i = 0; i < 30'000; ++i) {
    ++counts.at(rng.below(3));
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, 10'000, 400);
  }
}

}  // namespace
}  // namespace cress
