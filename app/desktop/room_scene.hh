#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "app/room/live_room.hh"
#include "app/ui/model/call_view.hh"
#include "transport/base/time.hh"

namespace cress::desktop {

/// The members of a room, as its window shows them, from the room's events; and notices about
/// members who join and leave. When the relay was away, each member keeps their place until they
/// are back, recognized by name, and loses it if they are not. One per room. Threads: none inside;
/// one owner. `now` never goes back.
class RoomScene {
 public:
  /// How long a member's place is kept after the relay is back.
  static constexpr Duration kPlaceKept = 6s;

  /// Numbers from here on stand for members from before the relay was away; the relay never assigns
  /// these.
  static constexpr uint32_t kFormer = 1U << 16U;

  using Notify = std::function<void(ui::Tone tone, const std::string& words)>;
  RoomScene(std::string name, Notify notify);

  /// `sample`: taken at the event.
  void handle(TimePoint now, const room::RoomEvent& event, const room::LiveRoomSample& sample);
  /// A few times a second.
  void update(TimePoint now, const room::LiveRoomSample& sample);
  void show(room::MemberNumber member, const ui::ShownPicture& picture);
  /// 0, or an unknown number: no member.
  void pin(uint32_t member);

  const ui::Room& room() const { return room_; }
  /// The member whose video the relay sends first: the one displayed large, by its current number.
  room::MemberNumber first() const;

 private:
  void handle_welcome(TimePoint now);
  /// `is_news`: joined after us.
  void handle_there(const room::OtherMember& other, bool is_news);
  void handle_left(const room::RoomEvent& event);
  void warn(const room::RoomEvent& event);
  void remove(uint32_t number);
  void choose_large();

  Notify notify_;
  ui::Room room_;
  bool was_in_ = false;
  TimePoint welcome_at_{};
  uint32_t next_former_ = kFormer;
};

/// That member; null if there is none.
ui::Member* find_member(ui::Room& room, uint32_t number);

}  // namespace cress::desktop
