#include "relay/forward/room.hh"

#include <algorithm>
#include <bit>
#include <utility>

#include "media/frame/frame_report.hh"
#include "relay/forward/member.hh"
#include "relay/forward/slot_bits.hh"
#include "transport/base/check.hh"
#include "transport/base/take_front.hh"
#include "transport/room/media_head.hh"

namespace cress::relay {
namespace {

// How often pending reports and changed audiences are checked. Every fifth tick is a step
// (SpeakerDetector::kStep), and every second step recomputes the plans.
constexpr Duration kTick = 20ms;
// The interval if a datagram is sent anyway, and if one must be made for it.
constexpr Duration kReportRiding = 50ms;
constexpr Duration kReportAlone = 75ms;
constexpr uint32_t kReportedFrames = 32;
// A leg that needs longer for an anchor is not waited for: anchors with a distant reference are
// large.
constexpr Duration kHoldBackMax = 2s;
// Leaves in quick succession share one epoch of keys: an epoch's keys are kept for a while, and few
// are kept.
constexpr Duration kEpochSpacing = 2s;

TokenBucket allowance(double per_second, Duration burst) {
  return TokenBucket{{.per_second = per_second, .burst = per_second * to_seconds(burst)}};
}

}  // namespace

Room::Member::Member(TimePoint now, room::MemberNumber its_number, size_t its_slot,
                     const RoomOptions& options, RoomStats& stats)
    : source(now, its_number, its_slot, options),
      leg(now, its_slot, options, stats),
      heard_at(now),
      bits(allowance(static_cast<double>(options.member_rate_max.bits_per_second()),
                     options.member_burst)),
      datagrams(allowance(static_cast<double>(options.member_datagrams_per_second),
                          options.member_burst)),
      control(allowance(static_cast<double>(options.control_messages_per_second), 1s)),
      cards(allowance(static_cast<double>(options.cards_per_second), 1s)),
      frames(allowance(static_cast<double>(options.member_frames_per_second),
                       options.member_media_burst)),
      sounds(allowance(static_cast<double>(options.member_sounds_per_second),
                       options.member_media_burst)),
      proofs(allowance(static_cast<double>(options.proofs_per_second), options.member_proof_burst)),
      shares(allowance(static_cast<double>(options.shares_per_second), options.member_proof_burst)),
      chats(allowance(static_cast<double>(options.chats_per_second), options.member_chat_burst)),
      key_frame_wishes({.per_second = 1 / to_seconds(options.key_frame_interval),
                        .burst = static_cast<double>(options.key_frames_per_leg_burst)}) {}

Room::Room(TimePoint start, RoomOptions options)
    : options_(std::move(options)), speakers_(options_.speaker), last_now_(start) {
  check(options_.members_max > 0 && options_.members_max <= kLegsMax &&
            options_.name.size() <= room::kRoomNameSizeMax &&
            options_.endpoint.datagram_max <= room::kLegDatagramMax,
        "Room: options out of range");
  timeouts_.fill(kNever);
}

Room::~Room() = default;

// A number determines its slot (leg_of): slot + 1, plus kLegsMax for each later member there, so
// that a number just freed is not reused at once.
Room::Member* Room::find(room::MemberNumber number) const {
  if (number == room::kNobody) {
    return nullptr;
  }
  Member* member = slots_.at(leg_of(number)).get();
  return member != nullptr && member->number() == number ? member : nullptr;
}

std::optional<size_t> Room::free_slot() const {
  for (size_t i = 0; i < kLegsMax; ++i) {
    const size_t slot = (next_slot_ + i) % kLegsMax;
    if (!slots_.at(slot)) {
      return slot;
    }
  }
  return std::nullopt;
}

std::optional<room::MemberNumber> Room::join(TimePoint now, const room::PresenceToken& token) {
  const auto slot = free_slot();
  if (!slot) {
    ++stats_.refused_joins;
    return std::nullopt;
  }
  constexpr uint16_t kGenerations = (UINT16_MAX - kLegsMax) / kLegsMax;
  const uint16_t generation = generations_.at(*slot);
  generations_[*slot] = static_cast<uint16_t>((generation + 1) % kGenerations);
  next_slot_ = (*slot + 1) % kLegsMax;
  const auto number = static_cast<room::MemberNumber>(1 + *slot + kLegsMax * generation);
  slots_.at(*slot) = std::make_unique<Member>(now, number, *slot, options_, stats_);
  present_ |= bit(*slot);
  Member& newcomer = *slots_[*slot];
  newcomer.token = token;
  touch(newcomer);
  if (next_tick_ == kNever) {
    next_tick_ = now + kTick;
  }
  if (closed_ || members_in_ == options_.members_max) {
    ++stats_.refused_joins;
    newcomer.farewell = closed_ ? closed_->reason : room::FarewellReason::kFull;
    newcomer.farewell_until = now + options_.farewell_time;
    notify(newcomer, closed_.value_or(room::Farewell{room::FarewellReason::kFull, {}}));
    return number;
  }
  ++stats_.joins;
  ++members_in_;
  introduce(newcomer);
  next_tick_ = now;  // which members it gets, and which get it, is decided at once
  next_step_ = now;
  steps_changed_ = true;
  return number;
}

void Room::touch(const Member& member) {
  dirty_ |= bit(member.slot());
  fed_ &= ~bit(member.slot());
}

void Room::introduce(Member& newcomer) {
  const size_t slot = newcomer.slot();
  std::vector<room::MemberNumber> present;
  for_each_slot(present_ & ~bit(slot), [&](size_t other) {
    if (slots_.at(other)->is_in()) {
      present.push_back(slots_[other]->number());
    }
  });
  notify(newcomer, room::Welcome{.number = newcomer.number(),
                                 .members_max = static_cast<uint32_t>(options_.members_max),
                                 .video_rate_max = options_.video_rate_max,
                                 .datagram_max = room::kLegDatagramMax,
                                 .room = options_.name,
                                 .present = std::move(present),
                                 .epoch = epoch_,
                                 .token = newcomer.token});
  if (speaker_) {
    notify(newcomer, room::SpeakerNews{speaker_revision_, slots_.at(*speaker_)->number()});
  }
  for (const auto& other : slots_) {
    if (other && other.get() != &newcomer && other->is_in()) {
      notify(newcomer, room::MemberNews{other->number(), other->card});
      notify(*other, room::MemberNews{newcomer.number(), {}});
      other->source.cache.reset_forwarding(slot, Forwarding::kLeftOut);
    }
  }
  sources_.at(slot) = &newcomer.source;
}

void Room::notify(Member& member, const room::RoomMessage& message) {
  if (member.is_gone) {
    return;
  }
  if (!member.leg.outbox().put(message)) {
    member.is_gone = true;  // hundreds of news were not received: it has gone
    member.reason = room::LeaveReason::kLost;
  }
  touch(member);
}

void Room::notify_all(const room::RoomMessage& message, const Member* except) {
  for (const auto& member : slots_) {
    if (member && member.get() != except && member->is_in()) {
      notify(*member, message);
    }
  }
}

void Room::leave(TimePoint now, room::MemberNumber number, room::LeaveReason reason) {
  check(now >= last_now_, "Room: time went back");
  last_now_ = now;
  if (Member* member = find(number)) {
    member->reason = member->farewell ? member->reason : reason;
    remove(*member);
  }
}

void Room::kick(TimePoint now, room::MemberNumber number) {
  check(now >= last_now_, "Room: time went back");
  last_now_ = now;
  Member* member = find(number);
  if (member != nullptr && member->is_in()) {
    member->reason = room::LeaveReason::kKicked;
    withdraw(*member, room::LeaveReason::kKicked);
    send_away(now, *member, {room::FarewellReason::kKicked, {}});
  }
}

void Room::close(TimePoint now, room::Farewell farewell) {
  check(now >= last_now_, "Room: time went back");
  last_now_ = now;
  closed_ = farewell;
  for (const auto& member : slots_) {
    if (member && member->is_in()) {
      send_away(now, *member, farewell);
    }
  }
  members_in_ = 0;
  sources_ = {};
}

void Room::send_away(TimePoint now, Member& member, room::Farewell farewell) {
  member.leg.set_plan(now, {}, sources_);
  member.leg.outbox().clear();
  notify(member, farewell);
  member.farewell = farewell.reason;
  member.farewell_until = now + options_.farewell_time;
}

// The others continue without it.
void Room::withdraw(Member& member, room::LeaveReason reason) {
  const size_t slot = member.slot();
  for (const auto& other : slots_) {
    if (other && other.get() != &member) {
      other->leg.forget_source(slot);
      other->source.watchers &= ~bit(slot);
      other->audience &= ~bit(slot);
      other->planned.at(slot) = FrameKind::kNone;
      other->verified_by &= ~bit(slot);
      std::erase_if(other->shown, [slot](const Leg::Place& place) { return place.slot == slot; });
    }
  }
  sources_.at(slot) = nullptr;
  speakers_.forget(slot);
  --members_in_;
  if (last_now_ - epoch_since_ >= kEpochSpacing && epoch_ < room::kEpochMax) {
    ++epoch_;
    epoch_since_ = last_now_;
  }
  notify_all(room::MemberLeft{member.number(), reason, epoch_}, &member);
  notify_of_speaker();
  next_step_ = std::min(next_step_, last_now_);
  steps_changed_ = true;
}

void Room::remove(Member& member) {
  const size_t slot = member.slot();
  if (!member.farewell) {
    withdraw(member, member.reason);
  }
  ++stats_.leaves;
  departures_.push_back({member.number(), member.reason, member.farewell});
  dirty_ &= ~bit(slot);
  fed_ &= ~bit(slot);
  timeouts_.at(slot) = kNever;
  slots_.at(slot).reset();
  present_ &= ~bit(slot);
  if (present_ == 0) {
    next_tick_ = kNever;
    next_step_ = kNever;
  }
}

bool Room::handle_datagram(TimePoint now, room::MemberNumber number,
                           std::span<const std::byte> datagram, Ecn ecn) {
  check(now >= last_now_, "Room: time went back");
  last_now_ = now;
  ++stats_.datagrams_in;
  Member* member = find(number);
  if (member == nullptr) {
    ++stats_.datagrams_unknown;
    return true;
  }
  const bool within = member->datagrams.take(now, 1);
  if (!within || !member->bits.take(now, static_cast<double>(datagram.size() * 8))) {
    ++stats_.datagrams_over_limit;
    return within;
  }
  if (!member->leg.endpoint().handle_datagram(now, datagram, ecn)) {
    ++stats_.datagrams_malformed;
    return true;
  }
  member->heard_at = now;
  touch(*member);
  drain(now, *member);
  return true;
}

void Room::drain(TimePoint now, Member& member) {
  session::Endpoint& endpoint = member.leg.endpoint();
  while (auto message = endpoint.poll_message()) {
    if (member.is_in()) {
      handle_message(now, member, *std::move(message));
    }
  }
  while (const auto outcome = endpoint.poll_outcome()) {
    if (outcome->flow == session::kVideoFlow) {
      member.leg.handle_outcome(now, *outcome, sources_);
      continue;
    }
    member.leg.outbox().handle_outcome(now, *outcome);
    if (member.key_frame_request == outcome->id) {
      member.key_frame_request.reset();
      if (outcome->kind != session::MessageOutcome::Kind::kDelivered) {
        member.source.key_frames.handle_loss();
      }
    }
  }
  if (member.is_gone || (member.farewell && member.leg.outbox().empty())) {
    remove(member);
  }
}

void Room::handle_timeout(TimePoint now) {
  check(now >= last_now_, "Room: time went back");
  last_now_ = now;
  for_each_slot(present_, [&](size_t slot) {
    if (timeouts_.at(slot) <= now) {
      slots_.at(slot)->leg.endpoint().handle_timeout(now);
      touch(*slots_[slot]);
    }
  });
  if (next_tick_ <= now) {
    tick(now);
  }
}

void Room::tick(TimePoint now) {
  next_tick_ = now + kTick;
  plan_changed_audiences(now);
  for_each_slot(present_, [&](size_t slot) {
    if (slots_.at(slot)->is_in()) {
      report(now, *slots_[slot], kReportAlone);
    }
  });
  if (next_step_ <= now || next_step_ == kNever) {
    next_step_ = now + SpeakerDetector::kStep;
    step(now);
  }
}

// A report says that the frame and all that it depends on are here, so that the sender may refer to
// any of them. But not to an anchor that a slow leg is still receiving: that leg could not decode
// the next one.
bool Room::is_reportable(TimePoint now, const Source& source, const CachedFrame& frame) const {
  const CachedFrame* anchor = source.cache.anchor_of(frame);
  if (!frame.decodable || anchor == nullptr || now - anchor->began > kHoldBackMax) {
    return frame.decodable;
  }
  bool is_held = false;
  for_each_slot(source.watchers, [&](size_t slot) {
    is_held = is_held || slots_.at(slot)->leg.holds_back(source, *anchor);
  });
  return !is_held;
}

void Room::report(TimePoint now, Member& member, Duration interval) {
  Source& source = member.source;
  if ((!source.has_news && source.held_anchors.empty()) || now - source.reported_at < interval ||
      member.leg.endpoint().queued(session::kControlFlow) > DataSize{}) {
    return;
  }
  // The newest that may be reported; those held back are reported later, separately.
  std::optional<uint32_t> newest_anchor;
  for (const uint32_t id : source.held_anchors) {
    const CachedFrame* anchor = source.cache.find(id);
    if (anchor != nullptr && is_reportable(now, source, *anchor)) {
      newest_anchor = id;
    }
  }
  std::optional<uint32_t> newest = source.has_news ? source.newest_whole : std::nullopt;
  for (int back = 0; newest && back < static_cast<int>(kReportedFrames); ++back) {
    const CachedFrame* frame = source.cache.find(*newest);
    if (frame != nullptr && is_reportable(now, source, *frame)) {
      break;
    }
    newest = *newest > 0 ? std::optional{*newest - 1} : std::nullopt;
  }
  if (newest) {
    send_report(now, member, *newest);
  }
  if (newest_anchor && (!newest || *newest - *newest_anchor > kReportedFrames)) {
    send_report(now, member, *newest_anchor);
  }
  while (newest_anchor && !source.held_anchors.empty() &&
         source.held_anchors.front() <= *newest_anchor) {
    source.held_anchors.pop_front();
  }
  source.has_news = false;
}

void Room::send_report(TimePoint now, Member& to, uint32_t newest) {
  const Source& source = to.source;
  media::FrameReport report{.newest = newest, .before = 0};
  for (uint32_t i = 0; i < kReportedFrames && i < newest; ++i) {
    const CachedFrame* frame = source.cache.find(newest - 1 - i);
    report.before |= frame != nullptr && is_reportable(now, source, *frame) ? 1U << i : 0U;
  }
  to.source.reported_at = now;
  to.leg.endpoint().send(now, session::kControlFlow, media::build_message(report));
  ++stats_.frame_reports;
  touch(to);
}

std::optional<LegTransmit> Room::poll_transmit(TimePoint now) {
  last_now_ = std::max(last_now_, now);
  while (dirty_ != 0) {
    const auto slot = static_cast<size_t>(std::countr_zero(dirty_));
    Member& member = *slots_.at(slot);
    Leg& leg = member.leg;
    if ((fed_ & bit(slot)) == 0) {
      leg.outbox().flush(now, leg.endpoint());
      leg.feed(now, sources_);
      if (member.is_in() && leg.endpoint().has_transmit(now)) {
        report(now, member, kReportRiding);
      }
      fed_ |= bit(slot);
    }
    if (auto bytes = leg.endpoint().poll_transmit(now)) {
      ++stats_.datagrams_out;
      stats_.bytes_out += bytes->size();
      return LegTransmit{member.number(), *std::move(bytes), leg.endpoint().ecn(now)};
    }
    timeouts_.at(slot) = std::min(leg.endpoint().poll_timeout(), leg.outbox().poll_timeout());
    dirty_ &= ~bit(slot);
    fed_ &= ~bit(slot);
  }
  return std::nullopt;
}

std::optional<Departure> Room::poll_departure() { return take_front(departures_); }

TimePoint Room::poll_timeout() const {
  TimePoint next = next_tick_;
  for_each_slot(present_, [&](size_t slot) { next = std::min(next, timeouts_.at(slot)); });
  return next;
}

std::optional<room::MemberNumber> Room::speaker() const {
  return speaker_ ? std::optional{slots_.at(*speaker_)->number()} : std::nullopt;
}

std::vector<MemberView> Room::member_views() const {
  std::vector<MemberView> views;
  for (const auto& member : slots_) {
    if (member) {
      views.push_back({.number = member->number(),
                       .is_leaving = !member->is_in(),
                       .forecast = member->leg.endpoint().control().forecast_rate(),
                       .loss = member->leg.loss(),
                       .video_rate = member->source.cap,
                       .waiting = member->leg.waiting(),
                       .cached = member->source.cache.held(),
                       .senders_shown = static_cast<size_t>(
                           std::ranges::count_if(member->shown, [](const Leg::Place& place) {
                             return place.level > FrameKind::kNone;
                           }))});
    }
  }
  return views;
}

FrameKind Room::level(room::MemberNumber to, room::MemberNumber source) const {
  const Member* receiver = find(to);
  const Member* sender = find(source);
  return receiver != nullptr && sender != nullptr ? receiver->leg.level(sender->slot())
                                                  : FrameKind::kNone;
}

}  // namespace cress::relay
