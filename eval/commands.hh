#pragma once

#include <iosfwd>

namespace cress::eval {

/// The program cress-eval. Returns what the subcommand returns (subcommands.hh,
/// cellsim_command.hh), or 2 after one clear line on `err` for bad arguments, bad files or an
/// output that cannot be written.
int run_command_line(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace cress::eval
