#include "transport/sim/queue_pie.hh"

#include <algorithm>
#include <utility>

namespace cress::sim {
namespace {

// RFC 8033 §4.1: with less than two of them queued nothing is dropped.
constexpr DataSize kMeanPacket{1500};
// §4.1: a probability below this and half the target's delay: no drops.
constexpr double kLightProbability = 0.2;
// §4.2: an idle queue's probability decays.
constexpr double kDecay = 0.98;
// §5.5: what a probability above kHigh may grow by in one update.
constexpr double kHigh = 0.1;
constexpr double kGrowthMax = 0.02;

/// §4.2: the smaller the probability, the gentler the steps.
double scale_at(double probability) {
  for (const auto& [below, scale] : {std::pair{1e-6, 2048.0},
                                     {1e-5, 512.0},
                                     {1e-4, 128.0},
                                     {1e-3, 32.0},
                                     {1e-2, 8.0},
                                     {1e-1, 2.0}}) {
    if (probability < below) {
      return 1 / scale;
    }
  }
  return 1;
}

}  // namespace

void PieQueue::update(TimePoint at) {
  delay_old_ = delay_;
  delay_ = queue_.empty() ? Duration{} : at - queue_.front().sent;
  double step = options_.alpha * to_seconds(delay_ - options_.target) +
                options_.beta * to_seconds(delay_ - delay_old_);
  step *= scale_at(probability_);
  if (probability_ >= kHigh) {
    step = std::min(step, kGrowthMax);
  }
  probability_ += step;
  if (delay_ == Duration{} && delay_old_ == Duration{}) {
    probability_ *= kDecay;
  }
  probability_ = std::clamp(probability_, 0.0, 1.0);
  burst_left_ = std::max(Duration{}, burst_left_ - options_.update);
  if (probability_ == 0 && delay_ < options_.target / 2 && delay_old_ < options_.target / 2) {
    burst_left_ = options_.burst_max;
  }
}

/// Nothing came or went since the last call, so the updates in between see the queue as it is.
void PieQueue::update_until(TimePoint now) {
  while (next_update_ <= now) {
    if (queue_.empty() && probability_ == 0 && delay_ == Duration{} && delay_old_ == Duration{}) {
      // Nothing would change: an idle hour is one step.
      burst_left_ = options_.burst_max;
      next_update_ += ((now - next_update_) / options_.update + 1) * options_.update;
      return;
    }
    update(next_update_);
    next_update_ += options_.update;
  }
}

bool PieQueue::may_drop() const {
  if (burst_left_ > Duration{} || size_ < 2 * kMeanPacket) {
    return false;
  }
  return !(delay_ < options_.target / 2 && probability_ < kLightProbability);
}

void PieQueue::push(TimePoint now, QueuedDatagram datagram) {
  update_until(now);
  const bool chosen = rng_.chance(probability_) && may_drop();
  if (chosen && !(probability_ <= options_.mark_max && mark(datagram))) {
    count_drop(datagram);
    return;
  }
  if (size_ + datagram.datagram.wire_size > options_.limit) {
    count_drop(datagram);
    return;
  }
  size_ += datagram.datagram.wire_size;
  queue_.push_back(std::move(datagram));
}

std::optional<QueuedDatagram> PieQueue::pop(TimePoint now) {
  update_until(now);
  if (queue_.empty()) {
    return std::nullopt;
  }
  QueuedDatagram next = std::move(queue_.front());
  queue_.pop_front();
  size_ -= next.datagram.wire_size;
  return next;
}

}  // namespace cress::sim
