#include "transport/secure/connection.hh"

#include <algorithm>
#include <utility>

#include "transport/base/check.hh"
#include "transport/base/take_front.hh"

namespace cress::secure {
namespace {

/// Per second. Anyone with a forged address can ask for a cookie: 20 000 answers cost 3 % of a
/// core. Checking a hello costs 2 us (one or two cookies), a handshake about 0.5 ms: 100 of them
/// cost 5 % of a core. One network gets fewer, so that a single attacker cannot use up the limit
/// for all.
constexpr HandshakeLimits::Options kLimits{.hellos = {.per_second = 40'000, .burst = 4'000},
                                           .answers = {.per_second = 20'000, .burst = 2'000},
                                           .handshakes = {.per_second = 100, .burst = 50},
                                           .handshakes_of_network = {.per_second = 5, .burst = 10},
                                           .networks = 64};

Credential credential_of(const ConnectionOptions& options) {
  return options.credential ? *options.credential : link_credential(options.secret);
}

/// Of a call of two; a relay's rooms and their members know each other by other means.
std::optional<SigningKey> identity_of(const ConnectionOptions& options) {
  if (options.credential) {
    return std::nullopt;
  }
  return options.identity_secret.empty()
             ? SigningKey{}
             : identity_key(options.identity_secret, credential_of(options), options.role);
}
/// A newcomer heard within this time is still waiting: it pings every 200 ms.
constexpr Duration kNewcomerHere = 1s;

}  // namespace

Connection::Connection(TimePoint start, ConnectionOptions options)
    : options_(std::move(options)),
      identity_(identity_of(options_)),
      context_(options_.role, credential_of(options_)),
      door_(kLimits, kOutMax, stats_),
      last_now_(start),
      no_rejoin_before_(start),
      ask_after_(start) {
  if (!options_.relays.empty()) {
    give_up_at_ = start + options_.connect_max;
    rendezvous_ = std::make_unique<RendezvousClient>(
        start, RendezvousOptions{options_.role, options_.secret, options_.relays});
    settle_rendezvous(start);
  } else if (options_.role == Role::kJoiner) {
    give_up_at_ = start + options_.connect_max;
    begin_joining(start);
  }
  for (auto* secret : {&options_.secret, &options_.identity_secret}) {
    wipe(*secret);
    secret->clear();
  }
}

Connection::~Connection() = default;

// ---- datagrams

void Connection::handle_datagram(TimePoint now, const Address& from,
                                 std::span<const std::byte> bytes) {
  check(now >= last_now_, "Connection: time does not go back");
  last_now_ = now;
  const Door::Kind kind = door_.handle_datagram(bytes);
  if (kind == Door::Kind::kRecord) {
    handle_session(now, from, bytes);
  } else if (kind == Door::Kind::kHandshake) {
    handle_handshake(now, from, bytes);
  } else if (kind == Door::Kind::kRendezvous) {
    if (rendezvous_ != nullptr && rendezvous_->handle_datagram(now, from, bytes)) {
      settle_rendezvous(now);
    } else {
      ++stats_.unknown_kind;
    }
  }
  settle_question();
}

void Connection::handle_session(TimePoint now, const Address& from,
                                std::span<const std::byte> bytes) {
  std::optional<OpenError> refused;
  if (peer_ != nullptr) {
    const auto opened = peer_->handle_datagram(now, from, bytes);
    if (opened) {
      ++stats_.records_opened;
      handle_heard(now);
      return;
    }
    refused = opened.error();
  }
  if (next_ != nullptr && next_->handle_datagram(now, from, bytes)) {
    ++stats_.records_opened;
    drain_next(now);
  } else if (handle_newcomer(now, from, bytes)) {
    ++stats_.records_opened;
    decide_waiting(now);
  } else if (handle_leaving(now, from, bytes)) {
    return;
  } else if (refused) {
    stats_.count_refused(*refused);
  } else {
    ++stats_.without_session;
  }
}

/// The present peer was heard.
void Connection::handle_heard(TimePoint now) {
  is_place_taken_ = true;
  drain_peer(now);
  if (connected_) {
    if (joining_ != nullptr) {  // it lives, and so does the call
      replaced_itself_until_ = now + options_.replace_after;
      // The listener may have the new session already; settle_joining then closes it.
      if (!joining_->may_be_complete_there()) {
        joining_.reset();
      }
    }
    rejoin_refusal_.reset();
  }
  decide_waiting(now);
  decide_next(now);
}

/// A peer that was refused or replaced, and may not know yet.
bool Connection::handle_leaving(TimePoint now, const Address& from,
                                std::span<const std::byte> bytes) {
  return std::any_of(leaving_.begin(), leaving_.end(), [&](const auto& leaving) {
    if (leaving->path() != from || !leaving->handle_datagram(now, from, bytes)) {
      return false;
    }
    leaving->handle_timeout(now);
    return true;
  });
}

void Connection::handle_handshake(TimePoint now, const Address& from,
                                  std::span<const std::byte> bytes) {
  if (is_finished_) {
    ++stats_.bad_handshake;
    return;
  }
  if (options_.role == Role::kJoiner) {
    if (joining_ == nullptr || !joining_->handle_datagram(now, from, bytes)) {
      ++stats_.bad_handshake;
      return;
    }
    if (peer_ != nullptr) {
      // Sent before the handshake's answer: if the other end still has the call, it learns that we
      // do too before it could mistake the newcomer for one that has lost it.
      peer_->ping(now);
    }
    settle_joining(now);
    return;
  }
  const auto hello = door_.judge(now, from, bytes);
  if (!hello) {
    return;
  }
  if (hello->verdict != HelloGate::Verdict::kNoHello) {
    begin_handshake(now, from, hello->random, bytes);
    return;
  }
  const auto known = std::ranges::find(pending_, from, &Pending::from);
  if (known == pending_.end() || !known->handshake->handle_datagram(now, bytes)) {
    ++stats_.bad_handshake;
    return;
  }
  settle_pending(now, *known);
}

void Connection::begin_handshake(TimePoint now, const Address& from,
                                 const HelloGate::HelloRandom& random,
                                 std::span<const std::byte> bytes) {
  // Ignore a repeated hello: our own timer repeats the answer. A waiting newcomer also sends new
  // hellos, in case we have restarted; ignore those too.
  const bool is_known = std::any_of(pending_.begin(), pending_.end(), [&](const Pending& pending) {
    const bool waits = pending.newcomer && now < pending.newcomer->last_heard() + kNewcomerHere;
    return pending.from == from && (waits || pending.random == random);
  });
  if (is_known || !door_.allow_handshake(now, from)) {
    return;
  }
  // The same address with another hello: a new attempt, the one before is discarded.
  std::erase_if(pending_, [&](const Pending& pending) { return pending.from == from; });
  if (pending_.size() == kPendingMax) {
    // The oldest, but rather one that has not proven to have the link.
    const auto unproven =
        std::ranges::find_if(pending_, [](const Pending& pending) { return !pending.complete_at; });
    pending_.erase(unproven != pending_.end() ? unproven : pending_.begin());
    ++stats_.handshakes_failed;
  }
  ++stats_.handshakes_begun;
  Pending pending{.from = from, .random = random};
  pending.handshake = std::make_unique<Handshake>(now, context_);
  pending_.push_back(std::move(pending));
  pending_.back().handshake->handle_datagram(now, bytes);
  settle_pending(now, pending_.back());
}

// ---- the listener's

void Connection::settle_pending(TimePoint now, Pending& pending) {
  door_.drain(*pending.handshake, pending.from);
  if (pending.complete_at || pending.forget_at) {
    return;
  }
  switch (pending.handshake->state()) {
    case Handshake::State::kRunning:
      return;
    case Handshake::State::kComplete:
      if (peer_ == nullptr) {
        let_in(now, pending);
        return;
      }
      pending.complete_at = now;
      pending.newcomer.emplace(
          now, pending.handshake->secrets(),
          IdentityCheck{pending.handshake->secrets(), stats_.forged_identities});
      peer_->ping(now);
      return;
    case Handshake::State::kWrongSecret:
      ++stats_.wrong_secret;
      pending.forget_at = now + 1s;  // the alert may have to be repeated
      return;
    case Handshake::State::kFailed:
      ++stats_.handshakes_failed;
      pending.forget_at = now;
      return;
  }
}

// ---- the running call

void Connection::leave(TimePoint now, std::unique_ptr<Peer> peer, CloseCode code, Duration linger) {
  peer->close(now, code, linger);
  if (leaving_.size() == kLeavingMax) {
    leaving_.erase(leaving_.begin());
  }
  leaving_.push_back(std::move(peer));
}

void Connection::finish(CloseReason reason) {
  is_finished_ = true;
  if (next_ != nullptr && next_->was_heard()) {  // it may believe that it is admitted
    leave(last_now_, std::move(next_), CloseCode::kBusy, kLinger);
  }
  if (is_replaced_ && (reason == CloseReason::kBusy || reason == CloseReason::kNoAnswer)) {
    reason = CloseReason::kReplaced;
  }
  for (Pending& pending : pending_) {
    if (pending.complete_at) {
      refuse(last_now_, pending);
    }
  }
  joining_.reset();
  rendezvous_.reset();
  pending_.clear();
  peer_.reset();
  next_.reset();
  connected_ = false;
  events_.emplace_back(Closed{reason});
}

void Connection::drain_peer(TimePoint now) {
  if (peer_ == nullptr) {
    return;
  }
  if (!connected_ && peer_->was_heard() && !peer_->is_over()) {
    connected_ = true;
    was_connected_ = true;
    is_replaced_ = false;
    events_.emplace_back(Connected{peer_->path()});
    set_own_addresses(now);
  }
  note_identity();
  while (const auto event = peer_->poll_event()) {
    const auto* closed = std::get_if<Closed>(&*event);
    if (closed == nullptr) {
      events_.push_back(*event);
    } else {
      handle_close(now, closed->reason);
      return;
    }
  }
}

void Connection::handle_close(TimePoint now, CloseReason reason) {
  if (options_.role == Role::kListener) {
    peer_.reset();
    connected_ = false;
    is_place_taken_ = false;
    pinned_.reset();
    events_.emplace_back(Closed{reason});
    decide_waiting(now);
  } else if (reason == CloseReason::kReplaced && next_ != nullptr) {
    // Perhaps by ourselves: the close of the old call arrived before the proof in the new one.
    peer_.reset();
    connected_ = false;
    is_replaced_ = true;
    give_up_at_ = next_until_ = now + kNextMax;
    decide_next(now);
  } else if (reason == CloseReason::kReplaced &&
             (joining_ != nullptr || now < replaced_itself_until_)) {
    // Perhaps by ourselves, and the listener's last flight was lost. Another handshake decides: if
    // it was somebody else, the listener is busy.
    if (joining_ == nullptr) {
      begin_joining(now);
    }
    peer_.reset();
    connected_ = false;
    is_replaced_ = true;
    give_up_at_ = now + kNextMax;
  } else if (reason == CloseReason::kTimedOut) {
    finish(connected_ ? rejoin_refusal_.value_or(reason) : CloseReason::kNoAnswer);
  } else {
    finish(reason);
  }
}

void Connection::handle_timeout(TimePoint now) {
  check(now >= last_now_, "Connection: time does not go back");
  last_now_ = now;
  if (peer_ != nullptr) {
    peer_->handle_timeout(now);
    drain_peer(now);
  }
  if (next_ != nullptr) {
    next_->handle_timeout(now);
    drain_next(now);
  }
  for (const auto& leaving : leaving_) {
    leaving->handle_timeout(now);
  }
  if (gives_up_at() <= now) {
    const CloseReason reason = why_not_connected();
    if (peer_ != nullptr) {  // its user need not be asked any more
      leave(now, std::move(peer_), CloseCode::kHangUp, kLinger);
    }
    finish(reason);
    settle_question();
    return;
  }
  step_rendezvous(now);
  if (joining_ != nullptr) {
    joining_->handle_timeout(now);
    settle_joining(now);
  } else if (now >= rejoin_at()) {
    begin_joining(now);
  }
  for (Pending& pending : pending_) {
    pending.handshake->handle_timeout(now);
    settle_pending(now, pending);
  }
  decide_waiting(now);
  std::erase_if(pending_, [&](const Pending& pending) {
    return pending.forget_at && now >= *pending.forget_at;
  });
  settle_question();
}

/// kNever: not before something else happens.
TimePoint Connection::gives_up_at() const {
  return is_connected() || is_finished_ || is_question_open_ ? kNever : give_up_at_;
}

void Connection::handle_network_change(TimePoint now) {
  if (rendezvous_ != nullptr) {
    rendezvous_->handle_network_change(now);
    settle_rendezvous(now);
  }
  if (peer_ != nullptr) {
    peer_->handle_network_change(now);
    drain_peer(now);
  }
  if (next_ != nullptr) {
    next_->handle_network_change(now);
  }
  settle_question();
}

void Connection::handle_too_big(TimePoint now, DataSize size) {
  if (peer_ != nullptr) {
    peer_->handle_too_big(now, size);
    drain_peer(now);
  }
}

void Connection::handle_path_error(TimePoint now, const PathError& error) {
  if (error.kind == PathError::Kind::kTooLarge && error.path_mtu > DataSize{}) {
    constexpr DataSize kHeaders{40 + 8};
    handle_too_big(now, error.path_mtu - kHeaders + DataSize{1});
  }
}

void Connection::send(TimePoint now, std::vector<std::byte> plain) {
  if (!is_connected()) {
    ++stats_.not_connected;
    return;
  }
  peer_->send(now, std::move(plain));
}

void Connection::hang_up(TimePoint now) {
  if (is_finished_) {
    return;
  }
  for (auto* peer : {&peer_, &next_}) {
    if (*peer != nullptr) {
      leave(now, std::move(*peer), CloseCode::kHangUp, kLinger);
    }
  }
  finish(CloseReason::kHungUp);
  settle_question();
}

// ---- outputs

std::optional<Transmit> Connection::poll_transmit(TimePoint now) {
  // A listener's last flight goes before the session's first datagrams, which are lost without it;
  // a joiner's handshake after the ping of the call that continues (handle_handshake).
  std::optional<Transmit> next =
      options_.role == Role::kListener ? door_.poll_transmit() : std::nullopt;
  if (!next && peer_ != nullptr) {
    next = peer_->poll_transmit(now);
  }
  if (!next && next_ != nullptr) {
    next = next_->poll_transmit(now);
  }
  for (size_t i = 0; !next && i < leaving_.size(); ++i) {
    next = leaving_[i]->poll_transmit(now);
  }
  if (!next) {
    std::erase_if(leaving_, [](const auto& leaving) { return leaving->is_over(); });
    next = door_.poll_transmit();
  }
  if (next) {
    stats_.count_sent(*next);
  }
  return next;
}

std::optional<std::vector<std::byte>> Connection::poll_datagram() {
  return peer_ != nullptr ? peer_->poll_datagram() : std::nullopt;
}

std::optional<Event> Connection::poll_event() { return take_front(events_); }

TimePoint Connection::poll_timeout() const {
  TimePoint next = std::min(rejoin_at(), gives_up_at());
  if (peer_ != nullptr) {
    next = std::min(next, peer_->poll_timeout());
  }
  for (const auto& leaving : leaving_) {
    next = std::min(next, leaving->poll_timeout());
  }
  if (joining_ != nullptr) {
    next = std::min(next, joining_->poll_timeout());
  }
  if (rendezvous_ != nullptr) {
    next = std::min(next, rendezvous_->poll_timeout());
  }
  if (next_ != nullptr) {
    next = std::min({next, next_->poll_timeout(), next_timeout()});
  }
  for (const Pending& pending : pending_) {
    next = std::min(next, pending.handshake->poll_timeout());
    if (pending.forget_at) {
      next = std::min(next, *pending.forget_at);
    }
    next = std::min(next, waiting_timeout(pending));
  }
  return next;
}

DataSize Connection::datagram_max() const {
  return peer_ != nullptr ? peer_->datagram_max() : kDatagramBase - kRecordOverhead;
}

}  // namespace cress::secure
