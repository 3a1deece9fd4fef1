#include "app/live/live_end.hh"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "transport/base/check.hh"
#include "transport/base/take_front.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/own_address.hh"

namespace cress::live {
namespace {

// How often rates are read and lost devices are retried.
constexpr Duration kTick = 100ms;
// A close without an answer is over by then.
constexpr Duration kCloseMax = 1s;

}  // namespace

std::vector<Address> with_mapped(std::vector<Address> local, const std::optional<Address>& mapped) {
  if (mapped) {
    local.insert(local.begin() + static_cast<ptrdiff_t>(std::min<size_t>(local.size(), 1)),
                 *mapped);
  }
  return local;
}

LiveEnd::LiveEnd(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
                 std::unique_ptr<LiveMachine> machine, const LiveEndOptions& options,
                 LiveEndOutputs outputs)
    : clock_(clock),
      loop_(loop),
      person_(options.person),
      words_(options.words),
      outputs_(std::move(outputs)),
      meter_(clock.now()),
      machine_(std::move(machine)),
      socket_(clock, options.socket),
      driver_({clock, loop, socket_, *machine_}),
      encoder_(loop, 1),
      decoder_(loop, kDecodingMax),
      ticks_(loop, [this] { tick(); }),
      close_timer_(loop, [this] { report_end(); }),
      map_towards_(options.map_towards),
      devices_(clock, loop, options.devices, device_outputs()) {}

void LiveEnd::begin() {
  machine_->on_drained([this](TimePoint now) { drained(now); });
  network_ = std::make_unique<runtime::NetworkWatch>(loop_, [this](const runtime::NetworkChange&) {
    socket_.forget_asked_addresses();
    if (mapping_) {
      mapping_->handle_network_change();
    }
    report_local_addresses();
    wake([this](TimePoint now) { machine_->handle_network_change(now); });
  });
  if (map_towards_) {
    mapping_ = std::make_unique<mapping::RouterMapping>(
        mapping::UpnpMapper::Parts{clock_, loop_},
        mapping::RouterMappingOptions{.local = socket_.local_address(), .far = *map_towards_},
        [this] { report_local_addresses(); });
  }
  report_local_addresses();
  devices_.set_muted(person_.muted);
  devices_.set_camera_off(person_.camera_off);
  devices_.begin();
  ticks_.arm(clock_.now() + kTick);
}

void LiveEnd::report_local_addresses() {
  const std::vector<Address> local =
      with_mapped(runtime::candidate_addresses(socket_.local_address()),
                  mapping_ ? mapping_->mapped() : std::nullopt);
  wake([&](TimePoint now) { machine_->set_local_addresses(now, local); });
}

LiveDevicesOutputs LiveEnd::device_outputs() {
  LiveDevicesOutputs outputs;
  outputs.own_picture = outputs_.own_picture;
  outputs.capture = [this](const media::PicturePtr& picture) { capture(picture); };
  outputs.capture_sound = [this](const media::AudioFrame& samples) {
    wake([&](TimePoint now) { machine_->capture_sound(now, samples); });
  };
  outputs.play = [this] {
    app::PlayedAudio played;
    wake([&](TimePoint now) { played = machine_->play(now); });
    return played;
  };
  outputs.played = [this](const app::PlayedAudio& played) {
    meter_.handle_played(played);
    if (outputs_.played && machine_->endpoint() != nullptr) {
      outputs_.played(played);
    }
  };
  outputs.news = [this](const DeviceNews& news) { notify(event_kind(news.kind), news.words); };
  return outputs;
}

void LiveEnd::set_person(app::PersonState person) {
  person_ = std::move(person);
  devices_.set_muted(person_.muted);
  devices_.set_camera_off(person_.camera_off);
  if (person_.camera_off) {
    next_picture_ = nullptr;
  }
  wake([this](TimePoint now) { machine_->set_person(now, person_); });
}

void LiveEnd::set_muted(bool muted) {
  app::PersonState person = person_;
  person.muted = muted;
  set_person(std::move(person));
}

void LiveEnd::set_camera_off(bool off) {
  app::PersonState person = person_;
  person.camera_off = off;
  set_person(std::move(person));
}

void LiveEnd::set_name(std::string name) {
  app::PersonState person = person_;
  person.name = std::move(name);
  set_person(std::move(person));
}

void LiveEnd::choose_camera(const std::string& id) {
  if (devices_.choose_camera(id)) {
    app::PersonState person = person_;
    person.shares_screen = media::is_screen(id);
    set_person(std::move(person));
  }
}

void LiveEnd::handle_session_event(TimePoint now, const secure::Event& event) {
  if (const auto* connected = std::get_if<secure::Connected>(&event)) {
    meter_.handle_connected(now);
    notify(LiveEvent::Kind::kConnected,
           machine_->connection().is_relayed()
               ? "Connected through the relay"
               : words_.connected + runtime::format_address(connected->peer));
  } else if (std::holds_alternative<secure::Unreachable>(event)) {
    notify(LiveEvent::Kind::kUnreachable, words_.unreachable);
  } else if (std::holds_alternative<secure::Reachable>(event)) {
    notify(LiveEvent::Kind::kReachable, "The network is back");
  } else if (const auto* path = std::get_if<secure::PathChanged>(&event)) {
    notify(LiveEvent::Kind::kPathChanged, machine_->connection().is_relayed()
                                              ? "The call goes through the relay"
                                              : words_.moved + runtime::format_address(path->peer));
  }
}

TimePoint LiveEnd::note_shown(TimePoint captured) {
  const TimePoint shown = clock_.now();
  meter_.handle_shown(shown, captured);
  return shown;
}

/// A picture that comes while one is being encoded waits for it.
void LiveEnd::capture(const media::PicturePtr& picture) {
  if (encoding_ != nullptr) {
    pictures_late_ += next_picture_ != nullptr ? 1 : 0;
    next_picture_ = picture;
  } else {
    wake([&](TimePoint now) { machine_->capture(now, picture); });
  }
}

void LiveEnd::exchange_with_encoder(TimePoint now) {
  const auto has_result = [this] { return encoding_ != nullptr && encoding_->is_done(); };
  if (has_result()) {
    machine_->handle_encoded(now, *std::exchange(encoding_, nullptr));
    if (next_picture_ != nullptr) {
      machine_->capture(now, std::exchange(next_picture_, nullptr));
    }
  }
  if (encoding_ != nullptr) {
    return;
  }
  encoding_ = machine_->poll_encode_work();
  if (encoding_ != nullptr) {
    const auto done = [this, has_result] {
      if (has_result()) {
        wake({});
      }
    };
    check(encoder_.add([work = encoding_] { work->run(); }, done),
          "LiveEnd: one picture is with the encoder at a time");
  }
}

/// Results are taken at each opportunity: the worker's call comes late when the loop has much to
/// do.
void LiveEnd::exchange_with_decoder(TimePoint now) {
  const auto has_result = [this] { return !decoding_.empty() && decoding_.front()->is_done(); };
  while (has_result()) {
    machine_->handle_decoded(now, **take_front(decoding_));
  }
  while (decoding_.size() < kDecodingMax) {
    const std::shared_ptr<app::DecodeWork> work = machine_->poll_decode_work();
    if (work == nullptr) {
      return;
    }
    decoding_.push_back(work);
    const auto done = [this, has_result] {
      if (has_result()) {
        wake({});
      }
    };
    check(decoder_.add([work] { work->run(); }, done),
          "LiveEnd: fewer frames are with the decoder than its thread accepts");
  }
}

void LiveEnd::drained(TimePoint now) {
  exchange_with_encoder(now);  // first: they work during the rest
  exchange_with_decoder(now);
  take_events(now);
  meter_.handle_drained(now, machine_->connection().stats());
  take_shown();
  while (const auto coded = machine_->poll_coded()) {
    meter_.handle_coded(now, *coded);
    if (outputs_.coded) {
      outputs_.coded(*coded);
    }
  }
  if (const session::Endpoint* endpoint = machine_->endpoint()) {
    meter_.handle_endpoint(*endpoint);
  }
  if (end_reason_ && machine_->is_finished()) {
    close_timer_.arm(
        now);  // not inside this call: the receiver of the event may destroy this object
  }
}

void LiveEnd::notify(LiveEvent::Kind kind, std::string words) {
  if (outputs_.event && !end_told_) {
    outputs_.event({kind, clock_.now(), std::move(words)});
  }
}

void LiveEnd::end(TimePoint now, const std::string& reason) {
  if (!end_reason_) {
    end_reason_ = reason;
    close_timer_.arm(now + kCloseMax);
    if (mapping_) {
      mapping_->remove();
    }
  }
}

void LiveEnd::report_end() {
  if (!end_told_) {
    notify(LiveEvent::Kind::kEnded, end_reason_.value_or(""));
    end_told_ = true;
  }
}

bool LiveEnd::send_chat(std::string_view text) {
  bool taken = false;
  driver_.wake([&](TimePoint now) { taken = machine_->send_chat(now, text); });
  return taken;
}

void LiveEnd::hang_up() {
  wake([this](TimePoint now) {
    if (!end_reason_) {
      end(now, secure::describe(secure::CloseReason::kHungUp));
      machine_->hang_up(now);
    }
  });
}

void LiveEnd::tick() {
  const TimePoint now = clock_.now();
  meter_.tick(now, connection_stats());
  devices_.tick();
  memory_.tick(now);
  ticks_.arm(now + kTick);
}

LiveSample LiveEnd::sample() const {
  const TimePoint now = clock_.now();
  LiveSample sample = meter_.sample(now);
  sample.frames_late = devices_.pictures_late() + pictures_late_;
  sample.microphone_dbfs = devices_.microphone_dbfs();
  sample.speaker_dbfs = devices_.speaker_dbfs();
  sample.code = machine_->code();
  sample.is_ipv6 = machine_->connection().is_ipv6();
  sample.is_relayed = machine_->connection().is_relayed();
  sample.mapped_by = mapping_ ? mapping_->protocol() : std::nullopt;
  if (const session::Endpoint* endpoint = machine_->endpoint()) {
    note_endpoint(now, *endpoint, machine_->loss(), sample);
    const app::LinkReport link = machine_->peer_link().value_or(app::LinkReport{});
    sample.peer_forecast = link.forecast;
    sample.loss_down = link.loss;
  }
  return sample;
}

}  // namespace cress::live
