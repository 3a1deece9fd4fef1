#pragma once

#include <functional>
#include <string>

#include "transport/base/time.hh"

namespace cress::media {

/// The call's clock. It is asked from GStreamer's threads too, so it must be safe to call from any
/// thread at any time during the device's life. Never goes back.
using DeviceClock = std::function<TimePoint()>;

/// What a live device has to say. After its constructor a device throws nothing: all is told so.
struct DeviceEvent {
  enum class Kind {
    kStarted,  ///< works, since now (also after a retry)
    kLost,     ///< unplugged, taken away, broken, or cannot be opened; `retry` tries again
    kEnded,    ///< came to its end by itself; `retry` begins anew
    kNotice,   ///< goes on, but not as asked: the words tell what is missing and what to do
    kRefused,  ///< the person or the desktop does not allow it, or no longer: `retry` would ask
               ///< anew
  };
  Kind kind = Kind::kNotice;
  TimePoint at{};
  /// For people; one sentence or two, in one line.
  std::string words;
};

inline constexpr const char* describe(DeviceEvent::Kind kind) {
  switch (kind) {
    case DeviceEvent::Kind::kStarted:
      return "started";
    case DeviceEvent::Kind::kLost:
      return "lost";
    case DeviceEvent::Kind::kEnded:
      return "ended";
    case DeviceEvent::Kind::kNotice:
      return "notice";
    case DeviceEvent::Kind::kRefused:
      return "refused";
  }
  return "unknown";
}

}  // namespace cress::media
