#pragma once

#include <cstdint>

namespace cress::room {

/// Names a member of a room while it is there: given by the relay, 1..65535.
using MemberNumber = uint16_t;
inline constexpr MemberNumber kNobody = 0;

}  // namespace cress::room
