#include "media/gst/gst_file_source.hh"

#include <gst/gst.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "media/gst/file_decoder.hh"
#include "media/gst/gst_runtime.hh"
#include "media/source/synthetic_camera.hh"
#include "media/source/y4m.hh"

namespace cress::media {
namespace {

namespace fs = std::filesystem;

class GstFile : public ::testing::Test {
 protected:
  GstFile() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / ("cress_gst_" + std::string(info->name()));
    fs::create_directories(folder_);
  }
  ~GstFile() override { fs::remove_all(folder_); }

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
  // The clip has audio too, which a source must ignore.
  fs::path make_webm(int pictures) const {
    fs::path path = folder_ / "made.webm";
    run("videotestsrc pattern=ball num-buffers=" + std::to_string(pictures) +
        " ! video/x-raw,format=I420,width=160,height=120,framerate=15/1 ! vp8enc deadline=1 "
        "! webmmux name=mux ! filesink location=" +
        path.string() + " audiotestsrc num-buffers=10 ! vorbisenc ! mux.");
    return path;
  }
  std::string error_of(const std::string& bytes, const std::string& name) const {
    const fs::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return error_of(path);
  }
  static std::string error_of(const fs::path& path, const OpenVideoOptions& options = {}) {
    try {
      open_video(path, options);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "no error";
  }
  static fs::path clip(const char* name) { return fs::path(CRESS_DATA) / "video" / name; }

  GstRuntime runtime_;
  fs::path folder_;
};

double mean_difference(const Picture& a, const Picture& b) {
  double sum = 0;
  for (size_t i = 0; i < a.data.size(); ++i) {
    sum += std::abs(a.data[i] - b.data[i]);
  }
  return sum / static_cast<double>(a.data.size());
}

TEST_F(GstFile, AClipMadeByGStreamerItselfIsReadWholeAndLoops) {
  GstFileSource source{make_webm(30)};
  EXPECT_EQ(source.clip_length(), 30U);
  EXPECT_EQ(source.width(), 160);
  EXPECT_EQ(source.height(), 120);
  EXPECT_EQ(source.frame_rate().time_of(15), 1s);
  EXPECT_EQ(source.picture(3), source.picture(33)) << "the very same picture";
  EXPECT_GT(mean_difference(*source.picture(0), *source.picture(10)), 0.1) << "the ball moves";
}

TEST_F(GstFile, RecordedClipsHaveTheirKnownShape) {
  if (!fs::exists(clip("kitchen_man_640x360_25.mp4"))) {
    GTEST_SKIP() << "no data: recorded clips in " << CRESS_DATA << "/video";
  }
  const auto source = open_video(clip("kitchen_man_640x360_25.mp4"));
  EXPECT_EQ(source->width(), 640);
  EXPECT_EQ(source->height(), 360);
  EXPECT_EQ(source->frame_rate(), (FrameRate{25, 1}));
  EXPECT_EQ(source->description(), "kitchen_man_640x360_25.mp4");
  EXPECT_EQ(*source->picture(7), *open_video(clip("kitchen_man_640x360_25.mp4"))->picture(7))
      << "decoding is deterministic";
}

TEST_F(GstFile, ScalesToASizeAndKeepsThePicture) {
  const fs::path path = make_webm(5);
  const auto small = open_video(path, {.size = PictureSize{80, 60}});
  const auto wide = open_video(path, {.size = PictureSize{200, 60}});
  EXPECT_EQ(small->picture(0)->width, 80);
  EXPECT_EQ(small->picture(0)->height, 60);
  EXPECT_EQ(wide->picture(0)->width, 200);
  EXPECT_LT(wide->picture(0)->y()[200 * 30 + 10], 20) << "a black border beside the picture";
}

TEST_F(GstFile, Y4mIsKnownByNameOrByItsFirstBytes) {
  SyntheticCamera camera{{.width = 64, .height = 48}};
  for (const char* name : {"clip.y4m", "clip.bin"}) {
    Y4mWriter writer{folder_ / name, {64, 48, {30, 1}}};
    writer.write(*camera.picture(0));
    writer.finish();
    const auto source = open_video(folder_ / name);
    EXPECT_NE(dynamic_cast<Y4mSource*>(source.get()), nullptr) << name;
    EXPECT_EQ(*source->picture(5), *camera.picture(0));
  }
}

TEST_F(GstFile, NonVideoIsRejectedInOneLine) {
  ::testing::internal::CaptureStderr();
  const std::string text = error_of("Dear diary,\ntoday I was renamed.\n", "text.mp4");
  const std::string empty = error_of("", "empty.mp4");
  const std::string missing = error_of(folder_ / "missing.mp4");
  const std::string noise = error_of(std::string("\x00\x00\x00\x18"
                                                 "ftypmp42\xFF\xFE",
                                                 14) +
                                         std::string(5000, '\x7F'),
                                     "noise.mp4");
  const std::string folder = error_of(folder_);
  const fs::path sound_path = folder_ / "sound.ogg";
  run("audiotestsrc num-buffers=10 ! vorbisenc ! oggmux ! filesink location=" +
      sound_path.string());
  const std::string sound = error_of(sound_path);
  const std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("text.mp4: GStreamer cannot decode it: "), std::string::npos) << text;
  EXPECT_NE(empty.find("empty.mp4: is empty"), std::string::npos) << empty;
  EXPECT_NE(missing.find("missing.mp4: cannot be opened: No such file"), std::string::npos)
      << missing;
  EXPECT_NE(noise.find("noise.mp4: GStreamer cannot decode it: "), std::string::npos) << noise;
  EXPECT_NE(folder.find("cannot be opened: "), std::string::npos) << folder;
  EXPECT_NE(sound.find("sound.ogg: holds no video"), std::string::npos) << sound;
  for (const std::string& line : {text, empty, missing, noise, folder, sound}) {
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
  EXPECT_EQ(printed, "");
}

TEST_F(GstFile, ATruncatedRecordingEndsEarlyOrIsRefusedButNeverHangs) {
  run("videotestsrc num-buffers=60 ! video/x-raw,format=I420,width=160,height=120,framerate=30/1 "
      "! jpegenc ! qtmux faststart=true ! filesink location=" +
      (folder_ / "whole.mp4").string());
  std::ifstream file(folder_ / "whole.mp4", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  GstFileSource complete{folder_ / "whole.mp4"};
  ASSERT_EQ(complete.clip_length(), 60U);
  EXPECT_EQ(complete.frame_rate(), (FrameRate{30, 1}));
  for (const size_t percent : {1, 10, 50, 90}) {
    const fs::path path = folder_ / ("cut" + std::to_string(percent) + ".mp4");
    std::ofstream(path, std::ios::binary) << whole.substr(0, whole.size() * percent / 100);
    try {
      const GstFileSource source{path, {.patience = 5s}};
      EXPECT_LT(source.clip_length(), 60U) << percent;
      EXPECT_GT(percent, 1U);
    } catch (const std::runtime_error& e) {
      EXPECT_NE(std::string(e.what()).find("GStreamer can"), std::string::npos)
          << percent << ": " << e.what();
    }
  }
}

FileDecoderOptions decoding(const std::string& between, Duration patience, Duration look) {
  return {.chain = "! videoconvert name=convert ! " + between + " ! appsink name=sink sync=false",
          .stream = "video",
          .piece = "picture",
          .patience = patience,
          .look = look};
}

TEST_F(GstFile, ADecoderThatTakesItsTimeIsWaitedFor) {
  // 30 ms for each picture: many times what a decoder that stands still is given.
  FileDecoder decoder{make_webm(3), decoding("identity sleep-time=30000", 20s, 1ms)};
  int pictures = 0;
  while (decoder.next() != nullptr) {
    ++pictures;
  }
  EXPECT_EQ(pictures, 3);
  EXPECT_EQ(decoder.next(), nullptr) << "the end stays";
}

TEST_F(GstFile, ADecoderThatGivesNothingIsGivenUp) {
  const fs::path path = make_webm(3);
  FileDecoder decoder{path, decoding("valve drop=true", 60ms, 20ms)};
  std::string error;
  try {
    (void)decoder.next();
  } catch (const std::runtime_error& e) {
    error = e.what();
  }
  EXPECT_EQ(error, path.string() + ": GStreamer gave no picture for 0 s; is the file damaged?");
}

TEST_F(GstFile, AClipBeyondTheMemoryIsRefusedWithWhatToDo) {
  const std::string error =
      error_of(make_webm(30), {.memory_max = DataSize{10 * 160 * 120 * 3 / 2}});
  EXPECT_NE(error.find("decodes to more than 0 MiB; cut it, scale it down, or convert it to .y4m"),
            std::string::npos)
      << error;
}

}  // namespace
}  // namespace cress::media
