#include "app/live/live_call.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "app/live/live_test_tools.hh"

namespace cress::live {
namespace {

class LiveCallTest : public ::testing::Test, public LivePair {};

TEST_F(LiveCallTest, TwoEndsSeeHearAndKnowEachOther) {
  End lea{clock(), loop(), listener()};
  End jo{clock(), loop(), joiner(lea)};
  ASSERT_TRUE(run_until([&] {
    return lea.shown.size() > 40 && jo.shown.size() > 40 && lea.call->sample().sound_played > 20 &&
           jo.call->sample().sound_played > 20 && jo.call->peer() && lea.call->peer();
  })) << lea.shown.size()
      << " and " << jo.shown.size() << " pictures";
  EXPECT_EQ(jo.call->peer()->name, "Lea");
  EXPECT_EQ(lea.call->peer()->name, "Jo");
  EXPECT_NE(*jo.shown.front().picture, *jo.shown[30].picture) << "the test picture moves";
  EXPECT_EQ(jo.call->sample().key_frames, 1U);
  EXPECT_GT(jo.call->sample().forecast, DataRate{});
  jo.call->set_muted(true);
  jo.call->set_camera_off(true);
  EXPECT_TRUE(run_until([&] { return lea.call->peer()->muted && lea.call->peer()->camera_off; }));
  jo.call->hang_up();
  EXPECT_TRUE(run_until(
      [&] { return jo.has(LiveEvent::Kind::kEnded) && lea.has(LiveEvent::Kind::kEnded); }));
  EXPECT_EQ(lea.end_words(), secure::describe(secure::CloseReason::kPeerHungUp));
}

TEST_F(LiveCallTest, LinesOfChatArriveBothWays) {
  End lea{clock(), loop(), listener()};
  End jo{clock(), loop(), joiner(lea)};
  EXPECT_FALSE(jo.call->send_chat("too early")) << "nobody is there yet";
  ASSERT_TRUE(run_until([&] { return jo.call->peer() && lea.call->peer(); }));
  EXPECT_TRUE(jo.call->send_chat(" Hello, \xC3\x85sa "));
  EXPECT_TRUE(lea.call->send_chat("Hello"));
  EXPECT_TRUE(run_until([&] { return lea.chat.size() == 1 && jo.chat.size() == 1; }));
  EXPECT_EQ(lea.chat.front(), "Hello, \xC3\x85sa");
  EXPECT_EQ(jo.chat.front(), "Hello");
  EXPECT_TRUE(run_until([&] { return jo.call->chat_waiting() == 0; }));
}

TEST_F(LiveCallTest, WrongSecretIsRejectedAndReported) {
  End lea{clock(), loop(), listener()};
  LiveCallOptions wrong = joiner(lea);
  wrong.secret = secure::make_secret();
  End eve{clock(), loop(), wrong};
  ASSERT_TRUE(run_until([&] { return eve.has(LiveEvent::Kind::kEnded); }));
  EXPECT_EQ(eve.end_words(), secure::describe(secure::CloseReason::kWrongSecret));
  EXPECT_FALSE(lea.has(LiveEvent::Kind::kConnected));
  EXPECT_TRUE(eve.shown.empty());
  End jo{clock(), loop(), joiner(lea)};
  EXPECT_TRUE(run_until([&] { return jo.shown.size() > 3; })) << "the listener serves on";
}

TEST_F(LiveCallTest, LostCameraIsReportedAndTheCallContinues) {
  End lea{clock(), loop(), listener()};
  End jo{clock(), loop(), joiner(lea)};
  ASSERT_TRUE(run_until([&] { return lea.shown.size() > 5; }));
  jo.call->choose_camera("gst:videotestsrc num-buffers=3 is-live=true");
  EXPECT_TRUE(run_until([&] { return jo.has(LiveEvent::Kind::kDeviceLost); }));
  const uint64_t heard = lea.call->sample().sound_played;
  EXPECT_TRUE(run_until([&] { return lea.call->sample().sound_played > heard + 10; }));
  const size_t seen = lea.shown.size();
  jo.call->choose_camera(media::kTestDevice);
  EXPECT_TRUE(run_until([&] { return lea.shown.size() > seen + 10; }));
}

TEST_F(LiveCallTest, AListenerThatIsBackAtItsPortIsJoinedAgainAutomatically) {
  LiveCallOptions same = listener();
  same.identity_secret = std::vector<std::byte>(32, std::byte{5});
  auto lea = std::make_unique<End>(clock(), loop(), same);
  End jo{clock(), loop(), joiner(*lea)};
  ASSERT_TRUE(run_until([&] { return lea->shown.size() > 20 && jo.shown.size() > 20; }));
  same.bind = lea->call->local_address();
  lea.reset();  // without a close, as in a crash
  run_until([] { return false; }, 2s);
  End again{clock(), loop(), same};
  const TimePoint back = clock().now();
  const auto is_fresh = [back](const End& end) {
    return std::ranges::any_of(end.shown, [back](const auto& f) { return f.captured >= back; });
  };
  ASSERT_TRUE(run_until([&] { return is_fresh(again) && is_fresh(jo); }));
  const auto connected =
      std::ranges::find(again.events, LiveEvent::Kind::kConnected, &LiveEvent::kind);
  ASSERT_NE(connected, again.events.end());
  std::cout << "joined again " << to_milliseconds(connected->at - back)
            << " ms after the listener was back\n";
  EXPECT_LE(connected->at - back, 1s);
  EXPECT_EQ(std::ranges::count(jo.events, LiveEvent::Kind::kConnected, &LiveEvent::kind), 2);
  EXPECT_FALSE(jo.has(LiveEvent::Kind::kEnded));
  EXPECT_TRUE(run_until([&] { return again.call->peer() && again.call->peer()->name == "Jo"; }));
}

TEST_F(LiveCallTest, OfSeveralAddressesOfAListenerOneIsEnough) {
  End lea{clock(), loop(), listener()};
  LiveCallOptions options = joiner(lea);
  const Address there = options.listener;
  options.listener = *runtime::parse_address("127.0.0.9:9");
  options.other_listeners = {*runtime::parse_address("[2001:db8::9]:9"), there};
  options.bind = {};
  End jo{clock(), loop(), options};
  EXPECT_TRUE(run_until([&] { return lea.shown.size() > 5 && jo.shown.size() > 5; }));
}

TEST_F(LiveCallTest, BusyPortIsAClearErrorBeforeTheStart) {
  End lea{clock(), loop(), listener()};
  LiveCallOptions second = listener();
  second.bind = lea.call->local_address();
  try {
    End other{clock(), loop(), second};
    FAIL() << "two sockets at one port";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string{error.what()}.find("in use"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace cress::live
