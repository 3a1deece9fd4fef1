#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/live/live_end.hh"
#include "app/live/meters.hh"
#include "app/room/secure_room.hh"
#include "transport/base/address.hh"

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
  /// See LiveRoom::sample.
  live::LiveSample session{};
  std::string room{};             ///< its name, as the relay says; empty before the welcome
  MemberNumber number = kNobody;  ///< own
  MemberNumber speaker = kNobody;
  std::optional<DataRate> video_rate_max{};  ///< as the relay asks
  std::vector<LiveRoomMember> others{};
};

/// Where a room's outputs go.
struct LiveRoomOutputs : live::LiveEndOutputs {
  /// Who came, changed, left, speaks. After each kConnected the others come anew.
  std::function<void(const RoomEvent&)> room{};
  /// `shown`: when it is handed over here, decoded.
  std::function<void(const RoomShown&)> shown{};
};

/// One member of a room, live.
class LiveRoom final : public live::LiveEnd {
 public:
  /// See LiveEnd.
  LiveRoom(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
           const LiveRoomOptions& options, const LiveRoomOutputs& outputs);

  /// Whom the grid shows: pinned (or kNobody), pictures at once, height of the tallest in pixels.
  void set_view(MemberNumber pinned, uint32_t pictures, uint32_t height);
  LiveRoomSample room_sample() const;
  /// Of the leg to the relay, own devices, and all others together. No delay of the sound: many
  /// voices are one by then, and each was captured by a clock of its own.
  live::LiveSample sample() const override;

 private:
  void take_events(TimePoint now) override;
  void take_shown() override;
  void handle_leg_event(TimePoint now, const LegEvent& event);

  SecureRoom& room_;  // the machine
  std::function<void(const RoomEvent&)> told_;
  std::function<void(const RoomShown&)> shown_;
  std::map<MemberNumber, live::DelayMeter> delays_;  // of those who are there
};

}  // namespace cress::room
