#include "media/devices/speaker.hh"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "media/devices/device_test_tools.hh"
#include "media/devices/microphone.hh"
#include "media/devices/voice_processor.hh"
#include "media/gst/gst_runtime.hh"
#include "media/gst/sound_writer.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "media/source/wav_test_tools.hh"

namespace cress::media {
namespace {

namespace fs = std::filesystem;
using Kind = DeviceEvent::Kind;

AudioFrame level_frame(int16_t level) {
  AudioFrame frame{};
  frame.fill(level);
  return frame;
}

class Speaker : public ::testing::Test {
 protected:
  Speaker() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / ("cress_speaker_" + std::string(info->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Speaker() override { fs::remove_all(folder_); }

  /// Waits until it wants a frame, and passes one.
  static bool play(LiveSpeaker& speaker, const AudioFrame& frame) {
    return wait_for(speaker.ready_fd(), [&] {
      while (speaker.poll_event()) {
      }
      return speaker.wants_frame() && speaker.play(frame);
    });
  }
  std::optional<DeviceEvent> event(LiveSpeaker& speaker, Kind kind, Duration patience = 20s) const {
    return event_of(
        speaker, kind,
        [&] {
          if (speaker.wants_frame()) {
            speaker.play(AudioFrame{});
          }
        },
        patience);
  }

  GstRuntime runtime_;
  DeviceClock clock_ = steady_clock();
  fs::path folder_;
};

TEST_F(Speaker, NullSpeakerWantsAFrameEvery20MsAndHoldsAtMost40) {
  LiveSpeaker speaker{{.id = "none"}, clock_};
  ASSERT_TRUE(play(speaker, {}));
  const TimePoint begin = clock_();
  Duration worst{};
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(play(speaker, {}));
    worst = std::max(worst, speaker.delay());
  }
  const double seconds = to_seconds(clock_() - begin);
  EXPECT_GT(seconds, 1.9);
  EXPECT_LT(seconds, 3.0);
  // After a frame was passed: what was there before, at most 40 ms, and the frame.
  EXPECT_LE(worst, 61ms);
  EXPECT_EQ(speaker.stats().played, 101U);
}

TEST_F(Speaker, OneThatPlaysIsAnnouncedOnce) {
  LiveSpeaker speaker{{.id = "none"}, clock_};
  EXPECT_TRUE(event(speaker, Kind::kStarted));
  EXPECT_FALSE(event(speaker, Kind::kStarted, 300ms));
}

TEST_F(Speaker, UnwantedFrameIsRejectedAndCounted) {
  LiveSpeaker speaker{{.id = "none"}, clock_};
  ASSERT_TRUE(play(speaker, {}));
  ASSERT_TRUE(play(speaker, {}));
  ASSERT_TRUE(play(speaker, {}));
  while (speaker.wants_frame()) {
    speaker.play({});
  }
  EXPECT_FALSE(speaker.play({}));
  EXPECT_EQ(speaker.stats().refused, 1U);
  EXPECT_FALSE(is_readable(speaker.ready_fd()) && !speaker.wants_frame() && !speaker.poll_event());
}

TEST_F(Speaker, LateFrameIsAnUnderrunWithItsMissingTime) {
  LiveSpeaker speaker{{.id = "none"}, clock_};
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(play(speaker, {}));
  }
  const SpeakerStats before = speaker.stats();
  std::this_thread::sleep_for(300ms);
  ASSERT_TRUE(play(speaker, {}));
  const SpeakerStats after = speaker.stats();
  EXPECT_EQ(after.underruns, before.underruns + 1);
  EXPECT_GE(after.missing - before.missing, 220ms);
}

TEST_F(Speaker, WavHoldsPlayedAudioWithSilentGaps) {
  const fs::path path = folder_ / "played.wav";
  LiveSpeaker speaker{{.id = "file:" + path.string()}, clock_};
  const auto play_50 = [&] {
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(play(speaker, level_frame(1000)));
    }
  };
  play_50();
  std::this_thread::sleep_for(500ms);
  play_50();
  const SpeakerStats stats = speaker.stats();
  EXPECT_FALSE(fs::exists(path)) << "only whole files are there";
  speaker.finish();
  const WavSound sound = load_wav(path);
  EXPECT_EQ(sound.sample_rate, 48'000);
  int64_t silent = 0;
  for (const int16_t sample : sound.samples) {
    silent += sample == 0 ? 1 : 0;
  }
  EXPECT_EQ(static_cast<int64_t>(sound.samples.size()) - silent, 100 * 960);
  EXPECT_GE(audio_duration(silent), 400ms);
  EXPECT_NEAR(to_seconds(audio_duration(silent)), to_seconds(stats.missing), 0.05);
}

TEST_F(Speaker, FailedSpeakerIsReportedAndAudioKeepsItsRate) {
  LiveSpeaker speaker{{.id = "gst:identity error-after=10 ! fakesink sync=true"}, clock_};
  ASSERT_TRUE(event(speaker, Kind::kStarted));
  const auto lost = event(speaker, Kind::kLost);
  ASSERT_TRUE(lost);
  EXPECT_TRUE(lost->words.starts_with("The pipeline is lost: ")) << lost->words;
  const TimePoint begin = clock_();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(play(speaker, {}));
  }
  EXPECT_GT(clock_() - begin, 850ms);
  speaker.retry();
  EXPECT_TRUE(event(speaker, Kind::kStarted));
  EXPECT_TRUE(event(speaker, Kind::kLost)) << "and so it fails again";
}

TEST_F(Speaker, MissingSpeakerReportsLostAndTheCallContinues) {
  LiveSpeaker speaker{{.id = "pulse:no such sink"}, clock_};
  const auto lost = event(speaker, Kind::kLost);
  ASSERT_TRUE(lost);
  EXPECT_TRUE(lost->words.starts_with("The speaker is lost: ")) << lost->words;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(play(speaker, {}));
  }
}

TEST_F(Speaker, AnotherOneMayBeChosenInTheCall) {
  LiveSpeaker speaker{{.id = "pulse:no such sink"}, clock_};
  ASSERT_TRUE(event(speaker, Kind::kLost));
  const auto probe = speaker.echo_probe();
  speaker.choose("none");
  EXPECT_TRUE(event(speaker, Kind::kStarted));
  EXPECT_EQ(speaker.echo_probe(), probe);
}

TEST_F(Speaker, ImpossibleIdIsRejectedAtOnce) {
  EXPECT_THROW(LiveSpeaker({.id = "file:/nowhere/a.wav"}, clock_), std::runtime_error);
  EXPECT_THROW(LiveSpeaker({.id = "file:" + (folder_ / "a.mp3").string()}, clock_),
               std::runtime_error);
  EXPECT_THROW(LiveSpeaker({.id = "gst:nosuchelement"}, clock_), std::runtime_error);
}

TEST_F(Speaker, FullDiskIsReportedAndTheCallContinues) {
  if (!fs::exists("/dev/full")) {
    GTEST_SKIP() << "no /dev/full here";
  }
  const fs::path path = folder_ / "full.wav";
  fs::create_symlink("/dev/full", path);
  std::string error;
  try {
    LiveSpeaker speaker{{.id = "file:" + path.string()}, clock_};
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(play(speaker, level_frame(1)));
    }
    speaker.finish();
  } catch (const std::runtime_error& e) {
    error = e.what();
  }
  EXPECT_NE(error.find("full.wav"), std::string::npos) << error;
}

TEST(SoundWriter, GapsAreSilentOverlapsDroppedAndJitterSmoothed) {
  GstRuntime runtime;
  const fs::path path = fs::temp_directory_path() / "cress_sound_writer.wav";
  SoundWriter writer{path};
  writer.add_sound(0ms, level_frame(1));
  writer.add_sound(25ms, level_frame(2));   // jitter: goes to 20 ms
  writer.add_sound(100ms, level_frame(3));  // after a gap
  writer.add_sound(90ms, level_frame(4));   // 30 ms of it are known already: nothing is left
  writer.add_sound(105ms, level_frame(5));  // of which 15 ms are
  writer.finish(200ms);
  const WavSound sound = load_wav(path);
  ASSERT_EQ(sound.samples.size(), 9600U);
  std::vector<int> each_5ms;
  for (size_t at = 0; at < sound.samples.size(); at += 240) {
    each_5ms.push_back(sound.samples[at]);
  }
  EXPECT_EQ(each_5ms,
            (std::vector<int>{1, 1, 1, 1, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                              3, 3, 3, 3, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  fs::remove(path);
}

// The whole path in real time: speaker -> room (another part of this program) -> microphone.
class SpeakerRoom : public Speaker {};

TEST_F(SpeakerRoom, MicrophoneRemovesTheSpeakersEcho) {
  if (!has_voice_processor()) {
    GTEST_SKIP() << "GStreamer's webrtcdsp is not installed (gstreamer1.0-plugins-bad)";
  }
  SyntheticVoice voice;
  const auto heard_with = [&](const VoiceProcessing& processing) {
    LiveSpeaker speaker{{.id = "gst:interaudiosink channel=room"}, clock_};
    LiveMicrophone microphone{
        {.id = "gst:interaudiosrc channel=room latency-time=20000000 buffer-time=200000000 "
               "period-time=10000000 ! audioconvert ! volume volume=0.5",
         .processing = processing,
         .echo_probe = speaker.echo_probe()},
        clock_};
    double energy = 0;
    int frames = 0;
    for (uint64_t i = 0; i < 500; ++i) {
      EXPECT_TRUE(play(speaker, voice.frame(i)));
      while (const auto frame = microphone.poll_frame()) {
        if (i >= 300) {
          energy += std::pow(10, frame->level.rms_dbfs / 10);
          ++frames;
        }
      }
    }
    EXPECT_GT(frames, 150);
    return 10 * std::log10(energy / frames);
  };
  const double with = heard_with({true, false, false});
  const double without = heard_with({false, false, false});
  std::cout << "in real time: " << without << " dBFS of echo become " << with << " dBFS\n";
  EXPECT_LT(with, without - 10);
}

}  // namespace
}  // namespace cress::media
