#include "transport/runtime/event_loop.hh"

#define ASIO_STANDALONE
#define ASIO_NO_DEPRECATED
#ifdef __SANITIZE_THREAD__
// gcc's thread sanitizer does not support fences. Asio's are only an addition to the mutex of its
// queue.
#define ASIO_DISABLE_FENCED_BLOCK
#endif
#include <algorithm>
#include <asio.hpp>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <map>
#include <utility>

#include "transport/base/check.hh"

namespace cress::runtime {
namespace {

// Asio's timers read CLOCK_MONOTONIC through std::chrono::steady_clock; a century does not overflow
// it.
constexpr Duration kFarAway = 24h * 365 * 100;

struct Watched {
  explicit Watched(asio::io_context& context) : descriptor(context) {}
  asio::posix::stream_descriptor descriptor;
  std::function<void()> readable;
  std::function<void()> writable;
  bool forgotten = false;
};

void wait_readable(const std::shared_ptr<Watched>& watched) {
  watched->descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                                 [watched](const std::error_code& error) {
                                   if (error || watched->forgotten) {
                                     return;
                                   }
                                   try {
                                     watched->readable();
                                   } catch (...) {
                                     if (!watched->forgotten) {
                                       wait_readable(watched);
                                     }
                                     throw;
                                   }
                                   if (!watched->forgotten) {
                                     wait_readable(watched);
                                   }
                                 });
}

}  // namespace

class EventLoop::Impl {
 public:
  explicit Impl(const MonotonicClock& clock) : clock_(clock) {}
  ~Impl() {
    while (!watched_.empty()) {
      forget(watched_.begin()->first);
    }
  }

  asio::io_context& context() { return context_; }

  void run() {
    context_.run();
    context_.restart();
  }

  bool post(std::function<void()> work) {
    if (posted_.fetch_add(1, std::memory_order_relaxed) >= kPostedMax) {
      posted_.fetch_sub(1, std::memory_order_relaxed);
      return false;
    }
    asio::post(context_, [this, work = std::move(work)] {
      posted_.fetch_sub(1, std::memory_order_relaxed);
      work();
    });
    return true;
  }

  void on_readable(int fd, std::function<void()> callback) {
    check(!watched_.contains(fd), "EventLoop: two callbacks for one file");
    auto watched = std::make_shared<Watched>(context_);
    watched->readable = std::move(callback);
    watched->descriptor.assign(fd);
    watched_.emplace(fd, watched);
    wait_readable(watched);
  }

  void when_writable(int fd, std::function<void()> callback) {
    const auto found = watched_.find(fd);
    check(found != watched_.end(), "EventLoop: when_writable of a file that is not watched");
    const std::shared_ptr<Watched>& watched = found->second;
    const bool waits = watched->writable != nullptr;
    watched->writable = std::move(callback);
    if (waits) {
      return;
    }
    watched->descriptor.async_wait(asio::posix::stream_descriptor::wait_write,
                                   [watched](const std::error_code& error) {
                                     if (error || watched->forgotten) {
                                       return;
                                     }
                                     std::exchange(watched->writable, nullptr)();
                                   });
  }

  void forget(int fd) {
    const auto found = watched_.find(fd);
    check(found != watched_.end(), "EventLoop: forgets a file that it does not watch");
    found->second->forgotten = true;
    found->second->descriptor.release();  // ends the waits and leaves the file open
    watched_.erase(found);
  }

  void on_signals(std::function<void(int)> callback) {
    check(signal_callback_ == nullptr, "EventLoop: on_signals twice");
    signal_callback_ = std::move(callback);
    signals_.add(SIGINT);
    signals_.add(SIGTERM);
    wait_signal();
  }

  std::chrono::steady_clock::time_point to_steady(TimePoint at) const {
    const Duration since = std::clamp(at.time_since_epoch(), -clock_.origin(), kFarAway);
    return std::chrono::steady_clock::time_point{clock_.origin() + since};
  }

 private:
  void wait_signal() {
    signals_.async_wait([this](const std::error_code& error, int signal) {
      if (error) {
        return;
      }
      wait_signal();
      signal_callback_(signal);
    });
  }

  const MonotonicClock& clock_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> alive_{context_.get_executor()};
  std::atomic<size_t> posted_ = 0;
  std::map<int, std::shared_ptr<Watched>> watched_;
  asio::signal_set signals_{context_};
  std::function<void(int)> signal_callback_;
};

EventLoop::EventLoop(const MonotonicClock& clock) : impl_(std::make_unique<Impl>(clock)) {}
EventLoop::~EventLoop() = default;
void EventLoop::run() { impl_->run(); }
void EventLoop::stop() { impl_->context().stop(); }
bool EventLoop::post(std::function<void()> work) { return impl_->post(std::move(work)); }
void EventLoop::on_readable(int fd, std::function<void()> callback) {
  impl_->on_readable(fd, std::move(callback));
}
void EventLoop::when_writable(int fd, std::function<void()> callback) {
  impl_->when_writable(fd, std::move(callback));
}
void EventLoop::forget(int fd) { impl_->forget(fd); }
void EventLoop::on_signals(std::function<void(int)> callback) {
  impl_->on_signals(std::move(callback));
}

struct EventLoop::Timer::State {
  State(EventLoop::Impl& owner, std::function<void()> work)
      : loop(owner), timer(owner.context()), callback(std::move(work)) {}
  EventLoop::Impl& loop;
  asio::steady_timer timer;
  std::function<void()> callback;
  TimePoint at = kNever;  // kNever: not armed
  uint64_t generation =
      0;  // an expired wait that was not yet reported belongs to an old generation
};

EventLoop::Timer::Timer(EventLoop& loop, std::function<void()> callback)
    : state_(std::make_shared<State>(*loop.impl_, std::move(callback))) {}

EventLoop::Timer::~Timer() {
  try {
    cancel();
  } catch (...) {
    check(false, "EventLoop: Asio cannot cancel a timer");
  }
}

void EventLoop::Timer::arm(TimePoint at) {
  if (at == state_->at) {
    return;
  }
  if (at == kNever) {
    cancel();
    return;
  }
  state_->at = at;
  const uint64_t generation = ++state_->generation;
  state_->timer.expires_at(state_->loop.to_steady(at));
  state_->timer.async_wait([state = state_, generation](const std::error_code& error) {
    if (error || generation != state->generation) {
      return;
    }
    state->at = kNever;
    state->callback();
  });
}

void EventLoop::Timer::cancel() {
  if (state_->at == kNever) {
    return;
  }
  state_->at = kNever;
  ++state_->generation;
  state_->timer.cancel();
}

}  // namespace cress::runtime
