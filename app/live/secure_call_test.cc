#include "app/live/secure_call.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "app/live/session_meter.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "media/source/synthetic_camera.hh"
#include "transport/secure/records/records.hh"

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

/// One end of a call in virtual time, with a camera and a voice, and its outputs.
struct VirtualEnd {
  explicit VirtualEnd(const Address& at, std::unique_ptr<SecureCall> machine, uint64_t seed)
      : address(at), call(std::move(machine)), camera({.width = 160, .height = 96, .seed = seed}) {}

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
  bool is_running = true;
  bool has_devices = true;
  std::vector<std::pair<TimePoint, secure::Event>> events;
  std::vector<app::ShownFrame> shown;
  std::vector<app::CodedVideo> coded;
  std::vector<app::PlayedAudio> played;
  std::vector<size_t> sent;  // sizes of datagrams
};

/// Ends of a call on a path without loss.
class VirtualCall {
 public:
  explicit VirtualCall(bool is_ipv6 = false) : is_ipv6_(is_ipv6) {}

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
  void run_for(Duration length) {
    const TimePoint end = now_ + length;
    for (TimePoint next = next_time(); next <= end; next = next_time()) {
      now_ = std::max(now_, next);
      step();
    }
    now_ = end;
  }
  TimePoint now() const { return now_; }
  Duration delay = 20ms;
  void drain(VirtualEnd& end) {
    while (auto transmit = end.call->poll_transmit(now_)) {
      end.sent.push_back(transmit->bytes.size());
      flights_.emplace(now_ + delay, std::pair{end.address, *std::move(transmit)});
    }
    while (auto event = end.call->poll_event()) {
      end.events.emplace_back(now_, *event);
    }
    while (auto frame = end.call->poll_shown()) {
      end.shown.push_back(*std::move(frame));
    }
    while (auto coded = end.call->poll_coded()) {
      end.coded.push_back(*coded);
    }
  }

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
        host(last, is_ipv6_), std::make_unique<SecureCall>(now_, std::move(options)), last));
    drain(*ends_.back());
    return *ends_.back();
  }
  static TimePoint next_picture(const VirtualEnd& end) {
    return kTimeZero + end.camera.frame_rate().time_of(end.pictures);
  }
  static TimePoint next_sound(const VirtualEnd& end) {
    return kTimeZero + static_cast<int64_t>(end.voiced + 1) * media::kAudioFrameLength;
  }
  static TimePoint next_capture(const VirtualEnd& end) {
    return end.has_devices ? std::min(next_picture(end), next_sound(end)) : kNever;
  }
  TimePoint next_time() const {
    TimePoint next = flights_.empty() ? kNever : flights_.begin()->first;
    for (const auto& end : ends_) {
      if (end->is_running) {
        next = std::min({next, end->call->poll_timeout(), next_capture(*end)});
      }
    }
    return next;
  }
  void step() {
    check(++steps_ < 200'000, "a call spins");
    while (!flights_.empty() && flights_.begin()->first <= now_) {
      const auto [from, transmit] = flights_.begin()->second;
      flights_.erase(flights_.begin());
      for (const auto& end : ends_) {
        if (end->is_running && end->address == transmit.to) {
          end->call->handle_datagram(now_, from, transmit.bytes);
          drain(*end);
        }
      }
    }
    for (const auto& end : ends_) {
      if (end->is_running) {
        step(*end);
      }
    }
  }
  void step(VirtualEnd& end) {
    if (end.call->poll_timeout() <= now_) {
      end.call->handle_timeout(now_);
      drain(end);
    }
    if (!end.has_devices) {
      return;
    }
    while (next_picture(end) <= now_) {
      end.call->capture(now_, end.camera.picture(end.pictures++));
      drain(end);
    }
    while (next_sound(end) <= now_) {
      end.call->capture_sound(now_, end.voice.frame(end.voiced++));
      end.played.push_back(end.call->play(now_));
      drain(end);
    }
  }

  bool is_ipv6_;
  TimePoint now_ = kTimeZero;
  int steps_ = 0;
  std::vector<std::unique_ptr<VirtualEnd>> ends_;
  std::multimap<TimePoint, std::pair<Address, Transmit>> flights_;
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

  VirtualCall world;
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

TEST_F(SecureCallTest, CountsARecordsTagIntoTheWindow) {
  world.run_for(1s);
  const control::CressControl plain{control::call_control()};
  EXPECT_EQ(jo.call->endpoint()->control().message_overhead(),
            plain.message_overhead() + secure::kRecordOverhead);
}

TEST(SecureCall, AloneItSendsNothingAndPlaysNothing) {
  VirtualCall world;
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
  VirtualCall world;
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
    world.delay = delay;
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
  jo.address = host(9);
  world.run_for(200ms);
  const auto moved = std::ranges::find_if(lea.events, [](const auto& event) {
    return std::holds_alternative<secure::PathChanged>(event.second);
  });
  ASSERT_NE(moved, lea.events.end());
  EXPECT_EQ(moved->second, secure::Event{secure::PathChanged{host(9)}});
}

TEST_F(SecureCallTest, ACrashedPeerIsReportedByTimersAlone) {
  world.run_for(1s);
  jo.is_running = false;
  world.run_for(4s);
  EXPECT_EQ(lea.count<secure::Unreachable>(), 1U);
  EXPECT_NE(lea.call->call(), nullptr) << "silence is no end";
  EXPECT_FALSE(lea.played.back().kind == app::SoundKind::kNormal);
}

}  // namespace
}  // namespace cress::live
