#include "app/call/call.hh"

#include <algorithm>
#include <utility>

namespace cress::app {
namespace {

// Control messages may be lost: a person's state is repeated.
constexpr Duration kPersonInterval = 1s;

}  // namespace

Call::Call(TimePoint start, CallOptions options, std::unique_ptr<control::Control> control)
    : endpoint_(start, options.endpoint, std::move(control)),
      sender_(start,
              {.video = options.video,
               .pads_window = options.pads_window,
               .trickles = options.trickles,
               .trade = options.trade,
               .hands_out_encoding = options.hands_out_encoding},
              endpoint_),
      receiver_({.paced_by_sound_card = options.paced_by_sound_card,
                 .hands_out_decoding = options.hands_out_decoding,
                 .playout = options.trade.playout}) {
  open_call_flows(endpoint_, true);
}

void Call::capture(TimePoint now, const media::PicturePtr& picture) {
  sender_.capture(now, picture);
  drain(now);
}

void Call::handle_encoded(TimePoint now, EncodeWork& work) {
  sender_.handle_encoded(now, work);
  drain(now);
}

void Call::capture_sound(TimePoint now, const media::AudioFrame& samples) {
  sender_.capture_sound(now, samples);
  drain(now);
}

void Call::handle_control(TimePoint now, std::span<const std::byte> bytes) {
  const auto message = parse_control_message(bytes);
  if (!message) {
    return;
  }
  if (const auto* person = std::get_if<PersonState>(&*message)) {
    peer_ = *person;
  } else if (const auto* link = std::get_if<LinkReport>(&*message)) {
    peer_link_ = *link;
  } else if (const auto* report = std::get_if<FrameReport>(&*message)) {
    sender_.handle_report(*report);
  } else if (std::holds_alternative<KeyFrameRequest>(*message)) {
    sender_.handle_key_frame_request(now);
  } else if (const auto* line = std::get_if<ChatLine>(&*message)) {
    chat_receiver_.handle(now, *line);
  }
}

void Call::handle_message(TimePoint now, const session::MessageReceived& message) {
  if (message.flow == session::kAudioFlow) {
    receiver_.handle_sound(now, message.bytes);
  } else if (message.flow == session::kVideoFlow) {
    receiver_.handle_fragment(now, message.bytes);
  } else if (message.flow == session::kControlFlow) {
    handle_control(now, message.bytes);
  }
}

PlayedAudio Call::play(TimePoint now) {
  PlayedAudio played = receiver_.play(now);
  drain(now);
  return played;
}

void Call::set_person(TimePoint now, PersonState person) {
  person_ = std::move(person);
  next_person_ = now;
  drain(now);
}

bool Call::send_chat(TimePoint now, std::string_view text) {
  const bool taken = chat_sender_.put(now, text);
  drain(now);
  return taken;
}

void Call::tell_person(TimePoint now) {
  if (person_ && now >= next_person_) {
    next_person_ = now + kPersonInterval;
    endpoint_.send(now, session::kControlFlow, encode(*person_));
    endpoint_.send(
        now, session::kControlFlow,
        encode(LinkReport{endpoint_.control().forecast_rate().value_or(DataRate{}), loss()}));
  }
}

void Call::report(TimePoint now) {
  if (endpoint_.queued(session::kControlFlow) == DataSize{}) {
    if (const auto report = receiver_.poll_report(now)) {
      endpoint_.send(now, session::kControlFlow, encode(*report));
    }
  }
  if (receiver_.poll_key_frame_request(now)) {
    endpoint_.send(now, session::kControlFlow, encode(KeyFrameRequest{}));
  }
}

void Call::drain(TimePoint now) {
  while (const auto message = endpoint_.poll_message()) {
    handle_message(now, *message);
  }
  while (const auto outcome = endpoint_.poll_outcome()) {
    // Losses of control messages do not count towards the media's loss.
    if (outcome->flow == session::kControlFlow) {
      chat_sender_.handle_outcome(now, *outcome);
    } else {
      sender_.handle_outcome(now, *outcome);
    }
  }
  receiver_.settle(now);
  report(now);
  tell_person(now);
  chat_sender_.flush(now, endpoint_);
}

Result<Unit, wire::WireError> Call::handle_datagram(TimePoint now,
                                                    std::span<const std::byte> datagram, Ecn ecn) {
  auto result = endpoint_.handle_datagram(now, datagram, ecn);
  drain(now);
  return result;
}

void Call::handle_timeout(TimePoint now) {
  endpoint_.handle_timeout(now);
  receiver_.handle_timeout(now);
  drain(now);
}

void Call::handle_decoded(TimePoint now, const DecodeWork& work) {
  receiver_.handle_decoded(now, work);
  drain(now);
}

std::optional<std::vector<std::byte>> Call::poll_transmit(TimePoint now) {
  return endpoint_.poll_transmit(now);
}

TimePoint Call::poll_timeout() const {
  return std::min({endpoint_.poll_timeout(), receiver_.poll_timeout(), next_person_,
                   chat_sender_.poll_timeout()});
}

std::optional<CodedVideo> Call::poll_coded() { return sender_.poll_coded(); }
std::optional<ShownFrame> Call::poll_shown() { return receiver_.poll_shown(); }
std::optional<PlayedAudio> Call::poll_played() { return receiver_.poll_played(); }

}  // namespace cress::app
