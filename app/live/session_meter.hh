#pragma once

#include <cstdint>
#include <optional>

#include "app/call/audio_receiver.hh"
#include "app/call/video_sender.hh"
#include "app/live/live_sample.hh"
#include "app/live/meters.hh"
#include "transport/secure/connection.hh"
#include "transport/session/endpoint.hh"

namespace cress::live {

/// Statistics of a live session, collected from all data that passes: for LiveSample. Threads: none
/// inside; one owner.
class SessionMeter {
 public:
  explicit SessionMeter(TimePoint start) : heard_at_(start) {}

  /// For a new other end: clocks and paths have changed.
  void handle_connected(TimePoint now);
  /// Call after each change of the session,
  void handle_drained(TimePoint now, const secure::ConnectionStats& stats);
  /// and while there is an endpoint.
  void handle_endpoint(const session::Endpoint& endpoint);
  /// Call about ten times a second.
  void tick(TimePoint now, const secure::ConnectionStats& stats);
  void handle_coded(TimePoint now, const app::CodedVideo& coded);
  /// A frame captured at `captured` (their clock) is displayed now.
  void handle_shown(TimePoint now, TimePoint captured);
  void handle_played(const app::PlayedAudio& played);

  /// All fields except those of the session itself (see note_endpoint) and of the devices.
  LiveSample sample(TimePoint now) const;
  /// The minimum delay from capture to here: half the least round trip.
  Duration least_delay() const { return least_rtt_.value_or(Duration{}) / 2; }

 private:
  LiveSample counts_;
  std::optional<Duration> least_rtt_;
  std::optional<TimePoint> skipped_since_;
  uint64_t opened_ = 0;
  TimePoint heard_at_;
  DelayMeter frame_delay_;
  DelayMeter sound_delay_;
  RateMeter sent_;
  RateMeter received_;
};

/// Adds the session's data about the link from here.
void note_endpoint(TimePoint now, const session::Endpoint& endpoint, double loss,
                   LiveSample& sample);

}  // namespace cress::live
