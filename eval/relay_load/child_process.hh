#pragma once

#include <sys/types.h>

#include <functional>

namespace cress::relay_load {

/// A function in a process of its own, which ends with this one. Threads: none inside; the
/// constructor forks, so its caller has one thread.
class ChildProcess {
 public:
  /// Throws std::runtime_error if there can be no more processes. What `be` throws is told on
  /// standard error.
  explicit ChildProcess(const std::function<void()>& be);
  /// Kills it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

}  // namespace cress::relay_load
