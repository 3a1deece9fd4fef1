#pragma once

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace cress {

/// A queue in one piece of memory, for what is mostly emptied soon: where std::deque walks through
/// new pieces without end, this begins again at the same place, which is still in the processor's
/// cache. Pointers and iterators are good until the next change. Threads: none inside; a plain
/// value.
template <class T>
class Fifo {
 public:
  using value_type = T;

  bool empty() const { return head_ == items_.size(); }
  size_t size() const { return items_.size() - head_; }
  T& front() { return items_[head_]; }
  const T& front() const { return items_[head_]; }
  T& back() { return items_.back(); }
  const T& back() const { return items_.back(); }
  T& operator[](size_t i) { return items_[head_ + i]; }
  const T& operator[](size_t i) const { return items_[head_ + i]; }
  auto begin() { return items_.begin() + static_cast<std::ptrdiff_t>(head_); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin() + static_cast<std::ptrdiff_t>(head_); }
  auto end() const { return items_.end(); }

  void push_back(T item) { items_.push_back(std::move(item)); }
  /// Before all others; linear in their number where none has gone from there.
  void push_front(T item) {
    if (head_ > 0) {
      items_[--head_] = std::move(item);
    } else {
      items_.insert(items_.begin(), std::move(item));
    }
  }
  /// Before `at`; linear in what comes after it.
  void insert(typename std::vector<T>::iterator at, T item) { items_.insert(at, std::move(item)); }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    return items_.emplace_back(std::forward<Args>(args)...);
  }
  /// Amortized in constant time: what is gone is given up once it is as much as what is left.
  void pop_front() {
    [[maybe_unused]] const T gone = std::move(items_[head_]);  // its own memory goes now
    ++head_;
    if (head_ == items_.size()) {
      clear();
    } else if (head_ >= kGoneMin && head_ >= size()) {
      items_.erase(items_.begin(), begin());
      head_ = 0;
    }
  }
  void clear() {
    items_.clear();
    head_ = 0;
  }

 private:
  static constexpr size_t kGoneMin = 32;
  std::vector<T> items_;
  size_t head_ = 0;  // the first that is not gone
};

}  // namespace cress
