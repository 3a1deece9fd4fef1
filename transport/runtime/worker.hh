#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "transport/runtime/event_loop.hh"

namespace cress::runtime {

/// One thread in addition to an EventLoop's, for work that takes too long between two datagrams. It
/// has the loop's scheduling priority. A lower priority would hurt: another busy program then
/// preempts it while it holds a lock (the allocator's), and the loop waits for both (measured:
/// docs/experiments/0008). Threads: the loop's; only `work` runs in the worker's.
class Worker {
 public:
  /// `loop` is borrowed and must outlive it. At most `waiting_max` jobs wait.
  Worker(EventLoop& loop, size_t waiting_max);
  /// Waits for the job that is running; waiting jobs are discarded, and no further `done` is
  /// called.
  ~Worker();

  /// Calls `work` in the worker's thread, in order of adding, then `done` in the loop's thread. If
  /// `work` throws, the exception leaves EventLoop::run() and `done` is not called. False: too many
  /// wait, the job was not accepted.
  bool add(std::function<void()> work, std::function<void()> done);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // shared with calls that are posted to the loop
  size_t waiting_max_;
  class Thread;
  std::unique_ptr<Thread> thread_;
};

}  // namespace cress::runtime
