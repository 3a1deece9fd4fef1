#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::live {

/// The rate of a byte counter over about the last second. Threads: none inside; one owner.
class RateMeter {
 public:
  /// `total`: bytes since the start. Call about ten times a second.
  void add(TimePoint now, uint64_t total) {
    points_.push_back({now, total});
    while (points_.size() > 2 && points_[1].at <= now - kSpan) {
      points_.pop_front();
    }
  }
  DataRate rate() const {
    if (points_.size() < 2 || points_.back().at <= points_.front().at) {
      return {};
    }
    const uint64_t bytes = points_.back().total - points_.front().total;
    return DataRate::from(DataSize{static_cast<int64_t>(bytes)},
                          points_.back().at - points_.front().at);
  }

 private:
  struct Point {
    TimePoint at{};
    uint64_t total = 0;
  };
  static constexpr Duration kSpan = 1s;
  std::deque<Point> points_;  // as many as are added in kSpan
};

/// `q` in 0..1; nullopt if empty.
inline std::optional<Duration> quantile_of(std::vector<Duration> delays, double q) {
  if (delays.empty()) {
    return std::nullopt;
  }
  const auto at = delays.begin() + static_cast<int64_t>(q * static_cast<double>(delays.size() - 1));
  std::nth_element(delays.begin(), at, delays.end());
  return *at;
}

/// Delays over the last second between two clocks that are not synchronized: variations are exact,
/// and the minimum of the last 10 to 20 s is assumed to be `least`. Threads: none inside; one
/// owner.
class DelayMeter {
 public:
  /// An item captured at `from` (their clock) arrived at `now` (ours).
  void add(TimePoint now, TimePoint from) {
    if (now >= bucket_start_ + kBucket) {
      least_[1] = least_[0];
      least_[0] = Duration::max();
      bucket_start_ = now;
    }
    least_[0] = std::min(least_[0], now - from);
    recent_.push_back({now, now - from});
    forget(now);
  }
  /// `q` in 0..1 over the last second; nullopt if nothing was added.
  std::optional<Duration> quantile(TimePoint now, double q, Duration least) const {
    return quantile_of(recent(now, least), q);
  }
  /// The delays of the last second.
  std::vector<Duration> recent(TimePoint now, Duration least) const {
    std::vector<Duration> delays;
    for (const Delay& delay : recent_) {
      if (delay.at > now - kSpan) {
        delays.push_back(delay.value - std::min(least_[0], least_[1]) + least);
      }
    }
    return delays;
  }

 private:
  struct Delay {
    TimePoint at{};
    Duration value{};
  };
  void forget(TimePoint now) {
    while (recent_.front().at <= now - kSpan || recent_.size() > kRecentMax) {
      recent_.pop_front();
    }
  }

  static constexpr Duration kSpan = 1s;
  static constexpr Duration kBucket = 10s;
  static constexpr size_t kRecentMax = 256;
  std::deque<Delay> recent_;
  std::array<Duration, 2> least_{Duration::max(), Duration::max()};
  TimePoint bucket_start_ = kTimeZero - kBucket;
};

}  // namespace cress::live
