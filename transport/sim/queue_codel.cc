#include "transport/sim/queue_codel.hh"

#include <cmath>
#include <utility>

namespace cress::sim {
namespace {
// RFC 8289 §5.5: a dropping state that returns within this many intervals continues near its old
// rate.
constexpr int kRecentIntervals = 16;
}  // namespace

void CodelQueue::push(TimePoint /*now*/, QueuedDatagram datagram) {
  if (size_ + datagram.datagram.wire_size > options_.limit) {
    count_drop(datagram);
    return;
  }
  size_ += datagram.datagram.wire_size;
  queue_.push_back(std::move(datagram));
}

QueuedDatagram CodelQueue::take_first() {
  QueuedDatagram first = std::move(queue_.front());
  queue_.pop_front();
  size_ -= first.datagram.wire_size;
  return first;
}

CodelQueue::Head CodelQueue::take_head(TimePoint now) {
  if (queue_.empty()) {
    above_until_.reset();
    return {};
  }
  Head head{take_first(), false};
  const Duration wait = now - head.datagram->sent;
  if (wait < options_.target || size_ <= options_.mtu) {
    above_until_.reset();
  } else if (!above_until_) {
    above_until_ = now + options_.interval;
  } else {
    head.may_drop = now >= *above_until_;
  }
  return head;
}

TimePoint CodelQueue::next_drop_after(TimePoint time) const {
  return time +
         from_seconds(to_seconds(options_.interval) / std::sqrt(static_cast<double>(count_)));
}

std::optional<QueuedDatagram> CodelQueue::pop(TimePoint now) {
  Head head = take_head(now);
  if (dropping_ && !head.may_drop) {
    dropping_ = false;
  } else if (dropping_) {
    while (dropping_ && now >= drop_next_) {
      ++count_;
      if (mark(*head.datagram)) {
        drop_next_ = next_drop_after(drop_next_);
        break;
      }
      count_drop(*head.datagram);
      head = take_head(now);
      if (head.may_drop) {
        drop_next_ = next_drop_after(drop_next_);
      } else {
        dropping_ = false;
      }
    }
  } else if (head.may_drop) {
    if (!mark(*head.datagram)) {
      count_drop(*head.datagram);
      head = take_head(now);
    }
    dropping_ = true;
    // Back soon after the last time: starts with the rate that controlled the queue.
    const int64_t gained = count_ - count_last_;
    const bool recent = now - drop_next_ < kRecentIntervals * options_.interval;
    count_ = gained > 1 && recent ? gained : 1;
    drop_next_ = next_drop_after(now);
    count_last_ = count_;
  }
  return std::move(head.datagram);
}

}  // namespace cress::sim
