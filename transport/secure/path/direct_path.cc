#include "transport/secure/path/direct_path.hh"

#include <algorithm>
#include <utility>

namespace cress::secure {
namespace {

constexpr Duration kFirstAnnouncement = 100ms;
constexpr Duration kLastAnnouncement = 1s;
// The first probe that passes is sent after both NATs are open. Both ends begin within a round trip
// of each other, so probes are frequent at first.
constexpr Duration kFirstProbe = 50ms;
constexpr Duration kLastProbe = 250ms;

}  // namespace

void DirectPath::set_own(TimePoint now, std::vector<Address> addresses) {
  addresses.resize(std::min(addresses.size(), PathCandidates::kMax));
  if (addresses == own_) {
    return;
  }
  own_ = std::move(addresses);
  begin_round(now);
}

void DirectPath::handle_candidates(TimePoint now, const PathCandidates& message) {
  to_acknowledge_ = message.revision;
  if (message.revision <= their_revision_) {
    return;
  }
  their_revision_ = message.revision;
  targets_.clear();
  for (const Address& address : message.addresses) {
    if (address != relay_ && address.port != 0 && find(address) == nullptr) {
      targets_.push_back({.to = address, .is_named = true});
    }
  }
  aim_at_named(now);
}

void DirectPath::handle_acknowledgement(const CandidatesAcknowledgement& message) {
  if (message.revision == revision_) {
    announce_at_ = kNever;
  }
}

bool DirectPath::handle_probe(TimePoint now, const Address& from, const PathProbe& probe) {
  Target* const known = find(from);
  if (from == relay_ || (known != nullptr && known->is_named)) {
    return true;
  }
  const auto is_probed = [&](const Address& own) { return own == probe.to; };
  if (std::ranges::none_of(own_, is_probed)) {
    return false;
  }
  // A probe and an answer in turn: together they would be larger than the probe received.
  if (known != nullptr && std::exchange(known->answers_next, false)) {
    return true;
  }
  Target& target = known != nullptr ? *known : add_unnamed(from);
  target.answers_next = true;
  aim(now, now, target);
  return false;
}

DirectPath::Target& DirectPath::add_unnamed(const Address& to) {
  if (targets_.size() == kTargetsMax) {
    targets_.erase(std::ranges::find(targets_, false, &Target::is_named));
  }
  targets_.push_back({.to = to});
  return targets_.back();
}

bool DirectPath::handle_answer(const Address& from, const PathProbeAnswer& answer) {
  Target* const target = from == relay_ ? &relay_target_ : find(from);
  if (target == nullptr || target->token == PathToken{} ||
      !equal_in_constant_time(target->token, answer.token)) {
    return false;
  }
  target->token = {};  // once
  target->probe_at = kNever;
  return true;
}

void DirectPath::aim_at_named(TimePoint now) {
  for (Target& target : targets_) {
    if (target.is_named) {
      aim(now, now + kRound, target);
    }
  }
}

void DirectPath::set_silent(TimePoint now, bool is_silent) {
  is_silent_ = is_silent;
  if (!is_silent) {
    relay_target_.probe_at = kNever;
  } else if (relay_target_.probe_at == kNever) {
    aim(now, kNever, relay_target_);
  }
}

void DirectPath::aim(TimePoint at, TimePoint until, Target& target) {
  fill_random(target.token);
  target.probe_at = at;
  target.until = until;
  target.interval = kFirstProbe;
}

DirectPath::Target* DirectPath::find(const Address& to) {
  const auto found = std::ranges::find(targets_, to, &Target::to);
  return found == targets_.end() ? nullptr : &*found;
}

std::optional<DirectPath::Message> DirectPath::poll_target(TimePoint now, const Address& to,
                                                           Target& target) {
  if (now < target.probe_at) {
    return std::nullopt;
  }
  target.probe_at = now + target.interval;
  target.interval = std::min(target.interval + kFirstProbe, kLastProbe);
  if (target.probe_at > target.until) {
    target.probe_at = kNever;
  }
  return Message{to, PathProbe{target.token, to}};
}

std::optional<DirectPath::Message> DirectPath::poll(TimePoint now) {
  if (const auto revision = std::exchange(to_acknowledge_, std::nullopt)) {
    return Message{std::nullopt, CandidatesAcknowledgement{*revision}};
  }
  if (round_at_ <= now) {
    // A new revision: the other end begins at once too, and opens its NAT for us.
    round_at_ = kNever;
    ++revision_;
    announce_at_ = now;
    announce_interval_ = kFirstAnnouncement;
    aim_at_named(now);
  }
  if (announce_at_ <= now) {
    announce_at_ = now + announce_interval_;
    announce_interval_ = std::min(2 * announce_interval_, kLastAnnouncement);
    return Message{std::nullopt, PathCandidates{revision_, own_}};
  }
  if (auto message = poll_target(now, relay_, relay_target_)) {
    return message;
  }
  for (Target& target : targets_) {
    if (auto message = poll_target(now, target.to, target)) {
      return message;
    }
  }
  return std::nullopt;
}

TimePoint DirectPath::poll_timeout() const {
  TimePoint next = std::min({round_at_, announce_at_, relay_target_.probe_at});
  for (const Target& target : targets_) {
    next = std::min(next, target.probe_at);
  }
  return next;
}

}  // namespace cress::secure
