#pragma once

#include <functional>

#include "transport/runtime/clock.hh"
#include "transport/runtime/event_loop.hh"

namespace cress::runtime {

/// Runs `loop` until `done`, which is asked every 10 ms, or until `most` is over: on a machine that
/// is very busy, in vain. Gives whether it is done.
inline bool run_until(const MonotonicClock& clock, EventLoop& loop,
                      const std::function<bool()>& done, Duration most = 30s) {
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

}  // namespace cress::runtime
