#include "app/room/secure_room.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/room/relay_test_tools.hh"
#include "app/room/room_test_tools.hh"
#include "transport/secure/link/link.hh"

namespace cress::room {
namespace {

Address address(uint8_t last, uint16_t port) {
  Address result;
  result.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, last};
  result.port = port;
  return result;
}

const Address kRelay = address(1, 4433);

/// One person: a SecureRoom, camera, voice, and what came out.
struct Person final : Machine {
  Person(TimePoint now, const std::vector<std::byte>& secret, Address at, uint64_t seed,
         const std::string& name)
      : own(at),
        camera({.width = kTestWidth, .height = kTestHeight, .seed = seed}),
        voice({.seed = seed}),
        next_picture(now + seed * 3ms),
        next_sound(now + seed * 2ms) {
    SecureRoomOptions options;
    options.secret = secret;
    options.relay = kRelay;
    options.member.person.name = name;
    options.member.video = room_video({.width = kTestWidth, .height = kTestHeight});
    room = std::make_unique<SecureRoom>(now, options);
  }
  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    room->handle_datagram(now, from, bytes);
  }
  void handle_timeout(TimePoint now) override {
    if (room->poll_timeout() <= now) {
      room->handle_timeout(now);
    }
    if (next_picture <= now) {
      next_picture += camera.frame_rate().time_of(1);
      room->capture(now, camera.picture(captured++));
    }
    if (next_sound <= now) {
      next_sound += media::kAudioFrameLength;
      room->capture_sound(now, voice.frame(heard++));
    }
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override { return room->poll_transmit(now); }
  TimePoint poll_timeout() const override {
    return std::min({room->poll_timeout(), next_picture, next_sound});
  }
  bool drained(TimePoint /*now*/) override {
    while (auto frame = room->poll_shown()) {
      shown.push_back(*std::move(frame));
    }
    while (auto event = room->poll_event()) {
      events.push_back(*event);
    }
    while (auto event = room->poll_leg_event()) {
      leg_events.push_back(*event);
    }
    return true;
  }

  size_t seen_since(TimePoint from) const {
    return static_cast<size_t>(std::ranges::count_if(
        shown, [from](const RoomShown& frame) { return frame.frame.captured >= from; }));
  }
  template <class Event>
  size_t count() const {
    return static_cast<size_t>(std::ranges::count_if(leg_events, [](const LegEvent& event) {
      const auto* session = std::get_if<secure::Event>(&event);
      return session != nullptr && std::holds_alternative<Event>(*session);
    }));
  }
  std::optional<RoomOver> over() const {
    for (const LegEvent& event : leg_events) {
      if (const auto* told = std::get_if<RoomOver>(&event)) {
        return *told;
      }
    }
    return std::nullopt;
  }

  Address own;
  media::SyntheticCamera camera;
  media::SyntheticVoice voice;
  TimePoint next_picture;
  TimePoint next_sound;
  uint64_t captured = 0;
  uint64_t heard = 0;
  std::unique_ptr<SecureRoom> room;
  std::vector<RoomShown> shown;
  std::vector<RoomEvent> events;
  std::vector<LegEvent> leg_events;
};

/// People, a relay, and a network with a delay of 20 ms to anywhere.
class Net {
 public:
  Net() {
    world_.add(*relay_, {.address = kRelay});
    world_.connect_all(air_);
  }

  Person& join(const std::string& name) {
    const uint64_t seed = people_.size() + 1;
    people_.push_back(std::make_unique<Person>(
        now(), secret_, address(static_cast<uint8_t>(seed + 9), 5000), seed, name));
    world_.add(*people_.back(), {.address = people_.back()->own});
    return *people_.back();
  }
  /// Its program ends without a close.
  void crash(const Person& person) {
    const auto at = std::ranges::find(people_, &person, [](const auto& one) { return one.get(); });
    world_.replace(static_cast<size_t>(at - people_.begin()) + 1, nullptr);
  }
  /// Null: the relay has gone without a close.
  void set_relay(bool is_there) {
    auto next = is_there ? std::make_unique<TestRelay>(now(), secret_) : nullptr;
    world_.replace(0, next.get());
    relay_ = std::move(next);
  }
  TestRelay& relay() { return *relay_; }
  std::vector<std::byte>& secret() { return secret_; }
  TimePoint now() const { return world_.now(); }
  void run_for(Duration length) {
    for (sim::World::HostId host = 0; host <= people_.size(); ++host) {
      world_.drain(host);
    }
    world_.run_for(length);
  }

 private:
  std::vector<std::byte> secret_ = secure::make_secret();
  std::unique_ptr<TestRelay> relay_ = std::make_unique<TestRelay>(kTimeZero, secret_);
  std::vector<std::unique_ptr<Person>> people_;
  sim::Link air_{{.trace = nullptr, .propagation = 20ms, .queue = nullptr}};
  sim::World world_;
};

TEST(SecureRoom, MemberWithTheLinkJoinsAndIsSeen) {
  Net net;
  Person& ada = net.join("Ada");
  Person& ben = net.join("Ben");
  net.run_for(4s);
  ASSERT_NE(ada.room->member(), nullptr);
  ASSERT_EQ(ada.room->member()->others().size(), 1U);
  EXPECT_EQ(ada.room->member()->others().front().person.name, "Ben");
  EXPECT_EQ(ada.room->member()->welcome()->room, "lab");
  EXPECT_GT(ada.seen_since(kTimeZero), 80U);
  EXPECT_GT(ben.seen_since(kTimeZero), 80U);
  EXPECT_GT(ada.room->member()->others().front().sound_played, 50U);
}

TEST(SecureRoom, PlaysSilenceBeforeItIsAMemberAndOthersThen) {
  Net net;
  Person& ada = net.join("Ada");
  Person& ben = net.join("Ben");
  const app::PlayedAudio before = ada.room->play(net.now());
  EXPECT_EQ(before.kind, app::SoundKind::kComfort);
  EXPECT_EQ(before.samples, media::AudioFrame{});
  EXPECT_EQ(before.played, net.now());
  net.run_for(2s);
  size_t heard = 0;
  for (int i = 0; i < 100; ++i) {
    const app::PlayedAudio played = ada.room->play(net.now());
    heard += played.samples != media::AudioFrame{} ? 1 : 0;
    net.run_for(media::kAudioFrameLength);
  }
  EXPECT_GT(heard, 50U);
  EXPECT_NE(ben.room->member(), nullptr);
}

TEST(SecureRoom, WrongSecretEndsAndIsReported) {
  Net net;
  const auto right = net.secret();
  net.secret() = secure::make_secret();
  Person& eve = net.join("Eve");
  net.run_for(6s);
  ASSERT_TRUE(eve.over().has_value());
  EXPECT_EQ(std::get<secure::CloseReason>(eve.over()->reason), secure::CloseReason::kWrongSecret);
  EXPECT_TRUE(eve.room->is_finished());
}

TEST(SecureRoom, KickedMemberIsNotifiedAndStaysOut) {
  Net net;
  Person& ada = net.join("Ada");
  Person& ben = net.join("Ben");
  net.run_for(2s);
  net.relay().room().kick(net.now(), ben.room->member()->number());
  net.run_for(5s);
  ASSERT_TRUE(ben.over().has_value());
  EXPECT_EQ(std::get<room::FarewellReason>(ben.over()->reason), room::FarewellReason::kKicked);
  EXPECT_EQ(ben.room->member(), nullptr);
  EXPECT_TRUE(ada.room->member()->others().empty());
}

TEST(SecureRoom, MembersRejoinAutomaticallyAfterADrain) {
  Net net;
  Person& ada = net.join("Ada");
  Person& ben = net.join("Ben");
  net.run_for(3s);
  net.relay().room().close(net.now(), {.reason = room::FarewellReason::kDraining, .again_in = 2s});
  net.run_for(1500ms);
  EXPECT_EQ(ada.room->member(), nullptr);
  net.set_relay(true);
  const TimePoint back = net.now();
  net.run_for(5s);
  for (const Person* person : {&ada, &ben}) {
    EXPECT_FALSE(person->over().has_value());
    ASSERT_NE(person->room->member(), nullptr);
    EXPECT_EQ(person->room->member()->others().size(), 1U);
    EXPECT_GT(person->seen_since(back), 60U);
  }
}

TEST(SecureRoom, ARelayThatCrashedAndIsBackIsJoinedAgainWithinTwoSeconds) {
  Net net;
  Person& ada = net.join("Ada");
  Person& ben = net.join("Ben");
  net.run_for(3s);
  net.set_relay(false);
  net.run_for(4s);
  net.set_relay(true);
  const TimePoint back = net.now();
  net.run_for(2s);
  EXPECT_GT(ada.seen_since(back), 3U);
  EXPECT_GT(ben.seen_since(back), 3U);
  EXPECT_EQ(ada.count<secure::Connected>(), 2U);
  EXPECT_FALSE(ada.over().has_value());
}

TEST(SecureRoom, ARelayThatIsAwayForMinutesIsWaitedFor) {
  Net net;
  Person& ada = net.join("Ada");
  net.run_for(2s);
  net.set_relay(false);
  net.run_for(100s);  // longer than a session's silence may last
  EXPECT_FALSE(ada.over().has_value());
  net.set_relay(true);
  net.run_for(5s);
  ASSERT_NE(ada.room->member(), nullptr);
  EXPECT_NE(ada.room->member()->number(), kNobody);
}

TEST(SecureRoom, ARelayThatNeverComesBackIsGivenUp) {
  Net net;
  Person& ada = net.join("Ada");
  net.run_for(2s);
  net.set_relay(false);
  net.run_for(500s);
  ASSERT_TRUE(ada.over().has_value());
  EXPECT_TRUE(ada.room->is_finished());
}

TEST(SecureRoom, AMemberWhoseAddressChangesStaysTheSameMember) {
  Net net;
  Person& ada = net.join("Ada");
  Person& ben = net.join("Ben");
  net.run_for(3s);
  const MemberNumber number = ben.room->member()->number();
  ben.own = address(77, 6000);
  const TimePoint moved = net.now();
  ben.room->handle_network_change(net.now());
  net.run_for(3s);
  EXPECT_EQ(ben.room->member()->number(), number);
  EXPECT_EQ(ben.count<secure::Connected>(), 1U);
  EXPECT_GT(ada.seen_since(moved), 40U);
  EXPECT_GT(ben.seen_since(moved), 40U);
  EXPECT_TRUE(std::ranges::none_of(
      ada.events, [](const RoomEvent& event) { return event.kind == RoomEvent::Kind::kLeft; }));
}

TEST(SecureRoom, CrashedMemberIsListedUntilTheRelayMissesIt) {
  Net net;
  Person& ada = net.join("Ada");
  Person& ben = net.join("Ben");
  net.run_for(4s);
  const MemberNumber before = ada.room->member()->others().front().number;
  net.crash(ben);
  net.run_for(500ms);
  net.join("Ben");
  net.run_for(1s);
  EXPECT_EQ(ada.room->member()->others().size(), 2U);
  net.run_for(15s);
  auto others = ada.room->member()->others();
  ASSERT_EQ(others.size(), 1U);
  EXPECT_NE(others.front().number, before);
  EXPECT_GT(others.front().frames_shown, 20U);
  EXPECT_EQ(net.relay().room().members(), 2U);
}

TEST(SecureRoom, MemberWhoHangsUpDisappearsAtOnce) {
  Net net;
  Person& ada = net.join("Ada");
  Person& ben = net.join("Ben");
  net.run_for(2s);
  ben.room->hang_up(net.now());
  net.run_for(500ms);
  EXPECT_TRUE(ada.room->member()->others().empty());
  EXPECT_EQ(std::get<secure::CloseReason>(ben.over()->reason), secure::CloseReason::kHungUp);
  net.run_for(5s);
  EXPECT_TRUE(ben.room->is_finished());
}

}  // namespace
}  // namespace cress::room
