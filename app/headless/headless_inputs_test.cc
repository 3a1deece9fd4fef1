#include "app/headless/headless_inputs.hh"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>

#include "media/gst/gst_runtime.hh"

namespace cress::headless {
namespace {

namespace fs = std::filesystem;

std::string refusal_of(const std::function<void()>& attempt) {
  try {
    attempt();
    return "not refused";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(HeadlessInputs, OmittedOptionsAreOff) {
  const live::LiveDevicesOptions devices = device_options({});
  EXPECT_FALSE(devices.camera);
  EXPECT_FALSE(devices.microphone);
  EXPECT_EQ(devices.speaker.id, media::kNoSpeaker);
  EXPECT_EQ(person_of({.name = "Ada"}),
            (app::PersonState{.name = "Ada", .muted = true, .camera_off = true}));
  EXPECT_EQ(person_of({.name = "Ada", .audio_in = "test"}),
            (app::PersonState{.name = "Ada", .muted = false, .camera_off = true}));
  EXPECT_EQ(person_of({.name = "Ada", .video_in = "test"}),
            (app::PersonState{.name = "Ada", .muted = true, .camera_off = false}));
}

TEST(HeadlessInputs, FilesTakeThePlaceOfDevices) {
  const fs::path file = fs::path{testing::TempDir()} / "cress-input.y4m";
  std::ofstream{file} << "x";
  const live::LiveDevicesOptions devices = device_options({.video_in = file.string(),
                                                           .audio_in = file.string(),
                                                           .size = {320, 180},
                                                           .rate = {15, 1},
                                                           .audio_out = "/tmp/out.wav"});
  ASSERT_TRUE(devices.camera);
  EXPECT_EQ(devices.camera->id, "file:" + file.string());
  EXPECT_EQ(devices.camera->size, (media::PictureSize{320, 180}));
  EXPECT_EQ(devices.camera->rate, (media::FrameRate{15, 1}));
  ASSERT_TRUE(devices.microphone);
  EXPECT_EQ(devices.microphone->id, "file:" + file.string());
  EXPECT_EQ(devices.microphone->processing,
            (media::VoiceProcessing{
                .echo_cancellation = false, .noise_suppression = false, .gain_control = false}));
  EXPECT_EQ(devices.speaker.id, "file:/tmp/out.wav");
  fs::remove(file);
}

TEST(HeadlessInputs, IdsOfDevicesAreTakenAsTheyAre) {
  for (const char* id : {"test", "default", "screen", "gst:videotestsrc", "file:/no/such"}) {
    EXPECT_EQ(device_options({.video_in = id}).camera->id, id);
    EXPECT_EQ(device_options({.audio_in = id}).microphone->id, id);
  }
}

TEST(HeadlessInputs, AFileThatIsNotThereIsNamedWithItsOption) {
  const std::string rest = " /no/clip: no such file (or \"test\" for a test source)";
  EXPECT_EQ(refusal_of([] { device_options({.video_in = "/no/clip"}); }), "--video-in" + rest);
  EXPECT_EQ(refusal_of([] { device_options({.audio_in = "/no/clip"}); }), "--audio-in" + rest);
}

TEST(HeadlessInputs, AFileThatCannotBeDecodedIsRefused) {
  const media::GstRuntime gstreamer;
  const fs::path file = fs::path{testing::TempDir()} / "cress-no-clip.webm";
  std::ofstream{file} << "no film\n";
  for (const std::string& id : {file.string(), "file:" + file.string()}) {
    const auto refusal = [&](const HeadlessOptions& options) {
      return refusal_of([&] { require_decodable_inputs(options); });
    };
    EXPECT_EQ(refusal({.video_in = id}).find("--video-in " + file.string() + ": "), 0U);
    EXPECT_EQ(refusal({.audio_in = id}).find("--audio-in " + file.string() + ": "), 0U);
  }
  EXPECT_NO_THROW(require_decodable_inputs({.video_in = "test", .audio_in = "test"}));
  fs::remove(file);
}

TEST(HeadlessInputs, ALinkIsReadOrRefusedWithItsText) {
  const std::string text = "cress://h:1/#AAAAAAAAAAAAAAAAAAAAAA";
  EXPECT_EQ(secure::format_link(parsed_link(text)), text);
  const std::string refusal = refusal_of([] { parsed_link("http://a/#secret"); });
  EXPECT_NE(refusal.find("begins with cress://"), std::string::npos);
  EXPECT_EQ(refusal.find("secret"), std::string::npos) << "errors go to logs";
}

TEST(HeadlessInputs, ALinksHostMayBeAnIpv6Address) {
  secure::Link link{"127.0.0.1", 4433, std::vector<std::byte>(16)};
  EXPECT_EQ(secure::host_and_port(link), "127.0.0.1:4433");
  link.host = "::1";
  EXPECT_EQ(secure::host_and_port(link), "[::1]:4433");
}

}  // namespace
}  // namespace cress::headless
