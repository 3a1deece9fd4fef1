#include "app/room/secure_room.hh"

#include <algorithm>
#include <utility>

#include "transport/base/take_front.hh"
#include "transport/room/media_head.hh"
#include "transport/secure/records/records.hh"

namespace cress::room {
namespace {

// Delay before each attempt to rejoin a relay that was lost without a close or did not answer, and
// the least delay after a farewell that announces a restart.
constexpr Duration kRejoinAfter = 1s;
constexpr Duration kConnectAgainMax = 30s;
// Of a leg: whatever its path can carry, a datagram that fits one leg fits all.
constexpr DataSize kPlainMax = room::kLegDatagramMax - secure::kRecordOverhead;

}  // namespace

const char* describe(room::FarewellReason reason) {
  switch (reason) {
    case room::FarewellReason::kKicked:
      return "You were removed from the room";
    case room::FarewellReason::kClosed:
      return "The room was closed";
    case room::FarewellReason::kExpired:
      return "The room has expired";
    case room::FarewellReason::kFull:
      return "The room is full";
    case room::FarewellReason::kDraining:
      return "The relay is being restarted";
  }
  return "The relay closed the connection";
}

std::string describe(const RoomOver& over) {
  return std::visit([](auto reason) { return std::string{describe(reason)}; }, over.reason);
}

SecureRoom::SecureRoom(TimePoint start, SecureRoomOptions options) : options_(std::move(options)) {
  const secure::RoomSecrets secrets = secure::derive_room(options_.secret);
  access_ = secrets.access;
  options_.member.media = secrets.media;
  secure::wipe(options_.secret);
  options_.secret.clear();
  options_.control.datagram_overhead += secure::kRecordOverhead;
  connect(start, options_.connect_max);
}

void SecureRoom::connect(TimePoint now, Duration for_at_most) {
  rejoin_at_ = kNever;
  secure::ConnectionOptions connection;
  connection.role = secure::Role::kJoiner;
  connection.credential = secure::room_credential(access_);
  connection.listener = options_.relay;
  connection.other_listeners = options_.other_relays;
  connection.connect_max = for_at_most;
  connection_ = std::make_unique<secure::Connection>(now, connection);
}

void SecureRoom::handle_datagram(TimePoint now, const Address& from,
                                 std::span<const std::byte> bytes) {
  connection_->handle_datagram(now, from, bytes);
  drain(now);
}

void SecureRoom::handle_timeout(TimePoint now) {
  if (rejoin_at_ <= now) {
    connect(now, kConnectAgainMax);
  }
  connection_->handle_timeout(now);
  if (member_ && member_->poll_timeout() <= now) {
    member_->handle_timeout(now);
  }
  drain(now);
}

void SecureRoom::handle_path_error(TimePoint now, const PathError& error) {
  connection_->handle_path_error(now, error);
  drain(now);
}

void SecureRoom::handle_connected(TimePoint now) {
  RoomMemberOptions member = options_.member;
  member.replaces = presence_;
  member.endpoint.datagram_max = std::min(connection_->datagram_max(), kPlainMax);
  member_ = std::make_unique<RoomMember>(now, std::move(member),
                                         std::make_unique<control::CressControl>(options_.control));
  if (view_) {
    member_->set_view(now, view_->pinned, view_->pictures, view_->height);
  }
  was_in_ = true;
  give_up_at_ = kNever;
}

void SecureRoom::drop_member() {
  if (member_) {
    options_.member.known_keys = member_->known_keys();
  }
  member_.reset();
}

void SecureRoom::handle_closed(TimePoint now, secure::CloseReason reason) {
  if (std::exchange(heard_farewell_, false) || hung_up_) {
    return;  // by us
  }
  drop_member();
  if (was_in_ &&
      (reason == secure::CloseReason::kTimedOut || reason == secure::CloseReason::kNoAnswer)) {
    rejoin(now, kRejoinAfter);
  } else {
    finish({reason});
  }
}

void SecureRoom::rejoin(TimePoint now, Duration in) {
  give_up_at_ = std::min(give_up_at_, now + options_.rejoin_max);
  if (now + in >= give_up_at_) {
    finish({secure::CloseReason::kNoAnswer});
    return;
  }
  rejoin_at_ = now + in;
  leg_events_.emplace_back(RoomRejoining{in});
}

void SecureRoom::finish(RoomOver over) {
  if (!is_over_) {
    is_over_ = true;
    rejoin_at_ = kNever;
    leg_events_.emplace_back(over);
  }
}

void SecureRoom::drain_events(TimePoint now) {
  while (const auto event = connection_->poll_event()) {
    if (const auto* closed = std::get_if<secure::Closed>(&*event)) {
      handle_closed(now, closed->reason);
      continue;
    }
    if (std::holds_alternative<secure::Connected>(*event)) {
      handle_connected(now);
    } else if (const auto* mtu = std::get_if<secure::MtuChanged>(&*event); mtu && member_) {
      member_->set_datagram_max(std::min(mtu->datagram_max, kPlainMax));
    }
    leg_events_.emplace_back(*event);
  }
}

void SecureRoom::drain_member() {
  if (member_ && member_->welcome()) {
    const room::Welcome& welcome = *member_->welcome();
    presence_ = room::Replacing{welcome.number, welcome.token};
  }
  while (member_) {
    const auto event = member_->poll_event();
    if (!event) {
      return;
    }
    events_.push_back(*event);
  }
}

void SecureRoom::drain(TimePoint now) {
  drain_events(now);
  while (const auto datagram = connection_->poll_datagram()) {
    if (member_) {
      (void)member_->handle_datagram(now, *datagram, ecn());  // the endpoint counts bad ones
    }
  }
  drain_member();
  if (member_ && member_->farewell()) {
    handle_farewell(now, *member_->farewell());
  }
}

// The relay has sent all its messages: we leave before it must repeat the last.
void SecureRoom::handle_farewell(TimePoint now, room::Farewell farewell) {
  drop_member();
  heard_farewell_ = connection_->is_connected();
  connection_->hang_up(now);
  if (farewell.reason == room::FarewellReason::kDraining) {
    rejoin(now, std::max<Duration>(farewell.again_in, kRejoinAfter));
  } else {
    finish({farewell.reason});
  }
  drain_events(now);
}

std::optional<Transmit> SecureRoom::poll_transmit(TimePoint now) {
  for (;;) {
    if (auto transmit = connection_->poll_transmit(now)) {
      return marked(now, std::move(transmit));
    }
    auto datagram = member_ ? member_->poll_transmit(now) : std::nullopt;
    if (!datagram) {
      return std::nullopt;
    }
    connection_->send(now, *std::move(datagram));
    drain_events(now);
  }
}

TimePoint SecureRoom::poll_timeout() const {
  const TimePoint member = member_ ? member_->poll_timeout() : kNever;
  return std::min({connection_->poll_timeout(), member, rejoin_at_});
}

void SecureRoom::capture(TimePoint now, const media::PicturePtr& picture) {
  if (member_) {
    member_->capture(now, picture);
    drain(now);
  }
}

void SecureRoom::capture_sound(TimePoint now, const media::AudioFrame& samples) {
  if (member_) {
    member_->capture_sound(now, samples);
    drain(now);
  }
}

app::PlayedAudio SecureRoom::play(TimePoint now) {
  if (!member_) {
    return {.samples = {}, .captured = now, .played = now, .kind = app::SoundKind::kComfort};
  }
  app::PlayedAudio played = member_->play(now);
  drain(now);
  return played;
}

void SecureRoom::set_person(TimePoint now, app::PersonState person) {
  options_.member.person = std::move(person);
  if (member_) {
    member_->set_person(now, options_.member.person);
    drain(now);
  }
}

bool SecureRoom::send_chat(TimePoint now, std::string_view text) {
  const bool taken = member_ && member_->send_chat(now, text);
  drain(now);
  return taken;
}

void SecureRoom::set_view(TimePoint now, MemberNumber pinned, uint32_t pictures, uint32_t height) {
  view_ = {.pinned = pinned, .pictures = pictures, .height = height};
  if (member_) {
    member_->set_view(now, pinned, pictures, height);
    drain(now);
  }
}

void SecureRoom::handle_network_change(TimePoint now) {
  rejoin_at_ = std::min(rejoin_at_, give_up_at_ == kNever ? rejoin_at_ : now);
  connection_->handle_network_change(now);
  drain(now);
}

void SecureRoom::hang_up(TimePoint now) {
  if (hung_up_ || is_over_) {
    return;
  }
  hung_up_ = true;
  if (member_) {
    member_->leave(now);
    while (auto datagram = member_->poll_transmit(now)) {
      connection_->send(now, *std::move(datagram));
    }
  }
  connection_->hang_up(now);
  drain(now);
  drop_member();
  finish({secure::CloseReason::kHungUp});
}

std::optional<LegEvent> SecureRoom::poll_leg_event() { return take_front(leg_events_); }
std::optional<RoomEvent> SecureRoom::poll_event() { return take_front(events_); }
std::optional<RoomShown> SecureRoom::poll_shown() {
  return member_ ? member_->poll_shown() : std::nullopt;
}
std::optional<app::CodedVideo> SecureRoom::poll_coded() {
  return member_ ? member_->poll_coded() : std::nullopt;
}
std::shared_ptr<app::EncodeWork> SecureRoom::poll_encode_work() {
  return member_ ? member_->poll_encode_work() : nullptr;
}

void SecureRoom::handle_encoded(TimePoint now, app::EncodeWork& work) {
  if (member_) {
    member_->handle_encoded(now, work);
  }
}

std::shared_ptr<app::DecodeWork> SecureRoom::poll_decode_work() {
  return member_ ? member_->poll_decode_work() : nullptr;
}

void SecureRoom::handle_decoded(TimePoint now, const app::DecodeWork& work) {
  if (member_) {
    member_->handle_decoded(now, work);
    drain(now);
  }
}

}  // namespace cress::room
