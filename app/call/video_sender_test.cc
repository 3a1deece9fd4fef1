#include "app/call/video_sender.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <thread>

#include "app/call/call_test_tools.hh"
#include "media/source/synthetic_camera.hh"

namespace cress::app {
namespace {

using Kind = session::MessageOutcome::Kind;

constexpr int kVideoWidth = 64;
constexpr int kVideoHeight = 48;

/// A sender that encodes one picture after another; each frame is sent as `fragments` messages,
/// `parity` of them redundant.
struct Sending {
  // Inlined, gcc 12 takes the options for a pointer to a temporary.
  [[gnu::noinline]] explicit Sending(VideoSenderOptions options = {}) : sender(sized(options)) {}
  static VideoSenderOptions sized(VideoSenderOptions options) {
    options.width = kVideoWidth;
    options.height = kVideoHeight;
    return options;
  }

  Encoding send(int fragments = 1, int parity = 0, DataSize budget = DataSize{20'000}) {
    const uint32_t id = next_frame++;
    now += 33ms;
    Encoding encoding = sender.encode(now, id, camera.picture(id), budget);
    if (!encoding.frame.data.empty()) {
      sender.handle_frame_sent(now, id, parity);
      for (int i = 0; i < fragments; ++i) {
        sender.handle_fragment_sent(next_message++, id, {});
      }
    }
    return encoding;
  }
  void send_frames(int count) {
    for (int i = 0; i < count; ++i) {
      send();
    }
  }
  void outcome(session::MessageId id, Kind kind) {
    sender.handle_outcome(now, {.flow = session::kVideoFlow, .id = id, .kind = kind}, DataSize{});
  }
  uint32_t next_reference() { return send().frame.reference_id; }

  media::SyntheticCamera camera{{.width = kVideoWidth, .height = kVideoHeight}};
  VideoSender sender;
  TimePoint now = kTimeZero;
  uint32_t next_frame = 0;
  session::MessageId next_message = 0;
};

TEST(VideoSender, ReportsWhileAPictureIsEncodedCountForTheNext) {
  Sending at_once;
  Sending in_steps;
  const auto report = [](Sending& sending) {
    sending.outcome(sending.next_message - 1, Kind::kLost);
    sending.sender.handle_key_frame_request(sending.now);
    sending.sender.handle_report({.newest = 2, .before = 1});
  };
  for (Sending* sending : {&at_once, &in_steps}) {
    sending->send_frames(6);
  }
  const uint32_t id = at_once.next_frame;
  const TimePoint now = at_once.now + 33ms;
  const auto picture = at_once.camera.picture(id);
  const Encoding before = at_once.sender.encode(now, id, picture, DataSize{9'000});
  report(at_once);
  const auto work = in_steps.sender.begin(now, id, picture, DataSize{9'000});
  report(in_steps);
  std::jthread{[&] { work->run(); }}.join();
  ASSERT_TRUE(work->is_done());
  const Encoding then = in_steps.sender.finish(*work);
  EXPECT_EQ(then.frame.data, before.frame.data);
  EXPECT_EQ(then.summary.size, before.summary.size);
  for (Sending* sending : {&at_once, &in_steps}) {
    sending->next_frame = id + 1;
    sending->now = now;
  }
  for (int i = 0; i < 6; ++i) {
    const Encoding next = at_once.send();
    const Encoding same = in_steps.send();
    EXPECT_EQ(same.frame.reference_id, next.frame.reference_id);
    EXPECT_EQ(same.frame.data, next.frame.data);
  }
}

TEST(VideoSender, WorkOfASenderThatHasGoneDoesNothing) {
  auto sending = std::make_unique<Sending>();
  const auto work =
      sending->sender.begin(kTimeZero + 1s, 0, sending->camera.picture(0), DataSize{9'000});
  sending.reset();
  work->run();
  EXPECT_TRUE(work->is_done());
  EXPECT_FALSE(work->take_outcome());
}

TEST(VideoSender, TheSummaryIsThatOfTheFrame) {
  Sending sending;
  const Encoding first = sending.send(1, 0, DataSize{9'000});
  EXPECT_EQ(first.summary.frame_id, 0U);
  EXPECT_EQ(first.summary.captured, kTimeZero + 33ms);
  EXPECT_EQ(first.summary.budget, DataSize{9'000});
  EXPECT_EQ(first.summary.size, first.frame.size());
  EXPECT_GT(first.summary.size, DataSize{});
  EXPECT_GE(first.summary.attempts, 1);
  EXPECT_TRUE(first.summary.key_frame);
  EXPECT_EQ(first.frame.capture_time, kTimeZero + 33ms);
  const Encoding second = sending.send(1, 0, DataSize{9'000});
  EXPECT_EQ(second.summary.frame_id, 1U);
  EXPECT_FALSE(second.summary.key_frame);
  const Encoding skipped = sending.send(1, 0, DataSize{});
  EXPECT_TRUE(skipped.frame.data.empty());
  EXPECT_EQ(skipped.summary.size, DataSize{});
  EXPECT_EQ(skipped.summary.attempts, 0);
}

// The finest quantizer of the next second or so, with plenty to spend.
int finest_of(Sending& sending) {
  int finest = media::kQuantizerMax;
  for (int i = 0; i < 40; ++i) {
    finest = std::min(finest, sending.send().summary.quantizer);
  }
  return finest;
}

TEST(VideoSender, PlentyIsLimitedWithinTheOptions) {
  Sending sending{{.quantizer_min = 40, .quantizer_min_of_plenty = 33}};
  sending.sender.set_plenty({.finest_quantizer = 36});
  EXPECT_EQ(finest_of(sending), 36);
  sending.sender.set_plenty({.finest_quantizer = 4});
  EXPECT_EQ(finest_of(sending), 33);
  sending.sender.set_plenty({.finest_quantizer = 4, .share = 0.001});
  EXPECT_EQ(finest_of(sending), 40) << "no frame is expected to take so little";
}

TEST(VideoSender, OptionsReachTheEncoder) {
  Sending coarse{{.quantizer_min = 40, .quantizer_min_of_plenty = 33}};
  EXPECT_EQ(finest_of(coarse), 33);
  EXPECT_EQ(coarse.send(1, 0, DataSize{20'000}).frame.temporal_layer, 0);
  Sending usual{{.quantizer_min = 40, .quantizer_min_of_plenty = 40}};
  EXPECT_EQ(usual.send().summary.quantizer, 40);
  Sending quick{{.quantizer_min = 40,
                 .quantizer_min_of_plenty = 40,
                 .cpu_used_small = -16,
                 .cpu_used_scarce = -16}};
  EXPECT_NE(quick.send().frame.data, usual.send().frame.data) << "less effort";
  Sending layered{{.temporal_layers = 3}};
  std::vector<int> layers;
  for (int i = 0; i < 5; ++i) {
    layers.push_back(layered.send().frame.temporal_layer);
  }
  EXPECT_EQ(layers, (std::vector<int>{0, 2, 1, 2, 0}));
  Sending anchored{{.anchor_interval = 2}};
  EXPECT_TRUE(anchored.send().frame.anchor);
  Sending alone;
  EXPECT_FALSE(alone.send().frame.anchor);
}

TEST(VideoSender, AFrameIsLostWithMoreFragmentsThanItHasParity) {
  for (const int parity : {0, 1, 2}) {
    for (const int lost : {0, 1, 2, 3}) {
      SCOPED_TRACE(std::to_string(lost) + " lost of 5, parity " + std::to_string(parity));
      Sending sending;
      sending.send();
      sending.sender.handle_report({.newest = 0});
      sending.send(5, parity);  // messages 1 to 5
      for (int i = 0; i < 5; ++i) {
        sending.outcome(static_cast<session::MessageId>(1 + i),
                        i < lost ? Kind::kLost : Kind::kDelivered);
      }
      EXPECT_EQ(sending.next_reference(), lost > parity ? 0U : 1U);
    }
  }
}

TEST(VideoSender, FragmentDroppedFromTheQueueIsLostToo) {
  Sending sending;
  sending.send();
  sending.sender.handle_report({.newest = 0});
  sending.send(3, 1);
  sending.outcome(1, Kind::kDropped);
  EXPECT_EQ(sending.next_reference(), 1U) << "parity stands in for one";
  sending.outcome(2, Kind::kDropped);
  EXPECT_EQ(sending.next_reference(), 0U);
}

TEST(VideoSender, DropDoesNotDecideOlderMessages) {
  Sending sending;
  sending.send();
  sending.sender.handle_report({.newest = 0});
  sending.send();   // message 1, under way
  sending.send(2);  // messages 2 and 3, of which 3 is still in the queue
  sending.outcome(3, Kind::kDropped);
  EXPECT_EQ(sending.next_reference(), 0U) << "frame 2 is lost";
  sending.sender.handle_report({.newest = 3, .before = 0b100});
  EXPECT_EQ(sending.next_reference(), 3U);
  sending.outcome(1, Kind::kLost);  // frame 1: nothing refers to it any more
  EXPECT_EQ(sending.next_reference(), 4U);
  sending.outcome(4, Kind::kDelivered);
  sending.outcome(5, Kind::kLost);  // frame 4, and 5 after it: 0 is the only one left
  EXPECT_EQ(sending.next_reference(), 0U) << "each outcome is still that of its own frame";
}

TEST(VideoSender, ParityOfAnOlderFrameSavesNoNewerOne) {
  Sending sending;
  sending.send();
  sending.sender.handle_report({.newest = 0});
  sending.send(2, 1);  // messages 1 and 2
  sending.send(2, 1);  // messages 3 and 4
  sending.outcome(1, Kind::kLost);
  sending.outcome(2, Kind::kDelivered);
  sending.outcome(3, Kind::kLost);
  EXPECT_EQ(sending.next_reference(), 2U) << "each frame lost one fragment, and had one to spare";
  sending.outcome(4, Kind::kLost);
  EXPECT_EQ(sending.next_reference(), 0U);
}

TEST(VideoSender, OutcomesOfMessagesItDoesNotCarryAreIgnored) {
  Sending sending;
  sending.next_message = 7;  // messages before these were none of its own
  sending.send();
  sending.sender.handle_report({.newest = 0});
  sending.send(2);  // messages 8 and 9
  for (const session::MessageId id : {0U, 6U, 10U, 1'000U}) {
    sending.outcome(id, Kind::kLost);
    sending.outcome(id, Kind::kDropped);
  }
  EXPECT_EQ(sending.next_reference(), 1U);  // and message 10
  sending.outcome(8, Kind::kDelivered);
  sending.outcome(8, Kind::kLost);  // decided already
  EXPECT_EQ(sending.next_reference(), 2U);
  sending.outcome(9, Kind::kLost);
  EXPECT_EQ(sending.next_reference(), 0U);
}

TEST(VideoSender, OlderFrameMissingFromAReportIsLost) {
  Sending sending;
  sending.send_frames(4);
  sending.sender.handle_report({.newest = 0});
  sending.outcome(3, Kind::kLost);
  EXPECT_EQ(sending.next_reference(), 0U);  // frame 4 refers to what is known
  // The other end has decoded 4 and 0, so 1 and 2 never will be: the buffer that holds 1 is free.
  sending.sender.handle_report({.newest = 4, .before = 0b1000});
  EXPECT_EQ(sending.next_reference(), 4U);
  sending.sender.handle_report({.newest = 5, .before = 0b10001});
  EXPECT_EQ(sending.next_reference(), 5U);
  sending.outcome(6, Kind::kLost);
  EXPECT_EQ(sending.next_reference(), 5U) << "kept in the buffer that 1 has left";
}

TEST(VideoSender, ARelayReportsOnlyWhatItHasItself) {
  for (const bool relay : {false, true}) {
    Sending sending{{.anchor_interval = relay ? 20 : 0}};
    sending.send_frames(4);
    // Frames 1 and 2 are not in it, but 3, which descends from them, is the newest decoded.
    sending.sender.handle_report({.newest = 3, .before = 0b100});
    EXPECT_EQ(sending.next_reference(), relay ? 3U : 0U)
        << (relay ? "1 and 2 may yet be reported"
                  : "1 and 2 are lost, with what descends from them");
  }
}

TEST(VideoSender, AReportReachesBackThirtyTwoFrames) {
  for (const uint32_t newest : {32U, 33U}) {
    Sending sending;
    sending.send_frames(34);
    // No frame of the last 32 before `newest` was decoded: frame newest - 32 the first of these.
    sending.outcome(newest, Kind::kDelivered);
    sending.sender.handle_report({.newest = newest, .before = 0});
    if (newest == 32) {
      const Encoding next = sending.send();
      EXPECT_TRUE(next.frame.key_frame) << "frame 0 was not decoded: nothing is left";
    } else {
      EXPECT_EQ(sending.next_reference(), 0U) << "frame 0 is beyond the report";
    }
  }
}

TEST(VideoSender, AReportOfTheFirstFramesDoesNotReachBeforeThem) {
  Sending sending;
  sending.send_frames(3);
  sending.sender.handle_report({.newest = 1, .before = 1});
  EXPECT_EQ(sending.next_reference(), 2U);
  sending.outcome(3, Kind::kLost);
  EXPECT_EQ(sending.next_reference(), 1U) << "1 is known to be there";
}

TEST(VideoSender, AKeyFrameIsMadeOnRequest) {
  Sending sending;
  sending.send();
  sending.now += 1s;
  sending.sender.handle_key_frame_request(sending.now);
  EXPECT_TRUE(sending.send().frame.key_frame);
  EXPECT_EQ(sending.sender.stats().key_frames, 2U);
}

}  // namespace
}  // namespace cress::app
