#pragma once

#include <algorithm>

#include "transport/base/time.hh"

namespace cress {

/// Allows `burst` at once and `per_second` over time; requests beyond that are refused and cost no
/// tokens. Starts full. A plain value. `now` never goes back. Threads: none inside; one owner.
class TokenBucket {
 public:
  struct Options {
    double per_second = 1;  ///< >= 0
    double burst = 1;       ///< at least the largest amount ever requested
  };
  explicit TokenBucket(Options options) : options_(options), tokens_(options.burst) {}

  bool take(TimePoint now, double amount = 1) {
    refill(now);
    if (tokens_ < amount) {
      return false;
    }
    tokens_ -= amount;
    return true;
  }
  /// Applies from `now` on; tokens beyond the new burst are lost.
  void set_options(TimePoint now, Options options) {
    refill(now);
    options_ = options;
    tokens_ = std::min(tokens_, options.burst);
  }

 private:
  void refill(TimePoint now) {
    const double elapsed_s = to_seconds(std::max(Duration{}, now - last_));
    tokens_ = std::min(options_.burst, tokens_ + options_.per_second * elapsed_s);
    last_ = std::max(last_, now);
  }

  Options options_;
  double tokens_;
  TimePoint last_ = kTimeZero;
};

}  // namespace cress
