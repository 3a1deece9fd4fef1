#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include "transport/base/fifo.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::control {

/// Detects that the path has become longer, as when a phone changes its cell or a satellite hands
/// over. Until the old least delay is forgotten, every datagram then seems to wait in a queue. But
/// in a queue, a wait that stays the same means that the same amount was served during each. Behind
/// a longer path the least wait stays the same however much arrives during it. The numbers:
/// docs/method.md, "The Cress forecast", step 2. A plain value. Threads: none inside; one owner.
/// Peer data: any values are safe.
class LongerPath {
 public:
  /// A datagram arrived at `at` (receiver's clock), `wait` later than by the least delay. Call in
  /// the order of arrival. `now` (any clock) never goes back. `spread`: how much later a datagram
  /// may be by jitter alone. Returns by how much the path has become longer, if it has; then begin
  /// again with a new object and the new least delay.
  std::optional<Duration> handle_arrival(TimePoint now, TimePoint at, Duration wait, DataSize size,
                                         Duration spread) {
    recent_.push_back({at, size});
    if (recent_.size() > kRecentMax) {
      recent_.pop_front();
    }
    if (wait < std::max(kWaitMin, spread / 2)) {
      met_at_ = kLongAgo;
      return std::nullopt;
    }
    const Duration near = kNear + spread / 8;
    if (now - met_at_ > kMetEvery || wait < first_ - near) {
      first_ = least_ = wait;
      since_ = now;
      served_least_ = served_most_ = served(at, wait);
    } else if (wait <= first_ + near) {
      const DataSize now_served = served(at, wait);
      least_ = std::min(least_, wait);
      served_least_ = std::min(served_least_, now_served);
      served_most_ = std::max(served_most_, now_served);
    } else {
      return std::nullopt;
    }
    met_at_ = now;
    const bool is_no_queue = served_most_ >= kServedMin && served_most_ >= 3 * served_least_;
    return now - since_ >= kLongFor && is_no_queue ? std::optional{least_} : std::nullopt;
  }

 private:
  struct Arrival {
    TimePoint at{};
    DataSize size;
  };

  /// What arrived during a wait of `wait` that ended at `at`.
  DataSize served(TimePoint at, Duration wait) const {
    DataSize sum;
    for (const Arrival& arrival : recent_) {
      sum += arrival.at > at - wait && arrival.at <= at ? arrival.size : DataSize{};
    }
    return sum;
  }

  // A wait of less, or of less than half the spread, is an empty queue (as SharedQueue's) or
  // jitter.
  static constexpr Duration kWaitMin = 8ms;
  // The least wait lasts for this long,
  static constexpr Duration kLongFor = 1s;
  // is met again within this time,
  static constexpr Duration kMetEvery = 500ms;
  // and is the same within this and an eighth of the spread: of the datagrams of half a second some
  // are that close to the least.
  static constexpr Duration kNear = 1ms;
  // Less says nothing: audio alone arrives as evenly as a queue would serve it.
  static constexpr DataSize kServedMin{1000};
  static constexpr size_t kRecentMax = 128;
  static constexpr TimePoint kLongAgo = kTimeZero - 1h;

  Fifo<Arrival> recent_;
  Duration first_{};  // the wait that the others are near to
  Duration least_{};
  TimePoint since_ = kLongAgo;
  TimePoint met_at_ = kLongAgo;
  DataSize served_least_;
  DataSize served_most_;
};

}  // namespace cress::control
