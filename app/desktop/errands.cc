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

bool Errands::look_up(std::string host_and_port, std::function<void(const Answer&)> done) {
  if (shared_->under_way >= kLookUpsMax) {
    return false;
  }
  ++shared_->under_way;
  std::thread{[shared = shared_, text = std::move(host_and_port), done = std::move(done)] {
    Answer answer;
    try {
      answer.addresses = shared->look_up(text);
    } catch (const std::exception& error) {
      answer.error = error.what();
    }
    --shared->under_way;
    shared->post([answer = std::move(answer), done] { done(answer); });
  }}.detach();
  return true;
}

}  // namespace cress::desktop
