#pragma once

#include <algorithm>
#include <optional>

#include "transport/base/time.hh"
#include "transport/control/cress/recent_least.hh"

namespace cress::control {

/// How long reports are delayed on the reverse path while the forward path has no outage: for that
/// long, missing reports say little about the forward path. Where both directions fail together
/// nothing is recorded here, and missing reports still count as an outage. A plain value. Threads:
/// none inside; one owner.
class ReversePath {
 public:
  /// A report made at `made_at`, by the receiver's clock, arrived at `now`, which never goes back.
  /// `there`: from our clock to the receiver's, where nothing waits (the base delay), if known.
  /// `silence`: from when the report before was made to when a datagram sent at `now` could arrive.
  /// `of_outage`: it reports that sent data did not get through.
  void handle_report(TimePoint now, TimePoint made_at, std::optional<Duration> there,
                     Duration silence, bool of_outage) {
    const Duration transit = now - made_at;
    least_transit_.add(now, transit);
    const Duration held_up = transit - *least_transit_.least();
    if (of_outage) {
      harmless_ = RecentLeast<Duration>{kMemory};
    } else {
      const bool is_held_up = held_up >= silence / 2;  // otherwise the receiver chose to be silent
      harmless_.add(now, is_held_up ? -silence : Duration{});
    }
    Duration waited{};
    if (there) {
      least_trip_.add(now, *there + *least_transit_.least());
      waited = waited_in_queue(now, transit, *there + transit);
    }
    waited_.add(now, of_outage ? Duration{} : waited);
  }
  /// The least time from sending a datagram to receiving its report, of the last 5 to 10 min. That
  /// is longer than `there` remembers, so that a standing queue does not count as distance: the
  /// forecast would then outlast the queue, which would never empty.
  std::optional<Duration> least_trip() const { return least_trip_.least(); }
  /// The longest silence of the last 10 to 20 s that ended with a report held up by half of it or
  /// more, and with no outage. Zero if there was none.
  Duration harmless_silence() const { return -harmless_.least().value_or(Duration{}); }
  /// The least queueing delay on the reverse path among the reports of the last 1 to 2 s, for
  /// example because of an upload. At most kQueueMost; zero if less than kQueueLeast.
  Duration standing_queue() const {
    const Duration least = waited_.least().value_or(Duration{});
    return least < kQueueLeast ? Duration{} : std::min(least, kQueueMost);
  }

  static constexpr Duration kQueueLeast = 300ms;
  static constexpr Duration kQueueMost = 5s;

 private:
  // The lesser of two measures: if one machine was suspended, and its clock with it, one of them is
  // too long.
  Duration waited_in_queue(TimePoint now, Duration transit, Duration trip) {
    least_of_minutes_.add(now, transit);
    least_of_trips_.add(now, trip);
    return std::min(transit - *least_of_minutes_.least(), trip - *least_of_trips_.least());
  }

  static constexpr Duration kMemory = 10s;
  // Clocks drift by at most a millisecond in 20 s.
  static constexpr Duration kSpan = 20s;
  static constexpr Duration kMinutes = 5min;
  static constexpr Duration kQueueSpan = 1s;

  RecentLeast<Duration> least_transit_{kSpan};  // from the receiver's clock to ours
  RecentLeast<Duration> least_of_minutes_{kMinutes};
  RecentLeast<Duration> least_of_trips_{kMinutes};  // of single datagrams and their reports
  RecentLeast<Duration> least_trip_{kMinutes};
  RecentLeast<Duration> harmless_{kMemory};  // negated, so that the minimum is the longest
  RecentLeast<Duration> waited_{kQueueSpan};
};

}  // namespace cress::control
