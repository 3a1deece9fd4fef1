#include "app/headless/recorder.hh"

#include <exception>
#include <stdexcept>
#include <utility>

namespace cress::headless {

Recorder::Recorder(const std::filesystem::path& path, const media::MovieOptions& options)
    : writer_(path, options), thread_([this] { write(); }) {}

Recorder::~Recorder() { stop(); }

void Recorder::stop() {
  {
    const std::scoped_lock lock{mutex_};
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Recorder::add_picture(Duration at, media::PicturePtr picture) {
  add({.at = at, .picture = std::move(picture)});
}

void Recorder::add_sound(Duration at, const media::AudioFrame& frame) {
  add({.at = at, .sound = frame});
}

void Recorder::add(Item item) {
  {
    const std::scoped_lock lock{mutex_};
    if (waiting_.size() == kWaitingMax) {
      ++left_out_;
      return;
    }
    waiting_.push_back(std::move(item));
  }
  changed_.notify_one();
}

void Recorder::write() {
  while (true) {
    Item item;
    {
      std::unique_lock lock{mutex_};
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) {
        return;
      }
      item = std::move(waiting_.front());
      waiting_.pop_front();
    }
    if (!error_.empty()) {
      continue;  // drained, so that no caller waits
    }
    try {
      if (item.picture) {
        writer_.add_picture(item.at, *item.picture);
      } else {
        writer_.add_sound(item.at, *item.sound);
      }
    } catch (const std::exception& error) {
      error_ = error.what();
    }
  }
}

void Recorder::finish(Duration until) {
  stop();
  if (!error_.empty()) {
    throw std::runtime_error(error_);
  }
  writer_.finish(until);
}

}  // namespace cress::headless
