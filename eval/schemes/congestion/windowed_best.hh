#pragma once

#include <deque>

namespace cress::schemes {

/// The exact best value in a sliding window (a monotone queue). `Better(a, b)`: a replaces b;
/// std::less_equal keeps the minimum, std::greater_equal the maximum. Keys never decrease. Cost:
/// constant, amortised over additions; holds at most the window's values. Threads: none inside; one
/// owner.
template <class Key, class Value, class Better>
class WindowedBest {
 public:
  void add(Key key, Value value) {
    while (!kept_.empty() && Better{}(value, kept_.back().value)) {
      kept_.pop_back();
    }
    kept_.push_back({key, value});
  }
  /// Removes what was added before `key`, except the last value.
  void forget_before(Key key) {
    while (kept_.size() > 1 && kept_.front().key < key) {
      kept_.pop_front();
    }
  }
  bool empty() const { return kept_.empty(); }
  /// Not empty.
  Value best() const { return kept_.front().value; }
  void clear() { kept_.clear(); }

 private:
  struct Kept {
    Key key;
    Value value;
  };
  std::deque<Kept> kept_;
};

}  // namespace cress::schemes
