#include "app/desktop/preview.hh"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "app/desktop/desktop_test_tools.hh"
#include "media/gst/gst_runtime.hh"
#include "transport/runtime/loop_test_tools.hh"

namespace cress::desktop {
namespace {

class PreviewTest : public ::testing::Test {
 protected:
  PreviewOutputs outputs() {
    return {.picture = [this](const media::CapturedPicture& one) { pictures_.push_back(one); },
            .level = [this](double level) { levels_.push_back(level); },
            .lost = [this](const std::string& words) { lost_.push_back(words); }};
  }
  bool run_until(const std::function<bool()>& done) {
    return runtime::run_until(clock_, loop_, done, kPatience);
  }

  const runtime::MonotonicClock clock_;
  const media::GstRuntime gstreamer_;
  runtime::EventLoop loop_{clock_};
  std::vector<media::CapturedPicture> pictures_;
  std::vector<double> levels_;
  std::vector<std::string> lost_;
};

const media::LiveCameraOptions kTestCamera{.id = media::kTestDevice, .size = {160, 90}};

TEST_F(PreviewTest, ShowsAndHearsAndClosesOnRequest) {
  Preview preview{
      clock_,
      loop_,
      {.camera = kTestCamera, .microphone = media::LiveMicrophoneOptions{.id = media::kTestDevice}},
      outputs()};
  EXPECT_TRUE(run_until([&] { return pictures_.size() > 5 && levels_.size() > 5; }));
  EXPECT_EQ(pictures_[0].picture->width, 160);
  EXPECT_TRUE(run_until([&] { return levels_.back() > -60; })) << "the tone is not heard";
  preview.set_camera(std::nullopt);
  EXPECT_FALSE(preview.has_camera());
  pictures_.clear();
  levels_.clear();
  EXPECT_TRUE(run_until([&] { return levels_.size() > 5; }));
  EXPECT_TRUE(pictures_.empty());
  preview.set_camera(kTestCamera);
  EXPECT_TRUE(run_until([&] { return !pictures_.empty(); }));
  EXPECT_TRUE(lost_.empty());
}

TEST_F(PreviewTest, EndedDeviceIsReportedOnceAndRestarted) {
  media::LiveCameraOptions options = kTestCamera;
  options.id = "gst:videotestsrc num-buffers=3 is-live=true";
  Preview preview{clock_, loop_, {.camera = options}, outputs()};
  EXPECT_TRUE(run_until([&] { return !lost_.empty(); }));
  const size_t before = pictures_.size();
  EXPECT_TRUE(run_until([&] { return pictures_.size() > before; })) << "never tried again";
  EXPECT_FALSE(lost_[0].empty());
}

TEST_F(PreviewTest, OfTwoDevicesThatEndEachIsRestarted) {
  namespace fs = std::filesystem;
  const fs::path file = fs::path{testing::TempDir()} / "cress-preview.raw";
  const auto write_audio = [&file](Duration length) {
    const std::string silence(static_cast<size_t>(length / 1ms) * 96, '\0');  // 48 kHz, 16 bits
    std::ofstream{file, std::ios::binary} << silence;
  };
  write_audio(100ms);
  media::LiveCameraOptions camera = kTestCamera;
  camera.id = "gst:videotestsrc num-buffers=30 is-live=true";  // a second
  Preview preview{
      clock_,
      loop_,
      {.camera = camera,
       .microphone =
           media::LiveMicrophoneOptions{.id = "gst:filesrc location=" + file.string() +
                                              " ! rawaudioparse sample-rate=48000 num-channels=1 ! "
                                              "identity sleep-time=100000"}},
      outputs()};
  EXPECT_TRUE(run_until([&] { return lost_.size() == 2; }));
  write_audio(kPatience);  // the microphone is back for good, so nothing else asks for the camera
  const size_t before = pictures_.size();
  EXPECT_TRUE(run_until([&] { return pictures_.size() > before; })) << "the camera stays away";
  EXPECT_EQ(lost_.size(), 2U) << "not only because the microphone ended again";
  fs::remove(file);
}

TEST_F(PreviewTest, ImpossibleDeviceIsReportedNotThrown) {
  media::LiveCameraOptions camera = kTestCamera;
  camera.id = "file:/no/such/film.mp4";
  Preview preview{clock_,
                  loop_,
                  {.camera = camera,
                   .microphone = media::LiveMicrophoneOptions{.id = "file:/no/such/song.wav"}},
                  outputs()};
  ASSERT_EQ(lost_.size(), 2U);
  EXPECT_NE(lost_[0].find("/no/such/film.mp4"), std::string::npos) << lost_[0];
  EXPECT_NE(lost_[1].find("/no/such/song.wav"), std::string::npos) << lost_[1];
  EXPECT_FALSE(preview.has_camera());
}

}  // namespace
}  // namespace cress::desktop
