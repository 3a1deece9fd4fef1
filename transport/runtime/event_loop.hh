#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "transport/base/time.hh"
#include "transport/runtime/clock.hh"

namespace cress::runtime {

/// One thread that sleeps until a file is readable, a timer expires, a signal is raised or another
/// thread posts work, and then calls back (Asio: epoll, and timerfd for timers of microseconds).
/// Callbacks run one at a time inside run(). An exception from a callback leaves run(), which may
/// then be called again. Threads: post() and stop() from any; everything else from the thread that
/// calls run(), or before it.
class EventLoop {
 public:
  /// `clock` is borrowed and must outlive the loop. Throws std::system_error when the kernel gives
  /// no epoll.
  explicit EventLoop(const MonotonicClock& clock);
  ~EventLoop();

  /// Calls back until stop().
  void run();
  /// Ends run() after the current callback; if run() is not active, ends the next run() at once.
  void stop();
  /// Calls `work` in the loop's thread, in order of posting. At most kPostedMax wait: beyond that
  /// `work` is not accepted and post() returns false.
  bool post(std::function<void()> work);
  static constexpr size_t kPostedMax = 65'536;

  /// Calls back whenever `fd` is readable or has an error, repeatedly while it is. The loop borrows
  /// `fd`: call forget() before closing it. One callback per fd. Throws std::system_error for files
  /// that epoll cannot watch (a regular file).
  void on_readable(int fd, std::function<void()> callback);
  /// Calls back once, when `fd`, which on_readable() watches, is writable again.
  void when_writable(int fd, std::function<void()> callback);
  /// After this no callback of `fd` begins.
  void forget(int fd);

  /// Calls back on SIGINT or SIGTERM instead of ending the process, each time one is raised. Only
  /// one loop of a program may use this, once.
  void on_signals(std::function<void(int signal)> callback);

  /// Calls back once at a given time, or slightly later. The loop is borrowed and must outlive it.
  class Timer {
   public:
    Timer(EventLoop& loop, std::function<void()> callback);
    ~Timer();
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    /// Replaces the time set before. A past time fires at once, kNever cancels.
    void arm(TimePoint at);
    /// After this no callback begins.
    void cancel();

   private:
    struct State;
    std::shared_ptr<State> state_;  // shared with the pending wait
  };

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::runtime
