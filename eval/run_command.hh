#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "eval/harness/run.hh"
#include "eval/path_options.hh"

namespace cress::eval {

/// The value of --film without an argument.
inline constexpr const char* kFilmAll = "all";

/// The arguments of `cress-eval run`, as typed.
struct RunArguments {
  std::vector<std::string> schemes{"sprout"};
  std::string link;
  std::string rate;  ///< a link of that rate, in the place of `link`
  std::string down;
  std::string up;
  std::string duration;
  std::string skip;
  std::string delay = "20ms";
  double loss = 0;
  std::string queue;  ///< empty: the link's own
  PathArguments path;
  std::string video;
  std::string audio = "synthetic";
  bool one_way = false;
  uint64_t seed = 1;
  std::string out = "cress-run";
  bool json = false;
  bool no_report = false;
  std::string save;   ///< "webm" or "y4m": each viewer's movie; empty: none
  std::string film;   ///< of these schemes, one or two; kFilmAll: of all; empty: none
  unsigned jobs = 0;  ///< 0: one per core
  std::string data;
};

void add_run_options(CLI::App& command, RunArguments& arguments);
/// Throws std::invalid_argument or std::runtime_error with one clear line; finished results are
/// kept. A line on `err` names an earlier run's movies that are removed.
void execute_run(const RunArguments& arguments, std::ostream& out, std::ostream& err);

/// The parts of a run, for code that executes it elsewhere (cress-eval sweep). All throw
/// std::invalid_argument or std::runtime_error with one clear line. The link's name and traces.
harness::LinkSpec load_link(const RunArguments& arguments);
/// One spec per scheme, without its media, over `link` with the path options of `arguments`.
std::vector<harness::RunSpec> specs_of(const RunArguments& arguments,
                                       const harness::LinkSpec& link);
/// Opens video and audio of a call. Each run gets its own: sources are not shared between threads.
/// Initializes GStreamer.
void set_media(const RunArguments& arguments, harness::RunSpec& spec);

}  // namespace cress::eval
