#include "transport/secure/path/peer.hh"

#include <algorithm>
#include <utility>

#include "transport/base/check.hh"
#include "transport/base/take_front.hh"

namespace cress::secure {
namespace {

constexpr Duration kFirstPing = 50ms;
/// While nothing is received: five pings of 31 bytes, 155 bytes per second plus UDP and IP headers;
/// the peer's return is noticed within 0.2 s.
constexpr Duration kPingUnheard = 200ms;
/// Above nearly all round trips: a later answer costs nine bytes per ping.
constexpr Duration kSearchAfter = 600ms;
/// While idle: many NATs forget a UDP flow after 30 s (RFC 4787 §4.3 asks for 2 minutes).
constexpr Duration kPingIdle = 1s;
constexpr Duration kFirstChallenge = 50ms;
constexpr Duration kLastChallenge = 400ms;
constexpr Duration kCandidateMax = 3s;
/// RFC 9000 §8.1: no more than this times what arrived from an address that has not answered yet.
constexpr int64_t kAmplificationMax = 3;
constexpr Duration kCloseInterval = 50ms;
constexpr int kCloseTimes = 3;

DataSize size_of(std::span<const std::byte> bytes) {
  return DataSize{static_cast<int64_t>(bytes.size())};
}

}  // namespace

const char* describe(CloseReason reason) {
  switch (reason) {
    case CloseReason::kHungUp:
      return "the call has ended";
    case CloseReason::kPeerHungUp:
      return "the other end hung up";
    case CloseReason::kWrongSecret:
      return "the link is not this listener's: ask for its present link, and copy it whole";
    case CloseReason::kBusy:
      return "the other end is in a call with somebody else";
    case CloseReason::kReplaced:
      return "somebody joined with the same link while this end was not heard";
    case CloseReason::kTimedOut:
      return "nothing was heard from the other end for too long";
    case CloseReason::kNoAnswer:
      return "nobody answers at the link's address: is the other end running, and is its port "
             "open?";
    case CloseReason::kFull:
      return "there is no place for one more: try again later";
    case CloseReason::kGoingAway:
      return "the other end is being shut down: try again in a minute";
    case CloseReason::kRemoved:
      return "the other end has ended this call";
    case CloseReason::kRelayFull:
      return "the relay has no place for one more call: try again later";
    case CloseReason::kNoCallRelay:
      return "the relay forwards no calls of two: its operator has to allow them ([calls] in its "
             "configuration)";
    case CloseReason::kRelayOver:
      return "the relay forwards this call no longer: start another one";
    case CloseReason::kNoRelay:
      return "the relay does not answer: is its name right, and does it run?";
    case CloseReason::kNobodyThere:
      return "nobody waits at the relay: is the other end running?";
  }
  return "unknown";
}

Peer::Peer(TimePoint now, const SessionSecrets& secrets, const Address& path, PeerOptions options)
    : options_(options),
      records_(now, secrets.records),
      control_(now, secrets.control),
      id_(secrets.id),
      code_(secrets.code),
      is_joiner_(secrets.role == Role::kJoiner),
      path_(path),
      mtu_(now, {.largest = largest_payload()}),
      mtu_told_(mtu_.size()),
      last_heard_(now),
      ping_at_(now),
      ping_interval_(kFirstPing) {}

DataSize Peer::largest_payload() const {
  constexpr int64_t kEthernet = 1500;
  return DataSize{kEthernet - (path_.is_ipv4() ? 20 : 40) - 8};
}

// ---- receiving

Result<Unit, OpenError> Peer::handle_datagram(TimePoint now, const Address& from,
                                              std::span<const std::byte> bytes) {
  if (!bytes.empty() && bytes[0] == kRoutedKind) {
    if (size_of(bytes) <= kRoutedOverhead) {
      return OpenError::kTruncated;
    }
    bytes = bytes.subspan(static_cast<size_t>(kRoutedOverhead.bytes()));
  }
  const DataSize size = size_of(bytes);
  if (!bytes.empty() && bytes[0] == kControlKind) {
    auto opened = control_.open(now, bytes);
    if (!opened) {
      return opened.error();
    }
    if (!handle_direct(now, from, opened->message)) {
      handle_heard(now, from, size, opened->newest);
      handle_message(now, from, opened->message, size);
    }
    return Unit{};
  }
  auto opened = records_.open(now, bytes, options_.spare);
  if (!opened) {
    return opened.error();
  }
  large_received_ += size > kDatagramBase ? 1 : 0;
  const bool newest = opened->newest;
  if (!closing_ && !is_over_) {
    if (in_.size() == kInMax) {
      in_.pop_front();
    }
    in_.push_back(std::move(opened).value().plain);
  }
  handle_heard(now, from, size, newest);
  return Unit{};
}

void Peer::handle_heard(TimePoint now, const Address& from, DataSize size, bool newest) {
  if (closing_) {
    // It does not know that this is over.
    if (closing_->left == 0 && now >= closing_->next) {
      closing_->left = 1;
    }
    return;
  }
  was_heard_ = true;
  last_heard_ = now;
  unanswered_since_.reset();
  ping_interval_ = kPingIdle;
  ping_at_ = now + kPingIdle;
  if (is_unreachable_ && !is_over_) {
    is_unreachable_ = false;
    events_.emplace_back(Reachable{});
  }
  if (from == path_ || is_left_behind(now, from)) {
    return;
  }
  const auto known = std::find_if(candidates_.begin(), candidates_.end(),
                                  [&](const Candidate& c) { return c.address == from; });
  if (known != candidates_.end()) {
    known->received += size;
  } else if (newest) {
    consider(now, from, size);
  }
}

void Peer::consider(TimePoint now, const Address& from, DataSize size) {
  if (candidates_.size() == kCandidatesMax) {
    candidates_.erase(candidates_.begin());  // the oldest
  }
  Candidate candidate{.address = from,
                      .token = {},
                      .received = size,
                      .sent = DataSize{},
                      .since = now,
                      .challenge_at = now,
                      .interval = kFirstChallenge};
  fill_random(candidate.token);
  candidates_.push_back(candidate);
  send_challenges(now);
}

void Peer::handle_message(TimePoint now, const Address& from, const ControlMessage& message,
                          DataSize size) {
  if (closing_ || is_over_) {
    return;
  }
  // Unrequested messages do not show that the peer receives ours.
  if (std::holds_alternative<PathChallenge>(message) || std::holds_alternative<Pong>(message)) {
    is_searching_ = false;
  }
  if (const auto* challenge = std::get_if<PathChallenge>(&message)) {
    // Only to the other end's known address. It may have moved, but then it hears from us at its
    // new address first; a challenge from elsewhere was passed on by somebody.
    if (from == path_) {
      send_control(now, path_, PathResponse{challenge->token});
    }
  } else if (const auto* response = std::get_if<PathResponse>(&message)) {
    handle_response(now, from, response->token);
  } else if (const auto* end = std::get_if<Close>(&message)) {
    handle_close(end->code);
  } else if (std::holds_alternative<MtuProbe>(message)) {
    if (from == path_) {
      send_control(now, path_, MtuAcknowledgement{size});
    }
  } else if (const auto* acknowledgement = std::get_if<MtuAcknowledgement>(&message)) {
    mtu_.handle_acknowledgement(now, acknowledgement->size);
    note_mtu();
  } else if (const auto* question = std::get_if<Ping>(&message)) {
    // An address that has not answered yet gets a challenge, nothing else.
    if (from == path_) {
      send_control(now, path_, Pong{question->id, large_received_});
    }
  } else if (const auto* answer = std::get_if<Pong>(&message)) {
    mtu_.handle_pong(now, answer->id, answer->large_received);
    note_mtu();
  } else {
    handle_identity(now, from, message);
  }
}

void Peer::handle_close(CloseCode code) {
  is_over_ = true;
  CloseReason reason = CloseReason::kPeerHungUp;
  if (code == CloseCode::kBusy) {
    reason = CloseReason::kBusy;
  } else if (code == CloseCode::kReplaced) {
    reason = CloseReason::kReplaced;
  } else if (code == CloseCode::kFull) {
    reason = CloseReason::kFull;
  } else if (code == CloseCode::kGoingAway) {
    reason = CloseReason::kGoingAway;
  } else if (code == CloseCode::kRemoved) {
    reason = CloseReason::kRemoved;
  }
  events_.emplace_back(Closed{reason});
}

void Peer::handle_response(TimePoint now, const Address& from, const PathToken& token) {
  const auto found =
      std::find_if(candidates_.begin(), candidates_.end(), [&](const Candidate& candidate) {
        return candidate.address == from && equal_in_constant_time(candidate.token, token);
      });
  if (found == candidates_.end()) {
    return;
  }
  move_to(now, from);
}

void Peer::move_to(TimePoint now, const Address& path) {
  path_ = path;
  candidates_.clear();
  events_.emplace_back(PathChanged{path_});
  mtu_.handle_path_change(now, largest_payload());
  note_mtu();
  if (is_relayed()) {
    search_direct_again(now);
  }
}

// ---- sending

bool Peer::send(TimePoint now, std::vector<std::byte> plain) {
  auto sealed = seal(now, std::move(plain));
  if (!sealed) {
    return false;
  }
  if (out_.size() == kOutMax) {
    out_.pop_front();
  }
  out_.push_back(std::move(sealed->transmit.bytes));
  return sealed->is_sooner;
}

std::optional<Peer::Sealed> Peer::seal(TimePoint now, std::vector<std::byte> plain) {
  if (closing_ || is_over_) {
    return std::nullopt;
  }
  Sealed sealed{.transmit = {path_, records_.seal(now, std::move(plain))}};
  const DataSize size = size_of(sealed.transmit.bytes);
  mtu_.handle_sent(size);
  sealed.is_sooner = !unanswered_since_ || size > kDatagramBase;
  note_sent(now);
  return sealed;
}

void Peer::send_control(TimePoint now, const Address& to, const ControlMessage& message) {
  if (control_out_.size() == kControlMax) {
    control_out_.pop_front();
  }
  auto record = control_.seal(now, message);
  // These may be sent before the listener knows our new address, and none of them is repeated until
  // it is answered. A probe carries no session id, because its size is what is being tested.
  const bool is_routed =
      is_joiner_ && !std::holds_alternative<MtuProbe>(message) &&
      (is_searching_ || std::holds_alternative<PathResponse>(message) ||
       std::holds_alternative<Pong>(message) || std::holds_alternative<Close>(message));
  if (is_routed) {
    record.insert(record.begin(), id_.begin(), id_.end());
    record.insert(record.begin(), kRoutedKind);
  }
  control_out_.push_back({to, std::move(record)});
}

void Peer::note_sent(TimePoint now) {
  if (!unanswered_since_) {
    unanswered_since_ = now;
  }
}

TimePoint Peer::search_at() const {
  return is_joiner_ && !is_searching_ && unanswered_since_ ? *unanswered_since_ + kSearchAfter
                                                           : kNever;
}

void Peer::note_mtu() {
  if (mtu_.size() != mtu_told_) {
    mtu_told_ = mtu_.size();
    events_.emplace_back(MtuChanged{datagram_max()});
  }
}

void Peer::ping(TimePoint now) {
  send_control(now, path_, Ping{next_ping_id_++});
  note_sent(now);
}

void Peer::handle_network_change(TimePoint now) {
  if (closing_ || is_over_) {
    return;
  }
  // Sends something from the new address at once, and again until there is an answer: the other end
  // finds us by it.
  is_searching_ = true;
  ping_interval_ = kFirstPing;
  ping_at_ = now;
  mtu_.handle_path_change(now, largest_payload());
  note_mtu();
  searches_ = 0;
  send_pings(now);
  send_direct(now);
}

void Peer::handle_too_big(TimePoint now, DataSize size) {
  mtu_.handle_too_big(now, size);
  note_mtu();
}

void Peer::close(TimePoint now, CloseCode code, Duration linger) {
  if (closing_ || is_over_) {
    return;
  }
  out_.clear();
  in_.clear();
  candidates_.clear();
  closing_ = Closing{code, kCloseTimes, now, now + linger};
  handle_timeout(now);
}

void Peer::send_challenges(TimePoint now) {
  std::erase_if(candidates_, [&](const Candidate& c) { return now - c.since > kCandidateMax; });
  for (Candidate& candidate : candidates_) {
    if (now < candidate.challenge_at) {
      continue;
    }
    constexpr DataSize kSize = kControlOverhead + DataSize{1 + sizeof(PathToken)};
    if (candidate.sent + kSize <= candidate.received * kAmplificationMax) {
      candidate.sent += kSize;
      send_control(now, candidate.address, PathChallenge{candidate.token});
    }
    candidate.challenge_at = now + candidate.interval;
    candidate.interval = std::min(2 * candidate.interval, kLastChallenge);
  }
}

void Peer::send_pings(TimePoint now) {
  if (now < ping_at_) {
    return;
  }
  ping(now);
  ping_at_ = now + ping_interval_;
  if (ping_interval_ < kPingUnheard) {
    ping_interval_ = std::min(2 * ping_interval_, kPingUnheard);
  }
}

void Peer::send_probes(TimePoint now) {
  if (is_unreachable_ || is_searching_ || !was_heard_) {
    return;  // a loss now gives no information about size
  }
  while (const auto size = mtu_.poll_probe(now)) {
    send_control(now, path_, MtuProbe{*size});
  }
  if (mtu_.poll_watch(now, next_ping_id_)) {
    ping(now);
  }
}

void Peer::handle_timeout(TimePoint now) {
  records_.handle_timeout(now);
  control_.handle_timeout(now);
  if (is_over_) {
    return;
  }
  if (closing_) {
    if (closing_->left > 0 && now >= closing_->next) {
      --closing_->left;
      closing_->next = now + kCloseInterval;
      send_control(now, path_, Close{closing_->code});
    }
    is_over_ = now >= closing_->until;
    return;
  }
  if (now - last_heard_ >= options_.silence_max) {
    is_over_ = true;
    events_.emplace_back(Closed{CloseReason::kTimedOut});
    return;
  }
  if (search_at() <= now) {
    is_searching_ = true;
    ping_interval_ = kPingUnheard;
    ping_at_ = std::min(ping_at_, now);
  }
  if (!is_unreachable_ && unanswered_since_ &&
      now - *unanswered_since_ >= options_.unreachable_after) {
    is_unreachable_ = true;
    ping_interval_ = kPingUnheard;
    ping_at_ = std::min(ping_at_, now);
    if (was_heard_) {
      events_.emplace_back(Unreachable{});
    }
  }
  send_challenges(now);
  send_pings(now);
  send_proof(now);
  send_probes(now);
  send_direct(now);
}

// ---- outputs

std::optional<Transmit> Peer::poll_transmit(TimePoint /*now*/) {
  if (!out_.empty()) {
    return Transmit{path_, *take_front(out_)};
  }
  return take_front(control_out_);
}

std::optional<std::vector<std::byte>> Peer::poll_datagram() { return take_front(in_); }

std::optional<Event> Peer::poll_event() { return take_front(events_); }

TimePoint Peer::poll_timeout() const {
  if (is_over_) {
    return kNever;
  }
  TimePoint next = std::min(records_.poll_timeout(), control_.poll_timeout());
  if (closing_) {
    return std::min({next, closing_->until, closing_->left > 0 ? closing_->next : kNever});
  }
  next =
      std::min({next, ping_at_, last_heard_ + options_.silence_max, search_at(), direct_timeout()});
  if (!is_unreachable_ && unanswered_since_) {
    next = std::min(next, *unanswered_since_ + options_.unreachable_after);
  }
  if (!is_unreachable_ && !is_searching_ && was_heard_) {
    next = std::min(next, mtu_.poll_timeout());
  }
  if (proving_ && proving_->left > 0) {
    next = std::min(next, proving_->next);
  }
  for (const Candidate& candidate : candidates_) {
    next = std::min({next, candidate.challenge_at, candidate.since + kCandidateMax + Duration{1}});
  }
  return next;
}

}  // namespace cress::secure
