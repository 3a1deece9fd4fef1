#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/base/fifo.hh"
#include "transport/base/time.hh"
#include "transport/control/cress/recent_least.hh"

namespace cress::control {

/// The spread of transit times that no queue explains, measured from datagrams that arrive after
/// one that was sent later: a FIFO queue keeps the order.
/// A plain value. Threads: none inside; one owner. Peer data: any values are safe.
class Reordering {
 public:
  /// A datagram sent at `sent` (sender's clock) arrived at `at` (receiver's clock). Call in the
  /// order of arrival. `now` (any clock) never goes back.
  void handle_arrival(TimePoint now, uint64_t sequence, TimePoint sent, TimePoint at) {
    Duration excess{};
    if (sequence < newest_) {
      for (const Arrival& other : recent_) {
        if (other.sequence > sequence && other.at < at) {
          excess = std::max(excess, (at - sent) - (other.at - other.sent));
        }
      }
    }
    newest_ = std::max(newest_, sequence);
    most_.add(now, -std::min(excess, kSpreadMax));
    recent_.push_back({sequence, sent, at});
    if (recent_.size() > kRecentMax) {
      recent_.pop_front();
    }
  }
  /// The largest of the last 10 to 20 s times 1.25, plus 1 ms; at most 251 ms. Zero on a path that
  /// keeps the order.
  Duration spread() const {
    const Duration most = -most_.least().value_or(Duration{});
    return most > Duration{} ? most * 5 / 4 + kMargin : Duration{};
  }

 private:
  struct Arrival {
    uint64_t sequence = 0;
    TimePoint sent{};
    TimePoint at{};
  };
  static constexpr Duration kSpan = 10s;
  static constexpr Duration kMargin = 1ms;
  // A longer delay counts as a slow link, whatever the order of arrival.
  static constexpr Duration kSpreadMax = 200ms;
  static constexpr size_t kRecentMax = 64;

  Fifo<Arrival> recent_;
  uint64_t newest_ = 0;
  RecentLeast<Duration> most_{kSpan};  // negative: the least is the most
};

}  // namespace cress::control
