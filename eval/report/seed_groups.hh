#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/report/interval.hh"
#include "eval/report/run_files.hh"

namespace cress::report {

/// The results of one scheme over one link, direction and set of options, whatever their seed.
struct SeedGroup {
  SeriesKey key;
  std::string options;                    ///< as JSON text; empty for results without
  std::vector<const RunResult*> results;  ///< the caller's, one a seed, in the file's order

  /// The values of a measure, of those results that have it.
  std::vector<double> values(std::string_view measure) const;
};

/// In the order in which the results first name them.
std::vector<SeedGroup> seed_groups(std::span<const RunResult> results);

/// What a result says of its options, as JSON text; empty: nothing.
std::string options_of(const RunResult& result);

/// Those options that differ between groups, by group: "loss 0.05, queue codel"; empty where all
/// are alike.
std::vector<std::string> telling_options(std::span<const SeedGroup> groups);

}  // namespace cress::report
