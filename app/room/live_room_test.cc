#include "app/room/live_room.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/live/codec_gate_test_tools.hh"
#include "app/room/relay_test_tools.hh"
#include "app/room/secure_room.hh"
#include "media/gst/gst_runtime.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/closed_port_test_tools.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/loop_test_tools.hh"
#include "transport/runtime/udp_socket.hh"
#include "transport/secure/link/link.hh"

namespace cress::room {
namespace {

TEST(RoomOptions, WaitAsLongAsARoomWithoutDevices) {
  EXPECT_EQ(LiveRoomOptions{}.connect_max, SecureRoomOptions{}.connect_max);
  EXPECT_EQ(LiveRoomOptions{}.rejoin_max, SecureRoomOptions{}.rejoin_max);
  EXPECT_EQ(LiveRoomOptions{}.connect_max, 30s);
  EXPECT_EQ(LiveRoomOptions{}.rejoin_max, 5min);
}

/// One member with test devices, and all that came out of it.
struct Guest {
  Guest(const runtime::MonotonicClock& clock, runtime::EventLoop& loop, LiveRoomOptions options) {
    options.devices.camera = media::LiveCameraOptions{.id = media::kTestDevice, .size = {160, 120}};
    options.devices.microphone = media::LiveMicrophoneOptions{.id = media::kTestDevice};
    LiveRoomOutputs outputs;
    outputs.event = [this](const live::LiveEvent& event) { events.push_back(event); };
    outputs.room = [this](const RoomEvent& event) { room_events.push_back(event); };
    outputs.shown = [this](const RoomShown& shown) { ++pictures[shown.member]; };
    room = std::make_unique<LiveRoom>(clock, loop, options, outputs);
  }
  const LiveRoomMember* other(const std::string& name) {
    sample = room->room_sample();
    const auto at =
        std::ranges::find(sample.others, name, [](const auto& o) { return o.member.person.name; });
    return at == sample.others.end() ? nullptr : &*at;
  }
  bool has(live::LiveEvent::Kind kind) const {
    return std::ranges::any_of(events, [kind](const auto& event) { return event.kind == kind; });
  }
  /// The words of the first such event; "" if there is none.
  std::string words_of(live::LiveEvent::Kind kind) const {
    const auto at = std::ranges::find(events, kind, &live::LiveEvent::kind);
    return at == events.end() ? "" : at->words;
  }

  std::vector<live::LiveEvent> events;
  std::vector<RoomEvent> room_events;
  std::map<MemberNumber, int> pictures;
  LiveRoomSample sample;
  std::unique_ptr<LiveRoom> room;
};

/// A relay and its guests on loopback, in real time and one thread.
class LiveRoomTest : public ::testing::Test {
 protected:
  LiveRoomTest() { open_relay(*runtime::parse_address("127.0.0.1:0")); }

  void open_relay(const Address& at) {
    driver_.reset();
    socket_.reset();
    relay_ = std::make_unique<TestRelay>(clock_.now(), secret_);
    socket_ = std::make_unique<runtime::UdpSocket>(clock_, runtime::UdpSocketOptions{.bind = at});
    driver_ =
        std::make_unique<runtime::Driver>(runtime::Driver::Parts{clock_, loop_, *socket_, *relay_});
  }
  LiveRoomOptions guest(const std::string& name) {
    return {.secret = secret_,
            .bind = *runtime::parse_address("127.0.0.1:0"),
            .relay = socket_->local_address(),
            .person = {.name = name}};
  }
  bool run_until(const std::function<bool()>& done) {
    return runtime::run_until(clock_, loop_, done);
  }

  media::GstRuntime gst_;
  runtime::MonotonicClock clock_;
  runtime::EventLoop loop_{clock_};
  std::vector<std::byte> secret_ = secure::make_secret();
  std::unique_ptr<TestRelay> relay_;
  std::unique_ptr<runtime::UdpSocket> socket_;
  std::unique_ptr<runtime::Driver> driver_;
};

TEST_F(LiveRoomTest, ThreeGuestsSeeAndHearEachOtherUntilOneLeaves) {
  const std::array codecs{&live::CodecGate::of_encoders(), &live::CodecGate::of_decoders()};
  for (live::CodecGate* gate : codecs) {
    (void)gate->take_threads();  // of tests before
  }
  Guest ada{clock_, loop_, guest("Ada")};
  Guest ben{clock_, loop_, guest("Ben")};
  Guest cem{clock_, loop_, guest("Cem")};
  const auto sees = [](Guest& guest, const std::string& name) {
    const LiveRoomMember* other = guest.other(name);
    return other != nullptr && other->member.frames_shown > 20 && other->member.sound_played > 10;
  };
  ASSERT_TRUE(run_until([&] {
    return sees(ada, "Ben") && sees(ada, "Cem") && sees(ben, "Ada") && sees(ben, "Cem") &&
           sees(cem, "Ada") && sees(cem, "Ben");
  }));
  for (live::CodecGate* gate : codecs) {
    const auto threads = gate->take_threads();
    EXPECT_EQ(threads.size(), 3U) << "one of each guest";
    EXPECT_FALSE(threads.contains(std::this_thread::get_id())) << "which serves the network";
  }
  EXPECT_GT(ada.sample.session.sound_played, 10U);
  EXPECT_TRUE(ada.other("Ben")->frame_delay_p95.has_value());
  ben.room->set_muted(true);
  EXPECT_TRUE(run_until([&] { return ada.other("Ben")->member.person.muted; }));
  ben.room->hang_up();
  EXPECT_TRUE(run_until([&] {
    return ben.has(live::LiveEvent::Kind::kEnded) && ada.other("Ben") == nullptr &&
           cem.other("Ben") == nullptr;
  }));
  EXPECT_FALSE(ada.has(live::LiveEvent::Kind::kEnded));
}

TEST_F(LiveRoomTest, ItsSampleDescribesTheRoomAndEachMember) {
  Guest ada{clock_, loop_, guest("Ada")};
  EXPECT_EQ(ada.room->room_sample().number, kNobody) << "before the welcome";
  EXPECT_EQ(ada.room->room_sample().room, "");
  Guest ben{clock_, loop_, guest("Ben")};
  ASSERT_TRUE(run_until([&] {
    const LiveRoomMember* other = ada.other("Ben");
    return other != nullptr && other->frame_delay_p95 && ada.sample.video_rate_max &&
           ada.sample.speaker != kNobody && ben.other("Ada") != nullptr;
  }));
  const LiveRoomMember& seen = *ada.other("Ben");
  EXPECT_EQ(ada.room->room_sample().room, "lab");
  EXPECT_EQ(seen.member.number, ben.sample.number);
  EXPECT_EQ(ben.other("Ada")->member.number, ada.sample.number);
  EXPECT_NE(ada.sample.number, ben.sample.number);
  EXPECT_TRUE(ada.sample.speaker == ada.sample.number || ada.sample.speaker == ben.sample.number);
  EXPECT_FALSE(ada.sample.key_code.empty());
  EXPECT_NE(ada.sample.key_code, ben.sample.key_code);
  EXPECT_LE(*seen.frame_delay_p50, *seen.frame_delay_p95);
  // There is one other member, so the delays of all are Ben's.
  const live::LiveSample all = ada.room->sample();
  ASSERT_TRUE(all.frame_delay_p50 && all.frame_delay_p95);
  EXPECT_LE(*all.frame_delay_p50, *all.frame_delay_p95);
  EXPECT_FALSE(all.sound_delay) << "many voices have many clocks";
  EXPECT_EQ(ada.words_of(live::LiveEvent::Kind::kConnected),
            "In the room, by the relay at " + runtime::format_address(socket_->local_address()));
}

TEST_F(LiveRoomTest, WhatNobodyWantsToSeeIsNotSent) {
  Guest ada{clock_, loop_, guest("Ada")};
  Guest ben{clock_, loop_, guest("Ben")};
  const auto sees = [](Guest& guest, const std::string& name) {
    const LiveRoomMember* other = guest.other(name);
    return other != nullptr && other->member.frames_shown > 5;
  };
  ASSERT_TRUE(run_until([&] { return sees(ada, "Ben") && sees(ben, "Ada"); }));
  const auto rate_of_ben = [&] { return ben.room->room_sample().video_rate_max; };
  ada.room->set_view(kNobody, 0, 0);
  EXPECT_TRUE(run_until([&] { return rate_of_ben() == DataRate{}; }));
  ada.room->set_view(kNobody, 4, 360);
  EXPECT_TRUE(run_until([&] { return rate_of_ben() > DataRate{}; }));
}

TEST_F(LiveRoomTest, ASilentRelayIsReportedAfterThreeSeconds) {
  Guest ada{clock_, loop_, guest("Ada")};
  ASSERT_TRUE(run_until([&] { return ada.has(live::LiveEvent::Kind::kConnected); }));
  const TimePoint silent_since = clock_.now();
  driver_.reset();
  ASSERT_TRUE(run_until([&] { return ada.has(live::LiveEvent::Kind::kUnreachable); }));
  EXPECT_EQ(ada.words_of(live::LiveEvent::Kind::kUnreachable),
            "Nothing has been heard of the relay for 3 seconds");
  EXPECT_GT(clock_.now() - silent_since, 2s);
}

TEST_F(LiveRoomTest, OfSeveralAddressesOfARelayOneIsEnough) {
  LiveRoomOptions options = guest("Ada");
  options.other_relays = {options.relay};
  const runtime::ClosedPort closed{clock_, *runtime::parse_address("127.0.0.1:0")};
  options.relay = closed.address();
  Guest ada{clock_, loop_, options};
  EXPECT_TRUE(run_until([&] { return ada.has(live::LiveEvent::Kind::kConnected); }));
}

TEST_F(LiveRoomTest, ARelayThatNeverAnswersIsGivenUpInTime) {
  LiveRoomOptions options = guest("Ada");
  driver_.reset();
  options.connect_max = 300ms;
  const TimePoint begun = clock_.now();
  Guest ada{clock_, loop_, options};
  ASSERT_TRUE(run_until([&] { return ada.has(live::LiveEvent::Kind::kEnded); }));
  EXPECT_LT(clock_.now() - begun, 5s);
  EXPECT_FALSE(ada.words_of(live::LiveEvent::Kind::kEnded).empty());
}

TEST_F(LiveRoomTest, AllGuestsReadALineOfChat) {
  Guest ada{clock_, loop_, guest("Ada")};
  Guest ben{clock_, loop_, guest("Ben")};
  Guest cem{clock_, loop_, guest("Cem")};
  const auto trusts = [](Guest& guest, const std::string& name) {
    const LiveRoomMember* other = guest.other(name);
    return other != nullptr && other->member.frames_shown > 0;
  };
  ASSERT_TRUE(run_until([&] {
    return trusts(ada, "Ben") && trusts(ada, "Cem") && trusts(ben, "Ada") && trusts(cem, "Ada");
  }));
  EXPECT_TRUE(ada.room->send_chat("dinner at eight"));
  const auto has_read = [](const Guest& guest) {
    return std::ranges::any_of(guest.room_events, [](const RoomEvent& event) {
      return event.kind == RoomEvent::Kind::kChat && event.text == "dinner at eight";
    });
  };
  EXPECT_TRUE(run_until([&] { return has_read(ben) && has_read(cem); }));
  EXPECT_FALSE(has_read(ada));
  EXPECT_TRUE(run_until([&] { return ada.room->chat_waiting() == 0; }));
}

TEST_F(LiveRoomTest, RestartedRelayIsRejoinedAutomatically) {
  Guest ada{clock_, loop_, guest("Ada")};
  Guest ben{clock_, loop_, guest("Ben")};
  ASSERT_TRUE(
      run_until([&] { return ada.other("Ben") != nullptr && ben.other("Ada") != nullptr; }));
  open_relay(socket_->local_address());
  const TimePoint back = clock_.now();
  const auto rejoined = [back](const Guest& guest) {
    return std::ranges::any_of(guest.events, [back](const live::LiveEvent& event) {
      return event.kind == live::LiveEvent::Kind::kConnected && event.at > back;
    });
  };
  ASSERT_TRUE(run_until([&] { return rejoined(ada) && rejoined(ben); }));
  EXPECT_TRUE(run_until([&] {
    const LiveRoomMember* other = ada.other("Ben");
    return other != nullptr && other->member.frames_shown > 5;
  }));
}

}  // namespace
}  // namespace cress::room
