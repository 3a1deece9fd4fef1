#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/base/fifo.hh"

namespace cress::secure {

/// Which sequence numbers have been used: the newest `kept_max`, and a floor below which every
/// number counts as used. Numbers may be as sparse as byte sequences; memory is bounded by the
/// number of arrivals, not by their distance. (RFC 4303 §3.4.3 with a list in place of its bitmap.)
/// For numbers in order, a check and an insertion take constant time. Threads: none inside; one
/// owner.
class ReplayWindow {
 public:
  /// `kept_max` (> 0): by how many datagrams one may be overtaken and still be accepted.
  explicit ReplayWindow(size_t kept_max);

  /// False if it was used, or is too old to decide. Call before the tag is checked.
  bool is_new(uint64_t number) const;
  /// Only for a number that is_new and was authenticated. True if it is larger than all before.
  bool insert(uint64_t number);
  /// The largest so far, 0 before the first.
  uint64_t newest() const { return used_.empty() ? 0 : used_.back(); }
  size_t size() const { return used_.size(); }

 private:
  size_t kept_max_;
  Fifo<uint64_t> used_;  // ascending
  uint64_t floor_ = 0;
};

}  // namespace cress::secure
