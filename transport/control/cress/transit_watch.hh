#pragma once

#include <cstdint>

#include "transport/base/time.hh"
#include "transport/control/cress/recent_least.hh"

namespace cress::control {

/// Detects whether arriving datagrams had queueing delay. The sender stamps each datagram with the
/// low 16 bits of its clock in milliseconds; on a path without a queue the difference to our clock
/// stays at its minimum. A plain value. Threads: none inside; one owner.
class TransitWatch {
 public:
  /// A datagram with this stamp arrived at `now`, which never goes back.
  void handle_arrival(TimePoint now, uint16_t sent_ms) {
    const auto now_ms = static_cast<uint16_t>(floor_milliseconds(now));
    if (heard_at_ == kNone) {
      reference_ = static_cast<uint16_t>(now_ms - sent_ms);
    }
    // Relative to the first one's difference, so it is small whatever the clocks' offset.
    const auto late = static_cast<int16_t>(static_cast<uint16_t>(now_ms - sent_ms - reference_));
    least_.add(now, late);
    heard_at_ = now;
    if (late - *least_.least() > kClearMs) {
      waited_at_ = now;
    }
  }
  /// Datagrams arrived in the last 500 ms, and none of them took over 5 ms longer than the fastest
  /// of the last 5 to 10 s.
  bool is_clear(TimePoint now) const {
    return heard_at_ != kNone && now - waited_at_ > kMemory && now - heard_at_ < kMemory;
  }

 private:
  // Allows for the host's own delays and the stamps' resolution; a busy cell delays by more.
  static constexpr int kClearMs = 5;
  static constexpr Duration kMemory = 500ms;
  // The minimum covers this span: clocks drift by at most a millisecond in 20 s.
  static constexpr Duration kSpan = 5s;
  static constexpr TimePoint kNone = kTimeZero - 1h;

  uint16_t reference_ = 0;
  RecentLeast<int16_t> least_{kSpan};
  TimePoint heard_at_ = kNone;
  TimePoint waited_at_ = kTimeZero;
};

}  // namespace cress::control
