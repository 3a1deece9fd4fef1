#pragma once

#include <functional>
#include <future>
#include <thread>

#include "transport/runtime/clock.hh"
#include "transport/runtime/event_loop.hh"

namespace cress::runtime {

/// A busy machine may need this long for what takes at most a second on an idle one.
inline constexpr Duration kPatience = 2min;

/// Runs `loop` until `done`, which is checked every 10 ms, returns true or `most` has passed.
/// Returns whether it is done.
inline bool run_until(const MonotonicClock& clock, EventLoop& loop,
                      const std::function<bool()>& done, Duration most = kPatience) {
  const TimePoint end = clock.now() + most;
  bool reached = false;
  EventLoop::Timer* again = nullptr;
  EventLoop::Timer look{loop, [&] {
                          reached = done();
                          if (reached || clock.now() >= end) {
                            loop.stop();
                          } else {
                            again->arm(clock.now() + 10ms);
                          }
                        }};
  again = &look;
  look.arm(clock.now());
  loop.run();
  return reached;
}

/// An event loop in a thread of its own.
class LoopThread {
 public:
  LoopThread() : thread_([this] { loop_.run(); }) {}
  ~LoopThread() { stop(); }
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  const MonotonicClock& clock() const { return clock_; }
  EventLoop& loop() { return loop_; }
  /// Runs `work` in the thread, and waits for it.
  void run(const std::function<void()>& work) {
    std::promise<void> done;
    loop_.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  void stop() {
    if (thread_.joinable()) {
      loop_.stop();
      thread_.join();
    }
  }

 private:
  MonotonicClock clock_;
  EventLoop loop_{clock_};
  std::thread thread_;
};

}  // namespace cress::runtime
