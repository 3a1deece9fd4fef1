#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eval/relay_load/relay_load.hh"
#include "transport/base/time.hh"

namespace cress::relay_load {

/// The median, 99th and 99.9th percentile of audio delays; reorders the values.
SoundDelay delay_of(std::vector<Duration>& sounds);

/// Of the waits within the relay between two readings of its metrics: the upper end of the class
/// that contains the share's value (0..1); nullopt if there were none, or it is beyond all classes.
std::optional<Duration> wait_quantile(const std::string& before, const std::string& after,
                                      double share);

/// The increase of a metrics text's refusals, by reason; without those that did not increase.
std::map<std::string, uint64_t> refusals(const std::string& before, const std::string& after);

struct Comparison {
  std::vector<Duration> calm;      ///< of all intervals without attack
  std::vector<Duration> attacked;  ///< of all with
  Growth growth{};
  int pairs = 0;
};
/// Compares delays in intervals without and with an attack, in turn, by their `share` quantile
/// (0..1); reorders them.
Comparison compare_turns(std::vector<std::vector<Duration>>& turns, double share);

}  // namespace cress::relay_load
