#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "media/devices/audio_framer.hh"
#include "media/devices/device_id.hh"
#include "media/devices/device_outbox.hh"
#include "media/devices/devices.hh"
#include "media/devices/sound_level.hh"

namespace cress::media {
namespace {

TEST(DeviceParts, EachIdAsksForItsKindOfDevice) {
  using Asked = DeviceId::Kind;
  const auto expect = [](const char* id, Asked kind, const char* rest) {
    const DeviceId parsed = parse_device_id(id);
    EXPECT_EQ(parsed.kind, kind) << id;
    EXPECT_EQ(parsed.rest, rest) << id;
  };
  expect(kTestDevice, Asked::kTest, "");
  expect(kScreenDevice, Asked::kScreen, "");
  expect(kPortalDevice, Asked::kPortal, "");
  expect(kNoSpeaker, Asked::kNone, "");
  expect(kDefaultDevice, Asked::kReal, kDefaultDevice);
  expect("file:", Asked::kFile, "");
  expect("file:/a/b.mkv", Asked::kFile, "/a/b.mkv");
  expect("gst:fakesrc ! x", Asked::kPipeline, "fakesrc ! x");
  expect("a file:x", Asked::kReal, "a file:x");
  expect("tests", Asked::kReal, "tests");
}

TEST(DeviceParts, AFileMustBeThereAndNotEmpty) {
  const auto path =
      std::filesystem::temp_directory_path() / ("cress-parts-" + std::to_string(::getpid()));
  const auto refusal = [&]() -> std::string {
    try {
      require_file(path.string());
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  std::filesystem::remove(path);
  EXPECT_NE(refusal().find("cannot be opened"), std::string::npos);
  std::ofstream{path};
  EXPECT_NE(refusal().find("is empty"), std::string::npos);
  std::ofstream{path} << "x";
  EXPECT_EQ(refusal(), "");
  std::filesystem::remove(path);
}

TEST(DeviceParts, LevelsAreOfThePeakAndOfTheMeanSquare) {
  const auto level = [](std::vector<int16_t> samples) { return level_of(samples); };
  EXPECT_DOUBLE_EQ(level({-32'768, 0}).peak_dbfs, 0);
  EXPECT_NEAR(level({-32'768, 0}).rms_dbfs, -3.0103, 1e-4);
  EXPECT_NEAR(level({16'384, -16'384, 16'384}).peak_dbfs, -6.0206, 1e-4);
  EXPECT_NEAR(level({16'384, -16'384, 16'384}).rms_dbfs, -6.0206, 1e-4);
  EXPECT_NEAR(level({0, -3277}).peak_dbfs, -20, 0.01);
  EXPECT_EQ(level({0, 0}).peak_dbfs, kSilenceDbfs);
  EXPECT_EQ(level({0}).rms_dbfs, kSilenceDbfs);
}

TEST(DeviceParts, FrameEndExcludesSamplesWaitingBehindIt) {
  AudioFramer framer;
  const std::vector<int16_t> first(kAudioFrameSamples - 1, 7);
  framer.add(first, kTimeZero + 1s);
  EXPECT_FALSE(framer.poll_frame());
  const std::vector<int16_t> second(kAudioFrameSamples + 49, 9);
  framer.add(second, kTimeZero + 2s);
  const auto frame = framer.poll_frame();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->ended, kTimeZero + 2s - audio_duration(kAudioFrameSamples + 48));
  EXPECT_EQ(frame->samples.front(), 7);
  EXPECT_EQ(frame->samples[kAudioFrameSamples - 2], 7);
  EXPECT_EQ(frame->samples.back(), 9);
  const auto next = framer.poll_frame();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->ended, kTimeZero + 2s - audio_duration(48));
  EXPECT_EQ(next->samples.front(), 9);
  EXPECT_FALSE(framer.poll_frame());
}

TEST(DeviceParts, SamplesBeforeAGapAreNotInTheFrameAfterIt) {
  AudioFramer framer;
  framer.add(std::vector<int16_t>(kAudioFrameSamples - 1, 7), kTimeZero + 1s);
  framer.forget();
  framer.add(std::vector<int16_t>(kAudioFrameSamples, 9), kTimeZero + 2s);
  const auto frame = framer.poll_frame();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->ended, kTimeZero + 2s);
  EXPECT_EQ(frame->samples.front(), 9);
  EXPECT_FALSE(framer.poll_frame());
}

bool is_ready(int fd) {
  pollfd poll{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&poll, 1, 0) == 1;
}

TEST(DeviceParts, AFullOutboxDropsItsOldestAndCounts) {
  DeviceOutbox<int> outbox{2};
  EXPECT_FALSE(is_ready(outbox.fd()));
  EXPECT_FALSE(outbox.take());
  for (const int item : {1, 2}) {
    outbox.put(item);
  }
  EXPECT_EQ(outbox.dropped(), 0U);
  outbox.put(3);
  EXPECT_EQ(outbox.dropped(), 1U);
  EXPECT_TRUE(is_ready(outbox.fd()));
  EXPECT_EQ(outbox.take(), 2);
  EXPECT_TRUE(is_ready(outbox.fd())) << "one more waits";
  EXPECT_TRUE(outbox.has_item());
  EXPECT_EQ(outbox.take(), 3);
  EXPECT_FALSE(outbox.has_item());
  EXPECT_FALSE(is_ready(outbox.fd()));
  outbox.put(4);
  outbox.forget_items();
  EXPECT_EQ(outbox.dropped(), 1U) << "what is forgotten is not dropped";
  EXPECT_FALSE(is_ready(outbox.fd()));
  EXPECT_FALSE(outbox.take());
}

TEST(DeviceParts, AnOutboxKeepsTheNewestEventsAndIsReadableForThem) {
  DeviceOutbox<int> outbox{1};
  for (size_t i = 0; i < DeviceOutbox<int>::kEventsMax + 1; ++i) {
    DeviceEvent event;
    event.words = std::to_string(i);
    outbox.notify(event);
  }
  outbox.forget_items();
  EXPECT_TRUE(is_ready(outbox.fd()));
  for (size_t i = 1; i <= DeviceOutbox<int>::kEventsMax; ++i) {
    EXPECT_TRUE(is_ready(outbox.fd()));
    const auto event = outbox.take_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->words, std::to_string(i));
  }
  EXPECT_FALSE(is_ready(outbox.fd()));
  EXPECT_FALSE(outbox.take_event());
}

}  // namespace
}  // namespace cress::media
