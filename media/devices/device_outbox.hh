#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "media/devices/live_device.hh"
#include "transport/base/check.hh"
#include "transport/base/take_front.hh"

namespace cress::media {

/// A file descriptor that is readable while set, to wake an event loop (eventfd(2)). Errors:
/// std::runtime_error if the system has none left. Threads: any.
class ReadySignal {
 public:
  ReadySignal();
  ~ReadySignal();
  ReadySignal(const ReadySignal&) = delete;
  ReadySignal& operator=(const ReadySignal&) = delete;

  int fd() const { return fd_; }
  void set();
  void clear();

 private:
  int fd_;
};

/// Passes items from GStreamer's threads to the call's one thread: at most `items_max` items, of
/// which the oldest is dropped when there are too many (counted), and at most kEventsMax events.
/// The descriptor is readable while anything waits. Threads: any may put; one takes.
template <class T>
class DeviceOutbox {
 public:
  static constexpr size_t kEventsMax = 32;

  explicit DeviceOutbox(size_t items_max) : items_max_(items_max) {
    check(items_max > 0, "DeviceOutbox: no room");
  }

  void put(T item) {
    std::optional<T> dropped;  // freed after the lock
    const std::scoped_lock lock{mutex_};
    if (items_.size() == items_max_) {
      dropped = take_front(items_);
      ++dropped_;
    }
    items_.push_back(std::move(item));
    ready_.set();
  }
  void notify(DeviceEvent event) {
    const std::scoped_lock lock{mutex_};
    if (events_.size() == kEventsMax) {
      events_.pop_front();
    }
    events_.push_back(std::move(event));
    ready_.set();
  }

  std::optional<T> take() {
    const std::scoped_lock lock{mutex_};
    std::optional<T> item = take_front(items_);
    clear_if_empty();
    return item;
  }
  std::optional<DeviceEvent> take_event() {
    const std::scoped_lock lock{mutex_};
    std::optional<DeviceEvent> event = take_front(events_);
    clear_if_empty();
    return event;
  }
  /// Discards waiting items; they do not count as dropped.
  void forget_items() {
    const std::scoped_lock lock{mutex_};
    items_.clear();
    clear_if_empty();
  }

  bool has_item() const {
    const std::scoped_lock lock{mutex_};
    return !items_.empty();
  }
  uint64_t dropped() const {
    const std::scoped_lock lock{mutex_};
    return dropped_;
  }
  int fd() const { return ready_.fd(); }

 private:
  void clear_if_empty() {
    if (items_.empty() && events_.empty()) {
      ready_.clear();
    }
  }

  const size_t items_max_;
  mutable std::mutex mutex_;
  std::deque<T> items_;
  std::deque<DeviceEvent> events_;
  uint64_t dropped_ = 0;
  ReadySignal ready_;
};

}  // namespace cress::media
