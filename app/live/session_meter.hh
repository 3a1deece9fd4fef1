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

/// What a live session is like, gathered from all that passes through it: for LiveSample. Threads:
/// none inside; one owner.
class SessionMeter {
 public:
  explicit SessionMeter(TimePoint start) : heard_at_(start) {}

  /// With a new other end: clocks and paths are others.
  void handle_connected(TimePoint now);
  /// After each change of the session,
  void handle_drained(TimePoint now, const secure::ConnectionStats& stats);
  /// and while there is one.
  void handle_endpoint(const session::Endpoint& endpoint);
  /// Some ten times a second.
  void tick(TimePoint now, const secure::ConnectionStats& stats);
  void handle_coded(TimePoint now, const app::CodedVideo& coded);
  /// A picture captured then (their clock) is on the screen now.
  void handle_shown(TimePoint now, TimePoint captured);
  void handle_played(const app::PlayedAudio& played);

  /// All but what only the session itself knows (see note_endpoint) and the devices.
  LiveSample sample(TimePoint now) const;
  /// From capture to here, at least: half the least round trip.
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

/// What the session knows of the link from here.
void note_endpoint(TimePoint now, const session::Endpoint& endpoint, double loss,
                   LiveSample& sample);

}  // namespace cress::live
