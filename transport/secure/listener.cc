#include "transport/secure/listener.hh"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "transport/base/check.hh"
#include "transport/base/take_front.hh"

namespace cress::secure {
namespace {

constexpr Duration kLinger = 3s;
constexpr Duration kLastFlightKept = 10s;
constexpr Duration kRefusalKept = 1s;

uint64_t number_of(std::span<const std::byte> id) {
  uint64_t number = 0;
  for (const std::byte byte : id.first<sizeof number>()) {
    number = (number << 8U) | std::to_integer<uint64_t>(byte);
  }
  return number;
}

}  // namespace

Listener::Listener(TimePoint start, ListenerOptions options)
    : options_(std::move(options)),
      context_(options_.lookup),
      limits_(options_.limits),
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
  ++stats_.datagrams_received;
  stats_.bytes_received += bytes.size();
  if (!bytes.empty() &&
      (bytes[0] == kRecordKind || bytes[0] == kControlKind || bytes[0] == kRoutedKind)) {
    handle_session(now, from, bytes);
  } else if (!bytes.empty() && is_handshake_kind(bytes[0])) {
    handle_handshake(now, from, bytes);
  } else {
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
  } else if (const auto known = by_id_.find(number_of(bytes.subspan(1))); known != by_id_.end()) {
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
  const auto opened = at.peer->handle_datagram(now, from, bytes);
  if (!opened) {
    count(opened.error());
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

void Listener::count(OpenError error) {
  switch (error) {
    case OpenError::kTruncated:
      ++stats_.truncated;
      return;
    case OpenError::kWrongKind:
      ++stats_.unknown_kind;
      return;
    case OpenError::kUnknownKey:
      ++stats_.unknown_key;
      return;
    case OpenError::kReplayed:
      ++stats_.replayed;
      return;
    case OpenError::kBadTag:
      ++stats_.bad_tag;
      return;
  }
}

/// Passes on what a peer has to send, after any event of it.
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
  if (const auto known = by_id_.find(number_of(at.peer->id()));
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

// ---- handshakes

void Listener::handle_handshake(TimePoint now, const Address& from,
                                std::span<const std::byte> bytes) {
  if (is_stopped_) {
    ++stats_.bad_handshake;
    return;
  }
  if (HelloGate::may_be_hello(bytes) && !limits_.allow_hello(now)) {
    ++stats_.rate_limited;
    return;
  }
  const auto key = KeyedHash::bytes_of(from);
  const auto hello = gate_.judge(now, key, bytes);
  if (hello.verdict != HelloGate::Verdict::kNoHello) {
    handle_hello(now, from, hello, bytes);
    return;
  }
  if (const auto known = pending_by_address_.find(from); known != pending_by_address_.end()) {
    // Datagrams that arrive during the computation are repetitions, or will be repeated.
    if (pending_[known->second].handshake != nullptr && may_work()) {
      work_on(now, known->second, bytes);
    }
    return;
  }
  const auto present = by_address_.find(from);
  Handshake* const last =
      present != by_address_.end() ? slots_[present->second].last_flight.get() : nullptr;
  if (last == nullptr || !last->handle_datagram(now, bytes)) {
    ++stats_.bad_handshake;
    return;
  }
  drain_handshake(*last, from);
}

void Listener::handle_hello(TimePoint now, const Address& from, const HelloGate::Outcome& hello,
                            std::span<const std::byte> bytes) {
  if (hello.verdict == HelloGate::Verdict::kAnswer) {
    if (!limits_.allow_answer(now) || out_.size() >= kOutMax) {
      ++stats_.rate_limited;
      return;
    }
    ++stats_.cookies_sent;
    out_.push_back({from, hello.answer});
    return;
  }
  if (is_repeat(from, hello.random)) {
    return;  // our own timer repeats the answer
  }
  if (!limits_.allow_handshake(now, from)) {
    ++stats_.rate_limited;
    return;
  }
  if (!may_work()) {
    return;
  }
  begin_handshake(now, from, hello.random, bytes);
}

bool Listener::is_repeat(const Address& from, const HelloGate::HelloRandom& random) const {
  if (const auto known = pending_by_address_.find(from);
      known != pending_by_address_.end() && pending_[known->second].random == random) {
    return true;
  }
  const auto present = by_address_.find(from);
  return present != by_address_.end() && slots_[present->second].last_flight != nullptr &&
         slots_[present->second].random == random;
}

void Listener::begin_handshake(TimePoint now, const Address& from,
                               const HelloGate::HelloRandom& random,
                               std::span<const std::byte> bytes) {
  // The same address with another hello: a new attempt, the one before is discarded.
  if (const auto known = pending_by_address_.find(from); known != pending_by_address_.end()) {
    forget_pending(known->second);
  }
  if (free_pending_.empty()) {
    ++stats_.handshakes_failed;
    forget_pending(pending_order_.front());
  }
  const size_t index = free_pending_.back();
  free_pending_.pop_back();
  ++stats_.handshakes_begun;
  pending_[index] = {.from = from,
                     .random = random,
                     .number = stats_.handshakes_begun,
                     .handshake = nullptr,
                     .forget_at = {}};
  pending_order_.push_back(index);
  pending_by_address_.insert_or_assign(from, index);
  work_on(now, index, bytes);
}

bool Listener::may_work() {
  const bool may = work_out_ < options_.pending_max;
  stats_.rate_limited += may ? 0 : 1;
  return may;
}

/// The expensive part of a handshake's datagram: done here and now, or elsewhere and soon.
void Listener::work_on(TimePoint now, size_t index, std::span<const std::byte> bytes) {
  Pending& pending = pending_[index];
  HandshakeWork work;
  work.context_ = &context_;
  work.now_ = now;
  work.index_ = index;
  work.number_ = pending.number;
  work.handshake_ = std::move(pending.handshake);
  work.datagram_.assign(bytes.begin(), bytes.end());
  if (work.handshake_ != nullptr) {
    work.handshake_->look_up(bytes);
  }
  ++work_out_;
  if (options_.hands_out_work) {
    timers_.set(slots_.size() + index, kNever);
    work_.push_back(std::move(work));
  } else {
    work.run();
    handle_work(now, std::move(work));
  }
}

void HandshakeWork::run() {
  try {
    if (handshake_ == nullptr) {
      handshake_ = std::make_unique<Handshake>(now_, *context_);
    }
    was_of_it_ = handshake_->handle_datagram(now_, datagram_);
  } catch (const std::runtime_error&) {
    handshake_.reset();
  }
}

void Listener::handle_work(TimePoint now, HandshakeWork work) {
  check(now >= last_now_ && work_out_ > 0,
        "Listener: work comes back once, and not before it went");
  last_now_ = now;
  --work_out_;
  Pending& pending = pending_[work.index_];
  if (pending.number != work.number_) {
    return;  // abandoned meanwhile
  }
  pending.handshake = std::move(work.handshake_);
  if (pending.handshake == nullptr) {
    ++stats_.handshakes_failed;
    forget_pending(work.index_);
    return;
  }
  stats_.bad_handshake += work.was_of_it_ ? 0 : 1;
  settle_pending(now, work.index_);
}

std::optional<HandshakeWork> Listener::poll_work() {
  while (auto work = take_front(work_)) {
    if (pending_[work->index_].number == work->number_) {
      return work;
    }
    --work_out_;  // abandoned before it was started
  }
  return std::nullopt;
}

void Listener::settle_pending(TimePoint now, size_t index) {
  Pending& pending = pending_[index];
  drain_handshake(*pending.handshake, pending.from);
  if (pending.forget_at && now >= *pending.forget_at) {
    forget_pending(index);
    return;
  }
  if (!pending.forget_at) {
    switch (pending.handshake->state()) {
      case Handshake::State::kRunning:
        break;
      case Handshake::State::kComplete:
        let_in(now, index);
        return;
      case Handshake::State::kWrongSecret:
        ++stats_.unknown_identity;
        pending.forget_at = now + kRefusalKept;
        break;
      case Handshake::State::kFailed:
        ++stats_.handshakes_failed;
        forget_pending(index);
        return;
    }
  }
  timers_.set(slots_.size() + index,
              std::min(pending.handshake->poll_timeout(), pending.forget_at.value_or(kNever)));
}

void Listener::let_in(TimePoint now, size_t index) {
  Pending pending = std::exchange(pending_[index], {});
  pending_[index].from = pending.from;
  forget_pending(index);
  const bool is_full = peers_ == options_.peers_max;
  const size_t slot = take_slot();
  Slot& at = slots_[slot];
  at.peer = std::make_unique<Peer>(now, pending.handshake->secrets(), pending.from, options_.peer);
  at.identity = pending.handshake->identity();
  at.random = pending.random;
  at.last_flight = std::move(pending.handshake);
  at.flight_until = now + kLastFlightKept;
  lead_here(slot, pending.from, true);
  by_id_.try_emplace(number_of(at.peer->id()), slot);
  if (is_full) {
    ++stats_.full;
    begin_leaving(now, slot, CloseCode::kFull);
    return;
  }
  ++peers_;
  ++stats_.joined;
  events_.push_back({id_of(slot), at.identity, Connected{pending.from}});
  at.peer->handle_timeout(now);  // its first ping shows the joiner that it is admitted
  settle(now, slot);
}

void Listener::forget_pending(size_t index) {
  pending_by_address_.erase(pending_[index].from);
  std::erase(pending_order_, index);
  pending_[index] = {};
  free_pending_.push_back(index);
  timers_.set(slots_.size() + index, kNever);
}

void Listener::drain_handshake(Handshake& handshake, const Address& to) {
  while (auto bytes = handshake.poll_transmit()) {
    if (out_.size() < kOutMax) {
      out_.push_back({to, *std::move(bytes)});
    }
  }
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
  ++stats_.datagrams_sent;
  stats_.bytes_sent += sealed->transmit.bytes.size();
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
  std::optional<Transmit> next = take_front(out_);
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
    ++stats_.datagrams_sent;
    stats_.bytes_sent += next->bytes.size();
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
