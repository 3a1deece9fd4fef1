#include "transport/control/cress/shared_queue.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include "transport/control/cress/exposure_history.hh"

namespace cress::control {
namespace {

// So many datagrams in a row that others stood between, and the queue is shared.
constexpr int kSplitsMin = 6;
// Sent this far apart, and together in the queue, they show whether others stand between.
constexpr Duration kSentApart = 10ms;
// Arrivals closer than this came with one opportunity.
constexpr Duration kTogether = 1ms;
// On a link that sends byte by byte a datagram follows the one before it after the time that its
// own bytes need. This many times longer, and others stand between.
constexpr double kOwnTime = 1.5;
// If for this long so many pairs left together and none was split, others seem to have left.
constexpr Duration kUnsplitMin = 2s;
constexpr int kTogethersMin = 14;
// A wait of less is an empty queue. PIE and DualPI2 keep theirs at 15 ms (RFC 8033, RFC 9332).
constexpr Duration kWaitMin = 8ms;
constexpr Duration kWaitLeft = 4ms;
// Calls that share a link by delay let its queue run empty more often than this; TCP does not, or
// loses (docs/experiments/0030). After a loss the first sign of others is enough.
constexpr Duration kStandsMin = 600ms;
constexpr Duration kFullAfterLoss = 10s;
// With TCP in both directions acknowledgements wait, then data follows them in bursts, and the
// queue empties after each (Zhang, Shenker, Clark: The effects of two-way traffic, SIGCOMM 1991). A
// queue that was this long lately, longer than that of calls, and fills again to this share of it
// in time, is still shared.
constexpr Duration kLongMin = 60ms;
constexpr Duration kLongSpan = 4s;
constexpr double kFilledAgain = 0.25;
constexpr Duration kEmptyMax = 1s;
// No router's buffer, but a link that is slower than what we send.
constexpr Duration kWaitMax = 5s;
constexpr Duration kRefusal = 3s;
// A packet a round trip, and a fifth at a loss: as responsive as two of TCP's, because a call that
// gives way for as long as TCP does stands still meanwhile (tools/conditions.py).
constexpr double kDecrease = 0.8;
constexpr size_t kRecentMax = 64;

}  // namespace

SharedQueue::SharedQueue() : longest_(kLongSpan) {}

// `arrival` was in the queue when the one before it left, and the same opportunity had room for it.
bool SharedQueue::is_split(const Arrival& arrival, Duration together) const {
  const TimePoint left_at = recent_.back().at;
  DataSize size = arrival.size;
  for (const Arrival& other : recent_) {
    size += left_at - other.at < together ? other.size : DataSize{};
  }
  return arrival.at - left_at >= together && size <= kOpportunitySize;
}

// The most that `size` needs by itself, by the best rate at which one of ours lately left right
// behind another. Zero if none did.
Duration SharedQueue::own_time(DataSize size) const {
  double seconds_per_byte = std::numeric_limits<double>::infinity();
  const Arrival* before = nullptr;
  for (const Arrival& arrival : recent_) {
    // A report that was overtaken tells of earlier arrivals.
    if (before != nullptr && arrival.expected < before->at && arrival.at >= before->at) {
      seconds_per_byte = std::min(seconds_per_byte, to_seconds(arrival.at - before->at) /
                                                        static_cast<double>(arrival.size.bytes()));
    }
    before = &arrival;
  }
  if (std::isinf(seconds_per_byte)) {
    return {};
  }
  const double seconds = kOwnTime * static_cast<double>(size.bytes()) * seconds_per_byte;
  return from_seconds(std::min(seconds, to_seconds(kWaitMax)));  // whatever times a peer makes up
}

// `arrival` and the one before it waited together: did others stand between?
void SharedQueue::note_pair(TimePoint now, const Arrival& arrival, Duration jitter) {
  if (!stands_since_ || recent_.empty()) {
    return;
  }
  const Arrival& before = recent_.back();
  if (arrival.expected - before.expected < kSentApart || arrival.expected >= before.at) {
    return;
  }
  const Duration apart = arrival.at - before.at;
  const Duration together = std::max(kTogether, own_time(arrival.size));
  if (is_split(arrival, together + jitter)) {
    ++splits_;
    unsplit_since_ = now;
    togethers_ = 0;
  } else if (apart < together + jitter) {
    splits_ = 0;
    togethers_ += apart < together ? 1 : 0;
  }
}

bool SharedQueue::have_others_left(TimePoint now) const {
  return now - unsplit_since_ >= kUnsplitMin && togethers_ >= kTogethersMin;
}

void SharedQueue::note_wait(TimePoint now) {
  longest_.add(now, -waited_);
  if (waited_ < kWaitMin) {
    splits_ = 0;
    stands_since_.reset();
  } else {
    stands_since_ = stands_since_.value_or(now);
  }
  if (waited_ < kWaitLeft) {
    empty_since_ = empty_since_.value_or(now);
  } else if (waited_ > -*longest_.least() * kFilledAgain) {
    empty_since_.reset();
  }
}

// Those whose datagrams stand between ours fill the queue, as TCP does.
bool SharedQueue::is_filled(TimePoint now) const {
  return now - congested_at_ < kFullAfterLoss ||
         (stands_since_ && now - *stands_since_ >= kStandsMin);
}

bool SharedQueue::is_over(TimePoint now) const {
  const Duration empty_max = -*longest_.least() >= kLongMin ? kEmptyMax : Duration{};
  return empty_since_ && now - *empty_since_ >= empty_max;
}

void SharedQueue::begin(TimePoint now) {
  is_shared_ = true;
  splits_ = 0;
  share_.begin(now);
  trial_ = {};
  unsplit_since_ = now;
  togethers_ = 0;
}

void SharedQueue::refuse(TimePoint now) {
  is_shared_ = false;
  refused_until_ = now + kRefusal;
}

void SharedQueue::handle_arrival(TimePoint now, TimePoint expected, TimePoint at, DataSize size,
                                 Duration round_trip, Duration jitter) {
  const Arrival arrival{expected, at, size};
  waited_ = at - expected;
  round_trip_ = round_trip;
  note_wait(now);
  if (is_over(now)) {
    is_shared_ = false;
  }
  note_pair(now, arrival, jitter);
  if (waited_ > kWaitMax ||
      (is_shared_ &&
       trial_.handle_arrival(now, expected, at, size, round_trip, have_others_left(now)))) {
    refuse(now);
  }
  share_.limit(now, trial_.limit());
  recent_.push_back(arrival);
  if (recent_.size() > kRecentMax) {
    recent_.pop_front();
  }
  if (!is_shared_ && splits_ >= kSplitsMin && is_filled(now) && now >= refused_until_) {
    begin(now);
  }
  if (is_shared_ && empty_since_) {
    share_.hold(now);
  } else if (is_shared_) {
    share_.raise(now, round_trip_);
  }
}

void SharedQueue::handle_congestion(TimePoint now) {
  congested_at_ = now;
  if (is_shared_ && now - lowered_at_ > round_trip_) {
    lowered_at_ = now;
    share_.lower(kDecrease);
  }
}

}  // namespace cress::control
