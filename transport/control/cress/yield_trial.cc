#include "transport/control/cress/yield_trial.hh"

#include <algorithm>

namespace cress::control {
namespace {

// Growth is measured over datagrams sent in this time.
constexpr Duration kGrowthSpan = 300ms;
// The queue grows if they arrive over more than this many times the time in which they were sent.
constexpr double kGrows = 1.3;
// A trial begins if the queue grows, or others seem to have left, and the wait exceeds this,
constexpr Duration kGrownWait = 150ms;
// or if the wait exceeds this: no router should have so long a queue.
constexpr Duration kLongWait = 1200ms;
// During a trial we send at this share of the rate at which our datagrams leave the queue.
constexpr double kYield = 0.6;
constexpr DataRate kYieldLeast = DataRate::kilobits_per_second(50);
// First we do so for this long only: next to TCP each trial costs a part of the picture, and it
// takes as long as the queue to see what came of it (docs/experiments/0046).
constexpr Duration kFirstYield = 400ms;
// During a trial, draining is measured over datagrams sent in this time. What was ready before the
// trial leaves at its beginning, so less of it would show little.
constexpr Duration kDrainSpan = 200ms;
// The queue drains if they arrive in at most this share of the time in which they were sent.
constexpr double kDrains = 0.85;
// It is empty when the wait has fallen to this share: TCP that lost keeps more than half.
constexpr double kEmpty = 0.25;
// A trial costs a part of the picture. A queue that stands, however long, is asked less often.
constexpr Duration kBetweenTrials = 10s;
constexpr Duration kBetweenTrialsOfStanding = 30s;
// But if others seem to have left, it is probably our own. Such trials do not postpone the others.
constexpr Duration kBetweenTrialsOfLeft = 2s;

}  // namespace

// When the span is `length` long, or longer, it ends.
std::optional<YieldTrial::Growth> YieldTrial::measure(TimePoint expected, TimePoint at,
                                                      DataSize size, Duration length) {
  if (!span_) {
    span_ = Span{expected, at, {}};
    return std::nullopt;
  }
  span_->size += size;
  const Duration sent_in = expected - span_->expected;
  if (sent_in < length) {
    return std::nullopt;
  }
  const Duration left_in = at - span_->at;
  const Growth growth{to_seconds(left_in) / to_seconds(sent_in),
                      DataRate::from(span_->size, std::max(left_in, Duration{1ms}))};
  span_.reset();
  return growth;
}

bool YieldTrial::is_due(TimePoint now, const Growth& growth, Duration waited) const {
  const Duration since = now - begun_next_to_others_at_;
  const bool grows = growth.factor > kGrows && waited > kGrownWait;
  return (grows && since >= kBetweenTrials) ||
         (waited > kLongWait && since >= kBetweenTrialsOfStanding);
}

void YieldTrial::yield(TimePoint now, TimePoint until) {
  limit_ = std::max(leaves_ * kYield, kYieldLeast);
  yields_from_ = now;
  yields_until_ = until;
  span_.reset();
}

bool YieldTrial::handle_arrival(TimePoint now, TimePoint expected, TimePoint at, DataSize size,
                                Duration round_trip, bool others_left) {
  const Duration waited = at - expected;
  if (!limit_) {
    const auto growth = measure(expected, at, size, kGrowthSpan);
    const bool is_due_anyway = growth && is_due(now, *growth, waited);
    const bool is_due_alone =
        others_left && waited > kGrownWait && now - begun_at_ >= kBetweenTrialsOfLeft;
    if (growth && (is_due_anyway || is_due_alone)) {
      begun_next_to_others_at_ = is_due_anyway ? now : begun_next_to_others_at_;
      leaves_ = growth->leaves;
      waited_before_ = waited;
      begun_at_ = now;
      yield(now, now + kFirstYield);
    }
    return false;
  }
  if (now >= yields_until_) {
    limit_ = std::max(leaves_, kYieldLeast);
  }
  const TimePoint sent_at = now - round_trip;
  if (sent_at < yields_from_) {
    return false;
  }
  if (to_seconds(waited) < kEmpty * to_seconds(waited_before_)) {
    limit_.reset();
    return true;
  }
  if (sent_at >= yields_until_) {
    yield(now, kNever);
    return false;
  }
  const auto growth = measure(expected, at, size, kDrainSpan);
  if (growth && growth->factor > kDrains) {
    limit_.reset();
  }
  return false;
}

}  // namespace cress::control
