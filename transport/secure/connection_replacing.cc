#include <algorithm>
#include <utility>

#include "transport/base/check.hh"
#include "transport/secure/connection.hh"

// How a session takes the place of another: it proves to be of the same end, or is allowed to.

namespace cress::secure {
namespace {

/// A connected peer from which a datagram arrives this long after a newcomer is alive.
constexpr Duration kAliveAfter = 500ms;
/// The same for a newcomer that proved to be the same end: what its former program sent may arrive
/// from a slow link's queue for a while.
constexpr Duration kAliveAfterOfSame = 3s;
/// A newcomer pings five times a second.
constexpr Duration kNewcomerSilentMax = 5s;
constexpr Duration kReplacedLinger = 60s;
constexpr Duration kLastFlightKept = 10s;

}  // namespace

// ---- what may happen to a newcomer

Replacement Connection::replacement() const {
  return identity_ ? options_.replacement : Replacement::kAdmit;
}

/// `first_heard` and `proven` are the newcomer's; older versions send no proof. If the present peer
/// was never heard, there was no call yet: the newcomer may be the same end, after a lost flight.
Connection::Verdict Connection::verdict(TimePoint now, std::optional<TimePoint> first_heard,
                                        const std::optional<PublicKey>& proven) const {
  if (identity_ && !is_place_taken_) {
    return Verdict::kSame;
  }
  if (proven) {
    return pinned_ == proven ? Verdict::kSame : Verdict::kOther;
  }
  const bool is_late = first_heard && now >= *first_heard + kProofMax;
  return is_late || !identity_ ? Verdict::kOther : Verdict::kWait;
}

void Connection::note_identity() {
  if (peer_ != nullptr && !pinned_) {
    pinned_ = peer_->proven();
  }
}

/// False: not now.
bool Connection::ask(TimePoint now, const std::string& code) {
  if (is_question_open_ || now < ask_after_) {
    return false;
  }
  is_question_open_ = true;
  events_.emplace_back(NewcomerWaits{code});
  return true;
}

void Connection::settle_question() {
  const bool waits = (next_ != nullptr && is_next_asked_) ||
                     std::ranges::find(pending_, true, &Pending::is_asked) != pending_.end();
  if (is_question_open_ && !waits) {
    is_question_open_ = false;
    events_.emplace_back(NewcomerGone{});
  }
}

void Connection::admit(TimePoint now, std::string_view code) {
  check(now >= last_now_, "Connection: time does not go back");
  last_now_ = now;
  const auto asked = std::ranges::find(pending_, true, &Pending::is_asked);
  if (next_ != nullptr && is_next_asked_ && next_->code() == code) {
    admit_next(now, false);
  } else if (asked != pending_.end() && asked->newcomer->code() == code) {
    replace(now, *asked, false);
  }
  settle_question();
}

void Connection::refuse(TimePoint now) {
  check(now >= last_now_, "Connection: time does not go back");
  last_now_ = now;
  const auto asked = std::ranges::find(pending_, true, &Pending::is_asked);
  if (is_question_open_) {
    ask_after_ = now + kAskAgainAfter;
  }
  if (next_ != nullptr && is_next_asked_) {
    refuse_next(now);
  } else if (asked != pending_.end()) {
    refuse(now, *asked);
  }
  settle_question();
}

// ---- the listener's

void Connection::let_in(TimePoint now, Pending& pending) {
  peer_ = make_peer(now, pending.handshake->secrets(), pending.from,
                    pending.newcomer ? std::optional{pending.newcomer->check()} : std::nullopt);
  connected_ = true;
  was_connected_ = true;
  pending.end_waiting();
  pending.forget_at = now + kLastFlightKept;
  events_.emplace_back(Connected{pending.from});
  peer_->handle_timeout(now);  // its first ping shows the joiner that it is admitted
  note_identity();
  set_own_addresses(now);
}

void Connection::refuse(TimePoint now, Pending& pending) {
  ++stats_.busy;
  pending.end_waiting();
  pending.forget_at = now + kLastFlightKept;
  leave(now, std::make_unique<Peer>(now, pending.handshake->secrets(), pending.from, options_.peer),
        CloseCode::kBusy, kLinger);
}

void Connection::replace(TimePoint now, Pending& pending, bool is_same) {
  ++stats_.replaced;
  leave(now, std::move(peer_), CloseCode::kReplaced, kReplacedLinger);
  if (!is_same) {
    pinned_.reset();
    events_.emplace_back(Closed{CloseReason::kReplaced});
  }
  let_in(now, pending);
}

bool Connection::handle_newcomer(TimePoint now, const Address& from,
                                 std::span<const std::byte> bytes) {
  const auto found = std::ranges::find_if(
      pending_, [&](const Pending& pending) { return pending.from == from && pending.newcomer; });
  return found != pending_.end() && found->newcomer->handle_datagram(now, bytes);
}

/// A newcomer has the right link. Is the connected peer still alive?
void Connection::decide_waiting(TimePoint now) {
  for (Pending& pending : pending_) {
    if (!pending.complete_at) {
      continue;
    }
    const Newcomer& newcomer = *pending.newcomer;
    const bool is_same =
        verdict(now, newcomer.first_heard(), newcomer.check().key()) == Verdict::kSame;
    const Duration alive_after = is_same ? kAliveAfterOfSame : kAliveAfter;
    if (newcomer.has_left() || now >= newcomer.last_heard() + kNewcomerSilentMax) {
      ++stats_.handshakes_failed;
      pending.end_waiting();
      pending.forget_at = now;
    } else if (peer_ == nullptr) {
      let_in(now, pending);
    } else if (peer_->last_heard() >= *pending.complete_at + alive_after) {
      refuse(now, pending);
    } else if (now - peer_->last_heard() >= options_.replace_after) {
      decide(now, pending);
    }
  }
}

/// The present peer is silent.
void Connection::decide(TimePoint now, Pending& pending) {
  const Newcomer& newcomer = *pending.newcomer;
  const Verdict who = verdict(now, newcomer.first_heard(), newcomer.check().key());
  if (who == Verdict::kSame) {
    replace(now, pending, true);
  } else if (who == Verdict::kOther && !pending.is_asked) {
    if (replacement() == Replacement::kAdmit) {
      replace(now, pending, false);
    } else if (replacement() == Replacement::kAsk && ask(now, newcomer.code())) {
      pending.is_asked = true;
    } else {
      refuse(now, pending);
    }
  }
}

TimePoint Connection::waiting_timeout(const Pending& pending) const {
  if (!pending.complete_at || peer_ == nullptr) {
    return kNever;
  }
  const Newcomer& newcomer = *pending.newcomer;
  const TimePoint gone = newcomer.last_heard() + kNewcomerSilentMax;
  const bool must_prove = identity_ && is_place_taken_ && !newcomer.check().key();
  if (pending.is_asked || (must_prove && !newcomer.first_heard())) {
    return gone;
  }
  const TimePoint known = must_prove ? *newcomer.first_heard() + kProofMax : last_now_;
  return std::min(gone, std::max(known, peer_->last_heard() + options_.replace_after));
}

// ---- the joiner's

/// The new call, next to the silent one.
void Connection::drain_next(TimePoint now) {
  decide_next(now);
  while (const auto event = next_ != nullptr ? next_->poll_event() : std::nullopt) {
    if (const auto* closed = std::get_if<Closed>(&*event)) {
      drop_next(now, closed->reason);
    }
  }
  if (next_ != nullptr &&
      now >= (next_heard_ ? next_->last_heard() + kNewcomerSilentMax : next_until_)) {
    drop_next(now, CloseReason::kTimedOut);
  }
}

void Connection::decide_next(TimePoint now) {
  if (next_ == nullptr || !next_->was_heard() || next_->is_over()) {
    return;
  }
  next_heard_ = next_heard_.value_or(now);
  if (peer_ != nullptr && peer_->last_heard() >= *next_heard_ + kAliveAfter) {
    refuse_next(now);
    return;
  }
  const bool is_silent =
      peer_ == nullptr || !identity_ || now - peer_->last_heard() >= options_.rejoin_after;
  const Verdict who = verdict(now, next_heard_, next_->proven());
  if (who == Verdict::kSame) {
    admit_next(now, true);
  } else if (who == Verdict::kOther && is_silent && !is_next_asked_) {
    if (replacement() == Replacement::kAdmit) {
      admit_next(now, false);
    } else if (replacement() == Replacement::kAsk && ask(now, next_->code())) {
      is_next_asked_ = true;
    } else {
      refuse_next(now);
    }
  }
  while (next_ != nullptr && next_->poll_datagram()) {
    // Its media is nobody's.
  }
}

void Connection::admit_next(TimePoint now, bool is_same) {
  if (!is_same && identity_) {
    if (peer_ != nullptr) {
      leave(now, std::move(peer_), CloseCode::kReplaced, kReplacedLinger);
    }
    pinned_.reset();
    events_.emplace_back(Closed{CloseReason::kReplaced});
  }
  peer_ = std::exchange(next_, nullptr);
  joining_.reset();
  rejoin_refusal_.reset();
  connected_ = false;
  drain_peer(now);  // reports it
}

void Connection::refuse_next(TimePoint now) {
  leave(now, std::move(next_), CloseCode::kBusy, kLinger);
  drop_next(now, CloseReason::kTimedOut);
  no_rejoin_before_ = now + kAskAgainAfter;
}

void Connection::drop_next(TimePoint now, CloseReason because) {
  delay_rejoin(now, because);
  if (peer_ == nullptr) {  // replaced, and not by ourselves
    finish(because == CloseReason::kTimedOut ? CloseReason::kNoAnswer : because);
  }
}

/// Of next_.
TimePoint Connection::next_timeout() const {
  if (!next_heard_) {
    return next_until_;
  }
  const TimePoint gone = next_->last_heard() + kNewcomerSilentMax;
  if (is_next_asked_) {
    return gone;
  }
  TimePoint known = next_->proven() ? last_now_ : *next_heard_ + kProofMax;
  if (peer_ != nullptr) {
    known = std::max(known, peer_->last_heard() + options_.rejoin_after);
  }
  return std::min(gone, known);
}

}  // namespace cress::secure
