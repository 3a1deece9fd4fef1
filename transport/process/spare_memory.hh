#pragma once

#include "transport/base/time.hh"

namespace cress::runtime {

/// Returns memory to the system, once a minute, that a load peak needed and that has been free
/// since: glibc otherwise keeps it (an hour of blackouts: 14 % of a call's resident memory,
/// docs/experiments/0012). Does nothing on other C libraries. Threads: none inside; one owner.
class SpareMemory {
 public:
  /// May be called as often as is convenient.
  void tick(TimePoint now);

 private:
  TimePoint next_ = kTimeZero;
};

}  // namespace cress::runtime
