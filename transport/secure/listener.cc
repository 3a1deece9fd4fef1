#include "transport/secure/listener.hh"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "transport/base/big_endian.hh"
#include "transport/base/check.hh"
#include "transport/base/take_front.hh"

namespace cress::secure {
namespace {

constexpr Duration kLinger = 3s;

}  // namespace

Listener::Listener(TimePoint start, ListenerOptions options)
    : options_(std::move(options)),
      context_(options_.lookup, options_.late_lookup),
      door_(options_.limits, kOutMax, stats_),
      last_now_(start),
      slots_(options_.peers_max + options_.leaving_max),
      by_address_(0, KeyedHash::random()),
      pending_(options_.pending_max),
      pending_by_address_(0, KeyedHash::random()),
      timers_(slots_.size() + pending_.size()) {
  check(options_.lookup != nullptr && options_.peers_max > 0 && options_.pending_max > 0 &&
            options_.leaving_max > 0,
        "Listener: needs keys and places");
  for (size_t slot = slots_.size(); slot-- > 0;) {
    free_.push_back(slot);
  }
  for (size_t index = pending_.size(); index-- > 0;) {
    free_pending_.push_back(index);
  }
}

Listener::~Listener() = default;

const Listener::Slot* Listener::find(PeerId peer) const {
  const size_t slot = peer.slot();
  if (slot >= slots_.size() || slots_[slot].generation != peer.value >> 32U ||
      slots_[slot].peer == nullptr || slots_[slot].is_leaving) {
    return nullptr;
  }
  return &slots_[slot];
}

Listener::Slot* Listener::find(PeerId peer) {
  return const_cast<Slot*>(std::as_const(*this).find(peer));
}

PeerId Listener::id_of(size_t slot) const {
  return {(uint64_t{slots_[slot].generation} << 32U) | slot};
}

// ---- datagrams

void Listener::handle_datagram(TimePoint now, const Address& from,
                               std::span<const std::byte> bytes) {
  check(now >= last_now_, "Listener: time does not go back");
  last_now_ = now;
  const Door::Kind kind = door_.handle_datagram(bytes);
  if (kind == Door::Kind::kRecord) {
    handle_session(now, from, bytes);
  } else if (kind == Door::Kind::kHandshake) {
    handle_handshake(now, from, bytes);
  } else if (kind == Door::Kind::kRendezvous) {
    ++stats_.unknown_kind;
  }
}

void Listener::handle_session(TimePoint now, const Address& from,
                              std::span<const std::byte> bytes) {
  if (bytes[0] != kRoutedKind) {
    if (const auto known = by_address_.find(from); known != by_address_.end()) {
      deliver(now, known->second, from, bytes, false);
    } else {
      ++stats_.without_session;
    }
    return;
  }
  constexpr auto kPrefix = static_cast<size_t>(kRoutedOverhead.bytes());
  if (bytes.size() <= kPrefix) {
    ++stats_.truncated;
    return;
  }
  const auto inner = bytes.subspan(kPrefix);
  if (inner[0] != kRecordKind && inner[0] != kControlKind) {
    ++stats_.unknown_kind;
  } else if (const auto known = by_id_.find(number_at(bytes, 1, sizeof(uint64_t)));
             known != by_id_.end()) {
    ++stats_.routed;
    deliver(now, known->second, from, inner, true);
  } else {
    ++stats_.without_session;
  }
}

void Listener::deliver(TimePoint now, size_t slot, const Address& from,
                       std::span<const std::byte> bytes, bool is_routed) {
  Slot& at = slots_[slot];
  if (now < at.ignored_until) {
    ++stats_.ignored;
    return;
  }
  if (!is_within_limits(now, at, from, bytes[0])) {
    ++stats_.over_limit;
    return;
  }
  const auto opened = at.peer->handle_datagram(now, from, bytes);
  if (!opened) {
    stats_.count_refused(opened.error());
    return;
  }
  ++stats_.records_opened;
  if (at.is_leaving) {
    at.peer->handle_timeout(now);
  } else if (is_routed) {
    // Its path too: a handshake from there, started while the peer was silent, may have taken it.
    lead_here(slot, from, from == at.peer->path());
  }
  settle(now, slot);
}

/// Before decryption, which is the most that a datagram costs here.
bool Listener::is_within_limits(TimePoint now, Slot& at, const Address& from, std::byte kind) {
  if (kind == kControlKind && !at.control.take(now)) {
    return false;
  }
  return from == at.peer->path() || at.elsewhere.take(now);
}

/// Hands on what a peer has to say, after anything that happened to it.
void Listener::settle(TimePoint now, size_t slot) {
  Slot& at = slots_[slot];
  while (auto event = at.peer->poll_event()) {
    if (at.is_leaving) {
      continue;
    }
    if (const auto* moved = std::get_if<PathChanged>(&*event)) {
      lead_here(slot, moved->peer, true);
    }
    const bool is_closed = std::holds_alternative<Closed>(*event);
    events_.push_back({id_of(slot), at.identity, *event});
    if (is_closed) {
      --peers_;
      release(slot);
      return;
    }
  }
  if (at.is_leaving && at.peer->is_over()) {
    std::erase(leaving_, slot);
    release(slot);
    return;
  }
  if (at.last_flight != nullptr && now >= at.flight_until) {
    at.last_flight.reset();
    at.flight_until = kNever;
  }
  if (!at.is_ready) {
    at.is_ready = true;
    ready_.push_back(slot);
  }
  if (!at.has_in && !at.is_leaving) {
    at.has_in = true;
    in_ready_.push_back(slot);
  }
  schedule(slot);
}

/// If sooner, at once; if later, when the old time comes: a peer's next time changes with every
/// datagram.
void Listener::schedule(size_t slot) {
  const TimePoint due = std::min(slots_[slot].peer->poll_timeout(), slots_[slot].flight_until);
  if (due < timers_.due(slot)) {
    timers_.set(slot, due);
  }
}

// ---- addresses

/// An address from which a peer was authenticated maps to it, unless it is another peer's; an
/// address verified by a challenge or its handshake maps to it from now on.
void Listener::lead_here(size_t slot, const Address& address, bool is_path) {
  const auto known = by_address_.find(address);
  if (known != by_address_.end()) {
    if (known->second == slot || !is_path) {
      return;
    }
    forget_address(known->second, address);
  }
  Slot& at = slots_[slot];
  if (at.addresses.size() == kAddressesMax) {
    const bool first_is_path = at.addresses.front() == at.peer->path();
    forget_address(slot, at.addresses[first_is_path ? 1 : 0]);
  }
  at.addresses.push_back(address);
  by_address_.insert_or_assign(address, slot);
}

void Listener::forget_address(size_t slot, const Address& address) {
  const Address copy = address;  // which may be in the list itself
  by_address_.erase(copy);
  std::erase(slots_[slot].addresses, copy);
}

void Listener::begin_leaving(TimePoint now, size_t slot, CloseCode code) {
  slots_[slot].is_leaving = true;
  slots_[slot].peer->close(now, code, kLinger);
  leaving_.push_back(slot);
  settle(now, slot);
}

void Listener::release(size_t slot) {
  Slot& at = slots_[slot];
  for (const Address& address : at.addresses) {
    by_address_.erase(address);
  }
  at.addresses.clear();
  if (const auto known = by_id_.find(number_at(at.peer->id(), 0, sizeof(uint64_t)));
      known != by_id_.end() && known->second == slot) {
    by_id_.erase(known);
  }
  at.peer.reset();
  at.last_flight.reset();
  at.flight_until = kNever;
  at.identity.clear();
  at.is_leaving = false;
  ++at.generation;
  at.ignored_until = {};
  timers_.set(slot, kNever);
  free_.push_back(slot);
}

size_t Listener::take_slot() {
  if (free_.empty()) {
    // Peers never use the places of closing sessions, so there is one.
    const size_t oldest = leaving_.front();
    leaving_.pop_front();
    release(oldest);
  }
  const size_t slot = free_.back();
  free_.pop_back();
  return slot;
}

// ---- time

void Listener::handle_timeout(TimePoint now) {
  check(now >= last_now_, "Listener: time does not go back");
  last_now_ = now;
  due_.clear();
  while (timers_.next_due() <= now) {
    due_.push_back(timers_.next());
    timers_.set(due_.back(), kNever);
  }
  for (const size_t thing : due_) {
    handle_due(now, thing);
  }
}

void Listener::handle_due(TimePoint now, size_t thing) {
  if (thing >= slots_.size()) {
    const size_t index = thing - slots_.size();
    if (pending_[index].handshake != nullptr) {
      pending_[index].handshake->handle_timeout(now);
      settle_pending(now, index);
    }
    return;
  }
  Slot& at = slots_[thing];
  if (at.peer == nullptr) {
    return;
  }
  if (at.peer->poll_timeout() <= now || at.flight_until <= now) {
    at.peer->handle_timeout(now);
    settle(now, thing);
  } else {
    schedule(thing);  // has changed since
  }
}

// ---- verbs

void Listener::handle_too_big(TimePoint now, const Address& to, DataSize size) {
  const auto known = by_address_.find(to);
  if (known != by_address_.end() && slots_[known->second].peer->path() == to) {
    slots_[known->second].peer->handle_too_big(now, size);
    settle(now, known->second);
  }
}

void Listener::send(TimePoint now, PeerId peer, std::vector<std::byte> plain) {
  Slot* const at = find(peer);
  if (at == nullptr) {
    ++stats_.not_connected;
    return;
  }
  const bool is_sooner = at->peer->send(now, std::move(plain));
  const auto slot = static_cast<size_t>(at - slots_.data());
  if (!at->is_ready) {
    at->is_ready = true;
    ready_.push_back(slot);
  }
  if (is_sooner) {
    schedule(slot);
  }
}

std::optional<Transmit> Listener::seal(TimePoint now, PeerId peer, std::vector<std::byte> plain) {
  Slot* const at = find(peer);
  if (at == nullptr) {
    ++stats_.not_connected;
    return std::nullopt;
  }
  auto sealed = at->peer->seal(now, std::move(plain));
  if (!sealed) {
    return std::nullopt;
  }
  if (sealed->is_sooner) {
    schedule(static_cast<size_t>(at - slots_.data()));
  }
  stats_.count_sent(sealed->transmit);
  return std::move(sealed->transmit);
}

void Listener::close(TimePoint now, PeerId peer, CloseCode code) {
  check(now >= last_now_, "Listener: time does not go back");
  const Slot* const at = find(peer);
  if (at == nullptr) {
    return;
  }
  --peers_;
  events_.push_back({peer, at->identity, Closed{CloseReason::kHungUp}});
  begin_leaving(now, static_cast<size_t>(at - slots_.data()), code);
}

void Listener::ignore(PeerId peer, TimePoint until) {
  if (Slot* const at = find(peer)) {
    at->ignored_until = until;
  }
}

void Listener::stop(TimePoint now, CloseCode code) {
  is_stopped_ = true;
  while (!pending_order_.empty()) {
    forget_pending(pending_order_.front());
  }
  for (size_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].peer != nullptr) {
      close(now, id_of(slot), code);
    }
  }
}

// ---- outputs

std::optional<Transmit> Listener::poll_transmit(TimePoint now) {
  // Handshakes first: a newcomer's first record must not overtake our last flight.
  std::optional<Transmit> next = door_.poll_transmit();
  while (!next && !ready_.empty()) {
    Slot& at = slots_[ready_.front()];
    if (at.peer != nullptr) {
      next = at.peer->poll_transmit(now);
    }
    if (!next) {
      at.is_ready = false;
      ready_.pop_front();
    }
  }
  if (next) {
    stats_.count_sent(*next);
  }
  return next;
}

std::optional<PeerDatagram> Listener::poll_datagram() {
  while (!in_ready_.empty()) {
    Slot& at = slots_[in_ready_.front()];
    if (at.peer != nullptr) {
      if (auto bytes = at.peer->poll_datagram()) {
        return PeerDatagram{id_of(in_ready_.front()), *std::move(bytes)};
      }
    }
    at.has_in = false;
    in_ready_.pop_front();
  }
  return std::nullopt;
}

std::optional<PeerEvent> Listener::poll_event() { return take_front(events_); }

DataSize Listener::datagram_max(PeerId peer) const {
  const Slot* const at = find(peer);
  return at != nullptr ? at->peer->datagram_max() : kDatagramBase - kRecordOverhead;
}

std::optional<Address> Listener::path(PeerId peer) const {
  const Slot* const at = find(peer);
  return at != nullptr ? std::optional{at->peer->path()} : std::nullopt;
}

}  // namespace cress::secure
