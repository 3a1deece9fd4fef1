#include "app/live/meters.hh"

#include <gtest/gtest.h>

#include "app/live/live_sample.hh"
#include "app/live/session_meter.hh"

namespace cress::live {
namespace {

constexpr TimePoint at(Duration since) { return kTimeZero + since; }
constexpr DataRate kbps(int64_t rate) { return DataRate::kilobits_per_second(rate); }

TEST(RateMeter, NeedsTwoPointsAndSomeTime) {
  RateMeter meter;
  EXPECT_EQ(meter.rate(), DataRate{});
  meter.add(at(1s), 500);
  EXPECT_EQ(meter.rate(), DataRate{});
  meter.add(at(1s), 900);
  EXPECT_EQ(meter.rate(), DataRate{}) << "no time has passed";
  meter.add(at(1s) + Duration{1}, 901);
  EXPECT_GT(meter.rate(), DataRate{});
}

TEST(RateMeter, CountsBytesSinceItsFirstPoint) {
  RateMeter meter;
  meter.add(at(10s), 7000);
  meter.add(at(10s + 500ms), 7500);
  EXPECT_EQ(meter.rate(), kbps(8));
  meter.add(at(10s + 800ms), 9000);
  EXPECT_EQ(meter.rate(), kbps(20));
}

TEST(RateMeter, ForgetsValuesOlderThanASecond) {
  RateMeter meter;
  meter.add(at(0s), 0);
  meter.add(at(100ms), 100'000);
  meter.add(at(1100ms) - Duration{1}, 100'000);
  EXPECT_GT(meter.rate(), kbps(700)) << "the second point is not yet a second old";
  meter.add(at(1100ms), 101'000);
  EXPECT_EQ(meter.rate(), kbps(8)) << "it is now";
  meter.add(at(5s), 101'000);
  EXPECT_EQ(meter.rate(), DataRate{});
  meter.add(at(9s), 105'000);
  EXPECT_EQ(meter.rate(), kbps(8)) << "two points stay, however old";
}

TEST(QuantileOf, IsAValueOfTheListWithoutInterpolation) {
  EXPECT_EQ(quantile_of({}, 0.5), std::nullopt);
  EXPECT_EQ(quantile_of({7ms}, 0.95), Duration{7ms});
  EXPECT_EQ(quantile_of({3ms, 1ms, 2ms}, 0.5), Duration{2ms});
  EXPECT_EQ(quantile_of({4ms, 3ms, 1ms, 2ms}, 0.5), Duration{2ms});
  EXPECT_EQ(quantile_of({3ms, 1ms, 2ms}, 0), Duration{1ms});
  EXPECT_EQ(quantile_of({3ms, 1ms, 2ms}, 1), Duration{3ms});
}

TEST(DelayMeter, TakesTheLeastOfItsDelaysForTheLeastThatIsKnown) {
  DelayMeter meter;
  // Their clock is an hour ahead of ours.
  meter.add(at(100ms), at(1h + 50ms));
  meter.add(at(200ms), at(1h + 120ms));
  meter.add(at(300ms), at(1h + 260ms));
  EXPECT_EQ(meter.recent(at(300ms), 20ms), (std::vector<Duration>{30ms, 60ms, 20ms}));
  EXPECT_EQ(meter.quantile(at(300ms), 0.5, 20ms), Duration{30ms});
  EXPECT_EQ(meter.quantile(at(300ms), 1, 0ms), Duration{40ms});
}

TEST(DelayMeter, ReportsTheLastSecondAlone) {
  DelayMeter meter;
  EXPECT_EQ(meter.quantile(at(0s), 0.5, 0ms), std::nullopt);
  meter.add(at(1s), at(1s));
  EXPECT_EQ(meter.recent(at(2s) - Duration{1}, 0ms).size(), 1U);
  EXPECT_TRUE(meter.recent(at(2s), 0ms).empty());
  meter.add(at(2s) - Duration{1}, at(2s));
  EXPECT_EQ(meter.recent(at(2s) - Duration{1}, 0ms).size(), 2U);
  meter.add(at(2s), at(2s));
  EXPECT_EQ(meter.recent(at(2s), 0ms).size(), 2U);
  EXPECT_EQ(meter.recent(at(2s) - Duration{1}, 0ms).size(), 2U) << "forgotten for good";
}

TEST(DelayMeter, Keeps256Delays) {
  DelayMeter meter;
  for (int i = 0; i < 256; ++i) {
    meter.add(at(i * 1ms), at(0s));
  }
  EXPECT_EQ(meter.recent(at(255ms), 0ms).size(), 256U);
  EXPECT_EQ(meter.recent(at(255ms), 0ms).front(), Duration{});
  meter.add(at(256ms), at(0s));
  EXPECT_EQ(meter.recent(at(256ms), 0ms).size(), 256U);
  EXPECT_EQ(meter.recent(at(256ms), 0ms).front(), Duration{1ms}) << "the oldest goes";
}

TEST(DelayMeter, RemembersTheLeastForTenToTwentySeconds) {
  DelayMeter meter;
  const auto delay_with = [&](TimePoint now, Duration delay) {
    meter.add(now, now - delay);
    return meter.recent(now, 0ms).back();
  };
  EXPECT_EQ(delay_with(at(0s), 10ms), Duration{});
  EXPECT_EQ(delay_with(at(10s) - Duration{1}, 50ms), Duration{40ms});
  EXPECT_EQ(delay_with(at(10s), 50ms), Duration{40ms}) << "a second ten seconds begin";
  EXPECT_EQ(delay_with(at(20s) - Duration{1}, 60ms), Duration{50ms});
  EXPECT_EQ(delay_with(at(20s), 60ms), Duration{10ms}) << "the 10 ms are forgotten";
  EXPECT_EQ(delay_with(at(21s), 5ms), Duration{}) << "a new least";
}

// ---- SessionMeter

secure::ConnectionStats stats_with(uint64_t opened, uint64_t sent = 0, uint64_t received = 0) {
  secure::ConnectionStats stats;
  stats.records_opened = opened;
  stats.bytes_sent = sent;
  stats.bytes_received = received;
  return stats;
}

TEST(SessionMeter, ReportsTimeSinceTheLastAuthenticDatagram) {
  SessionMeter meter{at(1s)};
  EXPECT_EQ(meter.sample(at(3s)).unheard, Duration{2s});
  meter.handle_connected(at(4s));
  EXPECT_EQ(meter.sample(at(5s)).unheard, Duration{1s});
  meter.handle_drained(at(6s), stats_with(1));
  EXPECT_EQ(meter.sample(at(6s)).unheard, Duration{});
  meter.handle_drained(at(7s), stats_with(1));
  EXPECT_EQ(meter.sample(at(7s)).unheard, Duration{1s}) << "nothing more was opened";
  meter.handle_drained(at(8s), stats_with(2));
  EXPECT_EQ(meter.sample(at(8s)).unheard, Duration{});
  meter.handle_drained(at(9s), stats_with(0));
  EXPECT_EQ(meter.sample(at(9s)).unheard, Duration{1s}) << "another connection, not yet heard";
  meter.handle_drained(at(10s), stats_with(1));
  EXPECT_EQ(meter.sample(at(10s)).unheard, Duration{});
  EXPECT_EQ(meter.sample(at(10s)).at, at(10s));
}

TEST(SessionMeter, GivesTheRatesOfBothDirections) {
  SessionMeter meter{kTimeZero};
  meter.tick(at(0s), stats_with(0, 1000, 5000));
  meter.tick(at(500ms), stats_with(0, 2000, 8000));
  const LiveSample sample = meter.sample(at(500ms));
  EXPECT_EQ(sample.sent, kbps(16));
  EXPECT_EQ(sample.received, kbps(48));
}

TEST(SessionMeter, CountsPicturesAndSaysHowLongNoneHadRoom) {
  SessionMeter meter{kTimeZero};
  const auto code = [&](Duration since, DataSize size, bool is_key) {
    app::CodedVideo coded;
    coded.size = size;
    coded.key_frame = is_key;
    meter.handle_coded(at(since), coded);
  };
  code(0s, DataSize{1}, true);
  code(1s, DataSize{500}, false);
  EXPECT_EQ(meter.sample(at(2s)).picture_skipped, Duration{});
  code(2s, DataSize{}, false);
  code(3s, DataSize{}, false);
  EXPECT_EQ(meter.sample(at(5s)).picture_skipped, Duration{3s}) << "since the first of them";
  code(6s, DataSize{1}, false);
  const LiveSample sample = meter.sample(at(7s));
  EXPECT_EQ(sample.picture_skipped, Duration{});
  EXPECT_EQ(sample.frames_captured, 5U);
  EXPECT_EQ(sample.frames_coded, 3U);
  EXPECT_EQ(sample.key_frames, 1U);
}

TEST(SessionMeter, CountsPlayedSpeech) {
  SessionMeter meter{kTimeZero};
  using Kind = app::SoundKind;
  for (const Kind kind : {Kind::kNormal, Kind::kFec, Kind::kConcealed, Kind::kConcealed,
                          Kind::kConcealed, Kind::kSilence, Kind::kComfort}) {
    meter.handle_played({.captured = at(0s), .played = at(1s), .kind = kind});
  }
  const LiveSample sample = meter.sample(at(1s));
  EXPECT_EQ(sample.sound_played, 5U);
  EXPECT_EQ(sample.sound_concealed, 3U);
}

TEST(SessionMeter, DelaysAreThoseOfTheLastSecondAndOfOneOtherEnd) {
  SessionMeter meter{kTimeZero};
  const auto none = meter.sample(at(0s));
  EXPECT_EQ(none.frame_delay_p50, std::nullopt);
  EXPECT_EQ(none.sound_delay, std::nullopt);
  EXPECT_EQ(meter.least_delay(), Duration{});
  for (int i = 0; i <= 100; ++i) {
    const TimePoint now = at(1s + i * 5ms);
    meter.handle_shown(now, now - i * 1ms);
  }
  using Kind = app::SoundKind;
  const auto play = [&](Kind kind, Duration delay) {
    meter.handle_played({.captured = at(1s), .played = at(1s + delay), .kind = kind});
  };
  play(Kind::kNormal, 10ms);
  play(Kind::kFec, 30ms);
  play(Kind::kNormal, 60ms);
  play(Kind::kConcealed, 400ms);  // says nothing about the network
  play(Kind::kComfort, 400ms);
  const LiveSample sample = meter.sample(at(1500ms));
  EXPECT_EQ(sample.frames_shown, 101U);
  EXPECT_EQ(sample.frame_delay_p50, Duration{50ms});
  EXPECT_EQ(sample.frame_delay_p95, Duration{95ms});
  EXPECT_EQ(sample.sound_delay, Duration{20ms}) << "above the least";
  meter.handle_connected(at(1500ms));
  const LiveSample after = meter.sample(at(1500ms));
  EXPECT_EQ(after.frame_delay_p50, std::nullopt);
  EXPECT_EQ(after.frame_delay_p95, std::nullopt);
  EXPECT_EQ(after.sound_delay, std::nullopt);
  EXPECT_EQ(after.frames_shown, 101U) << "counters go on";
}

TEST(EventNames, EveryKindHasItsOwnWord) {
  using Kind = LiveEvent::Kind;
  EXPECT_STREQ(describe(Kind::kConnected), "connected");
  EXPECT_STREQ(describe(Kind::kUnreachable), "unreachable");
  EXPECT_STREQ(describe(Kind::kReachable), "reachable");
  EXPECT_STREQ(describe(Kind::kPathChanged), "path_changed");
  EXPECT_STREQ(describe(Kind::kEnded), "ended");
  EXPECT_STREQ(describe(Kind::kDeviceRefused), "device_refused");
  EXPECT_STREQ(describe(Kind::kDeviceLost), "device_lost");
  EXPECT_STREQ(describe(Kind::kDeviceBack), "device_back");
  EXPECT_STREQ(describe(Kind::kNewcomerWaits), "newcomer_waits");
  EXPECT_STREQ(describe(Kind::kNewcomerGone), "newcomer_gone");
  EXPECT_STREQ(describe(Kind::kNotice), "notice");
}

TEST(SampleOfACall, BeginsWithNothing) {
  const LiveSample sample;
  EXPECT_FALSE(sample.connected || sample.is_relayed || sample.is_ipv6);
  EXPECT_EQ(sample.loss_up, 0);
  EXPECT_EQ(sample.loss_down, 0);
  EXPECT_EQ(sample.microphone_dbfs, media::kSilenceDbfs);
  EXPECT_EQ(sample.speaker_dbfs, media::kSilenceDbfs);
  for (const uint64_t count :
       {sample.frames_captured, sample.frames_coded, sample.frames_late, sample.frames_shown,
        sample.key_frames, sample.sound_played, sample.sound_concealed}) {
    EXPECT_EQ(count, 0U);
  }
}

}  // namespace
}  // namespace cress::live
