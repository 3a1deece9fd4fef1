#pragma once

#include <sys/types.h>

#include <functional>

namespace cress::relay_load {

/// Runs a function in a process of its own, which ends with this one. Threads: none inside; the
/// constructor forks, so its caller must have only one thread.
class ChildProcess {
 public:
  /// Throws std::runtime_error if no process can be created. An exception from `be` is printed on
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
