#pragma once

#include <algorithm>

#include "transport/base/time.hh"

namespace cress::secure {

/// Allows `burst` things at once and `per_second` over time. Threads: none inside; one owner.
class TokenBucket {
 public:
  struct Options {
    double per_second = 1;
    double burst = 1;
  };
  explicit TokenBucket(Options options) : options_(options), tokens_(options.burst) {}

  bool take(TimePoint now) {
    tokens_ = std::min(options_.burst, tokens_ + to_seconds(now - last_) * options_.per_second);
    last_ = now;
    if (tokens_ < 1) {
      return false;
    }
    tokens_ -= 1;
    return true;
  }

 private:
  Options options_;
  double tokens_;
  TimePoint last_{};
};

}  // namespace cress::secure
