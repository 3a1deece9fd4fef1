#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "eval/compare/run_record.hh"
#include "eval/harness/run.hh"
#include "eval/run_command.hh"
#include "eval/sweep/plan.hh"
#include "eval/sweep/store.hh"

namespace cress::eval {

/// One run of a plan, ready to execute.
struct PlannedRun {
  RunArguments arguments;
  harness::RunSpec spec;  ///< without its media; the traces are shared
  sweep::RunDefinition definition;
  std::string options;  ///< JSON: the options in its results
  compare::Experiment experiment;
};

/// "PLAN:LINE: what", or without the line if no particular one is wrong.
std::string plan_error(const std::string& plan, size_t line, const std::string& what);

/// Reads and checks the whole plan before anything runs: schemes, links, times, files. `program`:
/// identifies the program of the results. Throws std::invalid_argument or std::runtime_error
/// "PLAN:LINE: what; what to do".
std::vector<PlannedRun> load_plan(const std::string& path, const std::string& data,
                                  const std::string& program);

/// "cress over lte-slow, seed 3".
std::string words_of(const PlannedRun& run);
/// A shell command that makes the same run alone.
std::string command_of(const PlannedRun& run);

/// Runs it, including video and audio, as `cress-eval run` would; returns the objects of
/// results.json, with the options.
sweep::Json results_of(const PlannedRun& run, const schemes::SchemeContext& context,
                       const std::function<void(double)>& on_progress);

}  // namespace cress::eval
