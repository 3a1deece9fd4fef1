#include "app/desktop/call_health.hh"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace cress::desktop {
namespace {

constexpr DataRate kbps(int64_t n) { return DataRate::kilobits_per_second(n); }

/// Fed five times a second, as a call's is.
class CallHealthTest : public ::testing::Test {
 protected:
  void run(Duration length) {
    for (const TimePoint end = sample_.at + length; sample_.at < end;) {
      sample_.at += 200ms;
      sample_.frames_captured += 6;
      sample_.frames_late += late_;
      health_.add(sample_, circumstances_);
    }
  }
  const std::string& words() const { return health_.status().text; }

  live::LiveSample sample_{.at = kTimeZero + 1h,
                           .connected = true,
                           .forecast = kbps(1500),
                           .peer_forecast = kbps(1800),
                           .sent = kbps(900),
                           .received = kbps(1000),
                           .window = DataSize{20'000},
                           .rtt = 80ms,
                           .loss_up = 0.01,
                           .loss_down = 0.02,
                           .unheard = 20ms,
                           .frame_delay_p50 = 90ms,
                           .frame_delay_p95 = 140ms};
  uint64_t late_ = 0;
  CallCircumstances circumstances_{.peer_name = "Anna"};
  CallHealth health_;
};

TEST_F(CallHealthTest, NumbersArriveWhereTheyAreShown) {
  run(10s);
  const ui::LinkHealth& health = health_.health();
  EXPECT_EQ(health.uplink_forecast, kbps(1500));
  EXPECT_EQ(health.downlink_forecast, kbps(1800));
  EXPECT_EQ(health.sent, kbps(900));
  EXPECT_EQ(health.received, kbps(1000));
  EXPECT_EQ(health.window, DataSize{20'000});
  EXPECT_EQ(health.one_way_delay, 40ms);
  EXPECT_EQ(health.frame_delay, 90ms);
  EXPECT_EQ(health.loss_up, 0.01);
  EXPECT_EQ(health.loss_down, 0.02);
  EXPECT_EQ(health.outage, 20ms);
  EXPECT_EQ(health_.history().size(), 50U);
  const ui::LinkSample& newest = health_.history().newest();
  EXPECT_EQ(newest.at, sample_.at);
  EXPECT_EQ(newest.forecast, kbps(1500));
  EXPECT_EQ(newest.frame_delay, 140ms);
  EXPECT_EQ(newest.loss, 0.02);
  EXPECT_EQ(words(), "The link is good.");
  EXPECT_EQ(health_.status().tone, ui::Tone::kGood);
}

TEST_F(CallHealthTest, AnUnknownForecastIsNoTrouble) {
  sample_.forecast = sample_.peer_forecast = {};
  run(10s);
  EXPECT_EQ(words(), "The link is good.");
  EXPECT_EQ(health_.health().uplink_forecast, DataRate{}) << "no number is made up for the panel";
}

TEST_F(CallHealthTest, SlowLinkAndOutageAreReported) {
  sample_.forecast = kbps(200);
  run(5s);
  EXPECT_NE(words().find("uplink is down to 200 kbit/s"), words().npos) << words();
  sample_.unheard = 5s;
  run(5s);
  EXPECT_NE(words().find("Reconnecting"), words().npos) << words();
}

TEST_F(CallHealthTest, TalkingWhileMutedIsReportedButNotAShortNoise) {
  circumstances_.muted = true;
  sample_.microphone_dbfs = -20;
  run(200ms);
  sample_.microphone_dbfs = -70;
  run(4s);
  EXPECT_EQ(words(), "The link is good.");
  sample_.microphone_dbfs = -20;
  run(1s);
  EXPECT_NE(words().find("muted"), words().npos) << words();
}

TEST_F(CallHealthTest, NoVideoIsExpectedWhileTheCameraIsOff) {
  sample_.picture_skipped = 10s;
  circumstances_.camera_off = true;
  circumstances_.camera_lost = true;
  run(5s);
  EXPECT_EQ(words(), "The link is good.");
  circumstances_.camera_off = false;
  circumstances_.camera_lost = false;
  run(5s);
  EXPECT_NE(words().find("only sound goes"), words().npos) << words();
}

TEST_F(CallHealthTest, SlowComputerIsReportedByItsShareOfLateFrames) {
  late_ = 1;  // of 7
  run(10s);
  EXPECT_NEAR(health_.health().late_pictures, 1.0 / 7, 0.01);
  EXPECT_EQ(words(), "The link is good.");
  late_ = 4;  // of 10
  run(10s);
  EXPECT_NEAR(health_.health().late_pictures, 0.4, 0.01);
  EXPECT_NE(words().find("too busy"), words().npos) << words();
  sample_.frames_late = 0;  // another camera
  late_ = 0;
  run(10s);
  EXPECT_EQ(health_.health().late_pictures, 0);
  EXPECT_EQ(words(), "The link is good.");
}

TEST_F(CallHealthTest, FewerThan15FramesSayNothingOfTheComputer) {
  for (const auto& [late, share] : {std::pair{4U, 0.0}, {5U, 5.0 / 15}}) {
    CallHealth health;
    health.add(sample_, circumstances_);
    live::LiveSample next = sample_;
    next.at += 3s;
    next.frames_captured += 10;
    next.frames_late += late;
    health.add(next, circumstances_);
    EXPECT_EQ(health.health().late_pictures, share);
    next.at += 1us;  // now the first sample is older than 3 s
    health.add(next, circumstances_);
    EXPECT_EQ(health.health().late_pictures, 0);
  }
}

TEST_F(CallHealthTest, AVoiceIsTwiceInARowAbove38Decibels) {
  const auto speaks = [this](double dbfs) {
    sample_.microphone_dbfs = dbfs;
    run(200ms);
    return health_.health().speaking;
  };
  EXPECT_FALSE(speaks(-37.9));
  EXPECT_FALSE(speaks(-38));
  EXPECT_FALSE(speaks(-37.9));
  EXPECT_TRUE(speaks(-37.9));
}

TEST_F(CallHealthTest, WithoutViewersALinkWithoutVideoIsGood) {
  sample_.forecast = kbps(50);
  sample_.picture_skipped = 10s;
  circumstances_.nobody_looks = true;
  run(5s);
  EXPECT_EQ(words(), "The link is good.");
  EXPECT_EQ(health_.health().picture_skipped, Duration{});
  EXPECT_EQ(health_.health().uplink_forecast, kbps(50));
  circumstances_.nobody_looks = false;
  run(5s);
  EXPECT_NE(words().find("only sound goes"), words().npos) << words();
  EXPECT_EQ(health_.health().picture_skipped, 10s);
}

TEST_F(CallHealthTest, LostDevicesAreReportedIfTheyMatter) {
  circumstances_.camera_lost = true;
  run(5s);
  EXPECT_NE(words().find("camera is gone"), words().npos) << words();
  circumstances_.microphone_lost = true;
  run(5s);
  EXPECT_NE(words().find("not heard"), words().npos) << words();
  circumstances_ = {.speaker_lost = true};
  run(5s);
  EXPECT_NE(words().find("hear nothing"), words().npos) << words();
}

}  // namespace
}  // namespace cress::desktop
