#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relay/calls/call_relay.hh"
#include "relay/forward/room.hh"
#include "transport/base/fifo.hh"
#include "transport/base/machine.hh"
#include "transport/base/spare_buffers.hh"
#include "transport/secure/group/member_card.hh"
#include "transport/secure/handshake/credential.hh"
#include "transport/secure/listener.hh"
#include "transport/secure/timer_heap.hh"

namespace cress::relay {

/// A card greets every other member of the room, and has a maximum size (secure::RoomKeys).
inline constexpr int kRoomMembersMax = secure::kRoomOthersMax + 1;
static_assert(kRoomMembersMax <= kLegsMax);

struct RelayMachineOptions {
  /// Its lookup is set by the machine. A late_lookup that finds a room must see to it that the room
  /// is open() before handle_work().
  secure::ListenerOptions listener{};
  /// Defaults for rooms that do not override them; each room has its own name.
  RoomOptions room{};
  /// Rooms with at least one member, at the same time.
  size_t live_rooms_max = 1024;
  /// Calls of two.
  CallRelayOptions calls{};
};

/// What a relay knows of a room: everything except the data of its members.
struct RoomDoor {
  std::string name;  ///< satisfies secure::is_room_name
  secure::Secret access{};
  std::optional<size_t> members_max{};
};

/// For logs and metrics.
struct RelayEvent {
  enum class Kind : uint8_t {
    kJoined,
    kLeft,         ///< `words` give the reason
    kRefused,      ///< could not join; `words` give the reason, `room` is empty if unknown
    kPathChanged,  ///< `address` is the new one
  };
  Kind kind = Kind::kJoined;
  std::string room;
  room::MemberNumber member = room::kNobody;
  Address address{};
  const char* words = "";
  friend bool operator==(const RelayEvent&, const RelayEvent&) = default;
};

/// Joins that were refused, by reason. The relay sees a hash of the key that a link has, so that a
/// mistyped link and one of a room that never was here are the same to it.
struct JoinsRefused {
  uint64_t wrong_key = 0;    ///< no room has had this key since the start
  uint64_t closed_room = 0;  ///< its room was closed or has expired
  uint64_t room_full = 0;
  uint64_t relay_full = 0;
  uint64_t draining = 0;
  friend bool operator==(const JoinsRefused&, const JoinsRefused&) = default;
};

/// A relay without I/O: a Listener for all rooms, a Room for each room with members, and a
/// CallRelay for calls of two. Rooms take turns to send, so that none delays another by more than a
/// turn; the cost of a datagram depends on its own room, not on the number of rooms. Rooms can be
/// opened and closed while it runs. A peer without a room's link gets no further than the Listener.
/// Threads: none inside; one owner. `now` never goes back. Peer data never fails a check.
class RelayMachine : public Machine {
 public:
  RelayMachine(TimePoint start, RelayMachineOptions options);
  RelayMachine(const RelayMachine&) = delete;
  RelayMachine& operator=(const RelayMachine&) = delete;

  /// Lets members enter from now on; for a room that is already open, changed limits apply once it
  /// has been empty. False: another room has this access key, or another key has this name.
  bool open(const RoomDoor& door);
  /// Sends all its members away, and admits no more. False: there is no room of that name.
  bool close(TimePoint now, const std::string& name, room::FarewellReason reason);
  /// False: there is no member with that number.
  bool kick(TimePoint now, const std::string& name, room::MemberNumber number);
  /// Asks all members to reconnect `again_in` from now and admits no more; keep polling until
  /// is_finished().
  void drain_members(TimePoint now, Duration again_in);
  /// Drained, and all sessions have finished closing.
  bool is_finished() const { return listener_.is_finished(); }

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_ecn(Ecn ecn) override { ecn_ = ecn; }
  void handle_timeout(TimePoint now) override;
  /// Work from poll_work that has been run.
  void handle_work(TimePoint now, secure::HandshakeWork work);
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  void take_back(std::vector<std::byte>&& sent) override { spare_.give(std::move(sent)); }
  TimePoint poll_timeout() const override;
  /// With listener.hands_out_work: work to be run elsewhere and returned (secure::Listener).
  std::optional<secure::HandshakeWork> poll_work() { return listener_.poll_work(); }
  /// When more than kEventsMax wait, the oldest is dropped.
  std::optional<RelayEvent> poll_event();

  size_t members() const { return members_; }
  size_t live_rooms() const { return live_rooms_; }
  size_t open_rooms() const { return doors_.size(); }
  /// The members of one room; empty if it has none or is closed.
  std::vector<MemberView> member_views(const std::string& name) const;
  /// The sum over all rooms, including those that are empty now.
  RoomStats room_stats() const;
  const secure::ListenerStats& listener_stats() const { return listener_.stats(); }
  const JoinsRefused& joins_refused() const { return joins_refused_; }
  /// Calls of two that have at least one end here.
  size_t calls() const { return calls_.calls(); }
  const CallRelayStats& call_stats() const { return calls_.stats(); }

  static constexpr size_t kEventsMax = 1024;
  /// Closed rooms that are remembered, so that the log names them when somebody comes late; the
  /// oldest are forgotten.
  static constexpr size_t kClosedMax = 1024;

 private:
  struct Door {
    RoomDoor door;
    std::optional<size_t> slot;  // of its room, if that has members
  };
  struct Seat {
    room::MemberNumber number = room::kNobody;
    secure::PeerId peer;
  };
  struct LiveRoom {
    LiveRoom(TimePoint start, std::string key, RoomOptions options)
        : identity(std::move(key)), name(options.name), room(start, std::move(options)) {}
    /// nullptr: no member with that number.
    const Seat* find(room::MemberNumber number) const {
      const auto& seat = seats.at(leg_of(number));
      return seat && seat->number == number ? &*seat : nullptr;
    }

    std::string identity;
    std::string name;
    Room room;
    /// Members not yet closed, indexed by leg_of() of their number: each datagram is looked up
    /// here.
    std::array<std::optional<Seat>, kLegsMax> seats{};
    bool has_turn = false;  // is queued in turns_
  };
  struct Place {
    secure::PeerId peer;
    size_t slot = 0;
    room::MemberNumber number = room::kNobody;
  };

  /// Null: the peer is in no room, or its session is being closed.
  const Place* find_place(secure::PeerId peer) const;
  std::optional<secure::Secret> find_key(std::string_view identity);
  void refuse_key(std::string_view identity, const Address& from);
  void remember_closed(const std::string& identity, const std::string& name,
                       room::FarewellReason reason);
  void drain(TimePoint now);
  void take_opened(TimePoint now);
  void handle_opened(TimePoint now);
  void handle_event(TimePoint now, const secure::PeerEvent& event);
  void let_in(TimePoint now, const secure::PeerEvent& event, const Address& address);
  std::optional<size_t> live_room(TimePoint now, const std::string& identity);
  Door* find_door(const std::string& name);
  /// To be called after every change of a room.
  void settle(TimePoint now, size_t slot);
  void take_departures(TimePoint now, size_t slot);
  void take_turns(TimePoint now);
  void take_turn(TimePoint now);
  void retire(size_t slot);
  void depart(TimePoint now, size_t slot, const Departure& departure);
  void note(RelayEvent event);

  SpareBuffers spare_;  // outlives all its users
  RelayMachineOptions options_;
  secure::Listener listener_;
  CallRelay calls_;
  std::map<std::string, Door, std::less<>> doors_;  // by identity
  std::map<std::string, std::string> identities_;   // by name
  struct ClosedRoom {
    std::string name;
    const char* words;
  };
  std::map<std::string, ClosedRoom, std::less<>> closed_;  // by identity, at most kClosedMax
  std::deque<std::string> closed_order_;                   // oldest first
  JoinsRefused joins_refused_;
  std::vector<std::unique_ptr<LiveRoom>> slots_;  // at most live_rooms_max
  std::vector<size_t> free_;
  size_t live_rooms_ = 0;
  secure::TimerHeap timers_;  // by slot
  std::deque<size_t> turns_;  // slots that may have something to send
  // Datagrams are queued between the listener and the rooms: doing one kind of work for all of them
  // before the next keeps its code in the processor's cache.
  struct Opened {
    TimePoint at{};
    secure::PeerDatagram datagram;
    Ecn ecn = Ecn::kNotEct;
  };
  struct Outgoing {
    secure::PeerDatagram datagram;
    Ecn ecn = Ecn::kNotEct;
  };
  Ecn ecn_ = Ecn::kNotEct;     // of the datagram that comes next
  Fifo<Opened> opened_;        // at most kOpenedMax
  Fifo<Outgoing> flight_;      // from rooms, to be encrypted; at most kFlightMax plus one turn
  std::vector<Place> places_;  // indexed by PeerId::slot()
  size_t members_ = 0;
  std::deque<RelayEvent> events_;
  RoomStats past_;  // of rooms that are empty now
  bool is_draining_ = false;
};

}  // namespace cress::relay
