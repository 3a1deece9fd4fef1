#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "transport/base/time.hh"

namespace cress::relay_load {

/// The `share` quantile (0..1) of the values; reorders them. nullopt if empty.
inline std::optional<Duration> quantile(std::vector<Duration>& values, double share) {
  if (values.empty()) {
    return std::nullopt;
  }
  const auto at = static_cast<ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<size_t>(at)];
}

}  // namespace cress::relay_load
