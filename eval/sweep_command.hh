#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace cress::eval {

/// The arguments of `cress-eval sweep`, as typed.
struct SweepArguments {
  std::string plan;
  std::string out = "cress-sweep";
  unsigned jobs = 0;  ///< 0: one per core
  std::string shard;  ///< "I/N"; empty: all
  bool json = false;
  bool dry_run = false;
  std::string print_jobs;  ///< number of shell commands; "all": one per run; empty: none
  std::vector<std::string> merge;
  bool allow_missing = false;
  std::string program;  ///< the program under which the runs are stored; empty: version and build
  std::string command;  ///< how the printed commands call this program; empty: by its path
  std::string data;
  bool is_data_given =
      false;  ///< given on the command line, so that printed commands include it too
};

void add_sweep_options(CLI::App& command, SweepArguments& arguments);
/// 0: done; 1: some runs failed, the others are kept; 130: interrupted, the same command continues.
/// Throws std::invalid_argument or std::runtime_error with one clear line; finished results are
/// kept. The caller must have only one thread: workers are forked.
int execute_sweep(const SweepArguments& arguments, std::ostream& out, std::ostream& err);

}  // namespace cress::eval
