#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "relay/forward/leg.hh"
#include "relay/forward/room_options.hh"
#include "relay/forward/source.hh"
#include "relay/forward/speaker_detector.hh"
#include "transport/base/time.hh"
#include "transport/room/room_message.hh"

namespace cress::relay {

/// One datagram for one member: plain, as its endpoint takes it.
struct LegTransmit {
  room::MemberNumber to = room::kNobody;
  std::vector<std::byte> bytes;
};

/// A leg that is no more: whoever carries its datagrams may close.
struct Departure {
  room::MemberNumber number = room::kNobody;
  room::LeaveReason reason = room::LeaveReason::kLeft;
  /// What it was told, if it was sent away.
  std::optional<room::FarewellReason> farewell;
  friend bool operator==(const Departure&, const Departure&) = default;
};

/// What is known of one member, for people and metrics.
struct MemberView {
  room::MemberNumber number = room::kNobody;
  bool is_leaving = false;
  std::optional<DataRate> forecast;  ///< of the link to it
  double loss = 0;                   ///< of what goes to it
  DataRate video_rate;               ///< it was told to send at most
  DataSize waiting;                  ///< of pictures, for its window
  DataSize cached;                   ///< of its pictures
  size_t senders_shown = 0;
};

/// A room of a relay, without I/O: what each member sends goes on to all others, each as far as its
/// own link allows (docs/protocol/room.md). Datagrams are plain: who said them is for others to
/// prove. After each handle_* and verb poll poll_transmit and poll_departure until empty, then
/// sleep until poll_timeout. Members' words are never trusted: any bytes are safe, all that is
/// stored is bounded by RoomOptions and counted. Threads: none inside; one owner. `now` never goes
/// back.
class Room {
 public:
  Room(TimePoint start, RoomOptions options);
  ~Room();
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  /// Somebody proved to be a member. Nobody: not even a good-bye can be said. If the room is full
  /// or closed, the number is of a leg that says good-bye and departs.
  std::optional<room::MemberNumber> join(TimePoint now);
  /// The member's session is over.
  void leave(TimePoint now, room::MemberNumber number, room::LeaveReason reason);
  /// The member is told to go.
  void kick(TimePoint now, room::MemberNumber number);
  /// All are told to go, and nobody comes in any more.
  void close(TimePoint now, room::Farewell farewell);

  /// Of a member that is not there it is counted and forgotten. False: its member sends more
  /// datagrams than it may, and this one was not read.
  bool handle_datagram(TimePoint now, room::MemberNumber number,
                       std::span<const std::byte> datagram);
  void handle_timeout(TimePoint now);
  std::optional<LegTransmit> poll_transmit(TimePoint now);
  std::optional<Departure> poll_departure();
  TimePoint poll_timeout() const;

  /// Who is in, good-byes aside.
  size_t members() const { return members_in_; }
  /// Nobody is in, and no good-bye is still being said.
  bool empty() const { return present_ == 0; }
  bool is_closed() const { return closed_.has_value(); }
  std::optional<room::MemberNumber> speaker() const;
  const RoomStats& stats() const { return stats_; }
  /// In the order of their numbers' slots.
  std::vector<MemberView> member_views() const;
  /// How much of `source` goes to `to`.
  FrameKind level(room::MemberNumber to, room::MemberNumber source) const;

 private:
  struct Member;

  Member* find(room::MemberNumber number) const;
  std::optional<size_t> free_slot() const;
  void introduce(Member& newcomer);
  void tell(Member& member, const room::RoomMessage& message);
  void tell_all(const room::RoomMessage& message, const Member* except);
  void send_away(TimePoint now, Member& member, room::Farewell farewell);
  void withdraw(Member& member, room::LeaveReason reason);
  void remove(Member& member);
  void touch(const Member& member);

  void drain(TimePoint now, Member& member);
  void handle_message(TimePoint now, Member& from, session::MessageReceived message);
  void handle_sound(TimePoint now, Member& from, std::vector<std::byte> message);
  void handle_video(TimePoint now, Member& from, std::vector<std::byte> message);
  void handle_control(TimePoint now, Member& from, std::span<const std::byte> message);
  void handle_whole(TimePoint now, Member& from, const CachedFrame& frame);
  bool is_allowed(TimePoint now, Member& from, const FrameCache::Added& added);

  void tick(TimePoint now);
  void step(TimePoint now);
  void report(TimePoint now, Member& member, Duration interval);
  void send_report(TimePoint now, Member& to, uint32_t newest);
  bool is_reportable(TimePoint now, const Source& source, const CachedFrame& frame) const;
  void tell_speaker();
  void plan(TimePoint now, Member& member);
  void follow_capacity(Member& member);
  std::vector<size_t> rank(const Member& member) const;
  DataRate limit_sounds(Member& member, DataRate capacity);
  void limit_rates(TimePoint now);
  DataRate wanted_rate(const Member& sender) const;
  void ask_for_key_frames(TimePoint now);

  RoomOptions options_;
  RoomStats stats_;
  std::array<std::unique_ptr<Member>, kLegsMax> slots_;
  uint64_t present_ = 0;  // slots with a member
  Sources sources_{};
  size_t members_in_ = 0;
  size_t next_slot_ = 0;
  std::array<uint16_t, kLegsMax> generations_{};
  std::deque<Departure> departures_;  // at most one a leg, drained after each call

  // Legs that may have something to send, by slot, and when the others will.
  uint64_t dirty_ = 0;
  uint64_t fed_ = 0;
  std::array<TimePoint, kLegsMax> timeouts_;
  TimePoint next_tick_ = kNever;
  TimePoint next_step_ = kNever;
  uint64_t steps_ = 0;
  bool steps_changed_ = false;  // who is there or speaks: plans are looked at now

  SpeakerDetector speakers_;
  std::optional<size_t> speaker_;
  uint32_t speaker_revision_ = 0;
  std::optional<room::Farewell> closed_;
  TimePoint last_now_;
};

}  // namespace cress::relay
