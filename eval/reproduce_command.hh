#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace cress::eval {

/// The arguments of `cress-eval reproduce`, as typed.
struct ReproduceArguments {
  std::vector<std::string> names;
  std::string duration;
  std::string out = "cress-reproduce";
  uint64_t seed = 1;
  unsigned jobs = 0;  ///< 0: one per core
  bool json = false;
};

void add_reproduce_options(CLI::App& command, ReproduceArguments& arguments);
/// Writes NAME.svg, NAME.csv, NAME.json and index.html. `data`: the folder with recorded links.
/// Throws std::invalid_argument or std::runtime_error with one clear line.
void execute_reproduce(const ReproduceArguments& arguments, const std::string& data,
                       std::ostream& out);

}  // namespace cress::eval
