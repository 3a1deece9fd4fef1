#include "app/room/live_room.hh"

#include <utility>
#include <variant>

namespace cress::room {
namespace {

using live::LiveEvent;

static_assert(live::LiveEnd::kDecodingMax >= RoomMember::kOthersMax * app::VideoReceiver::kWorkMax,
              "or some members' frames would wait until others' need no place");

SecureRoomOptions secure_options(const LiveRoomOptions& options) {
  SecureRoomOptions secure;
  secure.secret = options.secret;
  secure.relay = options.relay;
  secure.other_relays = options.other_relays;
  secure.connect_max = options.connect_max;
  secure.rejoin_max = options.rejoin_max;
  secure.member.paced_by_sound_card = true;
  secure.member.hands_out_encoding = true;
  secure.member.hands_out_decoding = true;
  secure.member.person = options.person;
  secure.member.prefer = options.prefer;
  if (const auto video = live::video_of(options.devices)) {
    secure.member.video = room_video(*video);
  }
  return secure;
}

live::LiveEndOptions end_options(const LiveRoomOptions& options) {
  return {.socket = {.bind = options.bind,
                     .first_bytes = runtime::FirstBytes{secure::kRecordKind, secure::kLastKind}},
          .devices = options.devices,
          .person = options.person,
          .words = {.connected = "In the room, by the relay at ",
                    .unreachable = "Nothing has been heard of the relay for 3 seconds",
                    .moved = "The relay is now at "}};
}

}  // namespace

LiveRoom::LiveRoom(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
                   const LiveRoomOptions& options, const LiveRoomOutputs& outputs)
    : LiveEnd(clock, loop, std::make_unique<SecureRoom>(clock.now(), secure_options(options)),
              end_options(options), outputs),
      room_(static_cast<SecureRoom&>(machine())),
      told_(outputs.room),
      shown_(outputs.shown) {
  begin();
}

void LiveRoom::set_view(MemberNumber pinned, uint32_t pictures, uint32_t height) {
  wake([&](TimePoint now) { room_.set_view(now, pinned, pictures, height); });
}

void LiveRoom::handle_leg_event(TimePoint now, const LegEvent& event) {
  if (const auto* session = std::get_if<secure::Event>(&event)) {
    if (std::holds_alternative<secure::Connected>(*session)) {
      delays_.clear();
    }
    handle_session_event(now, *session);
  } else if (std::holds_alternative<RoomRejoining>(event)) {
    notify(LiveEvent::Kind::kUnreachable, "The relay is away; the path to it is being looked for");
  } else if (const auto* over = std::get_if<RoomOver>(&event)) {
    end(now, describe(*over));
  }
}

void LiveRoom::take_events(TimePoint now) {
  while (const auto event = room_.poll_leg_event()) {
    handle_leg_event(now, *event);
  }
  while (const auto event = room_.poll_event()) {
    if (event->kind == RoomEvent::Kind::kLeft) {
      delays_.erase(event->member);
    }
    if (told_) {
      told_(*event);
    }
  }
}

void LiveRoom::take_shown() {
  while (auto shown = room_.poll_shown()) {
    shown->frame.shown = note_shown(shown->frame.captured);
    delays_[shown->member].add(shown->frame.shown, shown->frame.captured);
    if (shown_) {
      shown_(*shown);
    }
  }
}

live::LiveSample LiveRoom::sample() const {
  live::LiveSample sample = LiveEnd::sample();
  // Each member has a clock of its own: delays are corrected separately, then combined.
  std::vector<Duration> delays;
  for (const auto& [number, delay] : delays_) {
    const auto recent = delay.recent(sample.at, meter().least_delay());
    delays.insert(delays.end(), recent.begin(), recent.end());
  }
  sample.frame_delay_p50 = live::quantile_of(delays, 0.5);
  sample.frame_delay_p95 = live::quantile_of(std::move(delays), 0.95);
  sample.sound_delay.reset();
  return sample;
}

LiveRoomSample LiveRoom::room_sample() const {
  const TimePoint now = clock().now();
  LiveRoomSample sample{.session = LiveRoom::sample()};
  const RoomMember* current = room_.member();
  if (current == nullptr) {
    return sample;
  }
  sample.room = current->welcome() ? current->welcome()->room : "";
  sample.number = current->number();
  sample.key_code = current->key_code();
  sample.speaker = current->speaker();
  sample.video_rate_max = current->video_rate_max();
  for (OtherMember& other : current->others()) {
    LiveRoomMember view{.member = std::move(other)};
    if (const auto delay = delays_.find(view.member.number); delay != delays_.end()) {
      view.frame_delay_p50 = delay->second.quantile(now, 0.5, meter().least_delay());
      view.frame_delay_p95 = delay->second.quantile(now, 0.95, meter().least_delay());
    }
    sample.others.push_back(std::move(view));
  }
  return sample;
}

}  // namespace cress::room
