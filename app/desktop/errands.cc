#include "app/desktop/errands.hh"

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

namespace cress::desktop {

struct Errands::Shared {
  std::mutex mutex;
  runtime::EventLoop* loop = nullptr;  // null: the answer is no longer wanted
  std::atomic<int> under_way = 0;
  LookUp look_up;

  void post(std::function<void()> work) {
    const std::scoped_lock lock{mutex};
    if (loop != nullptr) {
      loop->post(std::move(work));
    }
  }
};

Errands::Errands(runtime::EventLoop& loop, LookUp look_up) : shared_(std::make_shared<Shared>()) {
  shared_->loop = &loop;
  shared_->look_up = std::move(look_up);
}

Errands::~Errands() {
  const std::scoped_lock lock{shared_->mutex};
  shared_->loop = nullptr;
}

void Errands::post(std::function<void()> work) { shared_->post(std::move(work)); }

bool Errands::run(std::function<void()> work, std::function<void(const std::string& error)> done) {
  if (shared_->under_way >= kLookUpsMax) {
    return false;
  }
  ++shared_->under_way;
  std::thread{[shared = shared_, work = std::move(work), done = std::move(done)] {
    std::string problem;
    try {
      work();
    } catch (const std::exception& error) {
      problem = error.what();
    }
    --shared->under_way;
    shared->post([problem, done] { done(problem); });
  }}.detach();
  return true;
}

bool Errands::look_up(std::string host_and_port, std::function<void(const Answer&)> done) {
  const auto answer = std::make_shared<Answer>();
  return run([shared = shared_, answer,
              text = std::move(host_and_port)] { answer->addresses = shared->look_up(text); },
             [answer, done = std::move(done)](const std::string& error) {
               answer->error = error;
               done(*answer);
             });
}

}  // namespace cress::desktop
