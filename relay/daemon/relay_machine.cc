#include "relay/daemon/relay_machine.hh"

#include <algorithm>
#include <utility>
#include <variant>

#include "transport/base/check.hh"
#include "transport/base/take_front.hh"
#include "transport/secure/crypto/crypto.hh"
#include "transport/secure/records/records.hh"

namespace cress::relay {
namespace {

// The most datagrams that a room may send in its turn: about one frame.
constexpr int kTurnDatagrams = 16;
// The most datagrams decrypted before rooms process them, and encrypted together: as many as the
// driver sends at once.
constexpr size_t kOpenedMax = 64;
constexpr size_t kFlightMax = 64;
// Drop a flooding peer's datagrams before decryption for this long: others would wait for it.
constexpr Duration kFloodIgnored = 100ms;

const char* words_for(const Departure& departure) {
  if (departure.farewell) {
    switch (*departure.farewell) {
      case room::FarewellReason::kKicked:
        return "was removed";
      case room::FarewellReason::kClosed:
        return "the room was closed";
      case room::FarewellReason::kExpired:
        return "the room has expired";
      case room::FarewellReason::kFull:
        return "the room is full";
      case room::FarewellReason::kDraining:
        return "the relay is going away";
    }
  }
  return departure.reason == room::LeaveReason::kLeft ? "left" : "was not heard any more";
}

secure::CloseCode code_for(const Departure& departure) {
  if (!departure.farewell) {
    return secure::CloseCode::kHangUp;
  }
  switch (*departure.farewell) {
    case room::FarewellReason::kFull:
      return secure::CloseCode::kFull;
    case room::FarewellReason::kDraining:
      return secure::CloseCode::kGoingAway;
    case room::FarewellReason::kKicked:
    case room::FarewellReason::kClosed:
    case room::FarewellReason::kExpired:
      break;
  }
  return secure::CloseCode::kRemoved;
}

RelayMachineOptions made_ours(RelayMachineOptions options, SpareBuffers& spare) {
  // A leg's datagrams travel as records, with the size that every path carries.
  options.room.endpoint.datagram_max = room::kLegDatagramMax - secure::kRecordOverhead;
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
                  listener.refused = [this](std::string_view identity, const Address& from) {
                    refuse_key(identity, from);
                  };
                  return listener;
                }()),
      calls_(options_.calls, &spare_),
      slots_(options_.live_rooms_max),
      timers_(options_.live_rooms_max) {
  for (size_t slot = options_.live_rooms_max; slot > 0; --slot) {
    free_.push_back(slot - 1);
  }
}

std::optional<secure::Secret> RelayMachine::find_key(std::string_view identity) {
  const auto door = doors_.find(identity);
  return door == doors_.end()
             ? std::nullopt
             : std::optional(secure::room_credential(door->second.door.access).psk);
}

void RelayMachine::refuse_key(std::string_view identity, const Address& from) {
  const auto closed = closed_.find(identity);
  if (closed == closed_.end()) {
    ++joins_refused_.wrong_key;
    note({.kind = RelayEvent::Kind::kRefused,
          .room = "",
          .address = from,
          .words = "no room has this link's key: mistyped, or of another relay"});
    return;
  }
  ++joins_refused_.closed_room;
  note({.kind = RelayEvent::Kind::kRefused,
        .room = closed->second.name,
        .address = from,
        .words = closed->second.words});
}

void RelayMachine::remember_closed(const std::string& identity, const std::string& name,
                                   room::FarewellReason reason) {
  const bool has_expired = reason == room::FarewellReason::kExpired;
  const ClosedRoom room{name, has_expired ? "the room has expired" : "the room was closed"};
  if (closed_.insert_or_assign(identity, room).second) {
    closed_order_.push_back(identity);
  }
  if (closed_order_.size() > kClosedMax) {
    closed_.erase(closed_order_.front());
    closed_order_.pop_front();
  }
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

bool RelayMachine::close(TimePoint now, const std::string& name, room::FarewellReason reason) {
  handle_opened(now);
  Door* const door = find_door(name);
  if (door == nullptr) {
    return false;
  }
  const std::optional<size_t> slot = door->slot;
  remember_closed(identities_.at(name), name, reason);
  doors_.erase(identities_.at(name));
  identities_.erase(name);
  if (slot) {
    slots_[*slot]->room.close(now, {.reason = reason});
    settle(now, *slot);
    drain(now);
  }
  return true;
}

bool RelayMachine::kick(TimePoint now, const std::string& name, room::MemberNumber number) {
  handle_opened(now);
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
  handle_opened(now);
  is_draining_ = true;
  for (size_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot]) {
      slots_[slot]->room.close(now,
                               {.reason = room::FarewellReason::kDraining, .again_in = again_in});
      settle(now, slot);
    }
  }
  drain(now);
}

void RelayMachine::handle_datagram(TimePoint now, const Address& from,
                                   std::span<const std::byte> bytes) {
  if (calls_.handle_datagram(now, from, bytes, ecn_)) {
    return;
  }
  listener_.handle_datagram(now, from, bytes);
  if (listener_.has_event() || opened_.size() >= kOpenedMax) {
    drain(now);
  } else {
    take_opened(now);
  }
}

void RelayMachine::handle_timeout(TimePoint now) {
  handle_opened(now);
  if (listener_.poll_timeout() <= now) {
    listener_.handle_timeout(now);
  }
  calls_.handle_timeout(now);
  // Each room once: a room that is due again at once first waits for its turn to send.
  for (size_t rooms = live_rooms_; rooms > 0 && timers_.next_due() <= now; --rooms) {
    const size_t slot = timers_.next();
    timers_.set(slot, kNever);
    slots_[slot]->room.handle_timeout(now);
    settle(now, slot);
  }
  drain(now);
}

void RelayMachine::handle_work(TimePoint now, secure::HandshakeWork work) {
  handle_opened(now);
  listener_.handle_work(now, std::move(work));
  drain(now);
}

void RelayMachine::drain(TimePoint now) {
  do {
    handle_opened(now);
    while (const auto event = listener_.poll_event()) {
      handle_event(now, *event);
    }
    take_opened(now);
  } while (!opened_.empty());
  if (is_draining_ && members_ == 0) {
    listener_.stop(now, secure::CloseCode::kGoingAway);
  }
}

void RelayMachine::take_opened(TimePoint now) {
  while (auto datagram = listener_.poll_datagram()) {
    opened_.push_back({now, *std::move(datagram), ecn_});
  }
}

/// Before any later event of a room: a room processes each datagram with its arrival time, while
/// the listener may already have processed later ones.
void RelayMachine::handle_opened(TimePoint now) {
  while (auto opened = take_front(opened_)) {
    if (const Place* const place = find_place(opened->datagram.peer)) {
      const size_t slot = place->slot;
      if (!slots_[slot]->room.handle_datagram(opened->at, place->number, opened->datagram.bytes,
                                              opened->ecn)) {
        listener_.ignore(opened->datagram.peer, now + kFloodIgnored);
      }
      settle(now, slot);
    }
    spare_.give(std::move(opened->datagram.bytes));
  }
}

const RelayMachine::Place* RelayMachine::find_place(secure::PeerId peer) const {
  return peer.slot() < places_.size() && places_[peer.slot()].peer == peer ? &places_[peer.slot()]
                                                                           : nullptr;
}

void RelayMachine::handle_event(TimePoint now, const secure::PeerEvent& event) {
  if (const auto* connected = std::get_if<secure::Connected>(&event.event)) {
    let_in(now, event, connected->peer);
    return;
  }
  const Place* const place = find_place(event.peer);
  if (place == nullptr) {
    return;  // the relay has closed it already
  }
  const size_t slot = place->slot;
  const room::MemberNumber number = place->number;
  LiveRoom& live = *slots_[slot];
  if (const auto* moved = std::get_if<secure::PathChanged>(&event.event)) {
    note({.kind = RelayEvent::Kind::kPathChanged,
          .room = live.name,
          .member = number,
          .address = moved->peer});
  } else if (const auto* closed = std::get_if<secure::Closed>(&event.event)) {
    const bool said = closed->reason == secure::CloseReason::kPeerHungUp;
    live.room.leave(now, number, said ? room::LeaveReason::kLeft : room::LeaveReason::kLost);
    settle(now, slot);
  }
}

void RelayMachine::let_in(TimePoint now, const secure::PeerEvent& event, const Address& address) {
  const auto slot = live_room(now, event.identity);
  room::PresenceToken token{};
  secure::fill_random(token);
  const auto number = slot ? slots_[*slot]->room.join(now, token) : std::nullopt;
  if (!number) {
    ++(is_draining_ ? joins_refused_.draining
       : slot       ? joins_refused_.room_full
                    : joins_refused_.relay_full);
    note({.kind = RelayEvent::Kind::kRefused,
          .room = slot ? slots_[*slot]->name : "",
          .address = address,
          .words = is_draining_ ? "the relay is going away"
                   : slot       ? "the room is full"
                                : "the relay is full"});
    listener_.close(now, event.peer,
                    is_draining_ ? secure::CloseCode::kGoingAway : secure::CloseCode::kFull);
  } else {
    take_departures(now, *slot);  // the previous member of this seat has left it
    places_.resize(std::max(places_.size(), event.peer.slot() + 1));
    places_[event.peer.slot()] = {event.peer, *slot, *number};
    ++members_;
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
    turns_.push_back(slot);  // its next time-out is set at the end of its turn
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
  const bool found_no_place = departure.farewell == room::FarewellReason::kFull;
  joins_refused_.room_full += found_no_place ? 1 : 0;
  note({.kind = found_no_place ? RelayEvent::Kind::kRefused : RelayEvent::Kind::kLeft,
        .room = live.name,
        .member = departure.number,
        .address = listener_.path(peer).value_or(Address{}),
        .words = words_for(departure)});
  listener_.close(now, peer, code_for(departure));
  places_[peer.slot()] = {};
  --members_;
  live.seats.at(leg_of(departure.number)).reset();
}

void RelayMachine::take_turns(TimePoint now) {
  while (!turns_.empty() && flight_.size() < kFlightMax) {
    take_turn(now);
  }
}

/// The next room sends its datagrams, at most kTurnDatagrams.
void RelayMachine::take_turn(TimePoint now) {
  const size_t slot = turns_.front();
  turns_.pop_front();
  LiveRoom& live = *slots_[slot];
  live.has_turn = false;
  for (int left = kTurnDatagrams; left > 0; --left) {
    auto datagram = live.room.poll_transmit(now);
    if (!datagram) {
      take_departures(now, slot);
      timers_.set(slot, live.room.poll_timeout());
      if (live.room.empty()) {
        retire(slot);
      }
      return;
    }
    if (const Seat* const seat = live.find(datagram->to)) {
      flight_.push_back({{seat->peer, std::move(datagram->bytes)}, datagram->ecn});
    }
  }
  settle(now, slot);
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
  handle_opened(now);
  for (;;) {
    if (auto forwarded = calls_.poll_transmit()) {
      return forwarded;
    }
    if (auto transmit = listener_.poll_transmit(now)) {
      return transmit;
    }
    if (auto next = take_front(flight_)) {
      if (auto sealed = listener_.seal(now, next->datagram.peer, std::move(next->datagram.bytes))) {
        sealed->ecn = next->ecn;
        return sealed;
      }
    } else if (turns_.empty()) {
      return std::nullopt;
    }
    if (flight_.empty()) {
      take_turns(now);
    }
  }
}

TimePoint RelayMachine::poll_timeout() const {
  return std::min({listener_.poll_timeout(), calls_.poll_timeout(), timers_.next_due()});
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
