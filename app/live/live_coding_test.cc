#include <gtest/gtest.h>

#include <thread>

#include "app/live/codec_gate_test_tools.hh"
#include "app/live/live_call.hh"
#include "app/live/live_test_tools.hh"

namespace cress::live {
namespace {

/// A call of two ends in this thread.
struct LiveCoding : ::testing::Test, LivePair {
  void SetUp() override {
    (void)decoders.take_threads();  // of tests before
    (void)encoders.take_threads();
    ASSERT_TRUE(run_until([&] { return lea.shown.size() > 10 && jo.shown.size() > 10; }));
  }
  void TearDown() override {
    decoders.open();
    encoders.open();
  }

  /// While both ends' codecs stand still; `settle`: until what has passed before is displayed.
  void expect_pictures_alone_wait(CodecGate& codecs, Duration settle) {
    codecs.close();
    ASSERT_TRUE(run_until([&] { return codecs.held() == 2; }));
    run_until([] { return false; }, settle);
    const size_t seen = lea.shown.size();
    const uint64_t heard = lea.call->sample().sound_played;
    EXPECT_TRUE(jo.call->send_chat("Can you hear me?"));
    EXPECT_TRUE(run_until(
        [&] { return !lea.chat.empty() && lea.call->sample().sound_played > heard + 20; }));
    EXPECT_EQ(lea.shown.size(), seen);
    codecs.open();
    ASSERT_TRUE(run_until([&] { return lea.shown.size() > seen + 30; }));
    for (size_t i = 1; i < lea.shown.size(); ++i) {
      EXPECT_GT(lea.shown[i].frame_id, lea.shown[i - 1].frame_id);
    }
  }

  CodecGate& decoders = CodecGate::of_decoders();
  CodecGate& encoders = CodecGate::of_encoders();
  End lea{clock(), loop(), listener()};
  End jo{clock(), loop(), joiner(lea)};
};

TEST_F(LiveCoding, EachEndDecodesInAThreadOfItsOwn) {
  const auto threads = decoders.take_threads();
  EXPECT_EQ(threads.size(), 2U);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id())) << "which serves the network";
}

TEST_F(LiveCoding, EachEndEncodesInAThreadOfItsOwn) {
  const auto threads = encoders.take_threads();
  EXPECT_EQ(threads.size(), 2U);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id())) << "which serves the network";
}

TEST_F(LiveCoding, AnEncoderThatStandsStillDelaysPicturesAlone) {
  expect_pictures_alone_wait(encoders, 200ms);
  EXPECT_GT(jo.call->sample().frames_late, 5U) << "the newest picture waits, those before are late";
}

TEST_F(LiveCoding, ACallMayEndWhileItsEncoderIsAtWork) {
  encoders.close();
  ASSERT_TRUE(run_until([&] { return encoders.held() == 2; }));
  jo.call->hang_up();
  ASSERT_TRUE(run_until([&] { return lea.has(LiveEvent::Kind::kEnded); }));
  std::jthread opener{[&] {
    std::this_thread::sleep_for(50ms);
    encoders.open();
  }};
  jo.call.reset();  // waits for its encoder
  EXPECT_TRUE(run_until([&] { return encoders.held() == 0; }));
}

TEST_F(LiveCoding, ADecoderThatStandsStillDelaysPicturesAlone) {
  expect_pictures_alone_wait(decoders, 50ms);
}

TEST_F(LiveCoding, ResultsAreTakenBeforeABusyLoopGetsToTheWorkersCall) {
  decoders.close();
  ASSERT_TRUE(run_until([&] { return decoders.held() == 2; }));
  decoders.open();
  const size_t seen = lea.shown.size();
  // Outside of the loop, so that what the worker posts to it waits.
  const TimePoint give_up = clock().now() + 20s;
  while (lea.shown.size() == seen && clock().now() < give_up) {
    lea.call->set_muted(false);
  }
  EXPECT_GT(lea.shown.size(), seen);
}

TEST_F(LiveCoding, ACallMayEndWhileItsDecoderIsAtWork) {
  decoders.close();
  ASSERT_TRUE(run_until([&] { return decoders.held() == 2; }));
  jo.call->hang_up();
  ASSERT_TRUE(run_until([&] { return lea.has(LiveEvent::Kind::kEnded); }));
  const size_t seen = lea.shown.size();
  std::jthread opener{[&] {
    std::this_thread::sleep_for(50ms);
    decoders.open();
  }};
  jo.call.reset();  // waits for its decoder
  EXPECT_TRUE(run_until([&] { return decoders.held() == 0; }));
  run_until([] { return false; }, 50ms);
  EXPECT_EQ(lea.shown.size(), seen) << "the frame's call is over";
}

}  // namespace
}  // namespace cress::live
