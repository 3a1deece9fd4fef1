#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "transport/base/time.hh"

namespace cress::cellsim {

/// Counts durations in bounded memory, however long a run: equal bins from 0 to a maximum,
/// allocated on first use. Values below 0 count as 0, values above the maximum as the maximum.
/// Quantiles are exact to a bin's width. Threads: none inside; one owner.
class Histogram {
 public:
  struct Options {
    Duration bin;
    Duration value_max;
  };
  explicit Histogram(Options options) : options_(options) {}

  void add(Duration value, int64_t weight = 1);
  /// Adds a value that rises evenly from `low` to `high`, each nanosecond of it with weight 1.
  void add_rise(Duration low, Duration high);
  /// The smallest value that a share `q` (0..1) of the weight does not exceed; weight is assumed to
  /// be uniform within a bin. nullopt if there is no weight.
  std::optional<Duration> quantile(double q) const;
  /// The upper end of the last non-empty bin.
  Duration value_max() const { return max_; }
  int64_t total() const { return total_; }

 private:
  int64_t& bin_of(Duration value);

  Options options_;
  std::vector<int64_t> bins_;
  int64_t total_ = 0;
  Duration max_{};
};

}  // namespace cress::cellsim
