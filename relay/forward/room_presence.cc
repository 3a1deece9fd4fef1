// Which members get whose media, and which presence takes the place of which.

#include <algorithm>
#include <bit>
#include <utility>

#include "relay/forward/member.hh"
#include "relay/forward/room.hh"

namespace cress::relay {
namespace {

// So long after media began to flow to a newcomer the forecast of its link says something; not
// later than this after the join, so that nobody can put off the plans of others.
constexpr Duration kFirstPlan = 50ms;
constexpr Duration kFirstPlanMax = 1s;
// A proof comes at most 1.5 s after the frames, later where it had to be repeated.
constexpr Duration kProofAfter = 3s;

}  // namespace

void Room::handle_card(Member& from, const room::Card& card) {
  if (card.revision > from.card.revision) {
    from.card = card;
    from.card_is_news = true;
  }
}

// Verified by the member's own keys: the relay cannot open a card.
void Room::handle_audience(Member& from, const room::Audience& audience) {
  if (audience.revision <= from.audience_revision) {
    return;
  }
  from.audience_revision = audience.revision;
  const uint64_t before = from.audience;
  from.audience = 0;
  for (const room::MemberNumber number : audience.members) {
    const Member* member = find(number);
    if (member != nullptr && member != &from && member->is_in()) {
      from.audience |= uint64_t{1} << member->slot();
    }
  }
  for (const auto& other : slots_) {
    if (other) {
      const bool is_verified = (from.audience >> other->slot() & 1U) != 0;
      const uint64_t self = uint64_t{1} << from.slot();
      other->verified_by = is_verified ? other->verified_by | self : other->verified_by & ~self;
    }
  }
  if (from.audience != before) {
    to_plan_ |= (before ^ from.audience) | uint64_t{1} << from.slot();
  }
}

void Room::handle_shares(TimePoint now, Member& from, const room::Shares& shares) {
  for (const room::Share& share : shares.shares) {
    if (!from.shares.take(now, 1)) {
      ++stats_.shares_over_limit;
      continue;
    }
    Member* const to = find(share.to);
    if (to != nullptr && to != &from && to->is_in()) {
      notify(*to, room::MemberShare{from.number(), share.bytes});
    }
  }
}

// To those who may have got the frames that it proves.
void Room::handle_proof(TimePoint now, Member& from, const room::Proof& proof) {
  if (!from.proofs.take(now, 1)) {
    ++stats_.proofs_over_limit;
    return;
  }
  for (const auto& other : slots_) {
    if (!other || !other->is_in() || !from.may_reach(other->slot())) {
      continue;
    }
    const bool hears = other->sound_at.at(from.slot()) > now - kProofAfter;
    const bool sees = other->leg.level(from.slot()) > FrameKind::kNone ||
                      other->leg.lowered_at(from.slot()) > now - kProofAfter;
    if (proof.of_video ? sees : hears) {
      (void)other->leg.outbox().put(room::MemberProof{from.number(), proof});
      touch(*other);
    }
  }
}

// To those who can open it: each has verified the other.
void Room::handle_chat(TimePoint now, Member& from, const room::Chat& chat) {
  if (!from.chats.take(now, 1)) {
    ++stats_.chats_over_limit;
    return;
  }
  for (const auto& other : slots_) {
    if (other && other->is_in() && from.may_reach(other->slot())) {
      // Refused where many of this writer wait: that leg has been down for long.
      (void)other->leg.outbox().put(room::MemberChat{from.number(), chat});
      touch(*other);
    }
  }
}

void Room::handle_replacing(const Member& from, const room::Replacing& replacing) {
  Member* before = find(replacing.number);
  if (before != nullptr && before != &from && before->is_in() &&
      before->token != room::PresenceToken{} && before->token == replacing.token) {
    before->reason = room::LeaveReason::kLost;
    remove(*before);
  }
}

// Called every tick, not only every step, because a newcomer waits for it. If all senders are in
// the member's last plan, their planned levels are kept: the rates for a new plan are not known
// yet.
void Room::plan_changed_audiences(TimePoint now) {
  for (uint64_t left = std::exchange(to_plan_, 0) & present_; left != 0; left &= left - 1) {
    Member& member = *slots_.at(static_cast<size_t>(std::countr_zero(left)));
    if (!member.is_in()) {
      continue;
    }
    const bool is_all_planned = std::ranges::all_of(slots_, [&](const auto& other) {
      return !other || !other->is_in() || !other->may_reach(member.slot()) ||
             std::ranges::any_of(member.shown, [&](const Leg::Place& place) {
               return place.slot == other->slot();
             });
    });
    if (!is_all_planned) {
      plan(now, member);
      continue;
    }
    for (Leg::Place& place : member.shown) {
      place.level = slots_.at(place.slot)->may_reach(member.slot()) ? member.planned.at(place.slot)
                                                                    : FrameKind::kNone;
    }
    if (now - member.source.began < kFirstPlanMax) {
      member.plan_from = now + kFirstPlan;
    }
    member.leg.set_plan(now, member.shown, sources_);
    touch(member);
  }
}

}  // namespace cress::relay
