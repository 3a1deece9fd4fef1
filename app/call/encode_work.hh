#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "media/frame/picture.hh"
#include "media/rate/adaptive_encoder.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::app {

/// One picture that a VideoSender wants encoded. Threads: run() may be called in another; until
/// is_done() the outcome is not read, and the sender leaves its encoder alone. The sender may go
/// meanwhile.
class EncodeWork {
 public:
  /// As of AdaptiveEncoder::encode.
  struct Task {
    TimePoint now{};
    uint32_t frame_id = 0;
    media::PicturePtr picture;
    DataSize budget{};
    double need_weight = 1;
  };

  EncodeWork(Task task, std::weak_ptr<media::AdaptiveEncoder> encoder)
      : task_(std::move(task)), encoder_(std::move(encoder)) {}

  /// Encodes; does nothing if the sender has gone.
  void run() {
    if (const auto encoder = encoder_.lock()) {
      outcome_ = encoder->encode(task_.now, task_.frame_id, task_.picture, task_.budget,
                                 task_.need_weight);
    }
    is_done_.store(true, std::memory_order_release);
  }
  /// run() has returned. Threads: any.
  bool is_done() const { return is_done_.load(std::memory_order_acquire); }

  const Task& task() const { return task_; }
  /// Empty: not encoded, because the sender had gone; and after it was taken.
  std::optional<media::AdaptedFrame> take_outcome() { return std::exchange(outcome_, {}); }

 private:
  Task task_;
  // Not owned: what waits for a sender that has gone costs no time.
  std::weak_ptr<media::AdaptiveEncoder> encoder_;
  std::optional<media::AdaptedFrame> outcome_;
  std::atomic<bool> is_done_ = false;
};

}  // namespace cress::app
