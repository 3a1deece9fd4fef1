#pragma once

#include <iosfwd>

namespace cress::tunnel {

/// The whole of cress-tunnel behind main. COMMAND's exit code with --exec; else 0: ended by a
/// signal; 1: the other end is not to be had; 2: bad arguments or no rights, one clear line on
/// `err`.
int run_command_line(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace cress::tunnel
