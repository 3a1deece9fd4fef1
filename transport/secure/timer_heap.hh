#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "transport/base/check.hh"
#include "transport/base/time.hh"

namespace cress::secure {

/// When each of `size` timers is due, and which is next: a binary heap with the position of each
/// entry, so that a time can be changed in place. set: O(log n); next: O(1). As many entries as
/// timers, never more. Threads: none inside; one owner.
class TimerHeap {
 public:
  explicit TimerHeap(size_t size) : due_(size, kNever), place_(size), heap_(size) {
    for (size_t i = 0; i < size; ++i) {
      place_[i] = i;
      heap_[i] = i;
    }
  }

  void set(size_t thing, TimePoint due) {
    const bool is_sooner = due < due_[thing];
    due_[thing] = due;
    if (is_sooner) {
      rise(place_[thing]);
    } else {
      sink(place_[thing]);
    }
  }
  TimePoint due(size_t thing) const { return due_[thing]; }
  size_t next() const { return heap_.front(); }
  TimePoint next_due() const { return heap_.empty() ? kNever : due_[heap_.front()]; }

 private:
  TimePoint at(size_t place) const { return due_[heap_[place]]; }
  void exchange(size_t a, size_t b) {
    std::swap(heap_[a], heap_[b]);
    place_[heap_[a]] = a;
    place_[heap_[b]] = b;
  }
  void rise(size_t place) {
    for (; place > 0 && at(place) < at((place - 1) / 2); place = (place - 1) / 2) {
      exchange(place, (place - 1) / 2);
    }
  }
  void sink(size_t place) {
    for (;;) {
      size_t least = place;
      for (size_t child = 2 * place + 1; child <= 2 * place + 2 && child < heap_.size(); ++child) {
        least = at(child) < at(least) ? child : least;
      }
      if (least == place) {
        return;
      }
      exchange(place, least);
      place = least;
    }
  }

  std::vector<TimePoint> due_;
  std::vector<size_t> place_;  // of each timer in heap_
  std::vector<size_t> heap_;
};

}  // namespace cress::secure
