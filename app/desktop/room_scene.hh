#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "app/room/live_room.hh"
#include "app/ui/model/call_view.hh"
#include "transport/base/time.hh"

namespace cress::desktop {

/// Who is in a room, as its window shows it, out of what the room tells; and what a person is told
/// in passing of who comes and goes. When the relay was away, everybody keeps the place until they
/// are back, by their name, and leaves it when they are not. One per room. Threads: none inside;
/// one owner. `now` never goes back.
class RoomScene {
 public:
  /// So long a place is kept for somebody after the relay is back.
  static constexpr Duration kPlaceKept = 6s;

  /// From here on numbers are of those who were here before the relay was away: it gives none.
  static constexpr uint32_t kFormer = 1U << 16U;

  using Tell = std::function<void(ui::Tone tone, const std::string& words)>;
  RoomScene(std::string name, Tell tell);

  /// `sample`: taken at the event.
  void handle(TimePoint now, const room::RoomEvent& event, const room::LiveRoomSample& sample);
  /// A few times a second.
  void update(TimePoint now, const room::LiveRoomSample& sample);
  void show(room::MemberNumber member, const ui::ShownPicture& picture);
  /// 0, or who is not here: nobody.
  void pin(uint32_t member);

  const ui::Room& room() const { return room_; }
  /// Whom the relay is to send first: who is shown large, as it knows them now.
  room::MemberNumber first() const;

 private:
  void handle_welcome(TimePoint now);
  /// `is_news`: was not here before us.
  void handle_there(const room::OtherMember& other, bool is_news);
  void handle_left(const room::RoomEvent& event);
  void remove(uint32_t number);
  void choose_large();

  Tell tell_;
  ui::Room room_;
  bool was_in_ = false;
  TimePoint welcome_at_{};
  uint32_t next_former_ = kFormer;
};

/// That member; null if there is none.
ui::Member* find_member(ui::Room& room, uint32_t number);

}  // namespace cress::desktop
