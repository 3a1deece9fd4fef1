#include "eval/film/feed.hh"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "transport/base/check.hh"

namespace cress::film {

std::optional<ShownPicture> OriginalFeed::poll() {
  const TimePoint captured = kTimeZero + video_.frame_rate().time_of(index_);
  if (captured >= until_) {
    return std::nullopt;
  }
  return ShownPicture{captured, captured, video_.picture(index_++), {}};
}

namespace {
/// Unwinds the producer; not a std::exception, so that a producer that reports errors does not
/// mistake it for one.
struct NobodyWatches {};
}  // namespace

struct ProducedFeed::Shared {
  enum class Wish { kPictures, kRunOn, kStop };

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<ShownPicture> waiting;
  Wish wish = Wish::kPictures;
  bool ended = false;
  std::exception_ptr error;
  std::thread thread;  // last: it uses all members above

  void show(ShownPicture picture) {
    std::unique_lock lock{mutex};
    changed.wait(lock, [this] { return waiting.size() < kWaitingMax || wish != Wish::kPictures; });
    if (wish == Wish::kStop) {
      throw NobodyWatches{};
    }
    if (wish == Wish::kPictures) {
      waiting.push_back(std::move(picture));
      changed.notify_all();
    }
  }

  void run(const Make& make) {
    std::exception_ptr thrown;
    try {
      make([this](ShownPicture picture) { show(std::move(picture)); });
    } catch (const NobodyWatches&) {
      // As requested.
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::scoped_lock lock{mutex};
    error = thrown;
    ended = true;
    changed.notify_all();
  }

  void notify(Wish what) {
    const std::scoped_lock lock{mutex};
    wish = what;
    waiting.clear();
    changed.notify_all();
  }
};

ProducedFeed::ProducedFeed(Make make) : shared_(std::make_unique<Shared>()) {
  Shared& shared = *shared_;
  shared.thread = std::thread{[&shared, make = std::move(make)] { shared.run(make); }};
}

ProducedFeed::~ProducedFeed() {
  if (shared_->thread.joinable()) {
    shared_->notify(Shared::Wish::kStop);
    shared_->thread.join();
  }
}

std::optional<ShownPicture> ProducedFeed::poll() {
  std::unique_lock lock{shared_->mutex};
  shared_->changed.wait(lock, [this] { return !shared_->waiting.empty() || shared_->ended; });
  if (!shared_->waiting.empty()) {
    ShownPicture picture = std::move(shared_->waiting.front());
    shared_->waiting.pop_front();
    shared_->changed.notify_all();
    return picture;
  }
  if (shared_->error) {
    std::rethrow_exception(std::exchange(shared_->error, nullptr));
  }
  return std::nullopt;
}

void ProducedFeed::finish() {
  if (shared_->thread.joinable()) {
    shared_->notify(Shared::Wish::kRunOn);
    shared_->thread.join();
  }
  if (shared_->error) {
    std::rethrow_exception(std::exchange(shared_->error, nullptr));
  }
}

}  // namespace cress::film
