#include "app/live/live_call.hh"

#include <algorithm>
#include <optional>
#include <variant>

namespace cress::live {
namespace {

constexpr const char* kNewcomerWords =
    "Nothing is heard from the other end, and somebody with the link wants to take its place. "
    "Code ";
constexpr const char* kGoneWords = "Nobody waits for the other end's place any more";
constexpr const char* kReplacedWords =
    "The other end was silent, and somebody with the link joined in its place: compare the codes";

SecureCallOptions secure_options(const LiveCallOptions& options) {
  SecureCallOptions secure;
  secure.connection.role = options.role;
  secure.connection.secret = options.secret;
  secure.connection.listener = options.listener;
  secure.connection.other_listeners = options.other_listeners;
  secure.connection.relays = options.relays;
  secure.connection.connect_max = options.connect_max;
  secure.connection.replacement = options.replacement;
  secure.connection.identity_secret = options.identity_secret;
  secure.call.paced_by_sound_card = true;
  secure.call.hands_out_encoding = true;
  secure.call.hands_out_decoding = true;
  secure.call.trade = app::trade_of(options.prefer);
  secure.call.video = video_of(options.devices);
  secure.person = options.person;
  return secure;
}

LiveEndOptions end_options(const LiveCallOptions& options) {
  return {.socket = {.bind = options.bind,
                     .answer_from_asked = options.role == secure::Role::kListener,
                     .first_bytes = runtime::FirstBytes{secure::kRecordKind, secure::kLastKind}},
          .devices = options.devices,
          .person = options.person,
          .map_towards = map_towards(options)};
}

}  // namespace

std::optional<Address> map_towards(const LiveCallOptions& options) {
  if (!options.asks_router || options.relays.empty()) {
    return std::nullopt;
  }
  const auto found = std::ranges::find_if(options.relays, &Address::is_ipv4);
  return found != options.relays.end() ? *found : options.relays.front();
}

LiveCall::LiveCall(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
                   const LiveCallOptions& options, const LiveOutputs& outputs)
    : LiveEnd(clock, loop, std::make_unique<SecureCall>(clock.now(), secure_options(options)),
              end_options(options), outputs),
      call_(static_cast<SecureCall&>(machine())),
      shown_(outputs.shown),
      chat_(outputs.chat) {
  begin();
}

std::optional<app::PersonState> LiveCall::peer() const {
  return call_.call() != nullptr ? call_.call()->peer() : std::nullopt;
}

void LiveCall::admit(const std::string& code) {
  wake([&](TimePoint now) { call_.admit(now, code); });
}

void LiveCall::refuse() {
  wake([this](TimePoint now) { call_.refuse(now); });
}

void LiveCall::take_events(TimePoint now) {
  while (const auto line = call_.poll_chat()) {
    if (chat_) {
      chat_(*line);
    }
  }
  while (const auto event = call_.poll_event()) {
    handle_session_event(now, *event);
    if (const auto* waits = std::get_if<secure::NewcomerWaits>(&*event)) {
      newcomer_ = waits->code;
      notify(LiveEvent::Kind::kNewcomerWaits, kNewcomerWords + newcomer_);
    } else if (std::holds_alternative<secure::NewcomerGone>(*event)) {
      newcomer_.clear();
      notify(LiveEvent::Kind::kNewcomerGone, kGoneWords);
    }
    const auto* closed = std::get_if<secure::Closed>(&*event);
    if (closed == nullptr || is_ending()) {
      continue;
    }
    if (closed->reason == secure::CloseReason::kReplaced && !call_.connection().has_ended()) {
      // The returning peer is admitted, and the call continues with it. It may be anybody with the
      // link.
      notify(LiveEvent::Kind::kNotice, kReplacedWords);
    } else {
      end(now, secure::describe(closed->reason));
      call_.hang_up(now);  // a listener would wait for the next peer
    }
  }
}

void LiveCall::take_shown() {
  while (auto frame = call_.poll_shown()) {
    frame->shown = note_shown(frame->captured);
    if (shown_) {
      shown_(*frame);
    }
  }
}

}  // namespace cress::live
