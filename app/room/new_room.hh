#pragma once

#include <string>
#include <string_view>

#include "transport/base/result.hh"
#include "transport/secure/link/link.hh"

namespace cress::room {

// People make rooms on their own machines, so that the relay and its operator never have a room's
// secret (docs/adr/0014).

enum class NewRoomError {
  kBadName,   ///< not secure::is_room_name
  kBadRelay,  ///< not HOST:PORT
};
/// One clear sentence for a person.
const char* describe(NewRoomError error);

/// The link of a room at `relay` (HOST:PORT) with a new secret: for its members alone. Throws as
/// secure::make_secret.
Result<secure::Link, NewRoomError> new_room(std::string_view name, std::string_view relay);

/// What the relay needs of a room, and all that it should have, as text for `cress-relay room add`.
/// `link`: of a room.
std::string relays_half(const secure::Link& link);

}  // namespace cress::room
