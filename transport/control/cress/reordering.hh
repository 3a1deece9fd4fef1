#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/base/fifo.hh"
#include "transport/base/time.hh"
#include "transport/control/control.hh"
#include "transport/control/cress/recent_least.hh"

namespace cress::control {

/// How much a path reorders, measured from datagrams that arrive after one that was sent later.
/// A plain value. Threads: none inside; one owner. Peer data: any values are safe.
class Reordering {
 public:
  /// A datagram sent at `sent` (sender's clock) arrived at `at` (receiver's clock). Call in the
  /// order of arrival. `now` (any clock) never goes back. `least_delay`: the least (at - sent) that
  /// is known.
  void handle_arrival(TimePoint now, uint64_t sequence, TimePoint sent, TimePoint at,
                      Duration least_delay) {
    Duration spread{};
    Duration before{};
    if (sequence < newest_) {
      const bool met_none = !std::ranges::any_of(recent_, [&](const Arrival& other) {
        return other.sequence < sequence && other.at > sent + least_delay;
      });
      Duration after{};
      TimePoint next = at;
      for (auto other = recent_.end(); other != recent_.begin();) {
        --other;
        // Negative where a report was overtaken by a later one.
        const Duration gap = std::max(next - other->at, -kMost);
        after += gap <= kSilence ? gap : Duration{};
        next = other->at;
        if (other->sequence > sequence && at > other->at && at - other->at <= kMost) {
          const Duration sent_before = other->sent - sent;
          const bool counts = met_none && sent_before <= kSentBeforeMax;
          spread = std::max(spread, counts ? after + sent_before : after);
          before = std::max(before, std::min(sent_before, kMost));
        }
      }
    }
    newest_ = std::max(newest_, sequence);
    spread_.add(now, -spread);
    sent_before_.add(now, -before);
    recent_.push_back({sequence, sent, at});
    if (recent_.size() > kRecentMax) {
      recent_.pop_front();
    }
  }
  /// How much longer one datagram is in transit than another by jitter alone: the longest seen in
  /// the last 10 to 20 s, at most 230 ms. A FIFO queue keeps the order, so a datagram that arrives
  /// after one sent later shows jitter of at least the time between the two arrivals, however long
  /// the queue is. But they may have changed places before a slow queue: while nothing arrives,
  /// that time is the queue's. If none of ours was in the queue when the first was sent, the time
  /// between the two sendings (at most 30 ms) is part of the jitter too. Zero on a path that keeps
  /// the order.
  Duration spread() const { return -spread_.least().value_or(Duration{}); }
  /// The longest time by which such a datagram was sent before the other, with a margin, as the
  /// next may exceed all so far. Two that wait in a queue arrive closer together than they were
  /// sent, so this may be longer than the spread. Zero on a path that keeps the order.
  Duration sent_before_max() const {
    const Duration most = -sent_before_.least().value_or(Duration{});
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
  // For so long nothing arrives only from a slow link, or in a pause.
  static constexpr Duration kSilence = 40ms;
  // Over a longer time other causes, such as a pause of the link, are as likely as jitter.
  static constexpr Duration kSentBeforeMax = 30ms;
  // One that is later than this is a stray: it says nothing about the others.
  static constexpr Duration kMost = 200ms;
  static constexpr size_t kRecentMax = 64;

  Fifo<Arrival> recent_;
  uint64_t newest_ = 0;
  // Negative: the least is the most.
  RecentLeast<Duration> spread_{kSpan};
  RecentLeast<Duration> sent_before_{kSpan};
};

/// The receiver's part, where no sending times are known. Datagrams that waited in a queue together
/// leave it closer together than they were sent, so the time between sendings can say little about
/// what is lost; on a path that reorders, a datagram is also lost when one that was sent later has
/// been here for longer than such a datagram ever was. A plain value. Threads: none inside; one
/// owner. Peer data: any values are safe.
class Overtaking {
 public:
  /// Datagram `sequence` arrived at `now`, which never goes back.
  void handle_arrival(TimePoint now, uint64_t sequence) {
    Duration after{};
    if (sequence < newest_) {
      for (const Arrival& other : recent_) {
        if (other.sequence == sequence) {
          return;  // a duplicate
        }
        const Duration later = now - other.at;
        after = other.sequence > sequence && later <= kMost ? std::max(after, later) : after;
      }
    }
    newest_ = std::max(newest_, sequence);
    spread_.add(now, -after);
    recent_.push_back({sequence, now});
    if (recent_.size() > kRecentMax) {
      recent_.pop_front();
    }
  }
  /// Every datagram before this one has arrived or is lost. 0: time says nothing, on a path that
  /// keeps the order and on a link so slow that whole opportunities pass between those reordered.
  uint64_t decided_before(TimePoint now) const {
    const Duration spread = -spread_.least().value_or(Duration{});
    if (spread == Duration{} || spread > kJitterMax) {
      return 0;
    }
    // The next may exceed all so far.
    const Duration patience = std::max<Duration>(spread * 5 / 4 + 1ms, kThrowawayInterval);
    uint64_t before = 0;
    for (const Arrival& arrival : recent_) {
      before = now - arrival.at >= patience ? std::max(before, arrival.sequence) : before;
    }
    return before;
  }

 private:
  struct Arrival {
    uint64_t sequence = 0;
    TimePoint at{};
  };
  static constexpr Duration kSpan = 10s;
  static constexpr Duration kMost = 200ms;  // as Reordering's
  static constexpr Duration kJitterMax = 40ms;
  static constexpr size_t kRecentMax = 256;

  Fifo<Arrival> recent_;
  uint64_t newest_ = 0;
  RecentLeast<Duration> spread_{kSpan};  // negative: the least is the most
};

}  // namespace cress::control
