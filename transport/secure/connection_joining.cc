#include <algorithm>
#include <utility>

#include "transport/secure/connection.hh"

// How a Connection reaches its other end: the joiner's handshakes, and the rendezvous at a relay.

namespace cress::secure {
namespace {

/// While a call is silent: 400 bytes per second, and a listener that is back is found within a
/// second for round trips of up to 100 ms.
constexpr Duration kRejoinRepeat = 500ms;
/// A joiner that waits for admission hears nothing. The listener may have restarted meanwhile, and
/// then it knows nothing of the handshake.
constexpr Duration kWaitingRejoin = 3s;
/// After a refusal. Not at once: its cause takes time to disappear.
constexpr Duration kRejoinSpacing = 1s;

CloseReason reason_of(RendezvousStatus refusal) {
  switch (refusal) {
    case RendezvousStatus::kBusy:
      return CloseReason::kBusy;
    case RendezvousStatus::kFull:
      return CloseReason::kRelayFull;
    case RendezvousStatus::kNotOffered:
      return CloseReason::kNoCallRelay;
    case RendezvousStatus::kOver:
    case RendezvousStatus::kAlone:
    case RendezvousStatus::kTogether:
      break;
  }
  return CloseReason::kRelayOver;
}

}  // namespace

void Connection::begin_joining(TimePoint now) {
  std::vector<Address> listeners = options_.other_listeners;
  listeners.insert(listeners.begin(), options_.listener);
  if (peer_ != nullptr) {
    listeners.insert(listeners.begin(), peer_->path());  // it may have moved since
  }
  joining_ = std::make_unique<Joining>(now, context_, listeners,
                                       peer_ != nullptr ? kRejoinRepeat : kLastRepeat);
  settle_joining(now);
}

void Connection::settle_joining(TimePoint now) {
  while (auto transmit = joining_->poll_transmit()) {
    door_.send(*std::move(transmit));
  }
  const Joining::Counts counts = joining_->take_counts();
  stats_.handshakes_begun += counts.begun;
  stats_.handshakes_failed += counts.failed;
  const bool is_needed = !is_connected() || now >= silent_at();
  if (!is_needed && counts.failed > 0) {
    joining_.reset();
  } else if (!is_needed && joining_->state() == Joining::State::kComplete) {
    leave(now, make_peer(now, joining_->secrets(), joining_->listener()), CloseCode::kBusy,
          kLinger);
    joining_.reset();
  } else if (joining_->state() == Joining::State::kComplete) {
    // Kept apart from Connected: the listener may still be busy.
    auto peer = make_peer(now, joining_->secrets(), joining_->listener());
    joining_.reset();
    peer->handle_timeout(now);
    next_until_ = now + kNextMax;
    waiting_since_ = now;
    next_heard_.reset();
    is_next_asked_ = false;
    (was_connected_ ? next_ : peer_) = std::move(peer);
  } else if (joining_->state() == Joining::State::kWrongSecret) {
    ++stats_.wrong_secret;
    if (peer_ == nullptr && rendezvous_ != nullptr) {
      // Both ends registered with this secret, so it is the relay that answers: it restarted, and
      // has forgotten us.
      joining_.reset();
      rendezvous_->handle_forgotten(now);
    } else if (peer_ == nullptr) {
      finish(CloseReason::kWrongSecret);
    } else {
      // The sender has not proven to be the listener, so this ends no call; silence will.
      delay_rejoin(now, CloseReason::kWrongSecret);
    }
  }
}

/// When to start a new handshake; kNever if none is needed, or one is in progress.
TimePoint Connection::rejoin_at() const {
  if (options_.role != Role::kJoiner || joining_ != nullptr || next_ != nullptr ||
      peer_ == nullptr) {
    return kNever;
  }
  if (!was_connected_) {
    return std::max(waiting_since_ + kWaitingRejoin, no_rejoin_before_);
  }
  return std::max(silent_at(), no_rejoin_before_);
}

TimePoint Connection::silent_at() const {
  return is_connected() && peer_->unanswered_since()
             ? *peer_->unanswered_since() + options_.rejoin_after
             : kNever;
}

void Connection::delay_rejoin(TimePoint now, CloseReason because) {
  joining_.reset();
  next_.reset();
  no_rejoin_before_ = now + kRejoinSpacing;
  rejoin_refusal_ = because;
}

// ---- through a relay

void Connection::set_local_addresses(TimePoint now, std::vector<Address> addresses) {
  local_addresses_ = std::move(addresses);
  set_own_addresses(now);
}

void Connection::set_own_addresses(TimePoint now) {
  if (rendezvous_ == nullptr || !is_connected()) {
    return;  // a joiner sends nothing but pings until it has received something authentic
  }
  std::vector<Address> own = local_addresses_;
  if (const auto& seen = rendezvous_->seen(); seen && std::ranges::find(own, *seen) == own.end()) {
    // Never left out: most often it is the one that works.
    own.insert(own.begin() + static_cast<ptrdiff_t>(std::min<size_t>(own.size(), 1)), *seen);
  }
  peer_->set_own_addresses(now, std::move(own));
}

std::unique_ptr<Peer> Connection::make_peer(TimePoint now, const SessionSecrets& secrets,
                                            const Address& path,
                                            std::optional<IdentityCheck> known) {
  auto peer = std::make_unique<Peer>(now, secrets, path, options_.peer);
  if (identity_) {
    peer->prove(now, prove_identity(*identity_, secrets),
                known ? *std::move(known) : IdentityCheck{secrets, stats_.forged_identities});
  }
  if (rendezvous_ != nullptr && rendezvous_->relay()) {
    peer->set_relay(now, *rendezvous_->relay());
  }
  return peer;
}

CloseReason Connection::why_not_connected() const {
  if (peer_ != nullptr) {
    return CloseReason::kBusy;  // it has let us wait
  }
  if (rendezvous_ == nullptr) {
    return CloseReason::kNoAnswer;
  }
  if (!rendezvous_->relay()) {
    return CloseReason::kNoRelay;
  }
  return rendezvous_->is_together() ? CloseReason::kNoAnswer : CloseReason::kNobodyThere;
}

void Connection::step_rendezvous(TimePoint now) {
  constexpr Duration kSilence = 250ms;
  if (rendezvous_ == nullptr) {
    return;
  }
  const bool is_silent =
      peer_ != nullptr && peer_->unanswered_since() && now >= *peer_->unanswered_since() + kSilence;
  if (is_silent) {
    rendezvous_->handle_silence(now);  // our address may have changed without a report
  }
  if (is_silent || now >= rendezvous_->poll_timeout()) {
    rendezvous_->handle_timeout(now);
    settle_rendezvous(now);
  }
}

void Connection::settle_rendezvous(TimePoint now) {
  while (auto transmit = rendezvous_->poll_transmit()) {
    door_.send(*std::move(transmit));
  }
  const auto refusal = rendezvous_->refusal();
  // A listener waits for a place; nobody can reach it where calls are not forwarded at all.
  if (refusal && !is_connected() &&
      (options_.role == Role::kJoiner || refusal == RendezvousStatus::kNotOffered)) {
    finish(reason_of(*refusal));
    return;
  }
  if (!rendezvous_->relay()) {
    return;
  }
  if (options_.role == Role::kListener && rendezvous_->seen()) {
    give_up_at_ = kNever;
  }
  for (auto* peer : {&peer_, &next_}) {
    if (*peer != nullptr) {
      (*peer)->set_relay(now, *rendezvous_->relay());
    }
  }
  set_own_addresses(now);
  if (options_.role == Role::kJoiner && rendezvous_->is_together()) {
    options_.listener = *rendezvous_->relay();
    if (peer_ == nullptr && joining_ == nullptr) {
      begin_joining(now);
    }
  }
}

}  // namespace cress::secure
