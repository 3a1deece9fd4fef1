#pragma once

#include <span>
#include <string_view>

#include "eval/reproduce/figure.hh"
#include "eval/reproduce/runs.hh"

namespace cress::reproduce {

/// A published figure or table: which runs it needs, and what it shows of them.
struct Recipe {
  std::string_view name;
  std::string_view what;  ///< one line
  void (*want)(const Lab& lab, RunBook& book);
  Figure (*make)(const Lab& lab, const RunBook& book);
};

/// In the order in which they are listed.
std::span<const Recipe> recipes();
/// Throws std::invalid_argument naming them all.
const Recipe& find_recipe(std::string_view name);

}  // namespace cress::reproduce
