#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "media/devices/live_device.hh"
#include "transport/base/time.hh"

namespace cress::media {

/// The call's clock in the tests of live devices: these run in real time, because devices do.
inline DeviceClock steady_clock() {
  const auto begin = std::chrono::steady_clock::now();
  return [begin] { return kTimeZero + (std::chrono::steady_clock::now() - begin); };
}

/// Calls `attempt` whenever `fd` is readable, as an event loop does, until it returns something or
/// `patience` is over.
template <class Attempt>
auto wait_for(int fd, Attempt attempt, Duration patience = 20s) -> decltype(attempt()) {
  const DeviceClock clock = steady_clock();
  for (Duration left = patience; left > 0ms; left = patience - (clock() - kTimeZero)) {
    pollfd waiting{fd, POLLIN, 0};
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (::poll(&waiting, 1, static_cast<int>(wait)) > 0) {
      if (auto got = attempt()) {
        return got;
      }
    }
  }
  return {};
}

inline bool is_readable(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

/// Waits for the next event of this kind; other output (pictures, other events) is discarded.
template <class Device, class Drain>
std::optional<DeviceEvent> event_of(Device& device, DeviceEvent::Kind kind, Drain drain,
                                    Duration patience = 20s) {
  return wait_for(
      device.ready_fd(),
      [&]() -> std::optional<DeviceEvent> {
        drain();
        while (auto event = device.poll_event()) {
          if (event->kind == kind) {
            return event;
          }
        }
        return std::nullopt;
      },
      patience);
}

}  // namespace cress::media
