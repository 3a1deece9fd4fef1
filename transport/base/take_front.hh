#pragma once

#include <deque>
#include <optional>
#include <utility>

namespace cress {

/// The next of what a machine has to hand out: the body of most poll_*.
template <class T>
std::optional<T> take_front(std::deque<T>& queue) {
  if (queue.empty()) {
    return std::nullopt;
  }
  std::optional<T> front{std::move(queue.front())};
  queue.pop_front();
  return front;
}

}  // namespace cress
