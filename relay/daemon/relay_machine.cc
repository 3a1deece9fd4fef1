#include "relay/daemon/relay_machine.hh"

#include <algorithm>
#include <utility>
#include <variant>

#include "transport/base/check.hh"
#include "transport/base/take_front.hh"
#include "transport/secure/records.hh"

namespace cress::relay {
namespace {

// So many datagrams a room may send in its turn: a frame's worth.
constexpr int kTurnDatagrams = 16;

const char* words_for(const Departure& departure) {
  if (departure.farewell) {
    switch (*departure.farewell) {
      case FarewellReason::kKicked:
        return "was removed";
      case FarewellReason::kClosed:
        return "the room was closed";
      case FarewellReason::kExpired:
        return "the room has expired";
      case FarewellReason::kFull:
        return "the room is full";
      case FarewellReason::kDraining:
        return "the relay is going away";
    }
  }
  return departure.reason == LeaveReason::kLeft ? "left" : "was not heard any more";
}

secure::CloseCode code_for(const Departure& departure) {
  if (!departure.farewell) {
    return secure::CloseCode::kHangUp;
  }
  switch (*departure.farewell) {
    case FarewellReason::kFull:
      return secure::CloseCode::kFull;
    case FarewellReason::kDraining:
      return secure::CloseCode::kGoingAway;
    case FarewellReason::kKicked:
    case FarewellReason::kClosed:
    case FarewellReason::kExpired:
      break;
  }
  return secure::CloseCode::kRemoved;
}

RelayMachineOptions made_ours(RelayMachineOptions options, SpareBuffers& spare) {
  // A leg's datagrams travel as records, on paths that carry what every path carries.
  options.room.endpoint.datagram_max = kLegDatagramMax - secure::kRecordOverhead;
  options.room.control.datagram_overhead += secure::kRecordOverhead;
  options.room.endpoint.spare = &spare;
  options.listener.peer.spare = &spare;
  return options;
}

}  // namespace

RelayMachine::RelayMachine(TimePoint start, RelayMachineOptions options)
    : options_(made_ours(std::move(options), spare_)),
      listener_(start,
                [this] {
                  secure::ListenerOptions listener = options_.listener;
                  listener.lookup = [this](std::string_view identity) {
                    return find_key(identity);
                  };
                  return listener;
                }()),
      slots_(options_.live_rooms_max),
      timers_(options_.live_rooms_max) {
  for (size_t slot = options_.live_rooms_max; slot > 0; --slot) {
    free_.push_back(slot - 1);
  }
}

std::optional<secure::Secret> RelayMachine::find_key(std::string_view identity) {
  auto door = doors_.find(identity);
  if (door == doors_.end() && options_.look_for_rooms) {
    options_.look_for_rooms();
    door = doors_.find(identity);
  }
  return door == doors_.end()
             ? std::nullopt
             : std::optional(secure::room_credential(door->second.door.access).psk);
}

bool RelayMachine::open(const RoomDoor& door) {
  const std::string identity = secure::room_credential(door.access).identity;
  const auto named = identities_.find(door.name);
  const auto keyed = doors_.find(identity);
  if ((named != identities_.end() && named->second != identity) ||
      (keyed != doors_.end() && keyed->second.door.name != door.name)) {
    return false;
  }
  doors_[identity].door = door;
  identities_[door.name] = identity;
  return true;
}

RelayMachine::Door* RelayMachine::find_door(const std::string& name) {
  const auto identity = identities_.find(name);
  return identity == identities_.end() ? nullptr : &doors_.at(identity->second);
}

bool RelayMachine::close(TimePoint now, const std::string& name, FarewellReason reason) {
  Door* const door = find_door(name);
  if (door == nullptr) {
    return false;
  }
  const std::optional<size_t> slot = door->slot;
  doors_.erase(identities_.at(name));
  identities_.erase(name);
  if (slot) {
    slots_[*slot]->room.close(now, {.reason = reason});
    settle(now, *slot);
    drain(now);
  }
  return true;
}

bool RelayMachine::kick(TimePoint now, const std::string& name, MemberNumber number) {
  Door* const door = find_door(name);
  if (door == nullptr || !door->slot || slots_[*door->slot]->find(number) == nullptr) {
    return false;
  }
  const size_t slot = *door->slot;
  slots_[slot]->room.kick(now, number);
  settle(now, slot);
  drain(now);
  return true;
}

void RelayMachine::drain_members(TimePoint now, Duration again_in) {
  is_draining_ = true;
  for (size_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot]) {
      slots_[slot]->room.close(now, {.reason = FarewellReason::kDraining, .again_in = again_in});
      settle(now, slot);
    }
  }
  drain(now);
}

void RelayMachine::handle_datagram(TimePoint now, const Address& from,
                                   std::span<const std::byte> bytes) {
  listener_.handle_datagram(now, from, bytes);
  drain(now);
}

void RelayMachine::handle_timeout(TimePoint now) {
  if (listener_.poll_timeout() <= now) {
    listener_.handle_timeout(now);
  }
  // Each room once: what is due again at once gets its turn to send first.
  for (size_t rooms = live_rooms_; rooms > 0 && timers_.next_due() <= now; --rooms) {
    const size_t slot = timers_.next();
    timers_.set(slot, kNever);
    slots_[slot]->room.handle_timeout(now);
    settle(now, slot);
  }
  drain(now);
}

void RelayMachine::handle_work(TimePoint now, secure::HandshakeWork work) {
  listener_.handle_work(now, std::move(work));
  drain(now);
}

void RelayMachine::drain(TimePoint now) {
  for (bool is_empty = false; !is_empty;) {
    is_empty = true;
    while (const auto event = listener_.poll_event()) {
      handle_event(now, *event);
    }
    while (auto datagram = listener_.poll_datagram()) {
      handle_plain(now, *std::move(datagram));
      is_empty = false;
    }
  }
  if (is_draining_ && places_.empty()) {
    listener_.stop(now, secure::CloseCode::kGoingAway);
  }
}

void RelayMachine::handle_plain(TimePoint now, secure::PeerDatagram datagram) {
  if (const auto place = places_.find(datagram.peer.value); place != places_.end()) {
    const auto [slot, number] = place->second;
    slots_[slot]->room.handle_datagram(now, number, datagram.bytes);
    settle(now, slot);
  }
  spare_.give(std::move(datagram.bytes));
}

void RelayMachine::handle_event(TimePoint now, const secure::PeerEvent& event) {
  if (const auto* connected = std::get_if<secure::Connected>(&event.event)) {
    let_in(now, event, connected->peer);
    return;
  }
  const auto place = places_.find(event.peer.value);
  if (place == places_.end()) {
    return;  // we have said good-bye ourselves
  }
  const auto [slot, number] = place->second;
  LiveRoom& live = *slots_[slot];
  if (const auto* moved = std::get_if<secure::PathChanged>(&event.event)) {
    note({.kind = RelayEvent::Kind::kPathChanged,
          .room = live.name,
          .member = number,
          .address = moved->peer});
  } else if (const auto* closed = std::get_if<secure::Closed>(&event.event)) {
    const bool said = closed->reason == secure::CloseReason::kPeerHungUp;
    live.room.leave(now, number, said ? LeaveReason::kLeft : LeaveReason::kLost);
    settle(now, slot);
  }
}

void RelayMachine::let_in(TimePoint now, const secure::PeerEvent& event, const Address& address) {
  const auto slot = live_room(now, event.identity);
  const auto number = slot ? slots_[*slot]->room.join(now) : std::nullopt;
  if (!number) {
    note({.kind = RelayEvent::Kind::kRefused,
          .room = slot ? slots_[*slot]->name : "",
          .address = address,
          .words = slot ? "the room is full" : "the relay is full"});
    listener_.close(now, event.peer,
                    is_draining_ ? secure::CloseCode::kGoingAway : secure::CloseCode::kFull);
  } else {
    take_departures(now, *slot);  // whoever had this seat before has left it
    places_[event.peer.value] = {*slot, *number};
    slots_[*slot]->seats.at(leg_of(*number)) = {*number, event.peer};
    note({.kind = RelayEvent::Kind::kJoined,
          .room = slots_[*slot]->name,
          .member = *number,
          .address = address});
  }
  if (slot) {
    settle(now, *slot);
  }
}

std::optional<size_t> RelayMachine::live_room(TimePoint now, const std::string& identity) {
  const auto found = doors_.find(identity);
  if (found == doors_.end() || is_draining_) {
    return std::nullopt;  // closed while the handshake ran
  }
  Door& door = found->second;
  if (!door.slot && !free_.empty()) {
    door.slot = free_.back();
    free_.pop_back();
    ++live_rooms_;
    RoomOptions options = options_.room;
    options.name = door.door.name;
    options.members_max = door.door.members_max.value_or(options.members_max);
    slots_[*door.slot] = std::make_unique<LiveRoom>(now, identity, std::move(options));
  }
  return door.slot;
}

void RelayMachine::settle(TimePoint now, size_t slot) {
  LiveRoom& live = *slots_[slot];
  take_departures(now, slot);
  if (!std::exchange(live.has_turn, true)) {
    turns_.push_back(slot);  // at whose end its next time-out is known
  }
}

void RelayMachine::take_departures(TimePoint now, size_t slot) {
  while (const auto departure = slots_[slot]->room.poll_departure()) {
    depart(now, slot, *departure);
  }
}

void RelayMachine::depart(TimePoint now, size_t slot, const Departure& departure) {
  LiveRoom& live = *slots_[slot];
  const Seat* const found = live.find(departure.number);
  if (found == nullptr) {
    return;
  }
  const secure::PeerId peer = found->peer;
  note({.kind = RelayEvent::Kind::kLeft,
        .room = live.name,
        .member = departure.number,
        .address = listener_.path(peer).value_or(Address{}),
        .words = words_for(departure)});
  listener_.close(now, peer, code_for(departure));
  places_.erase(peer.value);
  live.seats.at(leg_of(departure.number)).reset();
}

/// Goes on with the turn of whose it is; nothing: that one was over, or had nothing to say now.
std::optional<Transmit> RelayMachine::take_turn(TimePoint now) {
  const size_t slot = turns_.front();
  LiveRoom& live = *slots_[slot];
  auto datagram = turn_sent_ < kTurnDatagrams ? live.room.poll_transmit(now) : std::nullopt;
  if (datagram) {
    ++turn_sent_;
    const Seat* const seat = live.find(datagram->to);
    return seat != nullptr ? listener_.seal(now, seat->peer, std::move(datagram->bytes))
                           : std::nullopt;
  }
  turns_.pop_front();
  live.has_turn = false;
  if (std::exchange(turn_sent_, 0) == kTurnDatagrams) {
    settle(now, slot);
    return std::nullopt;
  }
  take_departures(now, slot);
  timers_.set(slot, live.room.poll_timeout());
  if (live.room.empty()) {
    retire(slot);
  }
  return std::nullopt;
}

void RelayMachine::retire(size_t slot) {
  past_ += slots_[slot]->room.stats();
  const auto door = doors_.find(slots_[slot]->identity);
  if (door != doors_.end()) {
    door->second.slot.reset();
  }
  timers_.set(slot, kNever);
  slots_[slot].reset();
  free_.push_back(slot);
  --live_rooms_;
}

std::optional<Transmit> RelayMachine::poll_transmit(TimePoint now) {
  for (;;) {
    if (auto transmit = listener_.poll_transmit(now)) {
      return transmit;
    }
    if (turns_.empty()) {
      return std::nullopt;
    }
    if (auto transmit = take_turn(now)) {
      return transmit;
    }
  }
}

TimePoint RelayMachine::poll_timeout() const {
  return std::min(listener_.poll_timeout(), timers_.next_due());
}

void RelayMachine::note(RelayEvent event) {
  if (events_.size() == kEventsMax) {
    events_.pop_front();
  }
  events_.push_back(std::move(event));
}

std::optional<RelayEvent> RelayMachine::poll_event() { return take_front(events_); }

std::vector<MemberView> RelayMachine::member_views(const std::string& name) const {
  const auto identity = identities_.find(name);
  if (identity == identities_.end()) {
    return {};
  }
  const auto slot = doors_.at(identity->second).slot;
  return slot ? slots_[*slot]->room.member_views() : std::vector<MemberView>{};
}

RoomStats RelayMachine::room_stats() const {
  RoomStats all = past_;
  for (const auto& live : slots_) {
    if (live) {
      all += live->room.stats();
    }
  }
  return all;
}

}  // namespace cress::relay
