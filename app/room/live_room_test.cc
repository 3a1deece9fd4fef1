#include "app/room/live_room.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/room/relay_test_tools.hh"
#include "app/room/secure_room.hh"
#include "media/gst/gst_runtime.hh"
#include "transport/runtime/address_text.hh"
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
