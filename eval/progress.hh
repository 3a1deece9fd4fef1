#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace cress::eval {

/// One line on a terminal with the progress of several tasks and the remaining time. Silent for the
/// first two seconds, and always if standard error is not a terminal. Threads: `report` may be
/// called from any.
class Progress {
 public:
  explicit Progress(size_t tasks);
  ~Progress();

  /// Task `task` has done `share` (0..1) of its work.
  void report(size_t task, double share);

 private:
  using Clock = std::chrono::steady_clock;
  std::string line(double share, Clock::duration elapsed) const;

  bool is_terminal_;
  std::mutex mutex_;
  std::vector<double> shares_;
  Clock::time_point started_;
  Clock::time_point shown_;
  bool visible_ = false;
};

}  // namespace cress::eval
