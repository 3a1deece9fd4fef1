#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "eval/path_options.hh"

namespace cress::eval {

/// The arguments of `cress-eval cellsim`, as typed.
struct CellsimArguments {
  std::string link;
  std::string rate;  ///< a link of that rate, in the place of `link`
  std::string down;
  std::string up;
  std::string delay = "20ms";
  double loss = 0;
  std::string queue;  ///< empty: the link's own
  PathArguments path;
  uint64_t seed = 1;
  std::string skip = "0s";
  std::string log;
  std::string peer;                       ///< a shell command line
  std::optional<std::string> head_start;  ///< 300ms
  std::string far;                        ///< "host" or "private"; empty: as privileges permit
  bool internet = false;
  std::string tcp;
  std::string proxy;
  std::string to;
  std::string duration;
  bool json = false;
  bool quiet = false;
  std::vector<std::string> command;  ///< the arguments after "--"
  std::string typed;                 ///< the whole line, for the logs
};

/// A command line up to the "--" that ends the program's own arguments, and the rest.
struct SplitArguments {
  std::vector<const char*> own;
  std::vector<std::string> command;
};
/// Only for `cellsim`: other commands' lines are not split.
SplitArguments split_arguments(int argc, const char* const* argv);

void add_cellsim_options(CLI::App& command, CellsimArguments& arguments);
/// COMMAND's exit code, 128 + N if signal N ended it, or 2 if it was 0 but a log is incomplete; 0
/// for a proxy. `data`: the folder with recorded links. Throws std::invalid_argument or
/// std::runtime_error with one clear line.
int execute_cellsim(const CellsimArguments& arguments, const std::string& data, std::ostream& out,
                    std::ostream& err);

}  // namespace cress::eval
