#include "transport/control/cress/shared_queue.hh"

#include <algorithm>

#include "transport/control/cress/exposure_history.hh"

namespace cress::control {
namespace {

// So many datagrams in a row that others stood between, and the queue is shared.
constexpr int kSplitsMin = 6;
// Sent this far apart, and together in the queue, they show whether others stand between.
constexpr Duration kSentApart = 10ms;
// Arrivals closer than this came with one opportunity.
constexpr Duration kTogether = 1ms;
// A wait of less is an empty queue. PIE and DualPI2 keep theirs at 15 ms (RFC 8033, RFC 9332).
constexpr Duration kWaitMin = 8ms;
constexpr Duration kWaitLeft = 4ms;
// No router's buffer, but a link that is slower than what we send.
constexpr Duration kWaitMax = 1200ms;
constexpr Duration kRefusal = 10s;
// A packet a round trip, and a fifth at a loss: as responsive as two of TCP's, because a call that
// gives way for as long as TCP does stands still meanwhile (tools/conditions.py).
constexpr double kIncrease = 1.0;
constexpr double kDecrease = 0.8;
constexpr double kPacket = 1500;
// 300 kbit/s: a picture that moves.
constexpr double kShareMin = 300e3 / 8;
constexpr double kShareMax = 1e9 / 8;
// Unused rate may be used within this time.
constexpr Duration kCreditMax = 90ms;
// It grows only while this share of it is used.
constexpr double kUsed = 0.7;
constexpr size_t kRecentMax = 64;

}  // namespace

// `arrival` was in the queue when the one before it left, and the same opportunity had room for it.
bool SharedQueue::is_split(const Arrival& arrival, Duration together) const {
  const TimePoint left_at = recent_.back().at;
  DataSize size = arrival.size;
  for (const Arrival& other : recent_) {
    size += left_at - other.at < together ? other.size : DataSize{};
  }
  return arrival.at - left_at >= together && size <= kOpportunitySize;
}

void SharedQueue::handle_arrival(TimePoint now, TimePoint expected, TimePoint at, DataSize size,
                                 Duration round_trip, Duration jitter) {
  const Duration together = kTogether + jitter;
  const Arrival arrival{expected, at, size};
  waited_ = at - expected;
  round_trip_ = round_trip;
  if (waited_ < kWaitLeft) {
    is_shared_ = false;
  }
  if (waited_ > kWaitMax) {
    is_shared_ = false;
    refused_until_ = now + kRefusal;
  }
  if (waited_ < kWaitMin) {
    splits_ = 0;
  } else if (!recent_.empty() && expected - recent_.back().expected >= kSentApart &&
             expected < recent_.back().at) {
    if (is_split(arrival, together)) {
      ++splits_;
    } else if (at - recent_.back().at < together) {
      splits_ = 0;
    }
  }
  recent_.push_back(arrival);
  if (recent_.size() > kRecentMax) {
    recent_.pop_front();
  }
  if (!is_shared_ && splits_ >= kSplitsMin && now >= refused_until_) {
    begin(now);
  }
  if (is_shared_) {
    increase(now);
  }
}

void SharedQueue::begin(TimePoint now) {
  is_shared_ = true;
  splits_ = 0;
  const double before = *std::ranges::max_element(sent_);
  rate_ = std::clamp(before, kShareMin, kShareMax);
  credit_ = 0;
  credit_at_ = raised_at_ = now;
}

void SharedQueue::increase(TimePoint now) {
  const double elapsed = to_seconds(now - raised_at_);
  raised_at_ = now;
  const double round_trip = std::max(to_seconds(round_trip_), 0.01);
  if (std::max(sent_[0], sent_[1]) >= kUsed * rate_) {
    rate_ = std::min(rate_ + kIncrease * kPacket * elapsed / (round_trip * round_trip), kShareMax);
  }
}

void SharedQueue::handle_lost(TimePoint now) {
  if (is_shared_ && now - lowered_at_ > round_trip_) {
    lowered_at_ = now;
    rate_ = std::max(rate_ * kDecrease, kShareMin);
  }
}

double SharedQueue::credit(TimePoint now) const {
  const double most = rate_ * to_seconds(kCreditMax);
  return std::min(credit_ + rate_ * to_seconds(now - credit_at_), most);
}

void SharedQueue::on_sent(TimePoint now, DataSize size) {
  const auto bytes = static_cast<double>(size.bytes());
  while (now - second_ >= 1s) {
    std::shift_right(sent_.begin(), sent_.end(), 1);
    sent_[0] = 0;
    second_ = now - second_ > kSeconds * 1s ? now : second_ + 1s;
  }
  sent_[0] += bytes;
  if (is_shared_) {
    credit_ = credit(now) - bytes;
    credit_at_ = now;
  }
}

DataSize SharedQueue::window(TimePoint now) const {
  return DataSize{static_cast<int64_t>(std::max(credit(now), 0.0))};
}

}  // namespace cress::control
