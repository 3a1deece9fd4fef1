#pragma once

#include <iosfwd>

namespace cress::app {

/// The whole of cress-call behind main; `in` is read for the link "-". 0: the call took place; 1:
/// it did not, the reason is on `err`; 2: bad arguments, one clear line on `err`.
int run_command_line(int argc, const char* const* argv, std::istream& in, std::ostream& out,
                     std::ostream& err);

}  // namespace cress::app
