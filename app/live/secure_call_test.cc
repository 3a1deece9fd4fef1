#include "app/live/secure_call.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "app/live/session_meter.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "media/source/synthetic_camera.hh"
#include "transport/secure/records/records.hh"
#include "transport/sim/world.hh"

namespace cress::live {
namespace {

Address host(uint8_t last, bool is_ipv6 = false) {
  Address address;
  address.ip = is_ipv6 ? decltype(address.ip){0xfd} : Address{}.ip;
  if (!is_ipv6) {
    address.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 0};
  }
  address.ip[15] = last;
  address.port = 5000;
  return address;
}

std::vector<std::byte> secret() { return std::vector<std::byte>(16, std::byte{7}); }

/// One end of a call with a camera and a voice, and what came out of it.
struct VirtualEnd final : Machine {
  VirtualEnd(const Address& at, std::unique_ptr<SecureCall> machine, uint64_t seed)
      : address(at), call(std::move(machine)), camera({.width = 160, .height = 96, .seed = seed}) {}

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    call->handle_datagram(now, from, bytes);
  }
  void handle_ecn(Ecn ecn) override { call->handle_ecn(path_clears_ecn ? Ecn::kNotEct : ecn); }
  void handle_timeout(TimePoint now) override {
    if (call->poll_timeout() <= now) {
      call->handle_timeout(now);
    }
    while (has_devices && next_picture() <= now) {
      call->capture(now, camera.picture(pictures++));
    }
    while (has_devices && next_sound() <= now) {
      call->capture_sound(now, voice.frame(voiced++));
      played.push_back(call->play(now));
    }
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    auto transmit = call->poll_transmit(now);
    if (transmit) {
      sent.push_back(transmit->bytes.size());
      last_ecn = transmit->ecn;
    }
    return transmit;
  }
  TimePoint poll_timeout() const override {
    return std::min(call->poll_timeout(),
                    has_devices ? std::min(next_picture(), next_sound()) : kNever);
  }
  bool drained(TimePoint now) override {
    while (auto event = call->poll_event()) {
      events.emplace_back(now, *event);
    }
    while (auto frame = call->poll_shown()) {
      shown.push_back(*std::move(frame));
    }
    while (auto frame = call->poll_coded()) {
      coded.push_back(*frame);
    }
    return true;
  }

  TimePoint next_picture() const { return kTimeZero + camera.frame_rate().time_of(pictures); }
  TimePoint next_sound() const {
    return kTimeZero + static_cast<int64_t>(voiced + 1) * media::kAudioFrameLength;
  }
  template <class T>
  size_t count() const {
    return static_cast<size_t>(std::ranges::count_if(
        events, [](const auto& event) { return std::holds_alternative<T>(event.second); }));
  }
  bool heard(app::SoundKind kind) const {
    return std::ranges::any_of(played, [&](const auto& sound) { return sound.kind == kind; });
  }

  Address address;
  std::unique_ptr<SecureCall> call;
  media::SyntheticCamera camera;
  media::SyntheticVoice voice;
  uint64_t pictures = 0;
  uint64_t voiced = 0;
  bool has_devices = true;
  std::vector<std::pair<TimePoint, secure::Event>> events;
  std::vector<app::ShownFrame> shown;
  std::vector<app::CodedVideo> coded;
  std::vector<app::PlayedAudio> played;
  std::vector<size_t> sent;  // sizes of datagrams
  Ecn last_ecn = Ecn::kNotEct;
  bool path_clears_ecn = false;  // of what arrives here
  sim::World::HostId id = 0;
};

/// Ends of a call in the simulated world, on a path without loss.
class SimulatedCall {
 public:
  explicit SimulatedCall(bool is_ipv6 = false) : is_ipv6_(is_ipv6) { set_delay(20ms); }

  VirtualEnd& listen(const std::string& name) {
    SecureCallOptions options = options_of(name);
    options.connection.role = secure::Role::kListener;
    return add(1, std::move(options));
  }
  VirtualEnd& join(const std::string& name, uint8_t last = 2) {
    SecureCallOptions options = options_of(name);
    options.connection.role = secure::Role::kJoiner;
    options.connection.listener = host(1, is_ipv6_);
    return add(last, std::move(options));
  }
  /// Of what is sent from now on.
  void set_delay(Duration delay) {
    paths_.emplace_back(sim::LinkOptions{.trace = nullptr, .propagation = delay, .queue = nullptr});
    world_.connect_all(paths_.back());
  }
  void move(VirtualEnd& end, const Address& to) { world_.move(end.id, to); }
  /// Its program ends without a word.
  void crash(VirtualEnd& end) { world_.replace(end.id, nullptr); }
  void run_for(Duration length) { world_.run_for(length); }
  /// After a request to the end's machine.
  void drain(VirtualEnd& end) { world_.drain(end.id); }
  TimePoint now() const { return world_.now(); }

 private:
  static SecureCallOptions options_of(const std::string& name) {
    SecureCallOptions options;
    options.connection.secret = secret();
    options.call.video = app::VideoSenderOptions{.width = 160, .height = 96};
    options.call.paced_by_sound_card = true;
    options.person = {.name = name};
    return options;
  }
  VirtualEnd& add(uint8_t last, SecureCallOptions options) {
    ends_.push_back(std::make_unique<VirtualEnd>(
        host(last, is_ipv6_), std::make_unique<SecureCall>(now(), std::move(options)), last));
    VirtualEnd& end = *ends_.back();
    end.id = world_.add(end, {.address = end.address});
    drain(end);
    return end;
  }

  bool is_ipv6_;
  std::vector<std::unique_ptr<VirtualEnd>> ends_;
  std::deque<sim::Link> paths_;
  sim::World world_;
};

struct SecureCallTest : ::testing::Test {
  /// Lea listens, Jo joins.
  explicit SecureCallTest(bool is_ipv6 = false)
      : world(is_ipv6), lea(world.listen("Lea")), jo(world.join("Jo")) {}
  /// Long enough to find the largest datagram that the path carries.
  void search_path() {
    lea.has_devices = false;
    jo.has_devices = false;
    world.run_for(8s);
  }

  SimulatedCall world;
  VirtualEnd& lea;
  VirtualEnd& jo;
};
struct SecureCallIpv6 : SecureCallTest {
  SecureCallIpv6() : SecureCallTest(true) {}
};

TEST_F(SecureCallTest, EndsSeeAndHearEachOther) {
  world.run_for(2s);
  for (const VirtualEnd* end : {&lea, &jo}) {
    ASSERT_EQ(end->count<secure::Connected>(), 1U);
    EXPECT_LE(end->events.front().first, kTimeZero + 200ms);
    EXPECT_EQ(end->call->calls(), 1U);
    ASSERT_NE(end->call->call(), nullptr);
    EXPECT_EQ(end->call->endpoint(), &end->call->call()->endpoint());
    EXPECT_GE(end->shown.size(), 45U) << "30 a second once connected";
    EXPECT_LE(end->shown[40].shown - end->shown[40].captured, 80ms);
    EXPECT_GE(end->coded.size(), 50U);
    EXPECT_TRUE(end->coded.front().key_frame);
    EXPECT_TRUE(end->heard(app::SoundKind::kNormal));
    EXPECT_EQ(end->call->loss(), 0);
    ASSERT_TRUE(end->call->peer_link());
    EXPECT_GT(end->call->peer_link()->forecast, DataRate{});
    EXPECT_EQ(end->call->endpoint()->stats().datagrams_malformed, 0U);
  }
  EXPECT_EQ(lea.call->call()->peer()->name, "Jo");
  EXPECT_EQ(jo.call->call()->peer()->name, "Lea");
}

TEST_F(SecureCallTest, EachEndAsksForMarksThatTheOtherSees) {
  lea.path_clears_ecn = true;
  world.run_for(400ms);
  ASSERT_EQ(jo.count<secure::Connected>(), 1U);
  EXPECT_EQ(lea.last_ecn, Ecn::kEct1);
  EXPECT_EQ(jo.last_ecn, Ecn::kEct1);
  world.run_for(2s);
  EXPECT_EQ(lea.last_ecn, Ecn::kEct1);
  EXPECT_EQ(jo.last_ecn, Ecn::kNotEct) << "what it sends arrives without the field";
}

TEST_F(SecureCallTest, CountsARecordsTagIntoTheWindow) {
  world.run_for(1s);
  const control::CressControl plain{control::call_control()};
  EXPECT_EQ(jo.call->endpoint()->control().message_overhead(),
            plain.message_overhead() + secure::kRecordOverhead);
}

TEST(SecureCall, AloneItSendsNothingAndPlaysNothing) {
  SimulatedCall world;
  VirtualEnd& lea = world.listen("Lea");
  EXPECT_EQ(lea.call->poll_timeout(), kNever);
  world.run_for(1s);
  EXPECT_TRUE(lea.sent.empty());
  EXPECT_TRUE(lea.coded.empty());
  EXPECT_EQ(lea.call->call(), nullptr);
  EXPECT_EQ(lea.call->endpoint(), nullptr);
  EXPECT_EQ(lea.call->loss(), 0);
  EXPECT_EQ(lea.call->peer_link(), std::nullopt);
  EXPECT_EQ(lea.call->calls(), 0U);
  ASSERT_EQ(lea.played.size(), 50U);
  const app::PlayedAudio& played = lea.played[10];
  EXPECT_EQ(played.kind, app::SoundKind::kComfort);
  EXPECT_EQ(played.captured, kTimeZero + 220ms);
  EXPECT_EQ(played.played, kTimeZero + 220ms);
  EXPECT_EQ(played.samples, media::AudioFrame{});
}

TEST(SecureCall, LaterPeerLearnsEarlierChanges) {
  SimulatedCall world;
  VirtualEnd& lea = world.listen("Lea");
  lea.call->set_person(world.now(), {.name = "Lea B.", .muted = true});
  VirtualEnd& jo = world.join("Jo");
  world.run_for(500ms);
  ASSERT_NE(jo.call->call(), nullptr);
  ASSERT_TRUE(jo.call->call()->peer());
  EXPECT_EQ(*jo.call->call()->peer(), (app::PersonState{.name = "Lea B.", .muted = true}));
}

TEST_F(SecureCallTest, AChangeOfThePersonIsSentAtOnce) {
  world.run_for(1500ms);
  jo.call->set_person(world.now(), {.name = "Jo", .camera_off = true});
  world.drain(jo);
  world.run_for(25ms);
  EXPECT_TRUE(lea.call->call()->peer()->camera_off);
}

TEST_F(SecureCallTest, EachPeerGetsACallOfItsOwn) {
  world.run_for(1s);
  jo.call->hang_up(world.now());
  world.drain(jo);
  EXPECT_EQ(jo.call->call(), nullptr);
  ASSERT_EQ(jo.count<secure::Closed>(), 1U) << "at once";
  EXPECT_EQ(jo.events.back().second, secure::Event{secure::Closed{secure::CloseReason::kHungUp}});
  EXPECT_FALSE(jo.call->is_finished()) << "the close may have to be repeated";
  world.run_for(100ms);
  EXPECT_EQ(lea.call->call(), nullptr);
  EXPECT_EQ(lea.events.back().second,
            secure::Event{secure::Closed{secure::CloseReason::kPeerHungUp}});
  const size_t coded = lea.coded.size();
  world.run_for(4s);
  EXPECT_TRUE(jo.call->is_finished());
  EXPECT_EQ(lea.coded.size(), coded) << "for nobody";
  VirtualEnd& max = world.join("Max", 3);
  world.run_for(1s);
  EXPECT_EQ(lea.call->calls(), 2U);
  EXPECT_EQ(lea.call->call()->peer()->name, "Max");
  EXPECT_GE(max.shown.size(), 15U);
  EXPECT_TRUE(lea.coded[coded].key_frame) << "it has none of the frames before";
}

TEST_F(SecureCallTest, ItsLinkIsReportedForStatistics) {
  SessionMeter meter{kTimeZero};
  const auto rtt_after = [&](Duration delay, Duration time) {
    world.set_delay(delay);
    world.run_for(time);
    meter.handle_endpoint(*jo.call->endpoint());
    return *jo.call->endpoint()->stats().smoothed_rtt;
  };
  const Duration first = rtt_after(40ms, 1s);
  EXPECT_EQ(meter.least_delay(), first / 2);
  EXPECT_GE(first, 80ms);
  EXPECT_LT(first, 120ms);
  EXPECT_GT(rtt_after(80ms, 2s), first);
  EXPECT_EQ(meter.least_delay(), first / 2) << "the least of all";
  const Duration last = rtt_after(10ms, 2s);
  EXPECT_LT(last, first);
  EXPECT_EQ(meter.least_delay(), last / 2);
  LiveSample sample;
  const session::Endpoint& endpoint = *jo.call->endpoint();
  note_endpoint(world.now(), endpoint, 0.25, sample);
  EXPECT_TRUE(sample.connected);
  EXPECT_EQ(sample.forecast, endpoint.control().forecast_rate());
  EXPECT_EQ(sample.window, endpoint.control().window(world.now()));
  EXPECT_EQ(sample.rtt, last);
  EXPECT_EQ(sample.loss_up, 0.25);
}

/// The largest message size, compared with that of the smallest path.
DataSize gain(const VirtualEnd& end) {
  app::CallOptions options;
  options.endpoint.datagram_max = secure::kDatagramBase - secure::kRecordOverhead;
  const app::Call smallest{kTimeZero, options,
                           std::make_unique<control::CressControl>(control::call_control())};
  return end.call->endpoint()->message_max() - smallest.endpoint().message_max();
}

TEST_F(SecureCallTest, MessagesGrowAndShrinkWithThePath) {
  world.run_for(200ms);
  EXPECT_EQ(gain(jo), DataSize{});
  search_path();
  EXPECT_EQ(gain(jo), DataSize{272}) << "Ethernet: 1472 bytes in place of 1200";
  EXPECT_EQ(gain(lea), DataSize{272});
  jo.call->handle_path_error(
      world.now(),
      {.to = lea.address, .kind = PathError::Kind::kTooLarge, .path_mtu = DataSize{1400}});
  EXPECT_EQ(gain(jo), DataSize{});
  EXPECT_EQ(gain(lea), DataSize{272});
  world.drain(jo);
  EXPECT_EQ(jo.events.back().second, secure::Event{secure::MtuChanged{DataSize{1184}}});
}

TEST_F(SecureCallIpv6, APathErrorCountsWhenOurDatagramsAreLarger) {
  search_path();
  using Kind = PathError::Kind;
  ASSERT_EQ(gain(jo), DataSize{252}) << "1500 bytes less headers of IPv6 and UDP";
  for (const PathError& error : {PathError{lea.address, Kind::kRefused, DataSize{1400}},
                                 PathError{lea.address, Kind::kUnreachable, DataSize{1400}},
                                 PathError{lea.address, Kind::kTooLarge, DataSize{}},
                                 PathError{lea.address, Kind::kTooLarge, DataSize{1500}}}) {
    jo.call->handle_path_error(world.now(), error);
    EXPECT_EQ(gain(jo), DataSize{252}) << error.path_mtu.bytes();
  }
  jo.call->handle_path_error(world.now(), {lea.address, Kind::kTooLarge, DataSize{1499}});
  EXPECT_EQ(gain(jo), DataSize{});
}

TEST_F(SecureCallTest, AJoinerSpeaksAtOnceAfterANetworkChange) {
  world.run_for(1s);
  const size_t before = jo.sent.size();
  jo.call->handle_network_change(world.now());
  world.drain(jo);
  EXPECT_GT(jo.sent.size(), before);
  world.move(jo, host(9));
  world.run_for(200ms);
  const auto moved = std::ranges::find_if(lea.events, [](const auto& event) {
    return std::holds_alternative<secure::PathChanged>(event.second);
  });
  ASSERT_NE(moved, lea.events.end());
  EXPECT_EQ(moved->second, secure::Event{secure::PathChanged{host(9)}});
}

TEST_F(SecureCallTest, ACrashedPeerIsReportedByTimersAlone) {
  world.run_for(1s);
  world.crash(jo);
  world.run_for(4s);
  EXPECT_EQ(lea.count<secure::Unreachable>(), 1U);
  EXPECT_NE(lea.call->call(), nullptr) << "silence is no end";
  EXPECT_FALSE(lea.played.back().kind == app::SoundKind::kNormal);
}

}  // namespace
}  // namespace cress::live
