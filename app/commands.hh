#pragma once

#include <functional>
#include <iosfwd>

namespace cress::app {

/// The whole of cress-call behind main; `in` is read for the link "-". 0: the call took place; 1:
/// it did not, the reason is on `err`; 2: bad arguments, one clear line on `err`. `was_read` is
/// called when `argv` is needed no more.
int run_command_line(
    int argc, const char* const* argv, std::istream& in, std::ostream& out, std::ostream& err,
    const std::function<void()>& was_read = [] {});

}  // namespace cress::app
