#include "app/room/new_room.hh"

#include "transport/secure/handshake/credential.hh"

namespace cress::room {

const char* describe(NewRoomError error) {
  switch (error) {
    case NewRoomError::kBadName:
      return "a name is 1 to 64 of A-Z a-z 0-9 . _ -, and not only dots";
    case NewRoomError::kBadRelay:
      return "not HOST:PORT, such as relay.example:4747";
  }
  return "no room can be made";
}

Result<secure::Link, NewRoomError> new_room(std::string_view name, std::string_view relay) {
  if (!secure::is_room_name(name)) {
    return NewRoomError::kBadName;
  }
  const auto link = secure::link_at_relay(relay, name);
  if (!link) {
    return NewRoomError::kBadRelay;
  }
  return *link;
}

std::string relays_half(const secure::Link& link) {
  return secure::format_room_access(
      {.room = link.room, .key = secure::derive_room(link.secret).access});
}

}  // namespace cress::room
