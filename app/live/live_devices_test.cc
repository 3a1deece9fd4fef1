#include "app/live/live_devices.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "media/gst/gst_runtime.hh"
#include "transport/runtime/loop_test_tools.hh"

namespace cress::live {
namespace {

LiveDevicesOptions test_devices() {
  LiveDevicesOptions options;
  options.camera = media::LiveCameraOptions{.id = media::kTestDevice, .size = {161, 91}};
  options.microphone = media::LiveMicrophoneOptions{.id = media::kTestDevice};
  return options;
}

/// Devices with all their outputs. They run in real time, as devices do: a test waits for what must
/// arrive, however late it is.
struct DevicesTest : ::testing::Test {
  void begin(const LiveDevicesOptions& options) {
    LiveDevicesOutputs outputs;
    outputs.own_picture = [this](const media::PicturePtr& picture) { own.push_back(picture); };
    outputs.capture = [this](const media::PicturePtr& picture) { captured.push_back(picture); };
    outputs.capture_sound = [this](const media::AudioFrame& frame) { heard.push_back(frame); };
    outputs.play = [this] {
      ++asked;
      app::PlayedAudio sound;
      sound.samples.fill(loudness);
      return sound;
    };
    outputs.played = [this](const app::PlayedAudio& sound) { played.push_back(sound); };
    outputs.news = [this](const DeviceNews& item) { news.push_back({clock.now(), item}); };
    devices = std::make_unique<LiveDevices>(clock, loop, options, outputs);
    devices->begin();
  }
  bool run_until(const std::function<bool()>& done) {
    return runtime::run_until(clock, loop, [&] {
      devices->tick();
      return done();
    });
  }
  size_t count(DeviceNews::Kind kind) const {
    return static_cast<size_t>(
        std::ranges::count_if(news, [&](const auto& item) { return item.second.kind == kind; }));
  }
  TimePoint when(DeviceNews::Kind kind) const {
    const auto found =
        std::ranges::find_if(news, [&](const auto& item) { return item.second.kind == kind; });
    return found == news.end() ? kNever : found->first;
  }

  media::GstRuntime gst;
  runtime::MonotonicClock clock;
  runtime::EventLoop loop{clock};
  int16_t loudness = 0;
  std::vector<media::PicturePtr> own;
  std::vector<media::PicturePtr> captured;
  std::vector<media::AudioFrame> heard;
  std::vector<app::PlayedAudio> played;
  std::vector<std::pair<TimePoint, DeviceNews>> news;
  size_t asked = 0;
  std::unique_ptr<LiveDevices> devices;
};

TEST(DeviceOptions, EncodedSizeHasEvenSides) {
  LiveDevicesOptions options;
  EXPECT_EQ(video_of(options), std::nullopt) << "no camera";
  options.camera = media::LiveCameraOptions{.size = {161, 91}, .rate = {15, 1}};
  ASSERT_TRUE(video_of(options));
  EXPECT_EQ(video_of(options)->width, 160);
  EXPECT_EQ(video_of(options)->height, 90);
  EXPECT_EQ(video_of(options)->frame_rate, (media::FrameRate{15, 1}));
  options.camera->size = {64, 48};
  EXPECT_EQ(video_of(options)->width, 64);
  EXPECT_EQ(video_of(options)->height, 48);
}

TEST(DeviceOptions, EachDeviceEventHasItsCallEvent) {
  using News = DeviceNews::Kind;
  using Event = LiveEvent::Kind;
  EXPECT_EQ(event_kind(News::kLost), Event::kDeviceLost);
  EXPECT_EQ(event_kind(News::kBack), Event::kDeviceBack);
  EXPECT_EQ(event_kind(News::kRefused), Event::kDeviceRefused);
  EXPECT_EQ(event_kind(News::kNotice), Event::kNotice);
}

TEST_F(DevicesTest, PicturesOfTheWantedSizeAreDisplayedAndSent) {
  begin(test_devices());
  EXPECT_EQ(devices->options().camera->size, (media::PictureSize{160, 90}));
  ASSERT_TRUE(run_until([&] { return captured.size() >= 3; }));
  EXPECT_EQ(captured.front()->width, 160);
  EXPECT_EQ(captured.front()->height, 90);
  EXPECT_EQ(own.size(), captured.size());
  devices->set_camera_off(true);
  const size_t sent = captured.size();
  ASSERT_TRUE(run_until([&] { return own.size() >= sent + 3; }));
  EXPECT_EQ(captured.size(), sent) << "nobody else sees it";
  devices->set_camera_off(false);
  EXPECT_TRUE(run_until([&] { return captured.size() > sent; }));
}

TEST_F(DevicesTest, PicturesOfAnotherSizeAreDisplayedButNotSent) {
  for (const auto& size : {media::PictureSize{80, 91}, media::PictureSize{161, 40}}) {
    LiveDevicesOptions options = test_devices();
    options.microphone.reset();
    options.camera->id =
        "gst:videotestsrc is-live=true ! video/x-raw,width=" + std::to_string(size.width) +
        ",height=" + std::to_string(size.height);
    options.camera->fit = media::PictureFit::kInside;
    begin(options);
    own.clear();
    captured.clear();
    ASSERT_TRUE(run_until([&] { return own.size() >= 2; }));
    EXPECT_TRUE(captured.empty()) << own.front()->width << " x " << own.front()->height;
  }
}

TEST_F(DevicesTest, MutedAudioIsSilenceAtTheSamePace) {
  begin(test_devices());
  EXPECT_EQ(devices->microphone_dbfs(), media::kSilenceDbfs);
  const auto is_tone = [](const media::AudioFrame& frame) { return frame != media::AudioFrame{}; };
  ASSERT_TRUE(run_until([&] { return std::ranges::any_of(heard, is_tone); }));
  ASSERT_TRUE(run_until([&] { return devices->microphone_dbfs() > -60; }));
  devices->set_muted(true);
  heard.clear();
  ASSERT_TRUE(run_until([&] { return heard.size() >= 55; })) << "one tone a second";
  EXPECT_FALSE(std::ranges::any_of(heard, is_tone));
}

TEST_F(DevicesTest, TheSpeakerTakesWhatIsPlayed) {
  begin({});
  EXPECT_EQ(devices->speaker_dbfs(), media::kSilenceDbfs);
  ASSERT_TRUE(run_until([&] { return played.size() >= 3; }));
  EXPECT_EQ(devices->speaker_dbfs(), media::kSilenceDbfs);
  loudness = 3277;  // a tenth of full scale
  const size_t before = played.size();
  ASSERT_TRUE(run_until([&] { return played.size() > before; }));
  EXPECT_EQ(played.back().samples[0], 3277);
  EXPECT_NEAR(devices->speaker_dbfs(), -20, 0.1);
  EXPECT_EQ(asked, played.size());
  EXPECT_TRUE(own.empty()) << "no camera was asked for";
  EXPECT_TRUE(heard.empty()) << "nor a microphone";
  EXPECT_EQ(devices->pictures_late(), 0U);
}

TEST_F(DevicesTest, AnotherCameraTakesThePlaceOfTheFirst) {
  begin(test_devices());
  ASSERT_TRUE(run_until([&] { return !captured.empty(); }));
  EXPECT_FALSE(devices->choose_camera(media::kTestDevice)) << "the same";
  EXPECT_TRUE(devices->choose_camera("gst:videotestsrc is-live=true pattern=white"));
  const auto is_white = [](const media::PicturePtr& picture) {
    return std::all_of(picture->y(), picture->y() + 160, [](uint8_t y) { return y > 230; });
  };
  ASSERT_TRUE(run_until([&] { return is_white(captured.back()); }));
  captured.clear();
  ASSERT_TRUE(run_until([&] { return captured.size() >= 3; }));
  EXPECT_TRUE(std::ranges::all_of(captured, is_white));
  EXPECT_EQ(devices->options().camera->id, "gst:videotestsrc is-live=true pattern=white");
}

TEST_F(DevicesTest, AnotherMicrophoneTakesThePlaceOfTheFirst) {
  begin(test_devices());
  ASSERT_TRUE(run_until([&] { return !heard.empty(); }));
  devices->choose_microphone("gst:audiotestsrc is-live=true wave=silence");
  heard.clear();
  ASSERT_TRUE(run_until([&] { return heard.size() >= 55; })) << "one tone a second";
  EXPECT_TRUE(std::ranges::all_of(
      heard, [](const media::AudioFrame& frame) { return frame == media::AudioFrame{}; }));
}

TEST_F(DevicesTest, MissingCameraAndMicrophoneStayOff) {
  begin({});
  EXPECT_FALSE(devices->choose_camera(media::kTestDevice));
  devices->choose_microphone(media::kTestDevice);
  ASSERT_TRUE(run_until([&] { return played.size() >= 10; }));
  EXPECT_TRUE(own.empty());
  EXPECT_TRUE(heard.empty());
}

TEST_F(DevicesTest, ALostMicrophoneIsTriedAgainAfterTwoSeconds) {
  LiveDevicesOptions options = test_devices();
  options.camera.reset();
  options.microphone->id = "gst:audiotestsrc is-live=true num-buffers=3";
  begin(options);
  using Kind = DeviceNews::Kind;
  ASSERT_TRUE(run_until([&] { return count(Kind::kBack) == 1 && count(Kind::kLost) == 2; }));
  EXPECT_EQ(count(Kind::kRefused), 0U);
  EXPECT_GE(when(Kind::kBack) - when(Kind::kLost), 2s);
  devices->choose_microphone(media::kTestDevice);
  heard.clear();
  ASSERT_TRUE(run_until([&] { return heard.size() > 5; }));
  EXPECT_EQ(count(Kind::kBack), 1U) << "another one was never lost";
}

TEST_F(DevicesTest, AnotherCameraThanTheLostOneIsNotReportedBack) {
  LiveDevicesOptions options = test_devices();
  options.microphone.reset();
  options.camera->id = "gst:videotestsrc is-live=true num-buffers=3";
  begin(options);
  using Kind = DeviceNews::Kind;
  ASSERT_TRUE(run_until([&] { return count(Kind::kLost) == 1; }));
  EXPECT_TRUE(devices->choose_camera(media::kTestDevice));
  captured.clear();
  ASSERT_TRUE(run_until([&] { return captured.size() > 5; }));
  EXPECT_EQ(count(Kind::kBack), 0U);
}

TEST_F(DevicesTest, WhatWasPlayedIsInItsFileAfterTheEnd) {
  const std::filesystem::path file =
      std::filesystem::path{testing::TempDir()} / "cress-devices-test.wav";
  std::filesystem::remove(file);
  LiveDevicesOptions options;
  options.speaker.id = "file:" + file.string();
  begin(options);
  ASSERT_TRUE(run_until([&] { return played.size() >= 10; }));
  devices->finish();
  EXPECT_GT(std::filesystem::file_size(file), 10U * media::kAudioFrameSamples);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace cress::live
