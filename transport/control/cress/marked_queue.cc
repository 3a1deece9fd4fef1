#include "transport/control/cress/marked_queue.hh"

#include <algorithm>

namespace cress::control {
namespace {

// A datagram that waited less gave its queue no reason to mark it: L4S queues mark from 1 ms of
// waiting (RFC 9332 §A.1). A mark on it shows other senders.
constexpr Duration kNoWait = 1ms;
// A datagram marked after a longer wait was in a queue that marks instead of dropping (RFC 3168).
constexpr Duration kQueueWait = 4ms;
// This many such marks, each within kMemory of the one before, show that others fill the link.
constexpr int kMarksMin = 3;
// Weight of one datagram in the smoothed fraction of marked ones.
constexpr double kGain = 1.0 / 32;

}  // namespace

bool MarkedQueue::handle_arrival(TimePoint now, TimePoint expected, TimePoint at, bool marked,
                                 Duration round_trip, Duration jitter) {
  const Duration wait = at - expected;
  const bool behind_ours = expected < last_at_;
  last_at_ = std::max(last_at_, at);
  marked_at_ = marked ? now : marked_at_;
  if (!behind_ours && wait < kNoWait + jitter / 4) {
    count(now, marked, round_trip);
  }
  is_shared_ = is_shared_ && now - shared_at_ < kMemory;
  if (is_shared_) {
    follow(now, round_trip);
  }
  return marked && !behind_ours && wait >= kQueueWait + jitter;
}

void MarkedQueue::count(TimePoint now, bool marked, Duration round_trip) {
  fraction_ += kGain * ((marked ? 1 : 0) - fraction_);
  if (!marked) {
    return;
  }
  others_ = now - shared_at_ < kMemory ? others_ + 1 : 1;
  shared_at_ = now;
  if (!is_shared_ && others_ >= kMarksMin && !share_.would_grow(fraction_ / 2, round_trip)) {
    is_shared_ = true;
    lowered_at_ = now;
    share_.begin(now);
  }
}

void MarkedQueue::follow(TimePoint now, Duration round_trip) {
  share_.raise(now, round_trip);
  if (now - lowered_at_ >= round_trip) {
    lowered_at_ = now;
    share_.lower(1 - fraction_ / 2);
  }
}

}  // namespace cress::control
