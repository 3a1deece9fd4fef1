#include "eval/cellsim/real_time.hh"

#include <sched.h>
#include <sys/prctl.h>

namespace cress::cellsim {

RealTime::RealTime() : slack_before_ns_(prctl(PR_GET_TIMERSLACK)) {
  // Above ordinary programs, below the kernel's own threads (50).
  sched_param priority{};
  priority.sched_priority = 10;
  is_first_ = sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority) == 0;
  prctl(PR_SET_TIMERSLACK, 1UL);
}

RealTime::~RealTime() {
  if (is_first_) {
    // SCHED_RESET_ON_FORK stays: an ordinary thread may not clear it, and it has no further effect.
    const sched_param none{};
    sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
  }
  prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_before_ns_));
}

}  // namespace cress::cellsim
