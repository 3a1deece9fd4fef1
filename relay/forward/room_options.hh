#pragma once

#include <cstdint>
#include <string>

#include "relay/forward/frame_cache.hh"
#include "relay/forward/leg_plan.hh"
#include "relay/forward/speaker_detector.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/control/cress/cress_control.hh"
#include "transport/room/media_head.hh"
#include "transport/session/endpoint.hh"

namespace cress::relay {

/// How legs forecast. Frames are not made for a leg's window: a fragment is more than a slow link
/// surely carries in the usual 60 ms, and would then wait for the sender's patience.
inline control::CressControl::Options leg_control() {
  control::CressControl::Options control;
  control.delay_target = 100ms;
  control.patience = 60ms;
  // Half as often as in a call of two: reports in datagrams of their own were nearly a third of all
  // that a relay handed to its kernel, and a member's way up is used no worse with fewer of them
  // (docs/experiments/0008).
  control.report_interval = 20ms;
  control.report_interval_clear = control::kSparingReports;
  return control;
}

/// Every bound of a room. What is beyond is dropped and counted, never stored.
struct RoomOptions {
  std::string name{};  ///< at most kRoomNameSizeMax bytes
  /// At most kLegsMax.
  size_t members_max = 16;

  /// What one member may send: beyond it whole datagrams are dropped unread.
  DataRate member_rate_max = DataRate::kilobits_per_second(6000);
  int64_t member_datagrams_per_second = 1500;
  Duration member_burst = 500ms;
  int64_t control_messages_per_second = 50;
  /// Cards are repeated to everybody.
  int64_t cards_per_second = 2;

  /// What a member is told to send at most, and what one that nobody looks at in large is.
  DataRate video_rate_max = DataRate::kilobits_per_second(1500);
  DataRate thumbnail_rate = DataRate::kilobits_per_second(350);
  /// A member that sends this many times what it was told loses whole frames.
  double video_excess = 2;

  /// Of pictures that wait for one leg's window.
  DataSize leg_queue_max{256'000};
  FrameCacheOptions cache{};
  /// How many pictures a leg that has told no view looks at.
  uint32_t pictures_default = 16;

  /// Of one sender, for all its receivers together;
  Duration key_frame_interval = 1s;
  /// and what the wishes of one receiver may cost: so many at once, then one in each interval.
  int64_t key_frames_per_leg_burst = 20;
  /// Nothing heard from a member for so long: it is lost.
  Duration lost_after = 15s;
  /// A good-bye is told for so long at most.
  Duration farewell_time = 1s;

  LegPlanOptions plan{};
  SpeakerDetectorOptions speaker{};
  session::EndpointOptions endpoint{};
  control::CressControl::Options control = leg_control();
};

/// Counts since the room began, for metrics. All grow only.
struct RoomStats {
  uint64_t joins = 0;
  uint64_t leaves = 0;
  uint64_t refused_joins = 0;
  uint64_t datagrams_in = 0;
  uint64_t datagrams_out = 0;
  uint64_t bytes_out = 0;
  uint64_t datagrams_unknown = 0;     ///< of members that are not there
  uint64_t datagrams_over_limit = 0;  ///< beyond what their member may send
  uint64_t datagrams_malformed = 0;
  uint64_t messages_malformed = 0;  ///< heads, fragments, room messages that are none
  uint64_t control_over_limit = 0;
  uint64_t fragments_in = 0;
  uint64_t fragments_refused = 0;  ///< too large, too old, over the allowed rate
  uint64_t fragments_out = 0;
  uint64_t fragments_repeated = 0;  ///< of fragments_out
  uint64_t frames_left_out = 0;     ///< legs × frames: by plan, or because their reference was
  uint64_t frames_missed = 0;       ///< legs × frames: too late, or lost beyond repeating
  uint64_t sounds_in = 0;
  uint64_t sounds_out = 0;
  uint64_t sounds_left_out = 0;
  uint64_t key_frame_requests = 0;
  uint64_t frame_reports = 0;
  RoomStats& operator+=(const RoomStats& other) {
    joins += other.joins;
    leaves += other.leaves;
    refused_joins += other.refused_joins;
    datagrams_in += other.datagrams_in;
    datagrams_out += other.datagrams_out;
    bytes_out += other.bytes_out;
    datagrams_unknown += other.datagrams_unknown;
    datagrams_over_limit += other.datagrams_over_limit;
    datagrams_malformed += other.datagrams_malformed;
    messages_malformed += other.messages_malformed;
    control_over_limit += other.control_over_limit;
    fragments_in += other.fragments_in;
    fragments_refused += other.fragments_refused;
    fragments_out += other.fragments_out;
    fragments_repeated += other.fragments_repeated;
    frames_left_out += other.frames_left_out;
    frames_missed += other.frames_missed;
    sounds_in += other.sounds_in;
    sounds_out += other.sounds_out;
    sounds_left_out += other.sounds_left_out;
    key_frame_requests += other.key_frame_requests;
    frame_reports += other.frame_reports;
    return *this;
  }
};

}  // namespace cress::relay
