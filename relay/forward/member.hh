#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "relay/forward/leg.hh"
#include "relay/forward/room.hh"
#include "relay/forward/source.hh"
#include "transport/base/token_bucket.hh"

namespace cress::relay {

/// One member of a room: what it sends, the leg to it, and what it has said. A part of Room.
struct Room::Member {
  Member(TimePoint now, room::MemberNumber its_number, size_t its_slot, const RoomOptions& options,
         RoomStats& stats);

  room::MemberNumber number() const { return source.number; }
  size_t slot() const { return source.slot; }
  bool is_in() const { return !farewell && !is_gone; }

  Source source;
  Leg leg;
  room::Card card;
  bool card_is_news = false;  // to be told to the others
  std::optional<room::View> view;
  TimePoint heard_at;

  TokenBucket bits;
  TokenBucket datagrams;
  TokenBucket control;
  TokenBucket cards;
  TokenBucket key_frame_wishes;

  /// On its way.
  std::optional<session::MessageId> key_frame_request;

  /// The link to it, as forecast, smoothed: quick to fall, slow to rise.
  std::optional<double> capacity_bps;
  /// Whose sound it gets, by slot.
  uint64_t hears = ~uint64_t{0};
  /// Whom it looks at, first first.
  std::vector<Leg::Place> shown;

  std::optional<room::FarewellReason> farewell;
  TimePoint farewell_until = kNever;
  room::LeaveReason reason = room::LeaveReason::kLeft;
  bool is_gone = false;  // to be removed at the end of the call
};

}  // namespace cress::relay
