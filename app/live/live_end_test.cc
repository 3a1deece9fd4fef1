#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/live/live_test_tools.hh"
#include "app/live/router_test_tools.hh"
#include "media/devices/sound_level.hh"

namespace cress::live {
namespace {

/// An end with a small test camera, and all its outputs.
struct SmallEnd {
  SmallEnd(LivePair& pair, LiveCallOptions options) {
    options.devices.camera =
        media::LiveCameraOptions{.id = media::kTestDevice, .size = {160, 90}, .rate = {15, 1}};
    options.devices.microphone = media::LiveMicrophoneOptions{.id = media::kTestDevice};
    LiveOutputs outputs;
    outputs.event = [this](const LiveEvent& event) { events.push_back(event); };
    outputs.shown = [this](const app::ShownFrame& frame) { shown.push_back(frame); };
    outputs.played = [this](const app::PlayedAudio& sound) {
      played.push_back(sound.kind);
      const bool is_silent = media::level_of(sound.samples).rms_dbfs < -60;
      silent_for = is_silent ? silent_for + 20ms : Duration{};
    };
    outputs.own_picture = [this](const media::PicturePtr&) { ++own; };
    outputs.coded = [this](const app::CodedVideo&) { ++coded; };
    call = std::make_unique<LiveCall>(pair.clock(), pair.loop(), options, outputs);
  }
  const LiveEvent* find(LiveEvent::Kind kind) const {
    const auto found = std::ranges::find(events, kind, &LiveEvent::kind);
    return found == events.end() ? nullptr : &*found;
  }

  std::vector<LiveEvent> events;
  std::vector<app::ShownFrame> shown;
  std::vector<app::SoundKind> played;
  Duration silent_for{};
  size_t own = 0;
  size_t coded = 0;
  std::unique_ptr<LiveCall> call;
};

struct EndOfACall : ::testing::Test, LivePair {
  using Kind = LiveEvent::Kind;
  void join() {
    lea = std::make_unique<SmallEnd>(*this, listener());
    LiveCallOptions options = listener("Jo");
    options.role = secure::Role::kJoiner;
    options.listener = lea->call->local_address();
    jo = std::make_unique<SmallEnd>(*this, options);
    ASSERT_TRUE(run_until([&] { return jo->shown.size() > 2 && lea->shown.size() > 2; }));
  }
  std::unique_ptr<SmallEnd> lea;
  std::unique_ptr<SmallEnd> jo;
};

std::vector<Address> addresses(const std::vector<const char*>& texts) {
  std::vector<Address> all;
  for (const char* text : texts) {
    all.push_back(*runtime::parse_address(text));
  }
  return all;
}

TEST(AddressesOfAnEnd, TheMappedOneIsTheSecond) {
  const Address mapped = *runtime::parse_address("203.0.113.7:4433");
  EXPECT_EQ(with_mapped({}, mapped), addresses({"203.0.113.7:4433"}));
  EXPECT_EQ(with_mapped(addresses({"10.0.0.1:1", "[2001:db8::1]:1"}), mapped),
            addresses({"10.0.0.1:1", "203.0.113.7:4433", "[2001:db8::1]:1"}));
  EXPECT_EQ(with_mapped(addresses({"10.0.0.1:1"}), std::nullopt), addresses({"10.0.0.1:1"}));
}

TEST(AddressesOfAnEnd, RouterIsAskedOnTheWayToAnIpv4Relay) {
  LiveCallOptions options;
  EXPECT_EQ(map_towards(options), std::nullopt) << "without a relay";
  options.relays = addresses({"[2001:db8::1]:1", "192.0.2.1:2", "192.0.2.2:2"});
  EXPECT_EQ(map_towards(options), options.relays[1]);
  options.relays = addresses({"[2001:db8::1]:1", "[2001:db8::2]:1"});
  EXPECT_EQ(map_towards(options), options.relays[0]);
  options.asks_router = false;
  EXPECT_EQ(map_towards(options), std::nullopt);
}

TEST_F(EndOfACall, AloneItDisplaysItsOwnPictureAndPlaysNothing) {
  SmallEnd alone{*this, listener()};
  ASSERT_TRUE(run_until([&] { return alone.own > 5; }));
  EXPECT_TRUE(alone.played.empty());
  EXPECT_EQ(alone.coded, 0U);
  EXPECT_FALSE(alone.call->sample().connected);
  EXPECT_EQ(alone.call->sample().forecast, DataRate{});
  EXPECT_EQ(alone.call->peer(), std::nullopt);
  EXPECT_TRUE(alone.events.empty());
}

TEST_F(EndOfACall, ItsSampleAndEventsDescribeTheCall) {
  join();
  ASSERT_TRUE(run_until([&] {
    const LiveSample sample = jo->call->sample();
    return sample.peer_forecast > DataRate{} && sample.sent > DataRate{} &&
           sample.received > DataRate{} && !jo->played.empty() && sample.microphone_dbfs > -60 &&
           sample.speaker_dbfs > -60;
  }));
  const LiveSample sample = jo->call->sample();
  EXPECT_TRUE(sample.connected);
  EXPECT_TRUE(sample.rtt);
  EXPECT_LT(sample.unheard, 1s);
  EXPECT_EQ(sample.frames_shown, jo->shown.size());
  EXPECT_EQ(sample.frames_captured, jo->coded);
  EXPECT_GT(jo->own, 0U);
  EXPECT_LE(jo->shown.back().captured, jo->shown.back().shown);
  EXPECT_LE(jo->shown.back().shown, clock().now());
  ASSERT_NE(jo->find(Kind::kConnected), nullptr);
  EXPECT_EQ(jo->find(Kind::kConnected)->words,
            "Connected to " + runtime::format_address(lea->call->local_address()));
  EXPECT_LE(jo->find(Kind::kConnected)->at, clock().now());
}

TEST_F(EndOfACall, WhatThePersonChangesIsKnownAtTheOtherEnd) {
  join();
  const auto is_known = [&](app::PersonState person) {
    EXPECT_EQ(jo->call->person(), person);
    return run_until([&] { return lea->call->peer() == person; });
  };
  EXPECT_TRUE(is_known({.name = "Jo"}));
  jo->call->set_name("Joan");
  EXPECT_TRUE(is_known({.name = "Joan"}));
  jo->call->set_muted(true);
  EXPECT_TRUE(is_known({.name = "Joan", .muted = true}));
  jo->call->set_camera_off(true);
  EXPECT_TRUE(is_known({.name = "Joan", .muted = true, .camera_off = true}));
  const size_t coded = jo->coded;
  const size_t own = jo->own;
  ASSERT_TRUE(run_until([&] { return jo->own > own + 3; }));
  EXPECT_LE(jo->coded, coded + 1);
  jo->call->set_muted(false);
  jo->call->set_camera_off(false);
  EXPECT_TRUE(is_known({.name = "Joan"}));
  EXPECT_TRUE(run_until([&] { return jo->coded > coded + 1; }));
}

// The test tone pauses for less than a second.
TEST_F(EndOfACall, OneThatMutesIsNoLongerHeard) {
  join();
  ASSERT_TRUE(run_until([&] { return !lea->played.empty() && lea->silent_for == Duration{}; }));
  jo->call->set_muted(true);
  EXPECT_TRUE(run_until([&] { return lea->silent_for > 2s; }, 10s)) << "the tone is still heard";
  jo->call->set_muted(false);
  EXPECT_TRUE(run_until([&] { return lea->silent_for == Duration{}; }));
}

TEST_F(EndOfACall, StartsMutedAndWithoutCameraOnRequest) {
  LiveCallOptions options = listener();
  options.person = {.name = "Lea", .muted = true, .camera_off = true};
  lea = std::make_unique<SmallEnd>(*this, options);
  jo = std::make_unique<SmallEnd>(*this, joiner_at(lea->call->local_address()));
  ASSERT_TRUE(run_until([&] { return lea->own > 10 && lea->shown.size() > 10; }));
  EXPECT_EQ(lea->coded, 0U);
  EXPECT_TRUE(jo->shown.empty());
  EXPECT_EQ(jo->call->peer(), options.person);
}

TEST_F(EndOfACall, HangingUpEndsBothWithTheirReasons) {
  join();
  const TimePoint since = clock().now();
  jo->call->hang_up();
  jo->call->hang_up();
  ASSERT_TRUE(run_until([&] { return jo->find(Kind::kEnded) && lea->find(Kind::kEnded); }));
  EXPECT_EQ(jo->find(Kind::kEnded)->words, secure::describe(secure::CloseReason::kHungUp));
  EXPECT_EQ(lea->find(Kind::kEnded)->words, secure::describe(secure::CloseReason::kPeerHungUp));
  EXPECT_GE(jo->find(Kind::kEnded)->at, since + 1s) << "the close may have to be repeated";
  EXPECT_LT(jo->find(Kind::kEnded)->at, since + 2800ms) << "nor is it waited for longer";
  EXPECT_LT(lea->find(Kind::kEnded)->at, jo->find(Kind::kEnded)->at) << "nothing left to say";
  const size_t events = jo->events.size();
  jo->call->choose_camera("gst:videotestsrc num-buffers=1");
  jo->call->hang_up();
  run_until([] { return false; }, 300ms);
  EXPECT_EQ(jo->events.size(), events) << "nothing comes after the end";
  EXPECT_EQ(jo->events.back().kind, Kind::kEnded);
}

TEST_F(EndOfACall, AWrongSecretIsReportedAndTheListenerServesOn) {
  lea = std::make_unique<SmallEnd>(*this, listener());
  LiveCallOptions wrong = joiner_at(lea->call->local_address());
  wrong.secret = secure::make_secret();
  SmallEnd eve{*this, wrong};
  ASSERT_TRUE(run_until([&] { return eve.find(Kind::kEnded) != nullptr; }));
  EXPECT_EQ(eve.find(Kind::kEnded)->words, secure::describe(secure::CloseReason::kWrongSecret));
  EXPECT_TRUE(lea->events.empty());
  jo = std::make_unique<SmallEnd>(*this, joiner_at(lea->call->local_address()));
  EXPECT_TRUE(run_until([&] { return !jo->shown.empty(); }));
}

TEST_F(EndOfACall, UnreachablePeerIsReportedAfterTheTimeout) {
  LiveCallOptions options = joiner_at(*runtime::parse_address("127.0.0.1:9"));
  options.connect_max = 300ms;
  SmallEnd alone{*this, options};
  ASSERT_TRUE(run_until([&] { return alone.find(Kind::kEnded) != nullptr; }, 10s));
  EXPECT_EQ(alone.find(Kind::kEnded)->words, secure::describe(secure::CloseReason::kNoAnswer));
}

TEST_F(EndOfACall, AnotherListenersAddressIsTriedToo) {
  lea = std::make_unique<SmallEnd>(*this, listener());
  LiveCallOptions options = joiner_at(*runtime::parse_address("127.0.0.1:9"));
  options.other_listeners = {lea->call->local_address()};
  jo = std::make_unique<SmallEnd>(*this, options);
  EXPECT_TRUE(run_until([&] { return !jo->shown.empty(); }));
}

TEST_F(EndOfACall, ASilenceOfThreeSecondsAndAMoveAreReported) {
  lea = std::make_unique<SmallEnd>(*this, listener());
  TestRouter router{clock(), loop(), lea->call->local_address()};
  jo = std::make_unique<SmallEnd>(*this, joiner_at(router.address()));
  ASSERT_TRUE(run_until([&] { return !jo->shown.empty() && !lea->shown.empty(); }));
  router.rebind();
  ASSERT_TRUE(run_until([&] { return lea->find(Kind::kPathChanged) != nullptr; }));
  EXPECT_EQ(lea->find(Kind::kPathChanged)->words.find("The other end is now at 127.0.0.1:"), 0U);
  jo.reset();  // without a close, as in a crash
  ASSERT_TRUE(run_until([&] { return lea->find(Kind::kUnreachable) != nullptr; }));
  EXPECT_EQ(lea->find(Kind::kUnreachable)->words, "Nothing has been heard for 3 seconds");
  EXPECT_EQ(lea->find(Kind::kReachable), nullptr);
  EXPECT_GE(lea->call->sample().unheard, 2s);
}

TEST_F(EndOfACall, WhoTakesASilentPeersPlaceIsAnnounced) {
  LiveCallOptions options = listener();
  options.replacement = secure::Replacement::kAdmit;
  lea = std::make_unique<SmallEnd>(*this, options);
  jo = std::make_unique<SmallEnd>(*this, joiner_at(lea->call->local_address()));
  ASSERT_TRUE(run_until([&] { return !jo->shown.empty() && !lea->shown.empty(); }));
  EXPECT_EQ(lea->find(Kind::kNotice), nullptr);
  const std::string code = lea->call->sample().code;
  jo.reset();  // without a close, as in a crash
  SmallEnd other{*this, joiner_at(lea->call->local_address())};
  ASSERT_TRUE(run_until([&] { return !other.shown.empty(); }));
  ASSERT_NE(lea->find(Kind::kNotice), nullptr);
  EXPECT_NE(lea->find(Kind::kNotice)->words.find("compare the codes"), std::string::npos);
  EXPECT_NE(lea->call->sample().code, code);
  EXPECT_EQ(lea->call->sample().code, other.call->sample().code);
  EXPECT_EQ(lea->find(Kind::kEnded), nullptr);
}

TEST_F(EndOfACall, ANewcomerForASilentPeersPlaceIsAskedAbout) {
  LiveCallOptions options = listener();
  options.replacement = secure::Replacement::kAsk;
  lea = std::make_unique<SmallEnd>(*this, options);
  jo = std::make_unique<SmallEnd>(*this, joiner_at(lea->call->local_address()));
  ASSERT_TRUE(run_until([&] { return !jo->shown.empty() && !lea->shown.empty(); }));
  EXPECT_EQ(lea->call->newcomer(), "");
  jo.reset();  // without a close, as in a crash
  SmallEnd other{*this, joiner_at(lea->call->local_address())};
  ASSERT_TRUE(run_until([&] { return lea->find(Kind::kNewcomerWaits) != nullptr; }));
  const std::string code = lea->call->newcomer();
  EXPECT_EQ(lea->find(Kind::kNewcomerWaits)->words,
            "Nothing is heard from the other end, and somebody with the link wants to take its "
            "place. Code " +
                code);
  EXPECT_EQ(other.call->sample().code, code);
  EXPECT_FALSE(other.call->sample().connected);
  lea->call->admit("0000 0000 0000");
  EXPECT_EQ(lea->call->newcomer(), code) << "another was meant";
  lea->call->admit(code);
  ASSERT_TRUE(run_until([&] { return !other.shown.empty(); }));
  EXPECT_NE(lea->find(Kind::kNewcomerGone), nullptr);
  EXPECT_NE(lea->find(Kind::kNotice), nullptr);
  EXPECT_EQ(lea->call->newcomer(), "");
  EXPECT_EQ(lea->call->sample().code, code);
}

TEST_F(EndOfACall, ARefusedNewcomerEndsAsAtABusyEnd) {
  LiveCallOptions options = listener();
  options.replacement = secure::Replacement::kAsk;
  lea = std::make_unique<SmallEnd>(*this, options);
  jo = std::make_unique<SmallEnd>(*this, joiner_at(lea->call->local_address()));
  ASSERT_TRUE(run_until([&] { return !jo->shown.empty() && !lea->shown.empty(); }));
  jo.reset();
  SmallEnd other{*this, joiner_at(lea->call->local_address())};
  ASSERT_TRUE(run_until([&] { return !lea->call->newcomer().empty(); }));
  lea->call->refuse();
  ASSERT_TRUE(run_until([&] { return other.find(Kind::kEnded) != nullptr; }));
  EXPECT_EQ(other.find(Kind::kEnded)->words, secure::describe(secure::CloseReason::kBusy));
  EXPECT_EQ(lea->call->newcomer(), "");
  EXPECT_EQ(lea->find(Kind::kEnded), nullptr);
}

TEST_F(EndOfACall, WithItsKeptIdentityAJoinerComesBackUnasked) {
  lea = std::make_unique<SmallEnd>(*this, listener());
  LiveCallOptions options = joiner_at(lea->call->local_address());
  options.identity_secret = std::vector<std::byte>(32, std::byte{5});
  jo = std::make_unique<SmallEnd>(*this, options);
  ASSERT_TRUE(run_until([&] { return !jo->shown.empty() && !lea->shown.empty(); }));
  jo.reset();
  SmallEnd again{*this, options};
  ASSERT_TRUE(run_until([&] { return !again.shown.empty(); }));
  EXPECT_EQ(lea->find(Kind::kNotice), nullptr);
  EXPECT_EQ(lea->find(Kind::kNewcomerWaits), nullptr);
}

TEST_F(EndOfACall, AReplacedJoinerEndsWithTheReason) {
  LiveCallOptions options = listener();
  options.replacement = secure::Replacement::kAdmit;
  lea = std::make_unique<SmallEnd>(*this, options);
  TestRouter router{clock(), loop(), lea->call->local_address()};
  jo = std::make_unique<SmallEnd>(*this, joiner_at(router.address()));
  ASSERT_TRUE(run_until([&] { return !jo->shown.empty() && !lea->shown.empty(); }));
  router.set_broken(true);
  SmallEnd other{*this, joiner_at(lea->call->local_address())};
  ASSERT_TRUE(run_until([&] { return !other.shown.empty(); }));
  router.set_broken(false);
  ASSERT_TRUE(run_until([&] { return jo->find(Kind::kEnded) != nullptr; }));
  EXPECT_EQ(jo->find(Kind::kEnded)->words, secure::describe(secure::CloseReason::kReplaced));
  EXPECT_EQ(jo->find(Kind::kNotice), nullptr);
}

TEST_F(EndOfACall, AScreenIsSharedUntilACameraIsChosen) {
  join();
  try {
    jo->call->choose_camera(media::kScreenDevice);
  } catch (const std::runtime_error& error) {
    GTEST_SKIP() << "no screen can be grabbed here: " << error.what();
  }
  EXPECT_TRUE(jo->call->person().shares_screen);
  EXPECT_TRUE(run_until([&] { return lea->call->peer()->shares_screen; }));
  jo->call->choose_camera(media::kTestDevice);
  EXPECT_FALSE(jo->call->person().shares_screen);
}

TEST_F(EndOfACall, ALostDeviceIsAnEventOfTheCall) {
  SmallEnd alone{*this, listener()};
  alone.call->choose_camera("gst:videotestsrc num-buffers=1 is-live=true");
  ASSERT_TRUE(run_until([&] { return alone.find(Kind::kDeviceLost) != nullptr; }));
  EXPECT_FALSE(alone.find(Kind::kDeviceLost)->words.empty());
  EXPECT_TRUE(run_until([&] { return alone.find(Kind::kDeviceBack) != nullptr; }))
      << "it is tried again";
}

}  // namespace
}  // namespace cress::live
