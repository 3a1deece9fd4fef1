#include "media/devices/voice_processor.hh"

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>
#include <string>
#include <vector>

#include "media/gst/gst_handles.hh"
#include "media/gst/gst_runtime.hh"
#include "media/source/audio_synthetic_voice.hh"

namespace cress::media {
namespace {

// A room outside of real time: the speaker's audio goes through the probe, the microphone's through
// the processor, frame by frame and in step, with the time stamps of a call.
class Room {
 public:
  explicit Room(const VoiceProcessing& processing)
      : speaker_(parse_pipeline(std::string{"appsrc name=far format=time caps="} + kSoundCaps +
                                " ! webrtcechoprobe name=room ! fakesink name=end sync=false "
                                "signal-handoffs=true")),
        microphone_(parse_pipeline(std::string{"appsrc name=near format=time caps="} + kSoundCaps +
                                   " ! webrtcdsp name=processor ! appsink name=out sync=false")) {
    gst_pipeline_set_latency(GST_PIPELINE(speaker_.get()), 0);
    set_up_voice_processor(element_of(microphone_.get(), "processor").get(), processing, "room");
    far_ = element_of(speaker_.get(), "far");
    near_ = element_of(microphone_.get(), "near");
    out_ = element_of(microphone_.get(), "out");
    g_signal_connect(element_of(speaker_.get(), "end").get(), "handoff",
                     G_CALLBACK(+[](GstElement*, GstBuffer*, GstPad*, gpointer played) {
                       ++*static_cast<std::atomic<int>*>(played);
                     }),
                     &played_);
    gst_element_set_state(speaker_.get(), GST_STATE_PLAYING);
    play(AudioFrame{}, -1);  // its latency is known when it plays
    gst_element_get_state(speaker_.get(), nullptr, nullptr, 5 * GST_SECOND);
    gst_element_set_state(microphone_.get(), GST_STATE_PLAYING);
  }

  AudioFrame step(const AudioFrame& played, const AudioFrame& heard) {
    play(played, frame_);
    push(near_.get(), heard, frame_);
    ++frame_;
    AudioFrame processed{};
    size_t got = 0;
    while (got < processed.size()) {
      const GstOwned<GstSample> sample{
          gst_app_sink_try_pull_sample(GST_APP_SINK(out_.get()), 5 * GST_SECOND)};
      if (sample == nullptr) {
        ADD_FAILURE() << "the processor gave nothing";
        break;
      }
      GstBuffer* buffer = gst_sample_get_buffer(sample.get());
      const size_t bytes = gst_buffer_get_size(buffer);
      gst_buffer_extract(buffer, 0, processed.data() + got, bytes);
      got += bytes / sizeof(int16_t);
    }
    return processed;
  }

 private:
  static void push(GstElement* to, const AudioFrame& frame, int index) {
    GstBuffer* buffer = gst_buffer_new_memdup(frame.data(), sizeof frame);
    GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>((kAudioFrameLength * (index + 1)).count());
    GST_BUFFER_DURATION(buffer) = static_cast<GstClockTime>(kAudioFrameLength.count());
    gst_app_src_push_buffer(GST_APP_SRC(to), buffer);
  }
  void play(const AudioFrame& frame, int index) {
    push(far_.get(), frame, index);
    while (played_ < index + 2) {
      g_usleep(100);
    }
  }

  std::atomic<int> played_ = 0;
  int frame_ = 0;
  GstPipelinePtr speaker_;
  GstPipelinePtr microphone_;
  GstOwned<GstElement> far_;
  GstOwned<GstElement> near_;
  GstOwned<GstElement> out_;
};

double energy(const std::vector<int16_t>& samples, Duration from, Duration until) {
  double sum = 0;
  for (auto i = static_cast<size_t>(audio_samples(from));
       i < static_cast<size_t>(audio_samples(until)); ++i) {
    sum += static_cast<double>(samples[i]) * samples[i];
  }
  return sum;
}

// The energy at one frequency, in windows of 100 ms, so that a phase shift does not matter.
double tone_energy(const std::vector<int16_t>& samples, double frequency, Duration from,
                   Duration until) {
  double sum = 0;
  constexpr int64_t kWindow = 4800;
  for (int64_t at = audio_samples(from); at + kWindow <= audio_samples(until); at += kWindow) {
    std::complex<double> wave;
    for (int64_t i = 0; i < kWindow; ++i) {
      wave += static_cast<double>(samples[static_cast<size_t>(at + i)]) *
              std::polar(1.0, 2 * std::numbers::pi * frequency * static_cast<double>(i) / 48'000);
    }
    sum += 2 * std::norm(wave) / kWindow;
  }
  return sum;
}

double decibels(double ratio) { return 10 * std::log10(ratio); }

constexpr Duration kLength = 30s;
constexpr Duration kConverged = 10s;    // only the far end until here: the filter learns
constexpr Duration kDoubleTalk = 20s;   // from here on the near end is audible too
constexpr Duration kEchoDelay = 70ms;   // of the audio device and the room
constexpr double kToneFrequency = 660;  // the near end's tone

struct Recording {
  std::vector<int16_t> heard;
  std::vector<int16_t> processed;
};

// The far end talks all the time. The microphone receives it 70 ms later at a third of its
// loudness, with two later echoes from the walls, and from kDoubleTalk on a near end with a tone.
Recording record(const VoiceProcessing& processing) {
  SyntheticVoice voice;
  const auto frames = static_cast<uint64_t>(kLength / kAudioFrameLength);
  std::vector<int16_t> far;
  for (uint64_t i = 0; i < frames; ++i) {
    const AudioFrame frame = voice.frame(i);
    far.insert(far.end(), frame.begin(), frame.end());
  }
  const auto far_at = [&](int64_t i) { return i < 0 ? 0.0 : far[static_cast<size_t>(i)]; };
  Recording recording;
  for (int64_t i = 0; i < static_cast<int64_t>(far.size()); ++i) {
    const int64_t echo = i - audio_samples(kEchoDelay);
    const double sound = 0.33 * far_at(echo) + 0.1 * far_at(echo - 331) - 0.05 * far_at(echo - 977);
    const double seconds = static_cast<double>(i) / 48'000;
    const bool sings = i >= audio_samples(kDoubleTalk) && std::fmod(seconds, 1.0) < 0.6;
    const double near =
        sings ? 3000 * std::sin(2 * std::numbers::pi * kToneFrequency * seconds) : 0.0;
    recording.heard.push_back(
        static_cast<int16_t>(std::clamp(std::lround(sound + near), -32768L, 32767L)));
  }
  Room room{processing};
  for (uint64_t i = 0; i < frames; ++i) {
    AudioFrame played{};
    AudioFrame heard{};
    const auto at = static_cast<ptrdiff_t>(i * kAudioFrameSamples);
    std::copy_n(far.begin() + at, kAudioFrameSamples, played.begin());
    std::copy_n(recording.heard.begin() + at, kAudioFrameSamples, heard.begin());
    const AudioFrame out = room.step(played, heard);
    recording.processed.insert(recording.processed.end(), out.begin(), out.end());
  }
  return recording;
}

class VoiceProcessor : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_voice_processor()) {
      GTEST_SKIP() << "GStreamer's webrtcdsp is not installed (gstreamer1.0-plugins-bad)";
    }
  }
  GstRuntime runtime_;
};

TEST_F(VoiceProcessor, TheEchoGoesAndTheNearEndStays) {
  const Recording recording =
      record({.echo_cancellation = true, .noise_suppression = false, .gain_control = false});
  const double reduction = decibels(energy(recording.heard, kConverged, kDoubleTalk) /
                                    energy(recording.processed, kConverged, kDoubleTalk));
  const double tone_change =
      decibels(tone_energy(recording.processed, kToneFrequency, kDoubleTalk, kLength) /
               tone_energy(recording.heard, kToneFrequency, kDoubleTalk, kLength));
  RecordProperty("echo_reduction_db", std::to_string(reduction));
  RecordProperty("near_end_change_db", std::to_string(tone_change));
  std::cout << "echo reduced by " << reduction << " dB, near end changed by " << tone_change
            << " dB\n";
  EXPECT_GE(reduction, 15);
  EXPECT_GT(tone_change, -6);
  EXPECT_LT(tone_change, 3);
}

TEST_F(VoiceProcessor, WithoutCancellationTheEchoStays) {
  const Recording recording =
      record({.echo_cancellation = false, .noise_suppression = false, .gain_control = false});
  EXPECT_NEAR(decibels(energy(recording.heard, kConverged, kDoubleTalk) /
                       energy(recording.processed, kConverged, kDoubleTalk)),
              0, 1);
}

TEST_F(VoiceProcessor, ProbeHasOneListenerAndAUniqueName) {
  EchoProbe probe;
  EchoProbe other;
  EXPECT_NE(probe.name(), other.name());
  const int first = 0;
  const int second = 0;
  EXPECT_TRUE(probe.claim(&first));
  EXPECT_TRUE(probe.claim(&first)) << "it has it already";
  EXPECT_FALSE(probe.claim(&second));
  probe.release(&second);
  EXPECT_FALSE(probe.claim(&second)) << "only who has it can let go";
  probe.release(&first);
  EXPECT_TRUE(probe.claim(&second));
}

}  // namespace
}  // namespace cress::media
