#include "transport/sim/queue_red.hh"

#include <algorithm>
#include <utility>

#include "transport/base/check.hh"

namespace cress::sim {
namespace {

/// base^exponent by squaring: the same bits with every C library, unlike std::pow.
double power(double base, int64_t exponent) {
  double result = 1.0;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) {
      result *= base;
    }
    base *= base;
  }
  return result;
}

}  // namespace

double red_drop_chance(const RedOptions& options, double average) {
  const auto low = static_cast<double>(options.threshold_min);
  const auto high = static_cast<double>(options.threshold_max);
  if (average < low) {
    return 0.0;
  }
  if (average < high) {
    return options.drop_chance_max * (average - low) / (high - low);
  }
  if (options.gentle && average < 2.0 * high) {
    return options.drop_chance_max + (1.0 - options.drop_chance_max) * (average - high) / high;
  }
  return 1.0;
}

RedQueue::RedQueue(const RedOptions& options, Rng rng) : options_(options), rng_(rng) {
  check(options.threshold_min > 0 && options.threshold_min < options.threshold_max,
        "RedQueue: 0 < threshold_min < threshold_max");
  check(options.drop_chance_max > 0 && options.drop_chance_max <= 1 && options.weight > 0 &&
            options.weight <= 1 && options.datagram_time > Duration::zero() &&
            options.datagram_size > DataSize{},
        "RedQueue: options in range");
}

double RedQueue::length() const {
  return options_.unit == RedUnit::kBytes ? static_cast<double>(size_.bytes())
                                          : static_cast<double>(queue_.size());
}

void RedQueue::update_average(TimePoint now) {
  if (!idle_since_) {
    average_ += options_.weight * (length() - average_);
    return;
  }
  // As if this many datagrams had arrived and found the queue empty.
  const int64_t passed = (now - *idle_since_) / options_.datagram_time;
  average_ *= power(1.0 - options_.weight, passed);
  // The paper leaves q_time unchanged: a dropped arrival would age the average twice.
  *idle_since_ += passed * options_.datagram_time;
}

bool RedQueue::drops_early(DataSize arriving) {
  double chance = red_drop_chance(options_, average_);
  if (chance <= 0.0) {
    since_drop_ = -1;
    return false;
  }
  if (chance >= 1.0) {
    since_drop_ = -1;
    return true;
  }
  if (options_.unit == RedUnit::kBytes) {
    chance *=
        static_cast<double>(arriving.bytes()) / static_cast<double>(options_.datagram_size.bytes());
  }
  ++since_drop_;
  // p_a = p_b / (1 - count p_b), count the arrivals let in since the last drop: so the gap between
  // drops is uniform in 1..1/p_b (§7; figure 2 counts one more and loses the longest gap).
  const double spaced = 1.0 - static_cast<double>(since_drop_) * chance;
  if (rng_.chance(chance / std::max(spaced, chance))) {
    since_drop_ = -1;
    return true;
  }
  return false;
}

void RedQueue::push(TimePoint now, QueuedDatagram datagram) {
  update_average(now);
  if (drops_early(datagram.datagram.wire_size) ||
      size_ + datagram.datagram.wire_size > options_.limit) {
    count_drop(datagram);
    return;
  }
  size_ += datagram.datagram.wire_size;
  queue_.push_back(std::move(datagram));
  idle_since_.reset();
}

std::optional<QueuedDatagram> RedQueue::pop(TimePoint now) {
  if (queue_.empty()) {
    return std::nullopt;
  }
  QueuedDatagram next = std::move(queue_.front());
  queue_.pop_front();
  size_ -= next.datagram.wire_size;
  if (queue_.empty()) {
    idle_since_ = now;
  }
  return next;
}

}  // namespace cress::sim
