#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace cress::traces {

/// Where a command prints. Only these and the files in its arguments are written.
struct CommandStreams {
  std::ostream& out;       ///< results
  std::ostream& messages;  ///< notes and the progress bar
  bool progress_bar = false;
};

/// The program cress-trace without main: `arguments` are those after the program's name.
/// Returns the exit code: 0, or 2 after one line "cress-trace: what" on streams.messages.
int run_cress_trace(const std::vector<std::string>& arguments, const CommandStreams& streams);

}  // namespace cress::traces
