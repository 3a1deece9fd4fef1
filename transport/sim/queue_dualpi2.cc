#include "transport/sim/queue_dualpi2.hh"

#include <algorithm>
#include <utility>

namespace cress::sim {
namespace {

bool is_low_latency(Ecn ecn) { return ecn == Ecn::kEct1 || ecn == Ecn::kCe; }

}  // namespace

bool DualPi2Queue::Lane::recurs(double likelihood) {
  recurrence += likelihood;
  if (recurrence > 1) {
    recurrence -= 1;
    return true;
  }
  return false;
}

Duration DualPi2Queue::Lane::wait(TimePoint now) const {
  return queue.empty() ? Duration{} : now - queue.front().sent;
}

QueuedDatagram DualPi2Queue::Lane::take() {
  QueuedDatagram first = std::move(queue.front());
  queue.pop_front();
  size -= first.datagram.wire_size;
  return first;
}

/// Nothing came or went since the last call, so the updates in between see the queues as they are.
void DualPi2Queue::update_until(TimePoint now) {
  while (next_update_ <= now) {
    if (empty() && base_ == 0 && delay_old_ == Duration{}) {
      next_update_ += ((now - next_update_) / options_.update + 1) * options_.update;
      return;
    }
    // The longer of the two, as in Linux, so that L flows that ignore their marks meet drops too.
    const Duration delay = std::max(classic_.wait(next_update_), low_.wait(next_update_));
    base_ += options_.alpha * to_seconds(delay - options_.target) +
             options_.beta * to_seconds(delay - delay_old_);
    base_ = std::clamp(base_, 0.0, 1.0);
    delay_old_ = delay;
    next_update_ += options_.update;
  }
}

bool DualPi2Queue::is_overloaded() const { return coupled() >= 1; }

void DualPi2Queue::push(TimePoint now, QueuedDatagram datagram) {
  update_until(now);
  if (size() + datagram.datagram.wire_size > options_.limit) {
    count_drop(datagram);
    return;
  }
  Lane& lane = is_low_latency(datagram.datagram.ecn) ? low_ : classic_;
  lane.size += datagram.datagram.wire_size;
  lane.queue.push_back(std::move(datagram));
}

bool DualPi2Queue::next_is_low() {
  if (low_.queue.empty() || classic_.queue.empty()) {
    credit_ = 0;
    return !low_.queue.empty();
  }
  return credit_ <= 0;
}

std::optional<QueuedDatagram> DualPi2Queue::pop(TimePoint now) {
  update_until(now);
  while (!empty()) {
    const bool both = !low_.queue.empty() && !classic_.queue.empty();
    const bool low = next_is_low();
    Lane& lane = low ? low_ : classic_;
    const bool waited = lane.wait(now) > options_.threshold;
    QueuedDatagram datagram = lane.take();
    const int64_t bytes = datagram.datagram.wire_size.bytes();
    if (both) {
      credit_ += low ? bytes * options_.classic_share : -bytes * (100 - options_.classic_share);
    }
    const double square = base_ * base_;
    if (low) {
      // §4.2.3: beyond saturation of the marks only drops are left, for both alike.
      if (is_overloaded() && lane.recurs(square)) {
        count_drop(datagram);
        continue;
      }
      const bool native = waited && lane.size > options_.threshold_size;
      if (native || is_overloaded() || lane.recurs(coupled())) {
        mark(datagram);
      }
    } else if (lane.recurs(square) && (is_overloaded() || !mark(datagram))) {
      count_drop(datagram);
      continue;
    }
    return datagram;
  }
  return std::nullopt;
}

}  // namespace cress::sim
