#include <algorithm>
#include <utility>

#include "transport/secure/path/peer.hh"

// Peer: the search for a direct path in a call that began at a relay, and the return to the relay.

namespace cress::secure {
namespace {

/// After this much silence of a direct path the relay is probed: a call sends every 20 ms.
constexpr Duration kDirectSilence = 250ms;
/// After a move to a direct path, until the other end has followed: two round trips.
constexpr Duration kMoveGrace = 1s;
/// Before the search is repeated; doubled each time.
constexpr Duration kSearchAgain = 5s;
constexpr Duration kSearchAgainMax = 60s;
constexpr int kSearchesMax = 4;  // more change nothing: the longest time is reached

}  // namespace

void Peer::set_relay(TimePoint now, const Address& relay) {
  if (!direct_) {
    direct_.emplace(relay);
  } else if (direct_->relay() != relay) {
    const bool was_relayed = is_relayed();
    direct_->set_relay(relay);
    if (was_relayed) {
      move_to(now, relay);
    }
  }
}

void Peer::set_own_addresses(TimePoint now, std::vector<Address> addresses) {
  if (direct_ && !closing_ && !is_over_) {
    direct_->set_own(now, std::move(addresses));
    send_direct(now);
  }
}

/// Returns whether the message belongs to the search. Such messages are no evidence of the path in
/// use.
bool Peer::handle_direct(TimePoint now, const Address& from, const ControlMessage& message) {
  if (!direct_ || closing_ || is_over_) {
    return false;
  }
  if (const auto* candidates = std::get_if<PathCandidates>(&message)) {
    direct_->handle_candidates(now, *candidates);
  } else if (const auto* seen = std::get_if<CandidatesAcknowledgement>(&message)) {
    direct_->handle_acknowledgement(*seen);
  } else if (const auto* probe = std::get_if<PathProbe>(&message)) {
    if (direct_->handle_probe(now, from, *probe)) {
      send_control(now, from, PathProbeAnswer{probe->token});
    }
  } else if (const auto* answer = std::get_if<PathProbeAnswer>(&message)) {
    if (direct_->handle_answer(from, *answer)) {
      handle_found(now, from);
    }
  } else {
    return false;
  }
  send_direct(now);
  return true;
}

void Peer::handle_found(TimePoint now, const Address& path) {
  if (path == path_) {  // as good as a pong
    is_searching_ = false;
    unanswered_since_.reset();
  } else if (path == direct_->relay()) {
    if (is_silent(now)) {
      move_to(now, path);
    }
  } else if (is_joiner_ && (is_relayed() || is_silent(now))) {
    moved_at_ = now;
    move_to(now, path);
    if (direct_->awaits_round()) {  // not needed
      direct_->begin_round(kNever);
      searches_ = std::max(searches_ - 1, 0);
    }
  }
}

/// Called when the path in use has become that of the relay.
void Peer::search_direct_again(TimePoint now) {
  if (is_joiner_ && !is_searching_) {
    search_direct_later(now);
  } else if (is_joiner_) {
    direct_->begin_round(now);
  }
}

void Peer::search_direct_later(TimePoint now) {
  direct_->begin_round(now + std::min(kSearchAgain * (1 << searches_), kSearchAgainMax));
  searches_ = std::min(searches_ + 1, kSearchesMax);
}

/// A direct path on which nothing is received, or whose local address may have changed.
bool Peer::is_silent(TimePoint now) const {
  return direct_ && !is_relayed() &&
         (is_searching_ || (unanswered_since_ && now >= *unanswered_since_ + kDirectSilence));
}

void Peer::send_direct(TimePoint now) {
  if (!direct_) {
    return;
  }
  direct_->set_silent(now, is_silent(now));
  while (auto next = direct_->poll(now)) {
    send_control(now, next->to.value_or(path_), next->message);
  }
  // Whatever kept the last search from success may have passed by then.
  if (is_joiner_ && is_relayed() && direct_->has_own() && !direct_->awaits_round()) {
    search_direct_later(now);
  }
}

/// What the other end has sent before it learned that we have moved.
bool Peer::is_left_behind(TimePoint now, const Address& from) const {
  return direct_ && moved_at_ && from == direct_->relay() && now < *moved_at_ + kMoveGrace;
}

TimePoint Peer::direct_timeout() const {
  if (!direct_) {
    return kNever;
  }
  const bool may_fall_silent = !is_relayed() && unanswered_since_ && !direct_->is_silent();
  return std::min(direct_->poll_timeout(),
                  may_fall_silent ? *unanswered_since_ + kDirectSilence : kNever);
}

}  // namespace cress::secure
