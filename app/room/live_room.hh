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
  /// The secret of the room's link.
  std::vector<std::byte> secret{};
  /// Own address; all zero: any.
  Address bind{};
  Address relay{};
  /// Other possible addresses: see secure::ConnectionOptions.
  std::vector<Address> other_relays{};
  /// How long the first connection is tried, and how long a known relay may be unreachable.
  Duration connect_max = 30s;
  Duration rejoin_max = 5min;
  live::LiveDevicesOptions devices{};
  app::PersonState person{};
  app::Preference prefer = app::kUsualPreference;
};

/// The current state of one other member.
struct LiveRoomMember {
  OtherMember member{};
  /// Over the last second; see live::LiveSample.
  std::optional<Duration> frame_delay_p50{};
  std::optional<Duration> frame_delay_p95{};
};

/// The current state of the room.
struct LiveRoomSample {
  /// See LiveRoom::sample.
  live::LiveSample session{};
  std::string room{};             ///< its name, as given by the relay; empty before the welcome
  MemberNumber number = kNobody;  ///< own
  std::string key_code{};         ///< of the own key, to be read out to others
  MemberNumber speaker = kNobody;
  std::optional<DataRate> video_rate_max{};  ///< as requested by the relay
  std::vector<LiveRoomMember> others{};
};

/// The destinations of a room's outputs.
struct LiveRoomOutputs : live::LiveEndOutputs {
  /// Members who joined, changed, left, or speak. After each kConnected all others are reported
  /// again.
  std::function<void(const RoomEvent&)> room{};
  /// `shown`: the time when it is passed here, decoded.
  std::function<void(const RoomShown&)> shown{};
};

/// One member of a room, live.
class LiveRoom final : public live::LiveEnd {
 public:
  /// See LiveEnd.
  LiveRoom(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
           const LiveRoomOptions& options, const LiveRoomOutputs& outputs);

  /// The video that the window requests: pinned member (or kNobody), number at the same time,
  /// height of the tallest in pixels.
  void set_view(MemberNumber pinned, uint32_t pictures, uint32_t height);
  LiveRoomSample room_sample() const;
  /// Statistics of the leg to the relay, own devices, and all others together. No audio delay: many
  /// voices are mixed by then, each captured by a clock of its own.
  live::LiveSample sample() const override;

 private:
  void take_events(TimePoint now) override;
  void take_shown() override;
  void handle_leg_event(TimePoint now, const LegEvent& event);

  SecureRoom& room_;  // the machine
  std::function<void(const RoomEvent&)> told_;
  std::function<void(const RoomShown&)> shown_;
  std::map<MemberNumber, live::DelayMeter> delays_;  // of the members present
};

}  // namespace cress::room
