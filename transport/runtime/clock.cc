#include "transport/runtime/clock.hh"

#include <algorithm>
#include <ctime>

#include "transport/base/check.hh"

namespace cress::runtime {
namespace {

Duration read_clock(clockid_t id) {
  timespec now{};
  check(clock_gettime(id, &now) == 0, "the kernel has no such clock");
  return std::chrono::seconds{now.tv_sec} + Duration{now.tv_nsec};
}

}  // namespace

MonotonicClock::MonotonicClock() : origin_(read_clock(CLOCK_MONOTONIC)) {}

TimePoint MonotonicClock::now() const {
  return kTimeZero + (read_clock(CLOCK_MONOTONIC) - origin_);
}

MonotonicClock::Reading MonotonicClock::read_both() const {
  // The wall clock first: a pause between the two then makes a stamp look newer, up to `now`. That
  // is the lesser evil: an effect reported late, rather than before its cause.
  const Duration wall = read_clock(CLOCK_REALTIME);
  return {now(), wall};
}

Duration MonotonicClock::slept() {
  // A pause between two readings looks like suspend: the closest of a few pairs has none.
  constexpr int kTries = 5;
  Duration narrowest = Duration::max();
  Duration slept{};
  for (int i = 0; i < kTries; ++i) {
    const Duration before = read_clock(CLOCK_MONOTONIC);
    const Duration boot = read_clock(CLOCK_BOOTTIME);
    const Duration width = read_clock(CLOCK_MONOTONIC) - before;
    if (width < narrowest) {
      narrowest = width;
      slept = boot - before;
    }
  }
  return slept;
}

TimePoint ArrivalClock::arrival(Duration stamp, const MonotonicClock::Reading& reading) {
  const TimePoint told = reading.now - std::max(reading.wall - stamp, Duration{});
  floor_ = std::min(std::max(told, floor_), reading.now);
  return floor_;
}

void ArrivalClock::not_before(TimePoint now) { floor_ = std::max(floor_, now); }

Duration SleepDetector::update(Duration slept) {
  const Duration jump = slept - slept_;
  if (jump < kSleepMin) {
    return Duration{};  // the mark stays: many short suspends add up to a long one
  }
  slept_ = slept;
  return jump;
}

}  // namespace cress::runtime
