#pragma once

#include <chrono>
#include <cstdint>

namespace cress {

using Duration = std::chrono::nanoseconds;

/// The clock of every machine. It has no now(), so a machine that tries to read the time does not
/// compile. `now` is passed in by sim::World (simulated) or by runtime::Driver (real).
struct ProtocolClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<ProtocolClock>;
  static constexpr bool is_steady = true;
};

using TimePoint = ProtocolClock::time_point;

/// The epoch of a run: a simulation starts here.
inline constexpr TimePoint kTimeZero{};
/// "Never": what `poll_timeout()` returns when a machine waits for nothing.
inline constexpr TimePoint kNever = TimePoint::max();

using namespace std::chrono_literals;  // NOLINT(google-global-names-in-headers): 20ms everywhere

/// Conversions at an edge: the name says the unit.
constexpr double to_milliseconds(Duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}
constexpr double to_seconds(Duration d) { return std::chrono::duration<double>(d).count(); }
constexpr double to_milliseconds(TimePoint t) { return to_milliseconds(t.time_since_epoch()); }
constexpr double to_seconds(TimePoint t) { return to_seconds(t.time_since_epoch()); }
/// Whole milliseconds, rounded towards minus infinity.
constexpr int64_t floor_milliseconds(TimePoint t) {
  return std::chrono::floor<std::chrono::milliseconds>(t.time_since_epoch()).count();
}
/// Rounds to the nearest nanosecond. `seconds` must be finite and within ±292 years.
constexpr Duration from_seconds(double seconds) {
  return Duration{static_cast<int64_t>(seconds * 1e9 + (seconds < 0 ? -0.5 : 0.5))};
}

}  // namespace cress
