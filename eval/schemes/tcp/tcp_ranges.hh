#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace cress::schemes {

/// Half-open [begin, end) of byte or segment numbers.
struct TcpRange {
  int64_t begin = 0;
  int64_t end = 0;
  friend bool operator==(const TcpRange&, const TcpRange&) = default;
};

/// A set of numbers kept as disjoint, non-touching ranges: what has been SACKed (sender, in
/// segments) or waits behind a gap (receiver, in bytes). An insertion costs the logarithm of the
/// number of gaps plus what is new, never the length of what was known: a SACK block may name
/// thousands of segments in every acknowledgement. Threads: none inside; one owner. The owner
/// bounds what it adds (by its window).
class TcpRangeSet {
 public:
  bool empty() const { return ranges_.empty(); }
  size_t size() const { return ranges_.size(); }
  /// How many numbers are in the set.
  int64_t total() const { return total_; }
  /// One past the largest number; the set is not empty.
  int64_t end() const { return ranges_.rbegin()->second; }

  /// Adds `added` (begin < end) and calls `on_new(TcpRange)` for each part that was not in the set,
  /// ascending.
  template <class OnNew>
  void add(TcpRange added, OnNew&& on_new) {
    auto next = ranges_.upper_bound(added.begin);
    if (next != ranges_.begin() && std::prev(next)->second >= added.begin) {
      --next;
    }
    TcpRange merged = added;
    int64_t position = added.begin;
    while (next != ranges_.end() && next->first <= added.end) {
      if (position < next->first) {
        on_new(TcpRange{position, next->first});
        total_ += next->first - position;
      }
      position = position < next->second ? next->second : position;
      merged.begin = merged.begin < next->first ? merged.begin : next->first;
      merged.end = merged.end > next->second ? merged.end : next->second;
      next = ranges_.erase(next);
    }
    if (position < added.end) {
      on_new(TcpRange{position, added.end});
      total_ += added.end - position;
    }
    ranges_.emplace_hint(next, merged.begin, merged.end);
  }

  /// Removes every number below `limit`.
  void erase_below(int64_t limit) {
    while (!ranges_.empty() && ranges_.begin()->first < limit) {
      const auto [begin, end] = *ranges_.begin();
      ranges_.erase(ranges_.begin());
      total_ -= (end < limit ? end : limit) - begin;
      if (end > limit) {
        ranges_.emplace(limit, end);
      }
    }
  }

  void clear() {
    ranges_.clear();
    total_ = 0;
  }

  /// The range that contains `number`.
  std::optional<TcpRange> find(int64_t number) const {
    auto next = ranges_.upper_bound(number);
    if (next == ranges_.begin() || std::prev(next)->second <= number) {
      return std::nullopt;
    }
    --next;
    return TcpRange{next->first, next->second};
  }

  bool contains(int64_t number) const { return find(number).has_value(); }

 private:
  std::map<int64_t, int64_t> ranges_;  // begin -> end
  int64_t total_ = 0;
};

}  // namespace cress::schemes
