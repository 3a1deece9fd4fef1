#pragma once

#include <deque>

namespace cress::schemes {

/// The best of the values seen in a sliding window, exactly (a monotone queue). `Better(a, b)`: a
/// displaces b, std::less_equal keeps the least, std::greater_equal the largest. Keys never fall.
/// Cost: constant, amortised over additions; holds at most the window's values.
/// Threads: none inside; one owner.
template <class Key, class Value, class Better>
class WindowedBest {
 public:
  void add(Key key, Value value) {
    while (!kept_.empty() && Better{}(value, kept_.back().value)) {
      kept_.pop_back();
    }
    kept_.push_back({key, value});
  }
  /// Forgets what was added before `key`, but never the last.
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
