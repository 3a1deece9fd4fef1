#pragma once

#include "transport/base/time.hh"

namespace cress::runtime {

/// Gives back to the system, once a minute, the memory that a bad moment needed and that has been
/// free since: glibc keeps it otherwise (an hour of blackouts: 14 % of a call's resident memory,
/// docs/experiments/0012). Elsewhere it does nothing. Threads: none inside; one owner.
class SpareMemory {
 public:
  /// As often as is convenient.
  void tick(TimePoint now);

 private:
  TimePoint next_ = kTimeZero;
};

}  // namespace cress::runtime
