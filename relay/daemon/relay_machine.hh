#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relay/forward/room.hh"
#include "transport/base/fifo.hh"
#include "transport/base/machine.hh"
#include "transport/base/spare_buffers.hh"
#include "transport/secure/group/member_card.hh"
#include "transport/secure/handshake/credential.hh"
#include "transport/secure/listener.hh"
#include "transport/secure/timer_heap.hh"

namespace cress::relay {

/// A card greets everybody else in the room, and has a largest size (secure::RoomKeys).
inline constexpr int kRoomMembersMax = secure::kRoomOthersMax + 1;
static_assert(kRoomMembersMax <= kLegsMax);

struct RelayMachineOptions {
  secure::ListenerOptions listener{};  ///< its lookup is the machine's own
  /// Of rooms, where they do not say otherwise; the name is each room's own.
  RoomOptions room{};
  /// Rooms with somebody in them, at once.
  size_t live_rooms_max = 1024;
  /// Called when somebody asks for a room that is not open, by anybody who can receive: a time to
  /// open() what is new. Must not throw, and do little when called often. May be empty.
  std::function<void()> look_for_rooms{};
};

/// What a relay knows of a room: everything but what is said there.
struct RoomDoor {
  std::string name;  ///< secure::is_room_name
  secure::Secret access{};
  std::optional<size_t> members_max{};
};

/// For logs and metrics.
struct RelayEvent {
  enum class Kind : uint8_t {
    kJoined,
    kLeft,         ///< `words` say why
    kRefused,      ///< had the key, but there was no place
    kPathChanged,  ///< `address` is the new one
  };
  Kind kind = Kind::kJoined;
  std::string room;
  room::MemberNumber member = room::kNobody;
  Address address{};
  const char* words = "";
  friend bool operator==(const RelayEvent&, const RelayEvent&) = default;
};

/// A relay without I/O: a door for all rooms, and a Room for each in which somebody is. Rooms take
/// turns to send, so that none makes another wait for more than a turn; a datagram costs its own
/// room's work, whatever the number of rooms. Rooms come and go while it runs. Whoever is not in
/// possession of a room's link gets no further than the Listener.
/// Threads: none inside; one owner. `now` never goes back. Peer data never fails a check.
class RelayMachine : public Machine {
 public:
  RelayMachine(TimePoint start, RelayMachineOptions options);
  RelayMachine(const RelayMachine&) = delete;
  RelayMachine& operator=(const RelayMachine&) = delete;

  /// From now on members may enter; of a room that is open already, its limits change with its next
  /// first member. False: another room has this access key, or another key this name.
  bool open(const RoomDoor& door);
  /// Everybody in it is told to go, and nobody enters any more. False: there is none of that name.
  bool close(TimePoint now, const std::string& name, room::FarewellReason reason);
  /// False: nobody of that number is there.
  bool kick(TimePoint now, const std::string& name, room::MemberNumber number);
  /// All members are told to come back `again_in` from now and nobody enters any more; poll on
  /// until is_finished().
  void drain_members(TimePoint now, Duration again_in);
  /// Drained, and all good-byes are said.
  bool is_finished() const { return listener_.is_finished(); }

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  /// Of poll_work, once it was run.
  void handle_work(TimePoint now, secure::HandshakeWork work);
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  void take_back(std::vector<std::byte>&& sent) override { spare_.give(std::move(sent)); }
  TimePoint poll_timeout() const override;
  /// With listener.hands_out_work: to be run elsewhere and handed back (secure::Listener).
  std::optional<secure::HandshakeWork> poll_work() { return listener_.poll_work(); }
  /// Over kEventsMax of them wait: the oldest goes.
  std::optional<RelayEvent> poll_event();

  size_t members() const { return members_; }
  size_t live_rooms() const { return live_rooms_; }
  size_t open_rooms() const { return doors_.size(); }
  /// Those of one room; none if it is empty or closed.
  std::vector<MemberView> member_views(const std::string& name) const;
  /// Of all rooms together, also of those that are empty now.
  RoomStats room_stats() const;
  const secure::ListenerStats& listener_stats() const { return listener_.stats(); }

  static constexpr size_t kEventsMax = 1024;

 private:
  struct Door {
    RoomDoor door;
    std::optional<size_t> slot;  // of its live room
  };
  struct Seat {
    room::MemberNumber number = room::kNobody;
    secure::PeerId peer;
  };
  struct LiveRoom {
    LiveRoom(TimePoint start, std::string key, RoomOptions options)
        : identity(std::move(key)), name(options.name), room(start, std::move(options)) {}
    /// Nothing: nobody of that number is here.
    const Seat* find(room::MemberNumber number) const {
      const auto& seat = seats.at(leg_of(number));
      return seat && seat->number == number ? &*seat : nullptr;
    }

    std::string identity;
    std::string name;
    Room room;
    /// Who has said no good-bye yet, by leg_of() their number: each datagram looks there.
    std::array<std::optional<Seat>, kLegsMax> seats{};
    bool has_turn = false;  // is in turns_
  };
  struct Place {
    secure::PeerId peer;
    size_t slot = 0;
    room::MemberNumber number = room::kNobody;
  };

  /// Null: whoever that is, it is in no room, or was told good-bye.
  const Place* find_place(secure::PeerId peer) const;
  std::optional<secure::Secret> find_key(std::string_view identity);
  void drain(TimePoint now);
  void take_opened(TimePoint now);
  void handle_opened(TimePoint now);
  void handle_event(TimePoint now, const secure::PeerEvent& event);
  void let_in(TimePoint now, const secure::PeerEvent& event, const Address& address);
  std::optional<size_t> live_room(TimePoint now, const std::string& identity);
  Door* find_door(const std::string& name);
  /// After every change of a room.
  void settle(TimePoint now, size_t slot);
  void take_departures(TimePoint now, size_t slot);
  void take_turns(TimePoint now);
  void take_turn(TimePoint now);
  void retire(size_t slot);
  void depart(TimePoint now, size_t slot, const Departure& departure);
  void note(RelayEvent event);

  SpareBuffers spare_;  // outlives all that take from it
  RelayMachineOptions options_;
  secure::Listener listener_;
  std::map<std::string, Door, std::less<>> doors_;  // by identity
  std::map<std::string, std::string> identities_;   // by name
  std::vector<std::unique_ptr<LiveRoom>> slots_;    // live_rooms_max
  std::vector<size_t> free_;
  size_t live_rooms_ = 0;
  secure::TimerHeap timers_;  // by slot
  std::deque<size_t> turns_;  // slots that may have something to send
  // Between the listener and the rooms datagrams wait for each other: one kind of work after the
  // other, each for all of them, finds its code in the processor's cache.
  struct Opened {
    TimePoint at{};
    secure::PeerDatagram datagram;
  };
  Fifo<Opened> opened_;                // at most kOpenedMax
  Fifo<secure::PeerDatagram> flight_;  // of rooms, to be sealed; at most kFlightMax and a turn
  std::vector<Place> places_;          // by PeerId::slot()
  size_t members_ = 0;
  std::deque<RelayEvent> events_;
  RoomStats past_;  // of rooms that are empty now
  bool is_draining_ = false;
};

}  // namespace cress::relay
