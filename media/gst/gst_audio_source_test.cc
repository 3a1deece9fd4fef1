#include "media/gst/gst_audio_source.hh"

#include <gst/gst.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "media/gst/gst_runtime.hh"
#include "media/source/audio_clip.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "media/source/wav.hh"

namespace cress::media {
namespace {

namespace fs = std::filesystem;

class GstAudio : public ::testing::Test {
 protected:
  GstAudio() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / ("cress_gst_audio_" + std::string(info->name()));
    fs::create_directories(folder_);
  }
  ~GstAudio() override { fs::remove_all(folder_); }

  // Runs a pipeline to its end.
  static void run(const std::string& description) {
    GError* error = nullptr;
    GstElement* pipeline = gst_parse_launch(description.c_str(), &error);
    ASSERT_EQ(error, nullptr) << error->message;
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    GstBus* bus = gst_element_get_bus(pipeline);
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus, 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    ASSERT_NE(message, nullptr);
    EXPECT_EQ(GST_MESSAGE_TYPE(message), GST_MESSAGE_EOS);
    gst_message_unref(message);
    gst_object_unref(bus);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);
  }
  static std::vector<int16_t> samples_of(const fs::path& path) {
    const auto source = open_audio(path);
    return dynamic_cast<const AudioClip&>(*source).samples();
  }
  std::string error_of(const std::string& name, const OpenAudioOptions& options = {}) const {
    try {
      open_audio(folder_ / name, options);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "no error";
  }

  GstRuntime runtime_;
  fs::path folder_;
};

TEST_F(GstAudio, AWavOfOurOwnComesBackSampleForSample) {
  SyntheticVoice voice;
  WavWriter writer{folder_ / "voice.wav"};
  std::vector<int16_t> written;
  for (uint64_t i = 0; i < 50; ++i) {
    const AudioFrame frame = voice.frame(i);
    writer.write(frame);
    written.insert(written.end(), frame.begin(), frame.end());
  }
  writer.finish();
  EXPECT_EQ(samples_of(folder_ / "voice.wav"), written);
}

TEST_F(GstAudio, OtherFormatsBecome48KilohertzMono) {
  run("audiotestsrc wave=sine freq=441 num-buffers=44 samplesperbuffer=1000 "
      "! audio/x-raw,rate=44100,channels=2 ! flacenc ! filesink location=" +
      (folder_ / "tone.flac").string());
  const std::vector<int16_t> samples = samples_of(folder_ / "tone.flac");
  const double seconds = 44'000.0 / 44'100.0;
  EXPECT_NEAR(static_cast<double>(samples.size()), 48'000 * seconds, 100);
  int crossings = 0;
  for (size_t i = 1; i < samples.size(); ++i) {
    crossings += (samples[i - 1] < 0) != (samples[i] < 0) ? 1 : 0;
  }
  EXPECT_NEAR(crossings, 2 * 441 * seconds, 3);
}

TEST_F(GstAudio, FilmsAudioIsReadWithoutItsVideo) {
  run("videotestsrc num-buffers=15 ! video/x-raw,width=64,height=48,framerate=15/1 ! vp8enc "
      "! webmmux name=mux ! filesink location=" +
      (folder_ / "film.webm").string() + " audiotestsrc num-buffers=44 ! opusenc ! mux.");
  EXPECT_NEAR(static_cast<double>(samples_of(folder_ / "film.webm").size()), 44 * 1024, 1'000);
}

TEST_F(GstAudio, RecordedSpeechIsReadTheSameEveryTime) {
  const fs::path path = fs::path(CRESS_DATA) / "audio" / "kitchen_man.flac";
  if (!fs::exists(path)) {
    GTEST_SKIP() << "no data: recorded speech in " << CRESS_DATA << "/audio";
  }
  const auto source = open_audio(path);
  EXPECT_EQ(source->description(), "kitchen_man.flac");
  EXPECT_EQ(samples_of(path), samples_of(path));
  EXPECT_GT(samples_of(path).size(), 5U * 48'000U);
}

TEST_F(GstAudio, FileWithoutAudioIsRejectedInOneLine) {
  std::ofstream(folder_ / "text.flac") << "Dear diary,\ntoday I was renamed.\n";
  std::ofstream(folder_ / "empty.flac") << "";
  std::ofstream(folder_ / "broken.flac", std::ios::binary) << "fLaC" << std::string(4000, '\x7F');
  run("videotestsrc num-buffers=5 ! video/x-raw,width=64,height=48 ! vp8enc ! webmmux "
      "! filesink location=" +
      (folder_ / "silent.webm").string());
  const std::string text = error_of("text.flac");
  const std::string empty = error_of("empty.flac");
  const std::string missing = error_of("missing.flac");
  const std::string broken = error_of("broken.flac", {.patience = 3s});
  const std::string silent = error_of("silent.webm");
  EXPECT_NE(text.find("text.flac: GStreamer cannot decode it: "), std::string::npos) << text;
  EXPECT_NE(empty.find("empty.flac: is empty"), std::string::npos) << empty;
  EXPECT_NE(missing.find("missing.flac: cannot be opened: No such file"), std::string::npos);
  EXPECT_NE(broken.find("broken.flac: GStreamer"), std::string::npos) << broken;
  EXPECT_NE(silent.find("silent.webm: holds no sound"), std::string::npos) << silent;
  for (const std::string& line : {text, empty, missing, broken, silent}) {
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
}

TEST_F(GstAudio, TooMuchAudioIsRejectedWithAdvice) {
  run("audiotestsrc num-buffers=100 ! wavenc ! filesink location=" +
      (folder_ / "long.wav").string());
  EXPECT_NE(error_of("long.wav", {.memory_max = DataSize{10'000}})
                .find("decodes to more than 0 MiB of sound; cut it"),
            std::string::npos);
}

}  // namespace
}  // namespace cress::media
