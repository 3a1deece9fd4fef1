#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>
#include <vector>

namespace cress::eval {

/// The arguments of `cress-eval compare`, as typed.
struct CompareArguments {
  std::string before;
  std::string after;
  std::string noise = "seeds";
  double confidence = 0.95;
  std::vector<std::string> pairs;  ///< "OLD=NEW"
  bool all = false;
  bool allow_missing = false;
  bool unchecked = false;
  bool json = false;
};

void add_compare_options(CLI::App& command, CompareArguments& arguments);
/// 0: nothing got worse; 1: something got worse, beyond noise. Throws std::invalid_argument or
/// std::runtime_error with one clear line.
int execute_compare(const CompareArguments& arguments, std::ostream& out);

}  // namespace cress::eval
