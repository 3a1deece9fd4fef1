#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/base/fifo.hh"

namespace cress::secure {

/// Which numbers have been used: the newest `kept_max` that were, and a floor below which every
/// number counts as used. The numbers may be as sparse as byte sequences are; memory is bounded by
/// what arrived, not by how far apart it is. (RFC 4303 §3.4.3 with a list in place of its bitmap.)
/// In order, a check and an entry take constant time. Threads: none inside; one owner.
class ReplayWindow {
 public:
  /// `kept_max` (> 0): how many datagrams one may be overtaken by and still be taken.
  explicit ReplayWindow(size_t kept_max);

  /// False when it was used, or is too old to tell. Ask before the tag is checked.
  bool is_new(uint64_t number) const;
  /// Only for what is_new and was authenticated. True when it is larger than all before.
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
