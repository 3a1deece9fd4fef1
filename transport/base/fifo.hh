#pragma once

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace cress {

/// A queue in one block of memory, for queues that are usually emptied soon. std::deque keeps
/// moving to new blocks; this one starts again at the beginning of its block, which is still in the
/// processor's cache. Pointers and iterators are valid until the next change. Threads: none inside;
/// a plain value.
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
  /// Inserts before all others; linear in the number of items if none has been popped.
  void push_front(T item) {
    if (head_ > 0) {
      items_[--head_] = std::move(item);
    } else {
      items_.insert(items_.begin(), std::move(item));
    }
  }
  /// Inserts before `at`; linear in the number of items after it.
  void insert(typename std::vector<T>::iterator at, T item) { items_.insert(at, std::move(item)); }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    return items_.emplace_back(std::forward<Args>(args)...);
  }
  /// Amortized constant time: the space of popped items is released once they are as many as the
  /// remaining ones.
  void pop_front() {
    [[maybe_unused]] const T gone = std::move(items_[head_]);  // frees the item's own memory now
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
  size_t head_ = 0;  // the first item that has not been popped
};

}  // namespace cress
