#pragma once

#include <deque>
#include <optional>
#include <utility>

namespace cress {

/// Removes and returns the first item of a std::deque or a Fifo, or nullopt: the body of most
/// poll_*.
template <class Queue>
std::optional<typename Queue::value_type> take_front(Queue& queue) {
  if (queue.empty()) {
    return std::nullopt;
  }
  std::optional<typename Queue::value_type> front{std::move(queue.front())};
  queue.pop_front();
  return front;
}

}  // namespace cress
