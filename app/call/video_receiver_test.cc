#include "app/call/video_receiver.hh"

#include <gtest/gtest.h>

#include <vector>

#include "media/codec/vp8_encoder.hh"
#include "media/frame/picture.hh"

namespace cress::app {
namespace {

/// A frame of 161 bytes, most of them 0: little to send, and as much to decode as any of its size.
std::vector<std::byte> bomb(int width, int height) {
  constexpr unsigned kFirstPartition = 100;
  constexpr unsigned kTag = 0x10U | kFirstPartition << 5U;  // a key frame, to be displayed
  std::vector<std::byte> frame(161);
  frame[0] = static_cast<std::byte>(kTag & 0xFFU);
  frame[1] = static_cast<std::byte>(kTag >> 8U);
  frame[3] = std::byte{0x9D};
  frame[4] = std::byte{0x01};
  frame[5] = std::byte{0x2A};
  frame[6] = static_cast<std::byte>(width & 0xFF);
  frame[7] = static_cast<std::byte>(width >> 8);
  frame[8] = static_cast<std::byte>(height & 0xFF);
  frame[9] = static_cast<std::byte>(height >> 8);
  return frame;
}

/// Sends frames of this size for `length`, and returns the receiver's counts.
VideoReceiverStats after(Duration length, int frames_per_second, int width, int height) {
  VideoReceiver receiver;
  for (int i = 0; i * 1s < length * frames_per_second; ++i) {
    const TimePoint now = kTimeZero + Duration{1s} * i / frames_per_second;
    const auto id = static_cast<uint32_t>(i);
    receiver.handle_frame(now, {.id = id,
                                .reference_id = id,
                                .capture_time = now,
                                .key_frame = true,
                                .data = bomb(width, height)});
    while (receiver.poll_shown()) {
    }
  }
  return receiver.stats();
}

TEST(VideoReceiver, HugeFramesBeyondTheBudgetAreNotDecoded) {
  const VideoReceiverStats stats = after(10s, 90, 4096, 2304);
  const double frames = (kPixelBudget.per_second * 10 + kPixelBudget.burst) / (4096 * 2304);
  EXPECT_GE(static_cast<double>(stats.frames_over_budget), 900 - frames);
  EXPECT_LE(static_cast<double>(stats.frames_over_budget), 901 - frames);
}

TEST(VideoReceiver, CallsOfUsualSizesAreWithinTheBudget) {
  EXPECT_EQ(after(20s, 30, 1280, 720).frames_over_budget, 0U);
  EXPECT_EQ(after(20s, 30, 1920, 1080).frames_over_budget, 0U);
  EXPECT_EQ(after(20s, 60, 1280, 720).frames_over_budget, 0U);
}

TEST(VideoReceiver, SmallFramesCostSomethingToo) {
  EXPECT_GT(after(5s, 4000, 16, 16).frames_over_budget, 0U);
}

TEST(VideoReceiver, FramesAfterAHugeKeyFrameCostAsMuch) {
  const media::Picture picture = media::make_picture(4096, 2304);
  media::Vp8Encoder encoder{{.width = 4096, .height = 2304}};
  const auto key = encoder.encode(picture).data;
  const auto delta = encoder.encode(picture).data;
  VideoReceiver receiver;
  int shown = 0;
  for (uint32_t id = 0; id < 100; ++id) {
    receiver.handle_frame(kTimeZero, {.id = id,
                                      .reference_id = id == 0 ? 0 : id - 1,
                                      .key_frame = id == 0,
                                      .data = id == 0 ? key : delta});
    while (receiver.poll_shown()) {
      ++shown;
    }
  }
  EXPECT_GE(shown, 20) << "they can be decoded";
  EXPECT_LE(shown, kPixelBudget.burst / (4096 * 2304));
  EXPECT_EQ(receiver.stats().frames_over_budget, 1U) << "then a key frame is waited for";
}

}  // namespace
}  // namespace cress::app
