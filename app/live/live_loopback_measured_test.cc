// Goal: the delay that the machine itself adds to a call. Method: two ends at 1280x720 and 30
// frames per second, one thread each, one clock, connected by the loopback interface. The delays
// are differences of end-to-end stamps: from the camera's hand-over to the frame decoded and handed
// over, from the first sample in the microphone to the same sample handed to the loudspeaker. The
// test microphone's tone, once a second, checks that the stamps follow the audio: its onsets, found
// in the played audio, are a second apart by them.

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <iostream>
#include <thread>

#include "app/live/live_measured_test_tools.hh"
#include "transport/runtime/clock_lateness_test_tools.hh"

namespace cress::live {
namespace {

constexpr Duration kMeasured = 15s;

LiveCallOptions hd(secure::Role role, const std::vector<std::byte>& secret) {
  LiveCallOptions options{
      .role = role, .secret = secret, .bind = *runtime::parse_address("127.0.0.1:0")};
  options.devices.camera = media::LiveCameraOptions{.id = media::kTestDevice, .size = {1280, 720}};
  options.devices.microphone = media::LiveMicrophoneOptions{
      .id = media::kTestDevice,
      .processing = {
          .echo_cancellation = false, .noise_suppression = false, .gain_control = false}};
  return options;
}

TEST(LiveLoopbackMeasured, HdIsSeenWithin50MsAndHeardWithin80) {
  const media::GstRuntime gst;
  const runtime::MonotonicClock clock;
  runtime::ClockLateness clock_lateness;
  const auto secret = secure::make_secret();
  MeasuredEnd lea{hd(secure::Role::kListener, secret)};
  LiveCallOptions options = hd(secure::Role::kJoiner, secret);
  options.listener = lea.address();
  MeasuredEnd jo{options};
  for (int i = 0; i < 600 && (lea.shown() < 30 || jo.shown() < 30); ++i) {
    std::this_thread::sleep_for(100ms);
  }
  // A minute is enough on any machine.
  ASSERT_GE(std::min(lea.shown(), jo.shown()), 30U);
  const TimePoint from = clock.now();
  (void)clock_lateness.p99();
  std::this_thread::sleep_for(kMeasured);
  const Duration lateness = clock_lateness.p99();
  for (MeasuredEnd* end : {&lea, &jo}) {
    const auto pictures = end->picture_delays(from);
    const auto sounds = end->sound_delays(from);
    const auto onsets = end->onsets(from);
    std::cout << static_cast<double>(pictures.size()) / to_seconds(kMeasured)
              << " pictures a second, seen after p50 " << to_milliseconds(quantile(pictures, 0.5))
              << ", p95 " << to_milliseconds(quantile(pictures, 0.95)) << " ms; heard after p50 "
              << to_milliseconds(quantile(sounds, 0.5)) << ", p95 "
              << to_milliseconds(quantile(sounds, 0.95)) << " ms; " << onsets.size()
              << " tones; timers late by " << to_milliseconds(lateness) << " ms\n";
    if (lateness > runtime::ClockLateness::kMax) {
      GTEST_SKIP() << "this machine is too busy: its timers are late";
    }
    ASSERT_GE(onsets.size(), 10U);
    for (size_t i = 1; i < onsets.size(); ++i) {
      const double apart_ms = to_milliseconds(onsets[i].captured - onsets[i - 1].captured);
      EXPECT_NEAR(apart_ms, 1000 * std::round(apart_ms / 1000), 25) << "a stamp beside its sound";
    }
    EXPECT_GT(static_cast<double>(pictures.size()), 29 * to_seconds(kMeasured));
    EXPECT_LE(quantile(pictures, 0.95), 50ms);
    EXPECT_LE(quantile(sounds, 0.95), 80ms);
  }
}

}  // namespace
}  // namespace cress::live
