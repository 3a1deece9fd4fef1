#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/report/interval.hh"
#include "eval/report/run_files.hh"

namespace cress::report {

/// The results of one scheme over one link, direction and set of options, with any seed.
struct SeedGroup {
  SeriesKey key;
  std::string options;  ///< as JSON text; empty for results without
  std::vector<const RunResult*>
      results;  ///< owned by the caller, one per seed, in the file's order

  /// The values of a measure, from the results that have it.
  std::vector<double> values(std::string_view measure) const;
};

/// In the order in which the results first mention them.
std::vector<SeedGroup> seed_groups(std::span<const RunResult> results);

/// The options of a result, as JSON text; empty if it has none.
std::string options_of(const RunResult& result);

/// The options that differ between groups, per group: "loss 0.05, queue codel"; empty if all are
/// equal.
std::vector<std::string> telling_options(std::span<const SeedGroup> groups);

}  // namespace cress::report
