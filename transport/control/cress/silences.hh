#pragma once

#include <algorithm>
#include <cmath>

#include "transport/base/time.hh"

namespace cress::control {

/// How much of its time a link delivers nothing for long although its queue holds something. On a
/// link that is often silent these silences decide the delay, however cautious the sender is. A
/// plain value. Threads: none inside; one owner.
class Silences {
 public:
  void pass_idle(Duration elapsed) { pass(elapsed); }
  /// The queue held something for `elapsed` (>= 0), and after that something was delivered, or not
  /// yet.
  void pass_busy(Duration elapsed, bool delivered) {
    pass(std::min(elapsed, kCountedMax - silence_));
    silence_ = std::min(silence_ + elapsed, kCountedMax);
    if (delivered) {
      silent_s_ += silence_ >= kSilenceMin ? to_seconds(silence_) : 0;
      silence_ = {};
    }
  }
  /// The share of recent time, 0..1, that was in silences of kSilenceMin and more; of each, the
  /// first kCountedMax.
  double share() const { return silent_s_ / elapsed_s_; }

 private:
  // As outages are counted in traces (docs/method.md).
  static constexpr Duration kSilenceMin = 200ms;
  // No more of one silence counts: a tunnel does not make a link one that is often silent.
  static constexpr Duration kCountedMax = 300ms;
  static constexpr Duration kHalfLife = 30s;
  // Before any evidence: this much time without silences.
  static constexpr double kPriorS = 10;

  void pass(Duration elapsed) {
    const double kept = std::exp2(-to_seconds(elapsed) / to_seconds(kHalfLife));
    silent_s_ *= kept;
    elapsed_s_ = elapsed_s_ * kept + to_seconds(elapsed);
  }

  Duration silence_{};
  double silent_s_ = 0;
  double elapsed_s_ = kPriorS;
};

}  // namespace cress::control
