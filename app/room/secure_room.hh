#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/live/live_machine.hh"
#include "app/room/room_member.hh"
#include "transport/control/cress/cress_control.hh"
#include "transport/secure/connection.hh"
#include "transport/secure/handshake/credential.hh"

namespace cress::room {

struct SecureRoomOptions {
  /// The secret of the room's link; wiped once the room's keys are derived.
  std::vector<std::byte> secret{};
  Address relay{};
  /// Other possible addresses: see secure::ConnectionOptions.
  std::vector<Address> other_relays{};
  /// How long the first connection is tried.
  Duration connect_max = 30s;
  /// How long a known relay may be unreachable before the room is given up.
  Duration rejoin_max = 5min;
  /// `media` is filled in from the secret.
  RoomMemberOptions member{};
  control::CressControl::Options control = control::room_control();
};

/// Why a room has ended for this member.
struct RoomOver {
  std::variant<secure::CloseReason, room::FarewellReason> reason{};
};
/// One clear sentence for a person.
const char* describe(room::FarewellReason reason);
std::string describe(const RoomOver& over);

/// The relay is unreachable and the member is trying to rejoin.
struct RoomRejoining {
  Duration in{};  ///< the next attempt is after this time
};

/// Events of the session and its path: connected, unreachable, ... ; Closed is reported as one of
/// the others.
using LegEvent = std::variant<secure::Event, RoomRejoining, RoomOver>;

/// One member of a room behind its link: the connection to the relay, and in it a RoomMember, a new
/// one each time the relay admits us: after it was restarted, drained, or away for long. A new
/// RoomMember learns the room's state from the relay within a round trip or two.
class SecureRoom final : public live::LiveMachine {
 public:
  SecureRoom(TimePoint start, SecureRoomOptions options);

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  void handle_path_error(TimePoint now, const PathError& error) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;

  void capture(TimePoint now, const media::PicturePtr& picture) override;
  void capture_sound(TimePoint now, const media::AudioFrame& samples) override;
  app::PlayedAudio play(TimePoint now) override;
  void set_person(TimePoint now, app::PersonState person) override;
  bool send_chat(TimePoint now, std::string_view text) override;
  size_t chat_waiting() const override { return member_ ? member_->chat_waiting() : 0; }
  /// As RoomMember's.
  void set_view(TimePoint now, MemberNumber pinned, uint32_t pictures, uint32_t height);
  void handle_network_change(TimePoint now) override;
  void hang_up(TimePoint now) override;

  std::optional<LegEvent> poll_leg_event();
  std::optional<RoomEvent> poll_event();
  std::optional<RoomShown> poll_shown();
  std::optional<app::CodedVideo> poll_coded() override;
  std::shared_ptr<app::EncodeWork> poll_encode_work() override;
  void handle_encoded(TimePoint now, app::EncodeWork& work) override;
  std::shared_ptr<app::DecodeWork> poll_decode_work() override;
  void handle_decoded(TimePoint now, const app::DecodeWork& work) override;

  /// Null while not connected to the relay.
  const RoomMember* member() const { return member_.get(); }
  /// Counters since the last join.
  const secure::Connection& connection() const override { return *connection_; }
  bool is_finished() const override { return is_over_ && connection_->is_finished(); }
  const session::Endpoint* endpoint() const override {
    return member_ ? &member_->endpoint() : nullptr;
  }
  double loss() const override { return member_ ? member_->loss() : 0; }

 private:
  struct View {
    MemberNumber pinned = kNobody;
    uint32_t pictures = 0;
    uint32_t height = 0;
  };

  void drain(TimePoint now);
  void drain_events(TimePoint now);
  void drain_member();
  void drop_member();
  void handle_connected(TimePoint now);
  void handle_closed(TimePoint now, secure::CloseReason reason);
  void handle_farewell(TimePoint now, room::Farewell farewell);
  void connect(TimePoint now, Duration for_at_most);
  void rejoin(TimePoint now, Duration in);
  void finish(RoomOver over);

  SecureRoomOptions options_;
  secure::Secret access_;
  std::optional<View> view_;
  std::optional<room::Replacing> presence_;  // the last one
  std::unique_ptr<secure::Connection> connection_;
  std::unique_ptr<RoomMember> member_;
  TimePoint rejoin_at_ = kNever;
  TimePoint give_up_at_ = kNever;  // while a known relay is unreachable
  bool was_in_ = false;
  bool heard_farewell_ = false;  // and hung up because of it
  bool hung_up_ = false;
  bool is_over_ = false;
  std::deque<LegEvent> leg_events_;  // few: drained after each call
  std::deque<RoomEvent> events_;
};

}  // namespace cress::room
