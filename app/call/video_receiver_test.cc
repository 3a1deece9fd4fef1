#include "app/call/video_receiver.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "app/call/call_test_tools.hh"
#include "media/codec/vp8_encoder.hh"
#include "media/frame/fragment.hh"
#include "media/frame/picture.hh"
#include "media/source/synthetic_camera.hh"

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

// ---- Frames that are handed out.

constexpr Duration kFrameTime = 33ms;

/// Of a moving picture; the first is a key frame, and each of the others refers to the one before.
std::vector<media::EncodedFrame> moving_frames(uint32_t count) {
  media::SyntheticCamera camera{{.width = 64, .height = 48}};
  media::Vp8Encoder encoder{{.width = 64, .height = 48}};
  std::vector<media::EncodedFrame> frames;
  for (uint32_t id = 0; id < count; ++id) {
    frames.push_back({.id = id,
                      .reference_id = id == 0 ? 0 : id - 1,
                      .capture_time = kTimeZero + id * kFrameTime,
                      .key_frame = id == 0,
                      .data = encoder.encode(*camera.picture(id)).data});
  }
  return frames;
}

media::EncodedFrame key_frame(uint32_t id) {
  auto key = moving_frames(1)[0];
  key.id = key.reference_id = id;
  return key;
}

/// A receiver, stepped as a Driver does; `decoding`: the time each frame takes, nullopt: decoded at
/// once, by the receiver.
class Stepped {
 public:
  explicit Stepped(std::optional<Duration> decoding) : decoder_(decoding.value_or(0ms)) {
    if (decoding) {
      receiver_.hand_out_work();
    }
  }
  void handle_frame(TimePoint at, const media::EncodedFrame& frame) {
    run_until(at);
    for (const auto& message : media::fragment(frame, DataSize{1'100})) {
      receiver_.handle_fragment(at, message);
      take(at);
    }
  }
  void run_until(TimePoint end) {
    for (TimePoint due = next(); due <= end; due = next()) {
      ASSERT_LT(++steps_, 10'000) << "asks for the same instant again and again";
      now_ = std::max(now_, due);
      decoder_.handle_timeout(now_, receiver_);
      receiver_.handle_timeout(now_);
      take(now_);
    }
    now_ = std::max(now_, end);
  }

  VideoReceiver& receiver() { return receiver_; }
  std::vector<ShownFrame> shown;
  std::vector<FrameReport> reports;
  bool wanted_key_frame = false;

 private:
  TimePoint next() const { return std::min(receiver_.poll_timeout(), decoder_.poll_timeout()); }
  void take(TimePoint now) {
    decoder_.take(now, receiver_);
    while (auto frame = receiver_.poll_shown()) {
      shown.push_back(*std::move(frame));
    }
    if (const auto report = receiver_.report();
        report && (reports.empty() || *report != reports.back())) {
      reports.push_back(*report);
    }
    wanted_key_frame = wanted_key_frame || receiver_.needs_key_frame();
  }

  VideoReceiver receiver_;
  SlowDecoder decoder_;
  TimePoint now_ = kTimeZero;
  int steps_ = 0;
};

void expect_same_pictures(const std::vector<ShownFrame>& shown,
                          const std::vector<ShownFrame>& wanted) {
  ASSERT_EQ(shown.size(), wanted.size());
  for (size_t i = 0; i < shown.size(); ++i) {
    EXPECT_EQ(shown[i].frame_id, wanted[i].frame_id);
    EXPECT_EQ(shown[i].captured, wanted[i].captured);
    EXPECT_EQ(shown[i].size, wanted[i].size);
    EXPECT_EQ(*shown[i].picture, *wanted[i].picture) << "frame " << shown[i].frame_id;
  }
}

TEST(VideoReceiver, FramesDecodedElsewhereGiveWhatThoseAtOnceGive) {
  const auto frames = moving_frames(30);
  for (const Duration decoding : {0ms, 25ms, 32ms}) {
    Stepped at_once{std::nullopt};
    Stepped elsewhere{decoding};
    for (const auto& frame : frames) {
      at_once.handle_frame(frame.capture_time + 20ms, frame);
      elsewhere.handle_frame(frame.capture_time + 20ms, frame);
    }
    elsewhere.run_until(kTimeZero + 2s);
    expect_same_pictures(elsewhere.shown, at_once.shown);
    EXPECT_EQ(elsewhere.reports, at_once.reports);
    EXPECT_EQ(elsewhere.shown.front().shown, kTimeZero + 20ms + decoding);
    EXPECT_FALSE(elsewhere.wanted_key_frame);
  }
}

// Longer than a frame waits for a reference that is missing: these wait for the decoder.
TEST(VideoReceiver, ABurstAfterAnOutageIsDecodedInOrderHoweverSlowly) {
  const auto frames = moving_frames(31);
  Stepped at_once{std::nullopt};
  Stepped slow{50ms};
  for (const auto& frame : frames) {
    const TimePoint at = frame.id == 0 ? kTimeZero : kTimeZero + 2s;
    at_once.handle_frame(at, frame);
    slow.handle_frame(at, frame);
  }
  EXPECT_EQ(slow.shown.size(), 1U) << "the others are on their way";
  slow.run_until(kTimeZero + 2s + 30 * 50ms);
  expect_same_pictures(slow.shown, at_once.shown);
  EXPECT_EQ(slow.shown.size(), 31U);
  EXPECT_EQ(slow.reports.back(), at_once.reports.back());
  EXPECT_FALSE(slow.wanted_key_frame);
}

TEST(VideoReceiver, FramesThatWaitForASlowDecoderAreBounded) {
  const auto frames = moving_frames(200);
  Stepped slow{1s};
  for (const auto& frame : frames) {
    slow.handle_frame(kTimeZero, frame);
  }
  EXPECT_TRUE(slow.receiver().needs_key_frame()) << "the oldest were dropped";
  slow.handle_frame(kTimeZero, key_frame(200));
  slow.run_until(kTimeZero + 20s);
  ASSERT_EQ(slow.shown.size(), VideoReceiver::kWorkMax + 1);
  EXPECT_EQ(slow.shown.back().frame_id, 200U) << "it makes those before it useless";
  EXPECT_FALSE(slow.receiver().needs_key_frame());
}

/// All that the receiver hands out now, which must be the frames from `first_id` on.
std::vector<std::shared_ptr<DecodeWork>> all_work(VideoReceiver& receiver, uint32_t first_id) {
  std::vector<std::shared_ptr<DecodeWork>> all;
  while (auto work = receiver.poll_decode_work()) {
    EXPECT_EQ(work->frame().id, first_id + all.size());
    all.push_back(std::move(work));
  }
  return all;
}

TEST(VideoReceiver, EightFramesAreOutAndTheReceiverSleepsUntilOneReturns) {
  VideoReceiver receiver;
  receiver.hand_out_work();
  EXPECT_EQ(receiver.poll_decode_work(), nullptr);
  for (const auto& frame : moving_frames(10)) {
    receiver.handle_frame(kTimeZero, frame);
  }
  const auto work = all_work(receiver, 0);
  ASSERT_EQ(work.size(), 8U);
  EXPECT_EQ(receiver.poll_timeout(), kNever);
  EXPECT_FALSE(receiver.report()) << "not decoded yet";
  work[0]->run();
  receiver.handle_timeout(kTimeZero + 1s);
  EXPECT_FALSE(receiver.poll_shown()) << "its result has not come back";
  receiver.handle_decoded(kTimeZero + 1s, *work[0]);
  EXPECT_EQ(receiver.report()->newest, 0U);
  EXPECT_EQ(receiver.poll_shown()->shown, kTimeZero + 1s);
  EXPECT_EQ(all_work(receiver, 8).size(), 1U);
  receiver.handle_decoded(kTimeZero + 1s, *work[0]);
  EXPECT_EQ(receiver.report()->newest, 0U) << "what comes back twice counts once";
  EXPECT_EQ(receiver.poll_decode_work(), nullptr);
}

TEST(VideoReceiver, AMissingReferenceIsGivenUpOnceNoFrameWaitsForTheDecoder) {
  VideoReceiver receiver{Duration{}};
  receiver.hand_out_work();
  for (const auto& frame : moving_frames(10)) {
    for (const auto& message : media::fragment(frame, DataSize{1'100})) {
      if (frame.id != 8) {
        receiver.handle_fragment(kTimeZero, message);
      }
    }
  }
  const auto work = all_work(receiver, 0);
  receiver.handle_timeout(kTimeZero + 300ms);
  EXPECT_FALSE(receiver.needs_key_frame());
  work[0]->run();
  receiver.handle_decoded(kTimeZero + 300ms, *work[0]);
  EXPECT_TRUE(receiver.needs_key_frame());
  EXPECT_EQ(receiver.poll_decode_work(), nullptr);
  EXPECT_EQ(receiver.poll_timeout(), kNever);
}

TEST(VideoReceiver, AFrameThatBreaksTheOtherThreadsDecoderNeedsAKeyFrame) {
  auto frames = moving_frames(3);
  frames[1].data = {std::byte{1}};
  Stepped slow{10ms};
  for (const auto& frame : frames) {
    slow.handle_frame(kTimeZero, frame);
  }
  EXPECT_FALSE(slow.receiver().needs_key_frame()) << "it is not known yet";
  slow.run_until(kTimeZero + 1s);
  EXPECT_EQ(slow.receiver().stats().frames_undecodable, 1U);
  EXPECT_TRUE(slow.receiver().needs_key_frame());
  EXPECT_EQ(slow.shown.size(), 1U);
  slow.handle_frame(kTimeZero + 1s, key_frame(3));
  slow.run_until(kTimeZero + 2s);
  EXPECT_FALSE(slow.receiver().needs_key_frame());
  EXPECT_EQ(slow.shown.size(), 2U);
}

std::vector<uint32_t> ids(const std::vector<ShownFrame>& shown) {
  std::vector<uint32_t> all;
  std::ranges::transform(shown, std::back_inserter(all), &ShownFrame::frame_id);
  return all;
}

// Frame 1 is broken. The key frame is out before that is known, or comes when it is known and frame
// 2 has not come back yet.
TEST(VideoReceiver, AKeyFrameOnTheHeelsOfABrokenOneMendsTheVideo) {
  for (const TimePoint key_at : {kTimeZero, kTimeZero + 25ms}) {
    auto frames = moving_frames(6);
    frames[1].data = {std::byte{1}};
    frames[3] = key_frame(3);
    Stepped slow{10ms};
    for (const auto& frame : frames) {
      if (frame.id < 5) {
        slow.handle_frame(frame.id < 3 ? kTimeZero : key_at, frame);
      }
    }
    slow.run_until(kTimeZero + 100ms);
    slow.handle_frame(kTimeZero + 100ms, frames[5]);
    slow.run_until(kTimeZero + 1s);
    EXPECT_EQ(ids(slow.shown), (std::vector<uint32_t>{0, 3, 4, 5}));
    EXPECT_EQ(slow.receiver().stats().frames_undecodable, 1U);
    EXPECT_FALSE(slow.receiver().needs_key_frame());
    EXPECT_EQ(slow.wanted_key_frame, key_at > kTimeZero);
  }
}

TEST(VideoReceiver, HugeFramesBeyondTheBudgetAreNotHandedOut) {
  Stepped elsewhere{0ms};
  for (uint32_t id = 0; id < 40; ++id) {
    const TimePoint now = kTimeZero + id * 1ms;
    elsewhere.handle_frame(
        now, {.id = id, .reference_id = id, .key_frame = true, .data = bomb(4096, 2304)});
    elsewhere.run_until(now);
  }
  const VideoReceiverStats& stats = elsewhere.receiver().stats();
  EXPECT_EQ(elsewhere.shown.size() + stats.frames_undecodable, 26U) << "as many as 120 of 1080p";
  EXPECT_EQ(stats.frames_over_budget, 14U);
}

TEST(VideoReceiver, WorkOutlivesItsReceiver) {
  auto receiver = std::make_unique<VideoReceiver>();
  VideoReceiver other;
  for (VideoReceiver* each : {receiver.get(), &other}) {
    each->hand_out_work();
    each->handle_frame(kTimeZero, moving_frames(1)[0]);
  }
  const auto work = receiver->poll_decode_work();
  const auto others = other.poll_decode_work();
  receiver.reset();
  std::thread{[&] { work->run(); }}.join();
  EXPECT_FALSE(work->outcome()) << "nobody would look at the picture";
  other.handle_decoded(kTimeZero, *work);
  EXPECT_FALSE(other.report()) << "it was another's";
  others->run();
  other.handle_decoded(kTimeZero, *others);
  EXPECT_TRUE(other.report());
}

}  // namespace
}  // namespace cress::app
