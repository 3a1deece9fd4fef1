#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace cress::sweep {

/// The result of a worker process: its bytes, or why there are none.
struct Outcome {
  bool is_done = false;
  std::string text;  ///< the work's bytes; if it failed: one line of text
};

/// Executed in a process of its own, forked from this one, so it may crash. Returns the bytes to
/// hand back; an exception is an outcome. The second argument may be called with the share done,
/// 0..1.
using Work = std::function<std::string(size_t task, const std::function<void(double)>&)>;

struct PoolEvents {
  /// In the calling process, in the order in which they end. An exception ends the workers, and
  /// propagates.
  std::function<void(size_t task, Outcome)> on_end;
  /// At least every 200 ms while there is work: the sum of the running tasks' shares.
  std::function<void(double running)> on_tick;
  /// SIGINT arrived: running tasks are finished, no new one is started.
  std::function<void(size_t running)> on_interrupt;
};

enum class PoolEnd { kAllDone, kInterrupted };

/// Runs `tasks` in at most `jobs` processes at a time, one task each: a crash affects only its own
/// task. When this process dies, so do they. SIGINT lets the running ones finish; a second one, or
/// SIGTERM, ends them. The caller must have only one thread. Errors: std::system_error if the
/// system gives no process or pipe; exceptions of `events.on_end`.
PoolEnd run_in_processes(std::span<const size_t> tasks, size_t jobs, const Work& work,
                         const PoolEvents& events);

}  // namespace cress::sweep
