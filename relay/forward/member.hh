#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "relay/forward/leg.hh"
#include "relay/forward/room.hh"
#include "relay/forward/source.hh"
#include "transport/base/token_bucket.hh"

namespace cress::relay {

/// One member of a room: its state as a sender, the leg to it, and its last messages. A part of
/// Room.
struct Room::Member {
  Member(TimePoint now, room::MemberNumber its_number, size_t its_slot, const RoomOptions& options,
         RoomStats& stats);

  room::MemberNumber number() const { return source.number; }
  size_t slot() const { return source.slot; }
  bool is_in() const { return !farewell && !is_gone; }
  /// Its media may go to the member in that slot: each has verified the other.
  bool may_reach(size_t slot) const { return ((audience & verified_by) >> slot & 1U) != 0; }

  Source source;
  Leg leg;
  room::Card card;
  bool card_is_news = false;  // not yet sent to the others
  std::optional<room::View> view;
  /// The members, by slot, that this one has verified: only they get its media.
  uint64_t audience = 0;
  /// Those, by slot, that have verified this one: only they could open its media.
  uint64_t verified_by = 0;
  uint32_t audience_revision = 0;
  /// Proves that a newcomer was this member; all zero: nothing does.
  room::PresenceToken token{};
  TimePoint heard_at;

  TokenBucket bits;
  TokenBucket datagrams;
  TokenBucket control;
  TokenBucket cards;
  TokenBucket frames;
  TokenBucket sounds;
  TokenBucket proofs;
  TokenBucket shares;
  TokenBucket chats;
  TokenBucket key_frame_wishes;

  /// In transit.
  std::optional<session::MessageId> key_frame_request;

  /// The forecast of the link to it, smoothed: falls fast, rises slowly.
  std::optional<double> capacity_bps;
  /// The members, by slot, whose audio it gets.
  uint64_t hears = ~uint64_t{0};
  /// When audio of each sender, by slot, was last forwarded to it.
  std::array<TimePoint, kLegsMax> sound_at{};
  /// The level of each sender by slot that the last plan gave it: that of the leg, unless the two
  /// have not verified each other yet.
  std::array<FrameKind, kLegsMax> planned{};
  /// Not planned again before: media has just begun to flow.
  TimePoint plan_from = kTimeZero;
  /// The members whose video it requests, in order of priority.
  std::vector<Leg::Place> shown;

  std::optional<room::FarewellReason> farewell;
  TimePoint farewell_until = kNever;
  room::LeaveReason reason = room::LeaveReason::kLeft;
  bool is_gone = false;  // to be removed at the end of the call
};

}  // namespace cress::relay
