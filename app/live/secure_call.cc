#include "app/live/secure_call.hh"

#include <algorithm>
#include <utility>
#include <variant>

#include "transport/base/take_front.hh"
#include "transport/secure/records/records.hh"

namespace cress::live {

SecureCall::SecureCall(TimePoint start, SecureCallOptions options)
    : options_(std::move(options)), connection_(start, options_.connection) {
  options_.control.datagram_overhead += secure::kRecordOverhead;
  for (auto* secret : {&options_.connection.secret, &options_.connection.identity_secret}) {
    secure::wipe(*secret);
    secret->clear();
  }
}

void SecureCall::handle_datagram(TimePoint now, const Address& from,
                                 std::span<const std::byte> bytes) {
  connection_.handle_datagram(now, from, bytes);
  drain(now);
}

void SecureCall::handle_timeout(TimePoint now) {
  connection_.handle_timeout(now);
  if (call_ && call_->poll_timeout() <= now) {
    call_->handle_timeout(now);
  }
  drain(now);
}

void SecureCall::handle_path_error(TimePoint now, const PathError& error) {
  connection_.handle_path_error(now, error);
  drain(now);
}

void SecureCall::drain_events(TimePoint now) {
  while (auto event = connection_.poll_event()) {
    if (std::holds_alternative<secure::Connected>(*event)) {
      app::CallOptions call = options_.call;
      call.endpoint.datagram_max = connection_.datagram_max();
      call_ = std::make_unique<app::Call>(
          now, call, std::make_unique<control::CressControl>(options_.control));
      call_->set_person(now, options_.person);
      ++calls_;
    } else if (const auto* mtu = std::get_if<secure::MtuChanged>(&*event); mtu && call_) {
      call_->set_datagram_max(mtu->datagram_max);
    } else if (std::holds_alternative<secure::Closed>(*event)) {
      call_.reset();
    }
    events_.push_back(*event);
  }
}

void SecureCall::drain(TimePoint now) {
  drain_events(now);
  while (const auto datagram = connection_.poll_datagram()) {
    if (call_) {
      (void)call_->handle_datagram(now, *datagram, ecn());  // the endpoint counts bad ones
    }
  }
}

std::optional<Transmit> SecureCall::poll_transmit(TimePoint now) {
  for (;;) {
    if (auto transmit = connection_.poll_transmit(now)) {
      return marked(now, std::move(transmit));
    }
    auto datagram = call_ ? call_->poll_transmit(now) : std::nullopt;
    if (!datagram) {
      return std::nullopt;
    }
    connection_.send(now, *std::move(datagram));
  }
}

TimePoint SecureCall::poll_timeout() const {
  const TimePoint call = call_ ? call_->poll_timeout() : kNever;
  return std::min(connection_.poll_timeout(), call);
}

void SecureCall::capture(TimePoint now, const media::PicturePtr& picture) {
  if (call_) {
    call_->capture(now, picture);
  }
}

void SecureCall::capture_sound(TimePoint now, const media::AudioFrame& samples) {
  if (call_) {
    call_->capture_sound(now, samples);
  }
}

app::PlayedAudio SecureCall::play(TimePoint now) {
  if (!call_) {
    return {.samples = {}, .captured = now, .played = now, .kind = app::SoundKind::kComfort};
  }
  return call_->play(now);
}

void SecureCall::set_person(TimePoint now, app::PersonState person) {
  options_.person = std::move(person);
  if (call_) {
    call_->set_person(now, options_.person);
  }
}

bool SecureCall::send_chat(TimePoint now, std::string_view text) {
  return call_ && call_->send_chat(now, text);
}

void SecureCall::set_local_addresses(TimePoint now, const std::vector<Address>& addresses) {
  connection_.set_local_addresses(now, addresses);
  drain(now);
}

void SecureCall::handle_network_change(TimePoint now) {
  connection_.handle_network_change(now);
  drain(now);
}

void SecureCall::hang_up(TimePoint now) {
  connection_.hang_up(now);
  drain(now);
}

void SecureCall::admit(TimePoint now, std::string_view code) {
  connection_.admit(now, code);
  drain(now);
}

void SecureCall::refuse(TimePoint now) {
  connection_.refuse(now);
  drain(now);
}

std::optional<secure::Event> SecureCall::poll_event() { return take_front(events_); }

std::optional<app::ShownFrame> SecureCall::poll_shown() {
  return call_ ? call_->poll_shown() : std::nullopt;
}

std::optional<std::string> SecureCall::poll_chat() {
  return call_ ? call_->poll_chat() : std::nullopt;
}

std::optional<app::CodedVideo> SecureCall::poll_coded() {
  return call_ ? call_->poll_coded() : std::nullopt;
}

std::shared_ptr<app::EncodeWork> SecureCall::poll_encode_work() {
  return call_ ? call_->poll_encode_work() : nullptr;
}

void SecureCall::handle_encoded(TimePoint now, app::EncodeWork& work) {
  if (call_) {
    call_->handle_encoded(now, work);
  }
}

std::shared_ptr<app::DecodeWork> SecureCall::poll_decode_work() {
  return call_ ? call_->poll_decode_work() : nullptr;
}

void SecureCall::handle_decoded(TimePoint now, const app::DecodeWork& work) {
  if (call_) {
    call_->handle_decoded(now, work);
  }
}

}  // namespace cress::live
