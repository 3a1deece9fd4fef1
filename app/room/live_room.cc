#include "app/room/live_room.hh"

#include <map>
#include <utility>
#include <variant>

#include "app/live/session_meter.hh"
#include "app/room/secure_room.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/network_watch.hh"
#include "transport/runtime/spare_memory.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::room {
namespace {

using live::LiveEvent;

constexpr Duration kTick = 100ms;
// A good-bye that nobody answers is over by then.
constexpr Duration kGoodbyeMax = 1s;

SecureRoomOptions secure_options(const LiveRoomOptions& options) {
  SecureRoomOptions secure;
  secure.secret = options.secret;
  secure.relay = options.relay;
  secure.other_relays = options.other_relays;
  secure.connect_max = options.connect_max;
  secure.rejoin_max = options.rejoin_max;
  secure.member.paced_by_sound_card = true;
  secure.member.person = options.person;
  if (options.devices.camera) {
    const media::LiveCameraOptions& camera = *options.devices.camera;
    secure.member.video = room_video({.width = camera.size.width & ~1,  // as LiveDevices gives
                                      .height = camera.size.height & ~1,
                                      .frame_rate = camera.rate});
  }
  return secure;
}

}  // namespace

class LiveRoom::Impl final : public SecureRoom {
 public:
  Impl(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
       const LiveRoomOptions& options, LiveRoomOutputs outputs);

  void drained(TimePoint now) override;

  void set_person(app::PersonState person);
  void choose_camera(const std::string& id);
  void look(MemberNumber pinned, uint32_t pictures, uint32_t height) {
    driver_.wake([&](TimePoint now) { set_view(now, pinned, pictures, height); });
  }
  void end();
  LiveRoomSample sample() const;

  live::LiveDevices& devices() { return devices_; }
  const app::PersonState& person() const { return person_; }

 private:
  live::LiveDevicesOutputs device_outputs();
  void handle_leg_event(TimePoint now, const LegEvent& event);
  void handle_session_event(TimePoint now, const secure::Event& event);
  void take_shown();
  void tell(LiveEvent::Kind kind, std::string words);
  void tell_end();
  void tick();

  const runtime::MonotonicClock& clock_;
  app::PersonState person_;
  LiveRoomOutputs outputs_;
  std::optional<std::string> end_reason_;
  bool end_told_ = false;
  live::SessionMeter meter_;
  runtime::SpareMemory memory_;
  std::map<MemberNumber, live::DelayMeter> delays_;  // of those who are there

  runtime::UdpSocket socket_;
  runtime::Driver driver_;
  runtime::EventLoop::Timer ticks_;
  runtime::EventLoop::Timer goodbye_;
  std::unique_ptr<runtime::NetworkWatch> network_;
  live::LiveDevices devices_;
};

LiveRoom::Impl::Impl(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
                     const LiveRoomOptions& options, LiveRoomOutputs outputs)
    : SecureRoom(clock.now(), secure_options(options)),
      clock_(clock),
      person_(options.person),
      outputs_(std::move(outputs)),
      meter_(clock.now()),
      socket_(clock, {.bind = options.bind,
                      .first_bytes = runtime::FirstBytes{secure::kRecordKind, secure::kLastKind}}),
      driver_({clock, loop, socket_, *this}),
      ticks_(loop, [this] { tick(); }),
      goodbye_(loop, [this] { tell_end(); }),
      devices_(clock, loop, options.devices, device_outputs()) {
  network_ = std::make_unique<runtime::NetworkWatch>(loop, [this](const runtime::NetworkChange&) {
    driver_.wake([this](TimePoint now) { handle_network_change(now); });
  });
  devices_.set_muted(person_.muted);
  devices_.set_camera_off(person_.camera_off);
  devices_.begin();
  ticks_.arm(clock_.now() + kTick);
}

live::LiveDevicesOutputs LiveRoom::Impl::device_outputs() {
  live::LiveDevicesOutputs outputs;
  outputs.own_picture = outputs_.own_picture;
  outputs.capture = [this](const media::PicturePtr& picture) {
    driver_.wake([&](TimePoint now) { capture(now, picture); });
  };
  outputs.capture_sound = [this](const media::AudioFrame& samples) {
    driver_.wake([&](TimePoint now) { capture_sound(now, samples); });
  };
  outputs.play = [this] {
    app::PlayedAudio played;
    driver_.wake([&](TimePoint now) { played = play(now); });
    return played;
  };
  outputs.played = [this](const app::PlayedAudio& played) {
    meter_.handle_played(played);
    if (outputs_.played && member() != nullptr) {
      outputs_.played(played);
    }
  };
  outputs.news = [this](const live::DeviceNews& news) {
    tell(live::event_kind(news.kind), news.words);
  };
  return outputs;
}

void LiveRoom::Impl::set_person(app::PersonState person) {
  person_ = std::move(person);
  devices_.set_muted(person_.muted);
  devices_.set_camera_off(person_.camera_off);
  driver_.wake([this](TimePoint now) { SecureRoom::set_person(now, person_); });
}

void LiveRoom::Impl::choose_camera(const std::string& id) {
  if (devices_.choose_camera(id)) {
    app::PersonState person = person_;
    person.shares_screen = media::is_screen(id);
    set_person(person);
  }
}

void LiveRoom::Impl::handle_session_event(TimePoint now, const secure::Event& event) {
  if (const auto* connected = std::get_if<secure::Connected>(&event)) {
    meter_.handle_connected(now);
    delays_.clear();
    tell(LiveEvent::Kind::kConnected,
         "In the room, by the relay at " + runtime::format_address(connected->peer));
  } else if (std::holds_alternative<secure::Unreachable>(event)) {
    tell(LiveEvent::Kind::kUnreachable, "Nothing has been heard of the relay for 3 seconds");
  } else if (std::holds_alternative<secure::Reachable>(event)) {
    tell(LiveEvent::Kind::kReachable, "The network is back");
  } else if (const auto* path = std::get_if<secure::PathChanged>(&event)) {
    tell(LiveEvent::Kind::kPathChanged,
         "The relay is now at " + runtime::format_address(path->peer));
  }
}

void LiveRoom::Impl::handle_leg_event(TimePoint now, const LegEvent& event) {
  if (const auto* session = std::get_if<secure::Event>(&event)) {
    handle_session_event(now, *session);
  } else if (std::holds_alternative<RoomRejoining>(event)) {
    tell(LiveEvent::Kind::kUnreachable, "The relay is away; the way back is being looked for");
  } else if (const auto* over = std::get_if<RoomOver>(&event)) {
    end_reason_ = end_reason_.value_or(describe(*over));
    goodbye_.arm(now + kGoodbyeMax);
  }
}

void LiveRoom::Impl::take_shown() {
  while (auto shown = poll_shown()) {
    // What a machine's time leaves out: decoding, and how late this thread was.
    shown->frame.shown = clock_.now();
    meter_.handle_shown(shown->frame.shown, shown->frame.captured);
    delays_[shown->member].add(shown->frame.shown, shown->frame.captured);
    if (outputs_.shown) {
      outputs_.shown(*shown);
    }
  }
}

void LiveRoom::Impl::drained(TimePoint now) {
  while (const auto event = poll_leg_event()) {
    handle_leg_event(now, *event);
  }
  while (const auto event = poll_event()) {
    if (event->kind == RoomEvent::Kind::kLeft) {
      delays_.erase(event->member);
    }
    if (outputs_.room) {
      outputs_.room(*event);
    }
  }
  meter_.handle_drained(now, connection().stats());
  take_shown();
  while (const auto coded = poll_coded()) {
    meter_.handle_coded(now, *coded);
    if (outputs_.coded) {
      outputs_.coded(*coded);
    }
  }
  if (member() != nullptr) {
    meter_.handle_endpoint(member()->endpoint());
  }
  if (end_reason_ && is_finished()) {
    goodbye_.arm(now);  // not from in here: who hears of the end may want to end us
  }
}

void LiveRoom::Impl::tell(LiveEvent::Kind kind, std::string words) {
  if (outputs_.event && !end_told_) {
    outputs_.event({kind, clock_.now(), std::move(words)});
  }
}

void LiveRoom::Impl::tell_end() {
  if (!end_told_) {
    tell(LiveEvent::Kind::kEnded, end_reason_.value_or(""));
    end_told_ = true;
  }
}

void LiveRoom::Impl::end() {
  driver_.wake([this](TimePoint now) { hang_up(now); });
}

void LiveRoom::Impl::tick() {
  meter_.tick(clock_.now(), connection().stats());
  devices_.tick();
  memory_.tick(clock_.now());
  ticks_.arm(clock_.now() + kTick);
}

LiveRoomSample LiveRoom::Impl::sample() const {
  const TimePoint now = clock_.now();
  LiveRoomSample sample{.session = meter_.sample(now)};
  sample.session.frames_late = devices_.pictures_late();
  sample.session.microphone_dbfs = devices_.microphone_dbfs();
  sample.session.speaker_dbfs = devices_.speaker_dbfs();
  const RoomMember* current = member();
  if (current == nullptr) {
    return sample;
  }
  live::note_endpoint(now, current->endpoint(), current->loss(), sample.session);
  sample.room = current->welcome() ? current->welcome()->room : "";
  sample.number = current->number();
  sample.speaker = current->speaker();
  sample.video_rate_max = current->video_rate_max();
  for (OtherMember& other : current->others()) {
    LiveRoomMember view{.member = std::move(other)};
    if (const auto delay = delays_.find(view.member.number); delay != delays_.end()) {
      view.frame_delay_p50 = delay->second.quantile(now, 0.5, meter_.least_delay());
      view.frame_delay_p95 = delay->second.quantile(now, 0.95, meter_.least_delay());
    }
    sample.others.push_back(std::move(view));
  }
  return sample;
}

LiveRoom::LiveRoom(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
                   const LiveRoomOptions& options, LiveRoomOutputs outputs)
    : impl_(std::make_unique<Impl>(clock, loop, options, std::move(outputs))) {}

LiveRoom::~LiveRoom() = default;

void LiveRoom::set_muted(bool muted) {
  app::PersonState person = impl_->person();
  person.muted = muted;
  impl_->set_person(person);
}

void LiveRoom::set_camera_off(bool off) {
  app::PersonState person = impl_->person();
  person.camera_off = off;
  impl_->set_person(person);
}

void LiveRoom::set_name(std::string name) {
  app::PersonState person = impl_->person();
  person.name = std::move(name);
  impl_->set_person(person);
}

void LiveRoom::choose_camera(const std::string& id) { impl_->choose_camera(id); }
void LiveRoom::choose_microphone(const std::string& id) { impl_->devices().choose_microphone(id); }
void LiveRoom::choose_speaker(const std::string& id) { impl_->devices().choose_speaker(id); }
void LiveRoom::set_view(MemberNumber pinned, uint32_t pictures, uint32_t height) {
  impl_->look(pinned, pictures, height);
}
void LiveRoom::hang_up() { impl_->end(); }

const app::PersonState& LiveRoom::person() const { return impl_->person(); }
LiveRoomSample LiveRoom::sample() const { return impl_->sample(); }
const secure::ConnectionStats& LiveRoom::connection_stats() const {
  return impl_->connection().stats();
}
void LiveRoom::finish() { impl_->devices().finish(); }

}  // namespace cress::room
