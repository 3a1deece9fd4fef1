#pragma once

namespace cress::cellsim {

/// While this object exists, its thread wakes as soon as the kernel can manage: with SCHED_FIFO
/// priority if permitted (root, or a limit on rtprio), and in any case without the 50 µs slack that
/// the kernel allows for timers. Processes started meanwhile are ordinary. Threads: the one that
/// created it.
class RealTime {
 public:
  RealTime();
  ~RealTime();
  RealTime(const RealTime&) = delete;
  RealTime& operator=(const RealTime&) = delete;

  bool is_first() const { return is_first_; }

 private:
  bool is_first_ = false;
  int slack_before_ns_ = 0;
};

}  // namespace cress::cellsim
