#pragma once

#include "transport/base/time.hh"

namespace cress::runtime {

/// The clock of all code that drives machines (CLOCK_MONOTONIC): the time of a run, counted from
/// the clock's construction (kTimeZero). It does not advance while the machine is suspended.
/// Threads: any; const. One clock serves a whole program.
class MonotonicClock {
 public:
  MonotonicClock();

  TimePoint now() const;
  /// CLOCK_MONOTONIC at kTimeZero: for code that passes absolute times to the kernel or Asio.
  Duration origin() const { return origin_; }

  /// The wall clock and ours, read as close together as possible.
  struct Reading {
    TimePoint now;
    Duration wall{};  ///< CLOCK_REALTIME since 1970
  };
  Reading read_both() const;

  /// How long the machine has been suspended since boot: CLOCK_BOOTTIME minus CLOCK_MONOTONIC, to
  /// within about a microsecond, the time between the two reads.
  static Duration slept();

 private:
  Duration origin_;
};

/// Converts the kernel's receive stamps, which are CLOCK_REALTIME, to our time. The wall clock may
/// have been stepped between stamp and reading, so the result is clamped: never later than
/// `reading.now`, never before the last result, never before not_before()'s time. Threads: none
/// inside; one owner, one per socket.
class ArrivalClock {
 public:
  /// `reading`: taken after the stamped datagrams were received.
  TimePoint arrival(Duration stamp, const MonotonicClock::Reading& reading);
  /// The socket was empty at `now`: datagrams received from here on arrived later.
  void not_before(TimePoint now);

 private:
  TimePoint floor_{TimePoint::min()};
};

/// Detects that the machine was suspended. Pure: the caller passes MonotonicClock::slept() from
/// time to time. Threads: none inside; one owner.
class SleepDetector {
 public:
  /// Shorter than any suspend to memory and resume, longer than any error of reading two clocks.
  static constexpr Duration kSleepMin = 100ms;

  explicit SleepDetector(Duration slept) : slept_(slept) {}
  /// How long the machine was suspended since the last call; 0 if it was not.
  Duration update(Duration slept);

 private:
  Duration slept_;
};

}  // namespace cress::runtime
