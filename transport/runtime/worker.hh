#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "transport/runtime/event_loop.hh"

namespace cress::runtime {

/// One thread beside an EventLoop's, for what takes too long between two datagrams. It is scheduled
/// as the loop's is. A lower place in line would be no favour: whoever else keeps the machine busy
/// then stops it while it holds a lock (the allocator's), and the loop waits for both (measured:
/// docs/experiments/0008).
/// Threads: of the loop's; `work` alone is called in the other.
class Worker {
 public:
  /// `loop` is borrowed and must outlive it. At most `waiting_max` wait to be done.
  Worker(EventLoop& loop, size_t waiting_max);
  /// Waits for what is being done; what waits is forgotten, and no `done` is called any more.
  ~Worker();

  /// `work` is called there, in order of adding, then `done` in the loop's thread. What `work`
  /// throws leaves EventLoop::run() in place of that. False: too many wait, it was not taken.
  bool add(std::function<void()> work, std::function<void()> done);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // with calls that are posted to the loop
  size_t waiting_max_;
  class Thread;
  std::unique_ptr<Thread> thread_;
};

}  // namespace cress::runtime
