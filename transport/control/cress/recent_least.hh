#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "transport/base/time.hh"

namespace cress::control {

/// The minimum of recently added values. Time is divided into spans; the minimum covers the current
/// and the previous span, so one to two spans. A plain value. Threads: none inside; one owner.
template <typename Value>
class RecentLeast {
 public:
  explicit RecentLeast(Duration span) : span_(span) {}

  /// `now` never goes back.
  void add(TimePoint now, Value value) {
    if (now - since_ >= span_) {
      least_[1] = now - since_ < 2 * span_ ? least_[0] : std::nullopt;
      least_[0].reset();
      since_ = now;
    }
    least_[0] = std::min(least_[0].value_or(value), value);
  }
  /// nullopt before the first value.
  std::optional<Value> least() const {
    return least_[0] && least_[1] ? std::min(least_[0], least_[1])
                                  : (least_[0] ? least_[0] : least_[1]);
  }

 private:
  Duration span_;
  TimePoint since_{};
  std::array<std::optional<Value>, 2> least_;  // of the current span and of the previous one
};

}  // namespace cress::control
