#pragma once

#include <cstdint>

#include "transport/base/time.hh"
#include "transport/control/cress/recent_least.hh"

namespace cress::control {

/// Does what arrives come without having waited on the way? The sender stamps each datagram with
/// its clock's low 16 bits of milliseconds; on a clear way the difference to our clock stays at its
/// least. A plain value. Threads: none inside; one owner.
class TransitWatch {
 public:
  /// A datagram with this stamp came at `now`, which never goes back.
  void handle_arrival(TimePoint now, uint16_t sent_ms) {
    const auto now_ms = static_cast<uint16_t>(floor_milliseconds(now));
    if (heard_at_ == kNone) {
      reference_ = static_cast<uint16_t>(now_ms - sent_ms);
    }
    // Against the first one's: small, whatever the clocks say.
    const auto late = static_cast<int16_t>(static_cast<uint16_t>(now_ms - sent_ms - reference_));
    least_.add(now, late);
    heard_at_ = now;
    if (late - *least_.least() > kClearMs) {
      waited_at_ = now;
    }
  }
  /// Nothing has waited lately, and enough was heard to tell.
  bool is_clear(TimePoint now) const {
    return heard_at_ != kNone && now - waited_at_ > kMemory && now - heard_at_ < kMemory;
  }

 private:
  // A host's own hiccups and the stamps' resolution; a cell that is busy shows more.
  static constexpr int kClearMs = 5;
  static constexpr Duration kMemory = 500ms;
  // Of which the least is known: clocks drift by a millisecond in 20 s at the most.
  static constexpr Duration kSpan = 5s;
  static constexpr TimePoint kNone = kTimeZero - 1h;

  uint16_t reference_ = 0;
  RecentLeast<int16_t> least_{kSpan};
  TimePoint heard_at_ = kNone;
  TimePoint waited_at_ = kTimeZero;
};

}  // namespace cress::control
