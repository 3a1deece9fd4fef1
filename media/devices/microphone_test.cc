#include "media/devices/microphone.hh"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "media/devices/audio_framer.hh"
#include "media/devices/device_test_tools.hh"
#include "media/devices/voice_processor.hh"
#include "media/gst/gst_runtime.hh"
#include "media/source/wav.hh"

namespace cress::media {
namespace {

namespace fs = std::filesystem;
using Kind = DeviceEvent::Kind;

constexpr VoiceProcessing kUntouched{false, false, false};

class Microphone : public ::testing::Test {
 protected:
  static std::optional<CapturedSound> next(LiveMicrophone& microphone) {
    return wait_for(microphone.ready_fd(), [&] {
      while (microphone.poll_event()) {
      }
      return microphone.poll_frame();
    });
  }
  static std::optional<DeviceEvent> event(LiveMicrophone& microphone, Kind kind,
                                          Duration patience = 20s) {
    return event_of(
        microphone, kind, [&] { microphone.poll_frame(); }, patience);
  }

  /// Whatever it is.
  static std::optional<DeviceEvent> next_event(LiveMicrophone& microphone) {
    return wait_for(microphone.ready_fd(), [&] {
      microphone.poll_frame();
      return microphone.poll_event();
    });
  }

  GstRuntime runtime_;
  DeviceClock clock_ = steady_clock();
};

TEST_F(Microphone, TheTestToneIsAToneForAFifthOfEachSecondAtItsPace) {
  LiveMicrophone microphone{{.id = "test", .processing = kUntouched}, clock_};
  ASSERT_TRUE(event(microphone, Kind::kStarted));
  int loud = 0;
  TimePoint first{};
  TimePoint last{};
  for (int i = 0; i < 100; ++i) {
    const auto frame = next(microphone);
    ASSERT_TRUE(frame);
    EXPECT_LE(frame->ended, clock_());
    EXPECT_GE(frame->ended, last);
    last = frame->ended;
    first = i == 0 ? last : first;
    loud += frame->level.peak_dbfs > -20 ? 1 : 0;
  }
  EXPECT_NEAR(loud, 20, 2);
  EXPECT_NEAR(to_seconds(last - first), 99 * 0.02, 0.3);
}

TEST_F(Microphone, FileLoopsAtItsRateWithoutAGap) {
  const fs::path path = fs::temp_directory_path() / "cress_microphone_file.wav";
  WavWriter writer{path};
  std::vector<int16_t> samples(10 * kAudioFrameSamples);
  std::iota(samples.begin(), samples.end(), int16_t{0});
  writer.write(samples);
  writer.finish();
  LiveMicrophone microphone{{.id = "file:" + path.string(), .processing = kUntouched}, clock_};
  std::vector<int16_t> heard;
  for (int i = 0; i < 25; ++i) {
    const auto frame = next(microphone);
    ASSERT_TRUE(frame);
    heard.insert(heard.end(), frame->samples.begin(), frame->samples.end());
  }
  if (microphone.dropped() == 0) {
    for (size_t i = 0; i < heard.size(); ++i) {
      ASSERT_EQ(heard[i], samples[i % samples.size()]) << i;
    }
  }
  fs::remove(path);
}

TEST_F(Microphone, UntakenFramesAreDroppedOldestFirstAndCounted) {
  LiveMicrophone microphone{{.id = "test", .processing = kUntouched}, clock_};
  const TimePoint begin = clock_();
  while (microphone.dropped() < 5) {
    ASSERT_LT(clock_() - begin, 20s);
  }
  const TimePoint asked = clock_();
  size_t waiting = 0;
  while (const auto frame = microphone.poll_frame()) {
    EXPECT_GT(frame->ended, asked - 1s);
    ++waiting;
  }
  EXPECT_LE(waiting, LiveMicrophone::kFramesMax + 1);
  EXPECT_GE(waiting, LiveMicrophone::kFramesMax);
}

TEST_F(Microphone, ProcessingKeepsFramesWholeAndCanBeSwitchedInACall) {
  if (!has_voice_processor()) {
    GTEST_SKIP() << "GStreamer's webrtcdsp is not installed (gstreamer1.0-plugins-bad)";
  }
  // A steady hiss: noise suppression removes it, and only that.
  LiveMicrophone microphone{{.id = "gst:audiotestsrc is-live=true wave=white-noise volume=0.05",
                             .processing = kUntouched},
                            clock_};
  const auto loudness = [&](int frames) {
    double sum = 0;
    for (int i = 0; i < frames; ++i) {
      const auto frame = next(microphone);
      EXPECT_TRUE(frame);
      if (!frame) {
        break;
      }
      sum += frame->level.rms_dbfs;
    }
    return sum / frames;
  };
  const double before = loudness(25);
  microphone.set_processing({false, true, false});
  ASSERT_TRUE(event(microphone, Kind::kStarted));
  loudness(100);  // it learns what the noise is
  const double after = loudness(25);
  EXPECT_LT(after, before - 6);
}

TEST_F(Microphone, MissingSpeakerGivesANotice) {
  if (!has_voice_processor()) {
    GTEST_SKIP() << "GStreamer's webrtcdsp is not installed (gstreamer1.0-plugins-bad)";
  }
  LiveMicrophone microphone{{.id = "test"}, clock_};
  const auto notice = event(microphone, Kind::kNotice);
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->words,
            "Echo is not removed: there is no speaker to listen to. Use headphones.");
  EXPECT_TRUE(next(microphone));
}

TEST_F(Microphone, SecondMicrophoneLeavesTheProbeWithTheFirst) {
  if (!has_voice_processor()) {
    GTEST_SKIP() << "GStreamer's webrtcdsp is not installed (gstreamer1.0-plugins-bad)";
  }
  const auto probe = std::make_shared<EchoProbe>();
  {
    LiveMicrophone first{{.id = "test", .echo_probe = probe}, clock_};
    ASSERT_TRUE(event(first, Kind::kStarted));
    LiveMicrophone second{{.id = "test", .echo_probe = probe}, clock_};
    EXPECT_TRUE(event(second, Kind::kNotice));
    EXPECT_TRUE(next(second));
    first.retry();
    EXPECT_TRUE(event(first, Kind::kStarted)) << "it still has it";
  }
  LiveMicrophone third{{.id = "test", .echo_probe = probe}, clock_};
  const auto first_event = next_event(third);
  ASSERT_TRUE(first_event);
  EXPECT_EQ(first_event->kind, Kind::kStarted) << first_event->words;
}

TEST_F(Microphone, OneThatKeepsTheEchoLeavesTheProbeToOthers) {
  if (!has_voice_processor()) {
    GTEST_SKIP() << "GStreamer's webrtcdsp is not installed (gstreamer1.0-plugins-bad)";
  }
  const auto probe = std::make_shared<EchoProbe>();
  LiveMicrophone first{
      {.id = "test", .processing = {.echo_cancellation = false}, .echo_probe = probe}, clock_};
  ASSERT_TRUE(event(first, Kind::kStarted));
  LiveMicrophone second{{.id = "test", .echo_probe = probe}, clock_};
  const auto first_event = next_event(second);
  ASSERT_TRUE(first_event);
  EXPECT_EQ(first_event->kind, Kind::kStarted) << first_event->words << " It has the probe.";
}

TEST_F(Microphone, FailedDeviceIsReportedAndReturnsOnRetry) {
  LiveMicrophone microphone{
      {.id = "gst:audiotestsrc is-live=true ! identity error-after=5", .processing = kUntouched},
      clock_};
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(event(microphone, Kind::kStarted)) << round;
    const auto lost = event(microphone, Kind::kLost);
    ASSERT_TRUE(lost) << round;
    EXPECT_TRUE(lost->words.starts_with("The pipeline is lost: ")) << lost->words;
    microphone.retry();
  }
}

TEST_F(Microphone, MissingDeviceReportsLostAndMissingFileIsRejected) {
  LiveMicrophone microphone{{.id = "pulse:no such source"}, clock_};
  const auto lost = event(microphone, Kind::kLost);
  ASSERT_TRUE(lost);
  EXPECT_TRUE(lost->words.starts_with("The microphone is lost: ")) << lost->words;
  EXPECT_THROW(LiveMicrophone({.id = "file:/nowhere/a.wav"}, clock_), std::runtime_error);
  EXPECT_THROW(LiveMicrophone({.id = "gst:nosuchelement"}, clock_), std::runtime_error);
}

TEST_F(Microphone, FileWithoutAudioIsLostWithAReason) {
  const fs::path path = fs::temp_directory_path() / "cress_microphone_text.wav";
  std::ofstream(path) << "Dear diary,\ntoday nobody spoke.\n";
  LiveMicrophone microphone{{.id = "file:" + path.string(), .processing = kUntouched}, clock_};
  const auto lost = event(microphone, Kind::kLost);
  ASSERT_TRUE(lost);
  EXPECT_NE(lost->words.find("cress_microphone_text.wav is lost: "), std::string::npos);
  fs::remove(path);
}

TEST(AudioFramer, CutsPiecesOfAnyLengthIntoFramesAndKnowsWhenEachEnded) {
  AudioFramer framer;
  std::vector<int16_t> piece;
  std::vector<int16_t> out;
  int16_t sample = 0;
  int64_t given = 0;
  for (const size_t length : {1U, 959U, 480U, 480U, 3000U, 7U, 1913U}) {
    piece.clear();
    for (size_t i = 0; i < length; ++i) {
      piece.push_back(sample++);
    }
    given += static_cast<int64_t>(length);
    framer.add(piece, kTimeZero + audio_duration(given));
    while (const auto frame = framer.poll_frame()) {
      out.insert(out.end(), frame->samples.begin(), frame->samples.end());
      EXPECT_NEAR(to_milliseconds(frame->ended - kTimeZero),
                  to_milliseconds(audio_duration(static_cast<int64_t>(out.size()))), 0.001);
    }
  }
  EXPECT_EQ(out.size(), static_cast<size_t>(given) / 960 * 960);
  for (size_t i = 0; i < out.size(); ++i) {
    ASSERT_EQ(out[i], static_cast<int16_t>(i));
  }
}

TEST(SoundLevel, FullScaleSineHasPeak0AndRmsMinus3) {
  AudioFrame sine{};
  for (size_t i = 0; i < sine.size(); ++i) {
    sine[i] = static_cast<int16_t>(
        std::lround(32767 * std::sin(2 * std::numbers::pi * static_cast<double>(i) / 48)));
  }
  EXPECT_NEAR(level_of(sine).peak_dbfs, 0, 0.01);
  EXPECT_NEAR(level_of(sine).rms_dbfs, -3.01, 0.01);
  EXPECT_EQ(level_of(AudioFrame{}).peak_dbfs, kSilenceDbfs);
  AudioFrame lowest{};
  lowest.fill(-32768);
  EXPECT_EQ(level_of(lowest).peak_dbfs, 0);
  EXPECT_EQ(level_of(lowest).rms_dbfs, 0);
}

}  // namespace
}  // namespace cress::media
