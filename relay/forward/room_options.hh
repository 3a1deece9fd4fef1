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

/// The forecast options of legs. Frames are not sized for a leg's window: one fragment exceeds what
/// a slow link carries in the usual 60 ms with high probability, and would then wait for the
/// sender's patience.
inline control::CressControl::Options leg_control() {
  control::CressControl::Options control;
  control.delay_target = 100ms;
  control.patience = 60ms;
  // As in calls: behind an upload a member's reports are late, and its link is not down
  // (docs/experiments/0043).
  control.forecast_life_max = control::call_control().forecast_life_max;
  // Half as often as in a call of two: reports in datagrams of their own were nearly a third of
  // everything a relay handed to its kernel, and a member's uplink is used equally well with fewer
  // (docs/experiments/0008).
  control.report_interval = 20ms;
  control.report_interval_clear = control::kSparingReports;
  return control;
}

/// All bounds of a room. Anything beyond a bound is dropped and counted, never stored.
struct RoomOptions {
  std::string name{};  ///< at most kRoomNameSizeMax bytes
  /// At most kLegsMax.
  size_t members_max = 16;

  /// The most that one member may send: beyond it whole datagrams are dropped unread.
  DataRate member_rate_max = DataRate::kilobits_per_second(6000);
  int64_t member_datagrams_per_second = 1500;
  Duration member_burst = 500ms;
  int64_t control_messages_per_second = 50;
  /// Frames cost the receivers' decoders, however small they are. The bursts are for what waited in
  /// a member's network.
  int64_t member_frames_per_second = 90;
  int64_t member_sounds_per_second = 75;
  Duration member_media_burst = 3s;
  /// Cards are forwarded to all members.
  int64_t cards_per_second = 2;
  /// Proofs go to all members that hear or see this one. An honest member makes two in 1.5 s, three
  /// if its camera is fast.
  int64_t proofs_per_second = 4;
  /// Sealed secrets, each for one member. An honest member makes one for each of the others when
  /// one joins or leaves.
  int64_t shares_per_second = 40;
  /// The bursts of both are for what waited in a member's network.
  Duration member_proof_burst = 4s;
  /// Lines of chat. An honest member writes one a second, five at once.
  int64_t chats_per_second = 2;
  Duration member_chat_burst = 8s;

  /// The rate that a member is asked to send at most, and the rate if no other member displays it
  /// large.
  DataRate video_rate_max = DataRate::kilobits_per_second(1500);
  DataRate thumbnail_rate = DataRate::kilobits_per_second(350);
  /// A member that sends more than this many times the rate it was asked for loses whole frames.
  double video_excess = 2;

  /// Video waiting for one leg's window.
  DataSize leg_queue_max{256'000};
  FrameCacheOptions cache{};
  /// How many members' video a leg gets before it sends a view.
  uint32_t pictures_default = 16;

  /// Per sender, for all its receivers together;
  Duration key_frame_interval = 1s;
  /// and the budget of one receiver's requests: a burst of this many, then one per interval.
  int64_t key_frames_per_leg_burst = 20;
  /// After this long without any datagram a member counts as lost.
  Duration lost_after = 15s;
  /// A farewell is sent for at most this long.
  Duration farewell_time = 1s;

  LegPlanOptions plan{};
  SpeakerDetectorOptions speaker{};
  session::EndpointOptions endpoint{};
  control::CressControl::Options control = leg_control();
};

/// Counts since the room began, for metrics. They only grow.
struct RoomStats {
  uint64_t joins = 0;
  uint64_t leaves = 0;
  uint64_t refused_joins = 0;
  uint64_t datagrams_in = 0;
  uint64_t datagrams_out = 0;
  uint64_t bytes_out = 0;
  uint64_t datagrams_unknown = 0;     ///< from unknown members
  uint64_t datagrams_over_limit = 0;  ///< beyond their member's limit
  uint64_t datagrams_malformed = 0;
  uint64_t messages_malformed = 0;  ///< invalid headers, fragments or room messages
  uint64_t control_over_limit = 0;
  uint64_t frames_over_limit = 0;  ///< frames per second beyond the limit
  uint64_t sounds_over_limit = 0;
  uint64_t proofs_over_limit = 0;
  uint64_t shares_over_limit = 0;
  uint64_t chats_over_limit = 0;
  uint64_t fragments_in = 0;
  uint64_t fragments_refused = 0;  ///< too large, too old, or over the allowed rate
  uint64_t fragments_out = 0;
  uint64_t fragments_repeated = 0;  ///< of fragments_out: retransmissions
  uint64_t frames_left_out =
      0;                       ///< legs × frames: by plan, or because their reference was left out
  uint64_t frames_missed = 0;  ///< legs × frames: too late, or lost and not recovered
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
    frames_over_limit += other.frames_over_limit;
    sounds_over_limit += other.sounds_over_limit;
    proofs_over_limit += other.proofs_over_limit;
    shares_over_limit += other.shares_over_limit;
    chats_over_limit += other.chats_over_limit;
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
