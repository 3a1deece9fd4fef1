#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "app/room/room_member.hh"
#include "transport/runtime/datagram_machine.hh"
#include "transport/secure/connection.hh"
#include "transport/secure/credential.hh"
#include "transport/sprout/cress_control.hh"

namespace cress::room {

struct SecureRoomOptions {
  /// The room link's.
  std::vector<std::byte> secret{};
  Address relay{};
  /// Where else it may be: see secure::ConnectionOptions.
  std::vector<Address> other_relays{};
  /// How long the first way in is tried.
  Duration connect_max = 30s;
  /// How long a relay that was there may be away before the room is given up.
  Duration rejoin_max = 5min;
  /// `media` is filled in from the secret.
  RoomMemberOptions member{};
  sprout::CressControl::Options control{};
};

/// Why a room is over for this member.
struct RoomOver {
  std::variant<secure::CloseReason, relay::FarewellReason> reason{};
};
/// One clear sentence for a person.
const char* describe(relay::FarewellReason reason);
std::string describe(const RoomOver& over);

/// The relay is away and the way back in is being looked for.
struct RoomRejoining {
  Duration in{};  ///< nothing is tried before
};

/// Of the session and its path: connected, unreachable, ... ; Closed is told as one of the others.
using LegEvent = std::variant<secure::Event, RoomRejoining, RoomOver>;

/// One member of a room behind its link: the connection to the relay, and in it a RoomMember, a new
/// one each time the relay lets us in: after it was restarted, drained, or away for long. Still
/// without I/O: a Driver steps it over a socket, a test over simulated links. What a new RoomMember
/// does not know it learns from the relay within a round trip or two. Threads: none inside; one
/// owner. `now` never goes back. Data of a peer: nothing unauthenticated reaches the RoomMember.
class SecureRoom : public runtime::DatagramMachine {
 public:
  SecureRoom(TimePoint start, SecureRoomOptions options);

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  void handle_path_error(TimePoint now, const runtime::PathError& error) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;

  /// As RoomMember's; while nobody is there pictures and sounds go nowhere.
  void capture(TimePoint now, const media::PicturePtr& picture);
  void capture_sound(TimePoint now, const media::AudioFrame& samples);
  app::PlayedAudio play(TimePoint now);
  void set_person(TimePoint now, app::PersonState person);
  void set_view(TimePoint now, MemberNumber pinned, uint32_t pictures, uint32_t height);
  /// The machine's addresses changed, or it woke from sleep.
  void handle_network_change(TimePoint now);
  /// Poll on until is_finished().
  void hang_up(TimePoint now);

  std::optional<LegEvent> poll_leg_event();
  std::optional<RoomEvent> poll_event();
  std::optional<RoomShown> poll_shown();
  std::optional<app::CodedVideo> poll_coded();

  /// Null while the relay is not there.
  const RoomMember* member() const { return member_.get(); }
  /// Counters since the last way in.
  const secure::Connection& connection() const { return *connection_; }
  /// Nothing left to say.
  bool is_finished() const { return is_over_ && connection_->is_finished(); }

 private:
  struct View {
    MemberNumber pinned = kNobody;
    uint32_t pictures = 0;
    uint32_t height = 0;
  };

  void drain(TimePoint now);
  void drain_events(TimePoint now);
  void drain_member();
  void handle_connected(TimePoint now);
  void handle_closed(TimePoint now, secure::CloseReason reason);
  void handle_farewell(TimePoint now, relay::Farewell farewell);
  void connect(TimePoint now, Duration for_at_most);
  void rejoin(TimePoint now, Duration in);
  void finish(RoomOver over);

  SecureRoomOptions options_;
  std::optional<View> view_;
  std::unique_ptr<secure::Connection> connection_;
  std::unique_ptr<RoomMember> member_;
  TimePoint rejoin_at_ = kNever;
  TimePoint give_up_at_ = kNever;  // while the relay that was there is away
  bool was_in_ = false;
  bool heard_farewell_ = false;  // and hung up because of it
  bool hung_up_ = false;
  bool is_over_ = false;
  std::deque<LegEvent> leg_events_;  // few: drained after each call
  std::deque<RoomEvent> events_;
};

}  // namespace cress::room
