#pragma once

#include "transport/base/time.hh"
#include "transport/control/cress/recent_least.hh"

namespace cress::control {

/// How long reports were recently delayed on the reverse path while the forward path had no outage:
/// for that long, missing reports say little about the forward path. Where both directions fail
/// together nothing is recorded here, and missing reports still count as an outage. A plain value.
/// Threads: none inside; one owner.
class ReversePath {
 public:
  /// A report made at `made_at`, by the receiver's clock, arrived at `now`, which never goes back;
  /// the report before it had arrived `silence` ago. `of_outage`: it reports that sent data did not
  /// get through.
  void handle_report(TimePoint now, TimePoint made_at, Duration silence, bool of_outage) {
    const Duration transit = now - made_at;
    least_transit_.add(now, transit);
    const Duration held_up = transit - *least_transit_.least();
    if (of_outage) {
      harmless_ = RecentLeast<Duration>{kMemory};
    } else {
      const bool is_held_up = held_up >= silence / 2;  // otherwise the receiver chose to be silent
      harmless_.add(now, is_held_up ? -silence : Duration{});
    }
  }
  /// From the receiver's clock to ours, where nothing waits. There must have been a report.
  Duration least_transit() const { return *least_transit_.least(); }
  /// The longest such delay of the last 10 to 20 s. Zero if there was none.
  Duration harmless_silence() const { return -harmless_.least().value_or(Duration{}); }

 private:
  static constexpr Duration kMemory = 10s;
  // Clocks drift by at most a millisecond in 20 s.
  static constexpr Duration kSpan = 20s;

  RecentLeast<Duration> least_transit_{kSpan};
  RecentLeast<Duration> harmless_{kMemory};  // negated, so that the minimum is the longest
};

}  // namespace cress::control
