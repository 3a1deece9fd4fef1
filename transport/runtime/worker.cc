#include "transport/runtime/worker.hh"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "transport/base/take_front.hh"

namespace cress::runtime {
namespace {

struct Task {
  std::function<void()> work;
  std::function<void()> done;
  std::exception_ptr error{};
};

}  // namespace

struct Worker::Shared {
  std::mutex mutex;
  std::condition_variable news;
  std::deque<Task> waiting;
  std::deque<Task> finished;
  bool is_over = false;

  std::optional<Task> next() {
    std::unique_lock lock{mutex};
    news.wait(lock, [this] { return is_over || !waiting.empty(); });
    return is_over ? std::nullopt : take_front(waiting);
  }
  std::optional<Task> next_finished() {
    const std::lock_guard lock{mutex};
    return is_over ? std::nullopt : take_front(finished);
  }
  void finish(Task task) {
    const std::lock_guard lock{mutex};
    finished.push_back(std::move(task));
  }
};

class Worker::Thread {
 public:
  Thread(EventLoop& loop, const std::shared_ptr<Shared>& shared)
      : shared_(*shared), thread_([&loop, shared] { run(loop, shared); }) {}
  ~Thread() {
    {
      const std::lock_guard lock{shared_.mutex};
      shared_.is_over = true;
    }
    shared_.news.notify_one();
    thread_.join();
  }

 private:
  static void run(EventLoop& loop, const std::shared_ptr<Shared>& shared) {
    while (auto task = shared->next()) {
      try {
        task->work();
      } catch (...) {
        task->error = std::current_exception();
      }
      shared->finish(*std::move(task));
      // Refused: a call that is already posted takes this one too.
      (void)loop.post([weak = std::weak_ptr{shared}] {
        if (const auto alive = weak.lock()) {
          take_finished(*alive);
        }
      });
    }
  }
  static void take_finished(Shared& shared) {
    while (const auto task = shared.next_finished()) {
      if (task->error) {
        std::rethrow_exception(task->error);
      }
      task->done();
    }
  }

  Shared& shared_;
  std::thread thread_;
};

Worker::Worker(EventLoop& loop, size_t waiting_max)
    : shared_(std::make_shared<Shared>()),
      waiting_max_(waiting_max),
      thread_(std::make_unique<Thread>(loop, shared_)) {}

Worker::~Worker() = default;

bool Worker::add(std::function<void()> work, std::function<void()> done) {
  {
    const std::lock_guard lock{shared_->mutex};
    if (shared_->waiting.size() >= waiting_max_) {
      return false;
    }
    shared_->waiting.push_back({std::move(work), std::move(done)});
  }
  shared_->news.notify_one();
  return true;
}

}  // namespace cress::runtime
