#include "transport/sim/queue.hh"

#include <utility>

namespace cress::sim {

void DropTailQueue::push(TimePoint /*now*/, QueuedDatagram datagram) {
  if (size_ + datagram.datagram.wire_size > limit_) {
    count_drop(datagram);
    return;
  }
  size_ += datagram.datagram.wire_size;
  queue_.push_back(std::move(datagram));
}

std::optional<QueuedDatagram> DropTailQueue::pop(TimePoint /*now*/) {
  if (queue_.empty()) {
    return std::nullopt;
  }
  QueuedDatagram next = std::move(queue_.front());
  queue_.pop_front();
  size_ -= next.datagram.wire_size;
  return next;
}

}  // namespace cress::sim
