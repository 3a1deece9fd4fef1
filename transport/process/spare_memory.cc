#include "transport/process/spare_memory.hh"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace cress::runtime {

void SpareMemory::tick(TimePoint now) {
  constexpr Duration kInterval = 60s;
  if (now < next_) {
    return;
  }
  next_ = now + kInterval;
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace cress::runtime
