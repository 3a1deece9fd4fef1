#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "transport/base/time.hh"
#include "transport/runtime/clock.hh"

namespace cress::runtime {

/// One thread that sleeps until a file is readable, a time has come, a signal was raised or another
/// thread posted work, and then calls back (Asio: epoll, and timerfd for timers of microseconds).
/// Callbacks run one at a time inside run(); an exception of theirs leaves run(), which may then be
/// called again. Threads: post() and stop() from any; all else from the one that runs it, or
/// before.
class EventLoop {
 public:
  /// `clock` is borrowed and must outlive the loop. Throws std::system_error when the kernel gives
  /// no epoll.
  explicit EventLoop(const MonotonicClock& clock);
  ~EventLoop();

  /// Calls back until stop().
  void run();
  /// Ends run() after the callback that is running; without one, ends the next run() at once.
  void stop();
  /// Has `work` called in the loop's thread, in order of posting. At most kPostedMax wait: beyond
  /// that it is not taken, and the answer is false.
  bool post(std::function<void()> work);
  static constexpr size_t kPostedMax = 65'536;

  /// Calls back whenever `fd` has something to read (or an error to tell), again and again while it
  /// does. The loop borrows `fd`: forget() it before it is closed. One callback per fd. Throws
  /// std::system_error for what epoll cannot watch (a regular file).
  void on_readable(int fd, std::function<void()> callback);
  /// Calls back once, when `fd`, which on_readable() watches, takes bytes again.
  void when_writable(int fd, std::function<void()> callback);
  /// No callback of `fd` is begun after this.
  void forget(int fd);

  /// Calls back with SIGINT or SIGTERM instead of the process's end, each time one is raised. One
  /// loop of a program may ask for this, once.
  void on_signals(std::function<void(int signal)> callback);

  /// Calls back once at a time, or a little later. The loop is borrowed and must outlive it.
  class Timer {
   public:
    Timer(EventLoop& loop, std::function<void()> callback);
    ~Timer();
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    /// Replaces the time armed before. A past time is as good as the present, kNever cancels.
    void arm(TimePoint at);
    /// No callback is begun after this.
    void cancel();

   private:
    struct State;
    std::shared_ptr<State> state_;  // shared with the wait that is under way
  };

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::runtime
