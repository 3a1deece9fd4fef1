#pragma once

#include <span>
#include <string_view>

#include "eval/reproduce/figure.hh"
#include "eval/reproduce/runs.hh"

namespace cress::reproduce {

/// A published figure or table: the runs it needs, and its contents computed from them.
struct Recipe {
  std::string_view name;
  std::string_view what;  ///< one line
  void (*want)(const Lab& lab, RunBook& book);
  Figure (*make)(const Lab& lab, const RunBook& book);
};

/// In the order of the list.
std::span<const Recipe> recipes();
/// Throws std::invalid_argument listing all names.
const Recipe& find_recipe(std::string_view name);

}  // namespace cress::reproduce
