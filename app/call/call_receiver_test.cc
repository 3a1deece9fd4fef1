#include "app/call/call_receiver.hh"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "app/call/audio_sender.hh"
#include "app/call/call_test_tools.hh"
#include "media/codec/vp8_encoder.hh"
#include "media/frame/fragment.hh"
#include "media/source/audio_synthetic_voice.hh"

namespace cress::app {
namespace {

/// Frames of a grey picture, the first a key frame, each of which refers to the one before.
std::vector<media::EncodedFrame> grey_frames(uint32_t count) {
  media::Vp8Encoder encoder{{.width = 64, .height = 48}};
  std::vector<media::EncodedFrame> frames;
  for (uint32_t id = 0; id < count; ++id) {
    auto coded = encoder.encode(*grey_picture());
    frames.push_back({.id = id,
                      .reference_id = id == 0 ? 0 : id - 1,
                      .capture_time = kTimeZero + id * 33ms,
                      .key_frame = id == 0,
                      .data = std::move(coded.data)});
  }
  return frames;
}

std::vector<std::byte> only_fragment(const media::EncodedFrame& frame) {
  return media::fragment(frame, DataSize{1'100}).at(0);
}

TEST(VideoReceiver, AReportNamesEachDecodedFrame) {
  VideoReceiver receiver;
  EXPECT_FALSE(receiver.report());
  auto frames = grey_frames(46);
  frames[3].reference_id = 1;  // 2 is lost, and the sender knows
  frames[45].reference_id = 3;
  std::vector<uint32_t> before;
  for (const uint32_t id : {0U, 1U, 3U, 4U, 45U}) {
    receiver.handle_frame(kTimeZero + id * 33ms, frames[id]);
    ASSERT_TRUE(receiver.report());
    EXPECT_EQ(receiver.report()->newest, id);
    before.push_back(receiver.report()->before);
  }
  EXPECT_EQ(before, (std::vector<uint32_t>{0, 0b1, 0b110, 0b1101, 0}));
}

TEST(VideoReceiver, AReportReachesBackThirtyTwoFrames) {
  for (const uint32_t forward : {32U, 33U}) {
    VideoReceiver receiver;
    auto frames = grey_frames(forward + 1);
    frames[forward].reference_id = 0;
    receiver.handle_frame(kTimeZero, frames[0]);
    receiver.handle_frame(kTimeZero, frames[forward]);
    EXPECT_EQ(receiver.report()->before, forward == 32 ? 0x80000000U : 0U);
  }
}

TEST(VideoReceiver, AKeyFrameIsNeededAtOnceAtTheStartAndLaterWhenStuck) {
  const auto frames = grey_frames(10);
  VideoReceiver receiver{500ms};
  EXPECT_FALSE(receiver.needs_key_frame()) << "nothing came yet";
  receiver.handle_fragment(kTimeZero, only_fragment(frames[1]));
  EXPECT_FALSE(receiver.needs_key_frame()) << "the key frame may be under way";
  EXPECT_EQ(receiver.poll_timeout(), kTimeZero + 200ms);
  receiver.handle_timeout(kTimeZero + 200ms);
  EXPECT_TRUE(receiver.needs_key_frame());
  receiver.handle_fragment(kTimeZero + 1s, only_fragment(frames[0]));
  EXPECT_FALSE(receiver.needs_key_frame());
  receiver.handle_fragment(kTimeZero + 1s, only_fragment(frames[4]));
  receiver.handle_timeout(kTimeZero + 1'200ms);
  receiver.handle_timeout(kTimeZero + 1'699ms);
  EXPECT_FALSE(receiver.needs_key_frame()) << "the sender answers a loss by itself";
  receiver.handle_timeout(kTimeZero + 1'700ms);
  EXPECT_TRUE(receiver.needs_key_frame());
}

TEST(VideoReceiver, AFrameThatBreaksTheDecoderNeedsAKeyFrameAtOnce) {
  auto frames = grey_frames(3);
  VideoReceiver receiver;
  receiver.handle_fragment(kTimeZero, only_fragment(frames[0]));
  frames[1].data = {std::byte{1}};
  receiver.handle_frame(kTimeZero + 33ms, frames[1]);
  EXPECT_EQ(receiver.stats().frames_undecodable, 1U);
  EXPECT_EQ(receiver.report()->newest, 0U);
  EXPECT_TRUE(receiver.needs_key_frame());
  auto again = grey_frames(1)[0];
  again.id = again.reference_id = 5;
  receiver.handle_frame(kTimeZero + 66ms, again);
  EXPECT_FALSE(receiver.needs_key_frame());
}

TEST(VideoReceiver, FramesAreDisplayedInOrderAfterTheirHold) {
  const auto frames = grey_frames(3);
  VideoReceiver receiver;
  receiver.set_hold(50ms);
  receiver.handle_frame(kTimeZero, frames[0]);
  EXPECT_FALSE(receiver.poll_shown());
  EXPECT_EQ(receiver.poll_timeout(), kTimeZero + 50ms);
  receiver.set_hold(0ms);
  receiver.handle_frame(kTimeZero + 10ms, frames[1]);
  EXPECT_FALSE(receiver.poll_shown()) << "not before the one that is older";
  receiver.handle_timeout(kTimeZero + 50ms);
  for (const uint32_t id : {0U, 1U}) {
    const auto shown = receiver.poll_shown();
    ASSERT_TRUE(shown);
    EXPECT_EQ(shown->frame_id, id);
    EXPECT_EQ(shown->shown, kTimeZero + 50ms);
    EXPECT_EQ(shown->captured, frames[id].capture_time);
    EXPECT_EQ(shown->size, frames[id].size());
  }
  EXPECT_FALSE(receiver.poll_shown());
  EXPECT_EQ(receiver.poll_timeout(), kNever);
  receiver.handle_frame(kTimeZero + 90ms, frames[2]);
  EXPECT_EQ(receiver.poll_shown()->shown, kTimeZero + 90ms);
}

TEST(VideoReceiver, EarlyFramesWaitSoThatAllComeEvenly) {
  auto frames = grey_frames(200);
  for (uint32_t id = 0; id < 200; ++id) {
    frames[id].capture_time = kTimeZero + id * 200ms;
  }
  for (const Duration most : {0ms, 60ms, 200ms}) {
    VideoReceiver receiver;
    receiver.set_playout({.most = most});
    // Every fourth takes 40 ms longer.
    Duration early{};
    Duration late{};
    for (uint32_t id = 0; id < 200; ++id) {
      const TimePoint at = frames[id].capture_time + (id % 4 == 3 ? 60ms : 20ms);
      receiver.handle_frame(at, frames[id]);
      receiver.handle_timeout(at + 100ms);
      const auto shown = receiver.poll_shown();
      ASSERT_TRUE(shown);
      (id % 4 == 3 ? late : early) = shown->shown - shown->captured;
    }
    const bool is_even = late - early < 10ms;
    EXPECT_EQ(is_even, most != 0ms);
    EXPECT_LE(late, 65ms);
  }
}

// 30 frames a second for 20 s; every fourth takes 30 ms longer, which is not uneven yet. From each
// frame in `held` on, five come together, the first of them 160 ms late. For `left_out` before the
// 300th the sender sends none. Returns how many of each second waited for display.
std::array<int, 20> frames_that_waited(PlayoutWait wait, const std::set<uint32_t>& held,
                                       Duration left_out = {}) {
  auto frames = grey_frames(600);
  VideoReceiver receiver;
  receiver.set_playout(wait);
  std::vector<TimePoint> arrived;
  std::array<int, 20> waited{};
  TimePoint held_until = kTimeZero;
  for (uint32_t id = 0; id < 600; ++id) {
    frames[id].capture_time =
        kTimeZero + Duration{1s} * id / 30 + (id < 300 ? Duration{} : left_out);
    if (held.contains(id)) {
      held_until = frames[id].capture_time + 180ms;
    }
    const TimePoint usual = frames[id].capture_time + (id % 4 == 3 ? 50ms : 20ms);
    arrived.push_back(std::max(usual, held_until));
    receiver.handle_frame(arrived[id], frames[id]);
    while (const auto shown = receiver.poll_shown()) {
      waited.at(shown->frame_id / 30) += shown->shown > arrived.at(shown->frame_id) ? 1 : 0;
    }
  }
  return waited;
}

TEST(VideoReceiver, EarlyFramesWaitOnlyAWhileAfterUnevenOnes) {
  const auto waited = frames_that_waited({.most = 60ms, .after_uneven = 5s}, {300});
  EXPECT_GT(waited[3], 15) << "a call's first frames come after none";
  EXPECT_EQ(waited[6], 0);
  EXPECT_EQ(waited[9], 0);
  EXPECT_GT(waited[11], 15);
  EXPECT_GT(waited[14], 15);
  EXPECT_EQ(waited[16], 0);
}

TEST(VideoReceiver, FramesLeftOutByTheSenderMakeNoneUneven) {
  const PlayoutWait wait{.most = 60ms, .after_uneven = 5s};
  EXPECT_EQ(frames_that_waited(wait, {}, 110ms)[11], 0);
  EXPECT_GT(frames_that_waited(wait, {300}, 110ms)[11], 15);
}

TEST(VideoReceiver, EarlyFramesWaitLongerAfterManyUnevenOnes) {
  const PlayoutWait wait{.most = 60ms, .after_uneven = 6s, .after_uneven_most = 7s};
  const auto after_one = frames_that_waited(wait, {300});
  EXPECT_EQ(after_one[9], 0);
  EXPECT_GT(after_one[15], 15);
  EXPECT_EQ(after_one[17], 0);
  const auto after_three = frames_that_waited(wait, {300, 315, 330});
  EXPECT_GT(after_three[17], 15) << "the third came at 11.2 s";
  EXPECT_EQ(after_three[19], 0);
}

TEST(VideoReceiver, TheNewestFrameWaitsForTheNextAfterAPause) {
  auto frames = grey_frames(400);
  VideoReceiver receiver;
  receiver.set_playout({.most = 60ms, .after_uneven = 5s, .after_uneven_most = 5s});
  // 25 a second; after the 50th and the 100th the link pauses for 200 ms.
  std::vector<TimePoint> arrived;
  std::vector<TimePoint> shown;
  const auto display = [&](TimePoint now) {
    for (TimePoint due = receiver.poll_timeout(); due <= now; due = receiver.poll_timeout()) {
      receiver.handle_timeout(due);
      while (const auto frame = receiver.poll_shown()) {
        shown.push_back(frame->shown);
      }
    }
    while (const auto frame = receiver.poll_shown()) {
      shown.push_back(frame->shown);
    }
  };
  for (uint32_t id = 0; id < 400; ++id) {
    frames[id].capture_time =
        kTimeZero + id * 40ms + (id > 50 ? 160ms : 0ms) + (id > 100 ? 160ms : 0ms);
    arrived.push_back(frames[id].capture_time + 20ms);
    display(arrived[id]);
    receiver.handle_frame(arrived[id], frames[id]);
    display(arrived[id]);
  }
  display(arrived.back() + 1s);
  ASSERT_EQ(shown.size(), arrived.size());
  EXPECT_LE(shown[50], arrived[50] + media::PlayoutDelay::kBinWidth) << "none came unevenly yet";
  EXPECT_EQ(shown[60], arrived[61]);
  EXPECT_EQ(shown[99], arrived[100]);
  EXPECT_EQ(shown[100], shown[99] + 120ms) << "in the second pause";
  EXPECT_EQ(shown[101], arrived[102]);
  EXPECT_EQ(shown[250], arrived[250]) << "they have come evenly for 5 s";
}

TEST(VideoReceiver, CaptureTimeInTheFutureHoldsNoFrameBack) {
  auto frames = grey_frames(400);
  VideoReceiver receiver;
  receiver.set_playout({.most = 60ms});
  for (uint32_t id = 0; id < 400; ++id) {
    const TimePoint at = kTimeZero + id * 200ms;
    frames[id].capture_time = at + (id == 390 ? 1h : 0h);
    receiver.handle_frame(at, frames[id]);
    receiver.handle_timeout(at + 60ms);
    const auto shown = receiver.poll_shown();
    ASSERT_TRUE(shown) << id;
    EXPECT_LE(shown->shown, at + 60ms);
  }
}

TEST(VideoReceiver, PlayoutDoesNotFollowAnOutage) {
  const auto frames = grey_frames(60);
  VideoReceiver receiver;
  receiver.set_playout({.most = 60ms});
  for (uint32_t id = 0; id < 60; ++id) {
    const TimePoint at = std::max(frames[id].capture_time + 20ms, kTimeZero + 1s);
    receiver.handle_frame(at, frames[id]);
    receiver.handle_timeout(at);
    while (const auto shown = receiver.poll_shown()) {
      EXPECT_LE(shown->shown - at, 60ms);
    }
  }
  EXPECT_LE(receiver.poll_timeout(), frames[59].capture_time + 20ms + 200ms);
}

TEST(VideoReceiver, FrameThatDoesNotDecryptIsNotDecoded) {
  const auto frames = grey_frames(2);
  int opened = 0;
  VideoReceiver receiver{1s, [&opened](media::EncodedFrame& frame) {
                           ++opened;
                           return frame.id != 1;
                         }};
  receiver.handle_fragment(kTimeZero, only_fragment(frames[0]));
  receiver.handle_fragment(kTimeZero, only_fragment(frames[1]));
  receiver.handle_fragment(kTimeZero, {});
  EXPECT_EQ(opened, 2);
  EXPECT_EQ(receiver.report()->newest, 0U);
  EXPECT_EQ(receiver.stats().fragments_malformed, 1U);
}

TEST(VideoReceiver, AFrameCutByAnOutageOfHalfAMinuteIsCompletedAfterIt) {
  auto frame = grey_frames(1)[0];
  frame.data.resize(100);
  const auto messages = media::fragment(frame, media::kFragmentMessageMin);
  ASSERT_GT(messages.size(), 1U);
  for (const bool comes : {true, false}) {
    VideoReceiver receiver;
    for (size_t i = 0; i + 1 < messages.size(); ++i) {
      receiver.handle_fragment(kTimeZero, messages[i]);
    }
    receiver.handle_fragment(kTimeZero + 30s + (comes ? 0us : 1us), messages.back());
    EXPECT_EQ(receiver.report().has_value(), comes);
  }
}

TEST(CallReceiver, ReportsComeWithNewsAndSixtyMillisecondsApart) {
  const auto frames = grey_frames(4);
  CallReceiver receiver;
  EXPECT_FALSE(receiver.poll_report(kTimeZero));
  receiver.handle_frame(kTimeZero, frames[0]);
  receiver.handle_frame(kTimeZero, frames[1]);
  EXPECT_EQ(receiver.poll_report(kTimeZero), (FrameReport{.newest = 1, .before = 1}));
  EXPECT_FALSE(receiver.poll_report(kTimeZero + 1s)) << "no news";
  receiver.handle_frame(kTimeZero + 1s, frames[2]);
  EXPECT_TRUE(receiver.poll_report(kTimeZero + 1s));
  receiver.handle_frame(kTimeZero + 1'010ms, frames[3]);
  EXPECT_FALSE(receiver.poll_report(kTimeZero + 1'059ms));
  EXPECT_TRUE(receiver.poll_report(kTimeZero + 1'060ms));
}

TEST(CallReceiver, AFrameDecodedElsewhereIsReportedWhenItsResultIsBack) {
  CallReceiver receiver{{.hands_out_decoding = true}};
  auto frame = grey_frames(1)[0];
  frame.id = frame.reference_id = 7;
  receiver.handle_frame(kTimeZero, frame);
  receiver.settle(kTimeZero);
  EXPECT_FALSE(receiver.poll_report(kTimeZero));
  const auto work = receiver.poll_decode_work();
  ASSERT_NE(work, nullptr);
  work->run();
  receiver.handle_decoded(kTimeZero + 40ms, *work);
  receiver.settle(kTimeZero + 40ms);
  EXPECT_TRUE(receiver.poll_report(kTimeZero + 40ms));
  EXPECT_EQ(receiver.poll_shown()->shown, kTimeZero + 40ms);
}

TEST(CallReceiver, KeyFramesAreAskedForThreeTimesASecond) {
  CallReceiver receiver;
  receiver.handle_fragment(kTimeZero, only_fragment(grey_frames(2)[1]));
  EXPECT_FALSE(receiver.poll_key_frame_request(kTimeZero));
  receiver.handle_timeout(kTimeZero + 200ms);
  EXPECT_TRUE(receiver.poll_key_frame_request(kTimeZero + 200ms));
  EXPECT_FALSE(receiver.poll_key_frame_request(kTimeZero + 499ms));
  EXPECT_TRUE(receiver.poll_key_frame_request(kTimeZero + 500ms));
  receiver.handle_frame(kTimeZero + 600ms, grey_frames(1)[0]);
  EXPECT_FALSE(receiver.poll_key_frame_request(kTimeZero + 2s)) << "it has come";
}

/// Audio that takes 20 ms to arrive, with video that takes `picture_delay`, for five seconds.
CallReceiver receiver_after(Duration picture_delay, Duration sound_delay, bool sound_card) {
  CallReceiver receiver{{.paced_by_sound_card = sound_card}};
  AudioSender audio;
  media::SyntheticVoice voice;
  auto frames = grey_frames(1);
  for (int i = 1; i <= 250; ++i) {
    const TimePoint now = kTimeZero + 10s + i * 20ms;
    if (const auto message =
            audio.capture(now - sound_delay, voice.frame(static_cast<uint64_t>(i)))) {
      receiver.handle_sound(now, *message);
    }
    frames[0].id = frames[0].reference_id = static_cast<uint32_t>(i);
    frames[0].capture_time = now - picture_delay;
    receiver.handle_frame(now, frames[0]);
    receiver.handle_timeout(now);
    if (sound_card) {
      (void)receiver.play(now);
    }
    receiver.settle(now);
    while (receiver.poll_shown()) {
    }
    EXPECT_EQ(receiver.poll_played().has_value(), !sound_card);
  }
  return receiver;
}

TEST(CallReceiver, AudioWaitsForLateVideoAndVideoForLateAudio) {
  for (const bool sound_card : {false, true}) {
    const CallReceiver level = receiver_after(60ms, 20ms, sound_card);
    const CallReceiver late_picture = receiver_after(900ms, 20ms, sound_card);
    EXPECT_NEAR(
        to_milliseconds(*late_picture.audio().target_delay() - *level.audio().target_delay()), 40,
        1);
    const CallReceiver late_sound = receiver_after(0ms, 2s, sound_card);
    EXPECT_EQ(late_sound.video().poll_timeout() > kTimeZero + 15s, true);
    EXPECT_NE(late_sound.video().poll_timeout(), kNever) << "pictures are kept back";
    EXPECT_EQ(level.video().poll_timeout(), kNever);
    EXPECT_EQ(level.poll_timeout() == kNever, sound_card) << "a sound card sets the pace";
  }
}

}  // namespace
}  // namespace cress::app
