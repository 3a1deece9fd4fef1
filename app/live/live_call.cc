#include "app/live/live_call.hh"

#include <utility>
#include <variant>

#include "app/live/live_devices.hh"
#include "app/live/secure_call.hh"
#include "app/live/session_meter.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/network_watch.hh"
#include "transport/runtime/spare_memory.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::live {
namespace {

// How often rates are read and lost devices are thought of.
constexpr Duration kTick = 100ms;
// A good-bye that nobody answers is over by then.
constexpr Duration kGoodbyeMax = 1s;

/// The size that pictures will have.
media::PictureSize even(media::PictureSize size) { return {size.width & ~1, size.height & ~1}; }

SecureCallOptions secure_options(const LiveCallOptions& options) {
  SecureCallOptions secure;
  secure.connection.role = options.role;
  secure.connection.secret = options.secret;
  secure.connection.listener = options.listener;
  secure.connection.other_listeners = options.other_listeners;
  secure.connection.connect_max = options.connect_max;
  secure.call.paced_by_sound_card = true;
  secure.person = options.person;
  if (options.camera) {
    const media::PictureSize size = even(options.camera->size);
    secure.call.video = app::VideoSenderOptions{
        .width = size.width, .height = size.height, .frame_rate = options.camera->rate};
  }
  return secure;
}

runtime::UdpSocketOptions socket_options(const LiveCallOptions& options) {
  return {.bind = options.bind,
          .answer_from_asked = options.role == secure::Role::kListener,
          .first_bytes = runtime::FirstBytes{secure::kRecordKind, secure::kLastKind}};
}

LiveDevicesOptions device_options(const LiveCallOptions& options) {
  return {.camera = options.camera, .microphone = options.microphone, .speaker = options.speaker};
}

}  // namespace

class LiveCall::Impl final : public SecureCall {
 public:
  Impl(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
       const LiveCallOptions& options, LiveOutputs outputs);

  void drained(TimePoint now) override;

  void set_person(app::PersonState person);
  void choose_camera(const std::string& id);
  void end();
  LiveSample sample() const;

  LiveDevices& devices() { return devices_; }
  const app::PersonState& person() const { return person_; }
  const runtime::UdpSocket& socket() const { return socket_; }

 private:
  LiveDevicesOutputs device_outputs();
  void note_played(const app::PlayedAudio& played);
  void handle_event(TimePoint now, const secure::Event& event);
  void tell(LiveEvent::Kind kind, std::string words);
  void tell_end();
  void tick();

  const runtime::MonotonicClock& clock_;
  runtime::EventLoop& loop_;
  app::PersonState person_;
  LiveOutputs outputs_;

  std::optional<std::string> end_reason_;
  bool end_told_ = false;
  SessionMeter meter_;
  runtime::SpareMemory memory_;

  runtime::UdpSocket socket_;
  runtime::Driver driver_;
  runtime::EventLoop::Timer ticks_;
  runtime::EventLoop::Timer goodbye_;
  std::unique_ptr<runtime::NetworkWatch> network_;
  LiveDevices devices_;
};

LiveCall::Impl::Impl(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
                     const LiveCallOptions& options, LiveOutputs outputs)
    : SecureCall(clock.now(), secure_options(options)),
      clock_(clock),
      loop_(loop),
      person_(options.person),
      outputs_(std::move(outputs)),
      meter_(clock.now()),
      socket_(clock, socket_options(options)),
      driver_({clock, loop, socket_, *this}),
      ticks_(loop, [this] { tick(); }),
      goodbye_(loop, [this] { tell_end(); }),
      devices_(clock, loop, device_options(options), device_outputs()) {
  network_ = std::make_unique<runtime::NetworkWatch>(loop, [this](const runtime::NetworkChange&) {
    socket_.forget_asked_addresses();
    driver_.wake([this](TimePoint now) { handle_network_change(now); });
  });
  devices_.set_muted(person_.muted);
  devices_.set_camera_off(person_.camera_off);
  devices_.begin();
  ticks_.arm(clock_.now() + kTick);
}

LiveDevicesOutputs LiveCall::Impl::device_outputs() {
  LiveDevicesOutputs outputs;
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
  outputs.played = [this](const app::PlayedAudio& played) { note_played(played); };
  outputs.news = [this](const DeviceNews& news) { tell(event_kind(news.kind), news.words); };
  return outputs;
}

void LiveCall::Impl::set_person(app::PersonState person) {
  person_ = std::move(person);
  devices_.set_muted(person_.muted);
  devices_.set_camera_off(person_.camera_off);
  driver_.wake([this](TimePoint now) { SecureCall::set_person(now, person_); });
}

void LiveCall::Impl::choose_camera(const std::string& id) {
  if (devices_.choose_camera(id)) {
    app::PersonState person = person_;
    person.shares_screen = media::is_screen(id);
    set_person(person);
  }
}

void LiveCall::Impl::note_played(const app::PlayedAudio& played) {
  meter_.handle_played(played);
  if (outputs_.played && call() != nullptr) {
    outputs_.played(played);
  }
}

void LiveCall::Impl::handle_event(TimePoint now, const secure::Event& event) {
  if (const auto* connected = std::get_if<secure::Connected>(&event)) {
    meter_.handle_connected(now);
    tell(LiveEvent::Kind::kConnected, "Connected to " + runtime::format_address(connected->peer));
  } else if (std::holds_alternative<secure::Unreachable>(event)) {
    tell(LiveEvent::Kind::kUnreachable, "Nothing has been heard for 3 seconds");
  } else if (std::holds_alternative<secure::Reachable>(event)) {
    tell(LiveEvent::Kind::kReachable, "The network is back");
  } else if (const auto* path = std::get_if<secure::PathChanged>(&event)) {
    tell(LiveEvent::Kind::kPathChanged,
         "The other end is now at " + runtime::format_address(path->peer));
  } else if (const auto* closed = std::get_if<secure::Closed>(&event)) {
    // Replaced: the one who came back is let in, and the call goes on with him.
    if (!end_reason_ && closed->reason != secure::CloseReason::kReplaced) {
      end_reason_ = secure::describe(closed->reason);
      hang_up(now);  // a listener would wait for the next one
      goodbye_.arm(now + kGoodbyeMax);
    }
  }
}

void LiveCall::Impl::drained(TimePoint now) {
  while (const auto event = poll_event()) {
    handle_event(now, *event);
  }
  meter_.handle_drained(now, connection().stats());
  while (auto frame = poll_shown()) {
    // What a machine's time leaves out: decoding, and how late this thread was.
    frame->shown = clock_.now();
    meter_.handle_shown(frame->shown, frame->captured);
    if (outputs_.shown) {
      outputs_.shown(*frame);
    }
  }
  while (const auto coded = poll_coded()) {
    meter_.handle_coded(now, *coded);
    if (outputs_.coded) {
      outputs_.coded(*coded);
    }
  }
  if (call() != nullptr) {
    meter_.handle_endpoint(call()->endpoint());
  }
  if (end_reason_ && connection().is_finished()) {
    goodbye_.arm(now);  // not from in here: who hears of the end may want to end us
  }
}

void LiveCall::Impl::tell(LiveEvent::Kind kind, std::string words) {
  if (outputs_.event && !end_told_) {
    outputs_.event({kind, clock_.now(), std::move(words)});
  }
}

void LiveCall::Impl::tell_end() {
  if (!end_told_) {
    tell(LiveEvent::Kind::kEnded, end_reason_.value_or(""));
    end_told_ = true;
  }
}

void LiveCall::Impl::end() {
  driver_.wake([this](TimePoint now) {
    if (!end_reason_) {
      end_reason_ = secure::describe(secure::CloseReason::kHungUp);
      hang_up(now);
      goodbye_.arm(now + kGoodbyeMax);
    }
  });
}

void LiveCall::Impl::tick() {
  const TimePoint now = clock_.now();
  meter_.tick(now, connection().stats());
  devices_.tick();
  memory_.tick(now);
  ticks_.arm(now + kTick);
}

LiveSample LiveCall::Impl::sample() const {
  const TimePoint now = clock_.now();
  LiveSample sample = meter_.sample(now);
  sample.frames_late = devices_.pictures_late();
  sample.microphone_dbfs = devices_.microphone_dbfs();
  sample.speaker_dbfs = devices_.speaker_dbfs();
  if (const app::Call* current = call()) {
    note_endpoint(now, current->endpoint(), current->loss(), sample);
    sample.peer_forecast = current->peer_link().value_or(app::LinkReport{}).forecast;
    sample.loss_down = current->peer_link().value_or(app::LinkReport{}).loss;
  }
  return sample;
}

LiveCall::LiveCall(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
                   const LiveCallOptions& options, LiveOutputs outputs)
    : impl_(std::make_unique<Impl>(clock, loop, options, std::move(outputs))) {}

LiveCall::~LiveCall() = default;

Address LiveCall::local_address() const { return impl_->socket().local_address(); }

void LiveCall::set_muted(bool muted) {
  app::PersonState person = impl_->person();
  person.muted = muted;
  impl_->set_person(person);
}

void LiveCall::set_camera_off(bool off) {
  app::PersonState person = impl_->person();
  person.camera_off = off;
  impl_->set_person(person);
}

void LiveCall::set_name(std::string name) {
  app::PersonState person = impl_->person();
  person.name = std::move(name);
  impl_->set_person(person);
}

void LiveCall::choose_camera(const std::string& id) { impl_->choose_camera(id); }
void LiveCall::choose_microphone(const std::string& id) { impl_->devices().choose_microphone(id); }
void LiveCall::choose_speaker(const std::string& id) { impl_->devices().choose_speaker(id); }
void LiveCall::hang_up() { impl_->end(); }

std::optional<app::PersonState> LiveCall::peer() const {
  return impl_->call() != nullptr ? impl_->call()->peer() : std::nullopt;
}
const app::PersonState& LiveCall::person() const { return impl_->person(); }
LiveSample LiveCall::sample() const { return impl_->sample(); }
const secure::ConnectionStats& LiveCall::connection_stats() const {
  return impl_->connection().stats();
}
void LiveCall::finish() { impl_->devices().finish(); }

}  // namespace cress::live
