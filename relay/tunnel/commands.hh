#pragma once

#include <iosfwd>

namespace cress::tunnel {

/// The whole of cress-tunnel behind main; `in` is read for the link "-". Returns COMMAND's exit
/// code with --exec; otherwise 0: ended by a signal; 1: the other end is not reachable; 2: bad
/// arguments or missing privileges, one clear line on `err`.
int run_command_line(int argc, const char* const* argv, std::istream& in, std::ostream& out,
                     std::ostream& err);

}  // namespace cress::tunnel
