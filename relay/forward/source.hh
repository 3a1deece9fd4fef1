#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "relay/forward/frame_cache.hh"
#include "relay/forward/key_frame_requests.hh"
#include "relay/forward/rate_meter.hh"
#include "relay/forward/room_options.hh"
#include "transport/base/token_bucket.hh"
#include "transport/room/member_number.hh"

namespace cress::relay {

/// What one member sends, shared by all legs. A plain part of Room. Threads: none inside.
struct Source {
  Source(TimePoint now, room::MemberNumber its_number, size_t its_slot, const RoomOptions& options)
      : number(its_number),
        slot(its_slot),
        cache(options.cache),
        key_frames(options.key_frame_interval),
        began(now),
        allowance({.per_second = static_cast<double>(options.thumbnail_rate.bits_per_second()) / 8,
                   .burst = static_cast<double>(options.cache.frame_max.bytes())}) {}

  room::MemberNumber number;
  size_t slot;
  FrameCache cache;
  KeyFrameRequests key_frames;
  TimePoint began{};
  /// Legs, by slot, at a level above none.
  uint64_t watchers = 0;

  /// By kind, including the per-message overhead.
  std::array<RateMeter, kFrameKinds> video{};
  RateMeter sound;
  TimePoint last_fragment = kTimeZero - 1h;

  /// The rate limit sent to the sender.
  DataRate cap{};
  uint32_t cap_revision = 0;
  TimePoint cap_lower_since =
      kTimeZero;  // since when the wanted rate has been much lower than that limit
  TimePoint asked_since = kTimeZero - 1h;  // since when any leg has requested its video
  TokenBucket allowance;                   // bytes of frames

  /// There are complete frames not yet reported to the sender.
  bool has_news = false;
  TimePoint reported_at = kTimeZero - 1h;

  std::optional<uint32_t> newest_whole;
  /// When the last frame became complete, and when the last that can be decoded did; nullopt: none
  /// has, and each leg asks for a key frame.
  TimePoint whole_at{};
  std::optional<TimePoint> decodable_at;
  /// Anchors that are complete here and not yet reported to the sender, because a leg is still
  /// receiving them; oldest first.
  std::deque<uint32_t> held_anchors;
  uint32_t reported_anchor = 0;
};

}  // namespace cress::relay
