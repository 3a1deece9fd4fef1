#pragma once

#include "transport/base/time.hh"
#include "transport/control/cress/recent_least.hh"

namespace cress::control {

/// For how long there was no news lately because reports were held up on their way, which then told
/// of no outage of ours: for so long silence says little about our way out. Where both ways die
/// together nothing is learned here, and silence stays bad news. A plain value. Threads: none
/// inside; one owner.
class WayBack {
 public:
  /// A report made at `made_at`, by its maker's clock, came at `now`, which never goes back, when
  /// the one before it was news of `silence` ago. `of_outage`: it tells that what was sent did not
  /// get through.
  void handle_report(TimePoint now, TimePoint made_at, Duration silence, bool of_outage) {
    const Duration transit = now - made_at;
    least_transit_.add(now, transit);
    const Duration held_up = transit - *least_transit_.least();
    if (of_outage) {
      harmless_ = RecentLeast<Duration>{kMemory};
    } else {
      const bool is_held_up = held_up >= silence / 2;  // or its maker chose to be silent
      harmless_.add(now, is_held_up ? -silence : Duration{});
    }
  }
  /// The longest of the last 10 to 20 s. Zero without any.
  Duration harmless_silence() const { return -harmless_.least().value_or(Duration{}); }

 private:
  static constexpr Duration kMemory = 10s;
  // Clocks drift by a millisecond in 20 s at the most.
  static constexpr Duration kSpan = 20s;

  RecentLeast<Duration> least_transit_{kSpan};
  RecentLeast<Duration> harmless_{kMemory};  // negative: the least is the longest
};

}  // namespace cress::control
