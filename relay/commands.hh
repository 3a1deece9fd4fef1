#pragma once

#include <iosfwd>

#include "relay/daemon/daemon.hh"

namespace cress::relay {

/// The whole of cress-relay behind main. 0: done, or drained; 1: failed, the reason is on `err`; 2:
/// bad arguments, one clear line on `err`. `wall_clock`: for the expiry of rooms. `in` is read by
/// `room add`.
int run_command_line(int argc, const char* const* argv, const WallClock& wall_clock,
                     std::istream& in, std::ostream& out, std::ostream& err);

}  // namespace cress::relay
