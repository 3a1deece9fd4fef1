#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/live/live_devices.hh"
#include "app/live/live_sample.hh"
#include "app/room/room_member.hh"
#include "transport/base/address.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/secure/connection.hh"

namespace cress::room {

struct LiveRoomOptions {
  /// Of the room's link.
  std::vector<std::byte> secret{};
  /// Own address; all zero: any.
  Address bind{};
  Address relay{};
  /// Where else it may be: see secure::ConnectionOptions.
  std::vector<Address> other_relays{};
  /// How long the first way in is tried, and how long a relay that was there may be away.
  Duration connect_max = 30s;
  Duration rejoin_max = 5min;
  live::LiveDevicesOptions devices{};
  app::PersonState person{};
};

/// One of the others, now.
struct LiveRoomMember {
  OtherMember member{};
  /// Of the last second; see live::LiveSample.
  std::optional<Duration> frame_delay_p50{};
  std::optional<Duration> frame_delay_p95{};
};

/// What the room is like now.
struct LiveRoomSample {
  /// Of the leg to the relay, own devices, and all others together.
  live::LiveSample session{};
  std::string room{};             ///< its name, as the relay says; empty before the welcome
  MemberNumber number = kNobody;  ///< own
  MemberNumber speaker = kNobody;
  std::optional<DataRate> video_rate_max{};  ///< as the relay asks
  std::vector<LiveRoomMember> others{};
};

/// Where a room's outputs go; each may be empty. Called in the loop's thread.
struct LiveRoomOutputs {
  /// Of the session and the devices: LiveEvent::kEnded is the last.
  std::function<void(const live::LiveEvent&)> event{};
  /// Who came, changed, left, speaks. After each kConnected the others come anew.
  std::function<void(const RoomEvent&)> room{};
  /// `shown`: when it is handed over here, decoded.
  std::function<void(const RoomShown&)> shown{};
  /// All others together.
  std::function<void(const app::PlayedAudio&)> played{};
  std::function<void(const media::PicturePtr&)> own_picture{};
  std::function<void(const app::CodedVideo&)> coded{};
};

/// One member of a room, live: socket, security, devices and the RoomMember, stepped by an event
/// loop. Begins with the constructor, ends with LiveEvent::kEnded. Errors: the constructor throws
/// std::runtime_error (no such file); afterwards all is told by events. Threads: the loop's,
/// besides those of the devices.
class LiveRoom {
 public:
  /// Clock and loop are borrowed and must outlive it. Needs a media::GstRuntime.
  LiveRoom(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
           const LiveRoomOptions& options, LiveRoomOutputs outputs);
  ~LiveRoom();
  LiveRoom(const LiveRoom&) = delete;
  LiveRoom& operator=(const LiveRoom&) = delete;

  void set_muted(bool muted);
  void set_camera_off(bool off);
  void set_name(std::string name);
  /// Another camera; "screen" shares the screen.
  void choose_camera(const std::string& id);
  void choose_microphone(const std::string& id);
  void choose_speaker(const std::string& id);
  /// Whom the grid shows: pinned (or kNobody), pictures at once, height of the tallest in pixels.
  void set_view(MemberNumber pinned, uint32_t pictures, uint32_t height);
  void hang_up();

  const app::PersonState& person() const;
  LiveRoomSample sample() const;
  const secure::ConnectionStats& connection_stats() const;
  /// Writes what a speaker "file:PATH" holds. After kEnded.
  void finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::room
