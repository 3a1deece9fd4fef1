#pragma once

namespace cress::cellsim {

/// While it lives, this thread wakes as soon as the kernel can make it: first in, first out before
/// all ordinary programs where that is allowed (root, or a limit on rtprio), and in any case
/// without the 50 µs by which the kernel lets timers slip. Processes made meanwhile are ordinary.
/// Threads: the one that made it.
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
