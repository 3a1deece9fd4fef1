#include "transport/control/cress/yield_trial.hh"

#include <gtest/gtest.h>

namespace cress::control {
namespace {

class YieldTrialTest : public testing::Test {
 protected:
  /// For `length`, datagrams leave every 20 ms and arrive `apart`. Returns whether the queue was
  /// found to empty.
  bool pass(Duration length, Duration apart, DataSize size = DataSize{1000}) {
    for (const TimePoint end = expected_ + length; expected_ < end;) {
      expected_ += 20ms;
      at_ = std::max(at_ + apart, expected_);
      if (trial_.handle_arrival(at_, expected_, at_, size, at_ - expected_, others_left_)) {
        return true;
      }
    }
    return false;
  }
  void queue(Duration wait) { at_ = expected_ + wait; }
  /// All that was sent before the newest arrival arrives.
  void pass_round_trip(Duration apart) {
    for (const TimePoint begun = at_; expected_ < begun - 20ms;) {
      ASSERT_FALSE(pass(20ms, apart));
    }
  }
  void begin(Duration wait = 1300ms) {
    queue(wait);
    pass(320ms, 20ms);
    ASSERT_EQ(kbps(), 240) << "0.6 of 1000 bytes in 20 ms";
  }
  /// The first yield's datagrams arrive, and the newest was sent after it.
  void pass_first_yield(Duration apart) {
    pass_round_trip(20ms);
    ASSERT_EQ(kbps(), 400) << "what leaves, while its datagrams are in the queue";
    ASSERT_FALSE(pass(440ms, apart));
  }
  /// Others take the room.
  void end() {
    pass_round_trip(20ms);
    pass(240ms, 20ms);
    ASSERT_FALSE(trial_.limit());
  }
  /// Datagrams arrive `apart` after a trial that others ended. From its beginning to the next
  /// one's.
  Duration next_trial_after(Duration apart, Duration wait = 1300ms) {
    trial_ = {};
    begin(wait);
    const TimePoint begun = at_;
    end();
    while (!trial_.limit() && at_ - begun < 1min) {
      pass(20ms, apart);
    }
    return at_ - begun;
  }
  /// A trial begins in a queue that does not grow if the wait exceeds `wait`.
  void expect_tried_beyond(Duration wait) {
    queue(wait);
    pass(10s, 20ms);
    EXPECT_FALSE(trial_.limit());
    queue(wait + 1ms);
    pass(320ms, 20ms);
    EXPECT_TRUE(trial_.limit());
  }
  double kbps() const { return trial_.limit().value_or(DataRate{}).kilobits_per_second(); }

  YieldTrial trial_;
  bool others_left_ = false;
  TimePoint expected_ = kTimeZero + 10s;
  TimePoint at_ = expected_;
};

TEST_F(YieldTrialTest, FastGrowthBeginsATrial) {
  queue(150ms);
  pass(10s, 20ms);
  EXPECT_FALSE(trial_.limit()) << "it stands";
  queue(100ms);
  pass(3s, 25'900us);
  EXPECT_FALSE(trial_.limit()) << "1.295 times further apart";
  queue(100ms);
  pass(640ms, 26'100us);
  ASSERT_TRUE(trial_.limit());
  EXPECT_NEAR(trial_.limit()->kilobits_per_second(), 0.6 * 8 * 1000 / 26.1, 1);
}

TEST_F(YieldTrialTest, AShortQueueMayGrow) {
  pass(320ms, 29ms);
  queue(40ms);
  pass(320ms, 26'500us);
  EXPECT_FALSE(trial_.limit()) << "144 ms";
  pass(320ms, 26'500us);
  EXPECT_TRUE(trial_.limit());
}

TEST_F(YieldTrialTest, ALongQueueBeginsATrialThoughItStands) { expect_tried_beyond(1200ms); }

TEST_F(YieldTrialTest, WhenOthersSeemToHaveLeftAStandingQueueIsTried) {
  others_left_ = true;
  expect_tried_beyond(150ms);
}

TEST_F(YieldTrialTest, WhenOthersSeemToHaveLeftItIsTriedEvery2Seconds) {
  others_left_ = true;
  EXPECT_GE(next_trial_after(20ms, 400ms), 2s);
  EXPECT_LE(next_trial_after(20ms, 400ms), 2320ms);
}

TEST_F(YieldTrialTest, TrialsOfAQueueThatOthersLeftPostponeNoOthers) {
  others_left_ = true;
  begin(400ms);
  end();
  others_left_ = false;
  pass(640ms, 26'100us);
  EXPECT_TRUE(trial_.limit()) << "it grows fast";
}

TEST_F(YieldTrialTest, WhatWasSentBeforeDecidesNothing) {
  begin();
  pass_round_trip(1ms);
  EXPECT_TRUE(trial_.limit());
}

TEST_F(YieldTrialTest, TheFirstYieldTakes400Milliseconds) {
  begin();
  pass(380ms, 20ms);
  EXPECT_EQ(kbps(), 240);
  pass(40ms, 20ms);
  EXPECT_EQ(kbps(), 400);
}

TEST_F(YieldTrialTest, AQueueThatShrinksIsYieldedToAgain) {
  begin();
  pass_first_yield(17ms);
  EXPECT_EQ(kbps(), 240);
}

TEST_F(YieldTrialTest, AQueueThatEmptiesIsFound) {
  begin();
  pass_first_yield(10ms);
  pass_round_trip(20ms);
  queue(1300ms);
  EXPECT_FALSE(pass(1900ms, 10ms)) << "350 ms left";
  EXPECT_TRUE(trial_.limit());
  EXPECT_FALSE(trial_.handle_arrival(at_, at_ - 325ms, at_, DataSize{100}, 1s, false));
  EXPECT_TRUE(trial_.handle_arrival(at_, at_ - 324ms, at_, DataSize{100}, 1s, false));
  EXPECT_FALSE(trial_.limit());
}

TEST_F(YieldTrialTest, OthersThatTakeTheRoomEndIt) {
  begin();
  pass_round_trip(20ms);
  EXPECT_FALSE(pass(240ms, 17'100us));
  EXPECT_FALSE(trial_.limit());
}

TEST_F(YieldTrialTest, OthersThatTakeTheRoomLaterEndIt) {
  begin();
  pass_first_yield(17ms);
  pass_round_trip(20ms);
  EXPECT_FALSE(pass(660ms, 17ms)) << "each span of 0.85 drains it";
  EXPECT_TRUE(trial_.limit());
  EXPECT_FALSE(pass(440ms, 17'100us));
  EXPECT_FALSE(trial_.limit());
}

TEST_F(YieldTrialTest, AQueueThatGrowsIsTriedAgainAfterTenSeconds) {
  EXPECT_GE(next_trial_after(26'100us), 10s);
  EXPECT_LE(next_trial_after(26'100us), 10'400ms);
}

TEST_F(YieldTrialTest, AQueueThatStandsIsTriedAgainAfter30Seconds) {
  EXPECT_GE(next_trial_after(20ms), 30s);
  EXPECT_LE(next_trial_after(20ms), 30'320ms);
}

TEST_F(YieldTrialTest, AudioGoesOn) {
  queue(1300ms);
  pass(320ms, 20ms, DataSize{10});
  ASSERT_TRUE(trial_.limit());
  EXPECT_EQ(trial_.limit()->kilobits_per_second(), 50);
}

TEST_F(YieldTrialTest, AnyTimesOfAPeerAreSafe) {
  for (const Duration at : {Duration{-1h}, Duration{1us}, Duration{24h}, Duration{-24h}}) {
    for (const Duration expected : {Duration{1h}, Duration{0}, Duration{-24h}}) {
      for (int i = 0; i < 20; ++i) {
        trial_.handle_arrival(at_, kTimeZero + expected * i, kTimeZero + at * i, DataSize{100}, 1s,
                              false);
      }
    }
  }
}

}  // namespace
}  // namespace cress::control
