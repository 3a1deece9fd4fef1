#pragma once

#include <algorithm>

#include "transport/base/time.hh"

namespace cress::relay {

/// So much a second and so much at once; what is beyond is refused and costs nothing. A plain
/// value. `now` never goes back. Threads: none inside.
class TokenBucket {
 public:
  /// `per_second` > 0, `burst` >= the largest amount ever asked for. Full at first.
  TokenBucket(double per_second, double burst)
      : per_second_(per_second), burst_(burst), tokens_(burst) {}

  bool take(TimePoint now, double amount) {
    refill(now);
    if (tokens_ < amount) {
      return false;
    }
    tokens_ -= amount;
    return true;
  }
  void set_rate(TimePoint now, double per_second, double burst) {
    refill(now);
    per_second_ = per_second;
    burst_ = burst;
    tokens_ = std::min(tokens_, burst);
  }

 private:
  void refill(TimePoint now) {
    tokens_ = std::min(burst_, tokens_ + per_second_ * to_seconds(std::max(Duration{}, now - at_)));
    at_ = std::max(at_, now);
  }

  double per_second_;
  double burst_;
  double tokens_;
  TimePoint at_ = kTimeZero;
};

}  // namespace cress::relay
