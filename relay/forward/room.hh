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

/// One datagram for one member: unencrypted, as its endpoint takes it.
struct LegTransmit {
  room::MemberNumber to = room::kNobody;
  std::vector<std::byte> bytes;
  Ecn ecn = Ecn::kNotEct;  ///< for its IP packet
};

/// A leg that has ended: the owner of its session may close that.
struct Departure {
  room::MemberNumber number = room::kNobody;
  room::LeaveReason reason = room::LeaveReason::kLeft;
  /// The farewell that was sent to it, if it was sent away.
  std::optional<room::FarewellReason> farewell;
  friend bool operator==(const Departure&, const Departure&) = default;
};

/// The state of one member, for display and metrics.
struct MemberView {
  room::MemberNumber number = room::kNobody;
  bool is_leaving = false;
  std::optional<DataRate> forecast;  ///< of the link to it
  double loss = 0;                   ///< of messages sent to it
  DataRate video_rate;               ///< the maximum that it was asked to send
  DataSize waiting;                  ///< video waiting for its window
  DataSize cached;                   ///< video cached from it
  size_t senders_shown = 0;
};

/// A room of a relay, without I/O: forwards what each member sends to all others, as far as each
/// one's link allows (docs/protocol/room.md). Datagrams are unencrypted; the caller authenticates
/// their sender. After each handle_* and verb poll poll_transmit and poll_departure until empty,
/// then sleep until poll_timeout. Members are not trusted: any bytes are safe, all stored data is
/// bounded by RoomOptions and counted. Threads: none inside; one owner. `now` never goes back.
class Room {
 public:
  Room(TimePoint start, RoomOptions options);
  ~Room();
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  /// Adds a member that has been authenticated. nullopt if every slot is taken. If the room is full
  /// or closed, the number is that of a leg that only sends a farewell and departs. Media goes
  /// from one member to another if each has verified the other (room::Audience). `token`,
  /// random and given to the member alone, lets it end this presence after it has joined again.
  std::optional<room::MemberNumber> join(TimePoint now, const room::PresenceToken& token = {});
  /// The member's session is over.
  void leave(TimePoint now, room::MemberNumber number, room::LeaveReason reason);
  /// Sends the member away.
  void kick(TimePoint now, room::MemberNumber number);
  /// Sends all members away, and admits no more.
  void close(TimePoint now, room::Farewell farewell);

  /// A datagram of an unknown member is counted and dropped. False: the member sends more datagrams
  /// than it may, and this one was not read.
  bool handle_datagram(TimePoint now, room::MemberNumber number,
                       std::span<const std::byte> datagram, Ecn ecn = Ecn::kNotEct);
  void handle_timeout(TimePoint now);
  std::optional<LegTransmit> poll_transmit(TimePoint now);
  std::optional<Departure> poll_departure();
  TimePoint poll_timeout() const;

  /// Members, not counting those being sent away.
  size_t members() const { return members_in_; }
  /// No member is present, and no farewell is still being sent.
  bool empty() const { return present_ == 0; }
  bool is_closed() const { return closed_.has_value(); }
  std::optional<room::MemberNumber> speaker() const;
  const RoomStats& stats() const { return stats_; }
  /// In the order of the slots.
  std::vector<MemberView> member_views() const;
  /// The level at which `to` gets `source`.
  FrameKind level(room::MemberNumber to, room::MemberNumber source) const;

 private:
  struct Member;

  Member* find(room::MemberNumber number) const;
  std::optional<size_t> free_slot() const;
  void introduce(Member& newcomer);
  void notify(Member& member, const room::RoomMessage& message);
  void notify_all(const room::RoomMessage& message, const Member* except);
  void send_away(TimePoint now, Member& member, room::Farewell farewell);
  void withdraw(Member& member, room::LeaveReason reason);
  void remove(Member& member);
  void touch(const Member& member);

  void drain(TimePoint now, Member& member);
  void handle_message(TimePoint now, Member& from, session::MessageReceived message);
  void handle_sound(TimePoint now, Member& from, std::vector<std::byte> message);
  void handle_video(TimePoint now, Member& from, std::vector<std::byte> message);
  void handle_control(TimePoint now, Member& from, std::span<const std::byte> message);
  void handle_card(Member& from, const room::Card& card);
  void handle_audience(Member& from, const room::Audience& audience);
  void handle_shares(TimePoint now, Member& from, const room::Shares& shares);
  void handle_proof(TimePoint now, Member& from, const room::Proof& proof);
  void handle_chat(TimePoint now, Member& from, const room::Chat& chat);
  void handle_replacing(const Member& from, const room::Replacing& replacing);
  void handle_whole(TimePoint now, Member& from, const CachedFrame& frame);
  bool is_allowed(TimePoint now, Member& from, const FrameCache::Added& added);

  void tick(TimePoint now);
  void step(TimePoint now);
  void report(TimePoint now, Member& member, Duration interval);
  void send_report(TimePoint now, Member& to, uint32_t newest);
  bool is_reportable(TimePoint now, const Source& source, const CachedFrame& frame) const;
  void notify_of_speaker();
  void plan(TimePoint now, Member& member);
  void plan_changed_audiences(TimePoint now);
  void follow_capacity(Member& member);
  std::vector<size_t> rank(const Member& member) const;
  DataRate limit_sounds(Member& member, DataRate capacity);
  void limit_rates(TimePoint now);
  DataRate wanted_rate(const Member& sender) const;
  void ask_for_key_frames(TimePoint now);
  void ask_for_key_frame(TimePoint now, Member& sender);

  RoomOptions options_;
  RoomStats stats_;
  std::array<std::unique_ptr<Member>, kLegsMax> slots_;
  uint64_t present_ = 0;  // slots with a member
  Sources sources_{};
  size_t members_in_ = 0;
  size_t next_slot_ = 0;
  std::array<uint16_t, kLegsMax> generations_{};
  std::deque<Departure> departures_;  // at most one per leg, drained after each call

  // Legs that may have something to send, by slot, and when the others will.
  uint64_t dirty_ = 0;
  uint64_t fed_ = 0;
  std::array<TimePoint, kLegsMax> timeouts_;
  TimePoint next_tick_ = kNever;
  TimePoint next_step_ = kNever;
  uint64_t steps_ = 0;
  uint64_t to_plan_ = 0;        // legs, by slot, to which a sender's media may go since now
  bool steps_changed_ = false;  // members or speaker changed: plans are recomputed now

  SpeakerDetector speakers_;
  std::optional<size_t> speaker_;
  uint32_t speaker_revision_ = 0;
  std::optional<room::Farewell> closed_;
  uint32_t epoch_ = 0;  // of the members' keys
  TimePoint epoch_since_ = kTimeZero - 1h;
  TimePoint last_now_;
};

}  // namespace cress::relay
