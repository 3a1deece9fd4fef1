#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace cress::sweep {

/// What a worker process left: its bytes, or why there are none.
struct Outcome {
  bool is_done = false;
  std::string text;  ///< the work's bytes; not done: one line of words
};

/// In a process of its own, forked from this one: anything may happen to it. Bytes to hand back; a
/// throw is an outcome. The second argument may be told the share done, 0..1.
using Work = std::function<std::string(size_t task, const std::function<void(double)>&)>;

struct PoolEvents {
  /// In the calling process, in the order in which they end. A throw ends the workers, and goes on.
  std::function<void(size_t task, Outcome)> on_end;
  /// At least every 200 ms while there is work: the sum of the running tasks' shares.
  std::function<void(double running)> on_tick;
  /// SIGINT came: what runs is waited for, nothing is begun.
  std::function<void(size_t running)> on_interrupt;
};

enum class PoolEnd { kAllDone, kInterrupted };

/// Runs `tasks` in at most `jobs` processes at a time, one task each: one that crashes takes no
/// other along. When this process dies, so do they. SIGINT lets the running ones finish; a second
/// one, or SIGTERM, drops them.
/// The caller has one thread. Errors: std::system_error when the system gives no process or pipe;
/// what `events.on_end` throws.
PoolEnd run_in_processes(std::span<const size_t> tasks, size_t jobs, const Work& work,
                         const PoolEvents& events);

}  // namespace cress::sweep
