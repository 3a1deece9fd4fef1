#pragma once

#include "transport/base/time.hh"

namespace cress::runtime {

/// The only reader of CLOCK_MONOTONIC: the time of a run, counted from the clock's construction
/// (kTimeZero). It stands still while the machine sleeps.
/// Threads: any; const. One clock serves a whole program.
class MonotonicClock {
 public:
  MonotonicClock();

  TimePoint now() const;
  /// CLOCK_MONOTONIC at kTimeZero: for those who must tell the kernel or Asio when.
  Duration origin() const { return origin_; }

  /// The wall clock beside ours, read as nearly at once as can be.
  struct Reading {
    TimePoint now;
    Duration wall{};  ///< CLOCK_REALTIME since 1970
  };
  Reading read_both() const;

  /// How long the machine has slept since it was started: CLOCK_BOOTTIME less CLOCK_MONOTONIC,
  /// within the microsecond or so that reading both takes.
  static Duration slept();

 private:
  Duration origin_;
};

/// Turns the kernel's receive stamps, which are CLOCK_REALTIME, into our time. The wall clock may
/// have been stepped between stamp and reading, so that what comes out is bounded: never later than
/// `reading.now`, never before the last one given, never before what `not_before` said.
/// Threads: none inside; one owner, one per socket.
class ArrivalClock {
 public:
  /// `reading`: taken after the stamped datagrams were received.
  TimePoint arrival(Duration stamp, const MonotonicClock::Reading& reading);
  /// The socket was empty at `now`: whatever is received from here on came later.
  void not_before(TimePoint now);

 private:
  TimePoint floor_{TimePoint::min()};
};

/// Tells when the machine slept. Pure: it is given MonotonicClock::slept() now and then.
/// Threads: none inside; one owner.
class SleepDetector {
 public:
  /// Shorter than any suspend to memory and back, longer than any error of reading two clocks.
  static constexpr Duration kSleepMin = 100ms;

  explicit SleepDetector(Duration slept) : slept_(slept) {}
  /// How long the machine slept since the last call; 0 when it did not.
  Duration update(Duration slept);

 private:
  Duration slept_;
};

}  // namespace cress::runtime
