#pragma once

#include <cstdint>

namespace cress::room {

/// Identifies a member while it is in a room: assigned by the relay, 1..65535.
using MemberNumber = uint16_t;
inline constexpr MemberNumber kNobody = 0;

}  // namespace cress::room
