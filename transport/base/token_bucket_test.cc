#include "transport/base/token_bucket.hh"

#include <gtest/gtest.h>

namespace cress {
namespace {

TEST(TokenBucket, AllowsItsBurstAtOnceAndNoMore) {
  TokenBucket bucket{{.per_second = 2, .burst = 3}};
  EXPECT_TRUE(bucket.take(kTimeZero));
  EXPECT_TRUE(bucket.take(kTimeZero));
  EXPECT_TRUE(bucket.take(kTimeZero));
  EXPECT_FALSE(bucket.take(kTimeZero));
}

TEST(TokenBucket, FillsAtItsRateWhateverIsAskedMeanwhile) {
  TokenBucket bucket{{.per_second = 2, .burst = 1}};
  ASSERT_TRUE(bucket.take(kTimeZero));
  EXPECT_FALSE(bucket.take(kTimeZero + 250ms));
  EXPECT_FALSE(bucket.take(kTimeZero + 499ms));
  EXPECT_TRUE(bucket.take(kTimeZero + 500ms));
  EXPECT_FALSE(bucket.take(kTimeZero + 999ms));
  EXPECT_TRUE(bucket.take(kTimeZero + 1001ms));
}

TEST(TokenBucket, HoldsNoMoreThanItsBurstHoweverLongItWaits) {
  TokenBucket bucket{{.per_second = 10, .burst = 2}};
  int taken = 0;
  for (int i = 0; i < 5; ++i) {
    taken += bucket.take(kTimeZero + 1h) ? 1 : 0;
  }
  EXPECT_EQ(taken, 2);
}

TEST(TokenBucket, PassesItsRateAndItsBurst) {
  TokenBucket bucket{{.per_second = 100, .burst = 50}};
  int passed = 0;
  for (TimePoint now = kTimeZero; now < kTimeZero + 10s; now += 1ms) {
    passed += bucket.take(now, 1) ? 1 : 0;
  }
  EXPECT_NEAR(passed, 1050, 2);
}

TEST(TokenBucket, HasItsBurstAtFirstAndNeverMore) {
  TokenBucket bucket{{.per_second = 10, .burst = 5}};
  EXPECT_FALSE(bucket.take(kTimeZero, 5.01));
  EXPECT_TRUE(bucket.take(kTimeZero, 5));
  EXPECT_FALSE(bucket.take(kTimeZero, 0.01));
  EXPECT_TRUE(bucket.take(kTimeZero + 100ms, 1));
  EXPECT_TRUE(bucket.take(kTimeZero + 1h, 5));
  EXPECT_FALSE(bucket.take(kTimeZero + 1h, 0.01));
}

TEST(TokenBucket, AnotherRateCountsFromThenOn) {
  TokenBucket bucket{{.per_second = 10, .burst = 5}};
  EXPECT_TRUE(bucket.take(kTimeZero, 5));
  bucket.set_options(kTimeZero + 100ms, {.per_second = 100, .burst = 50});
  EXPECT_FALSE(bucket.take(kTimeZero + 100ms, 1.01));
  EXPECT_TRUE(bucket.take(kTimeZero + 100ms, 1));
  EXPECT_TRUE(bucket.take(kTimeZero + 200ms, 10));
  EXPECT_FALSE(bucket.take(kTimeZero + 200ms, 0.01));
  bucket.set_options(kTimeZero + 1h, {.per_second = 1, .burst = 2});  // the excess is lost
  EXPECT_FALSE(bucket.take(kTimeZero + 1h, 2.01));
  EXPECT_TRUE(bucket.take(kTimeZero + 1h, 2));
}

}  // namespace
}  // namespace cress
