#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "transport/base/time.hh"
#include "transport/runtime/clock.hh"

namespace cress::runtime {

/// How late sleeps of 5 ms end, measured in a thread of its own: how much other load on the machine
/// delays a program. This is the only reason for which a test of measured delays may skip: when the
/// product's own frame rate or delay is bad the test must fail, whatever the machine does. Threads:
/// any may call.
class ClockLateness {
 public:
  /// Beyond this, measured delays depend on the machine more than on the product.
  static constexpr Duration kMax = 4ms;

  ClockLateness() = default;
  ~ClockLateness() {
    stop_ = true;
    thread_.join();
  }
  ClockLateness(const ClockLateness&) = delete;
  ClockLateness& operator=(const ClockLateness&) = delete;

  /// The 99th percentile since the last call.
  Duration p99() {
    std::vector<Duration> late;
    {
      const std::scoped_lock lock{mutex_};
      late = std::exchange(late_, {});
    }
    if (late.empty()) {
      return {};
    }
    std::ranges::sort(late);
    return late[(late.size() - 1) * 99 / 100];
  }

 private:
  void watch() {
    const MonotonicClock clock;
    while (!stop_) {
      const TimePoint due = clock.now() + 5ms;
      std::this_thread::sleep_for(5ms);
      const std::scoped_lock lock{mutex_};
      late_.push_back(clock.now() - due);
    }
  }

  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::vector<Duration> late_;
  std::thread thread_{[this] { watch(); }};
};

}  // namespace cress::runtime
