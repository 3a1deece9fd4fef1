#pragma once

#include <functional>
#include <string>

#include "transport/base/time.hh"

namespace cress::media {

/// The call's clock. It is also called from GStreamer's threads, so it must be safe to call from
/// any thread during the device's life. Never goes back.
using DeviceClock = std::function<TimePoint()>;

/// A report from a live device. After its constructor a device throws nothing: all errors are
/// reported as events.
struct DeviceEvent {
  enum class Kind {
    kStarted,  ///< it works from now on (also after a retry)
    kLost,     ///< unplugged, taken by another program, broken, or cannot be opened; `retry` tries
               ///< again
    kEnded,    ///< reached its end by itself; `retry` restarts it
    kNotice,   ///< continues, but not as requested: `words` say what is missing and what to do
    kRefused,  ///< the user or the desktop does not permit it, or no longer: `retry` would ask
               ///< again
  };
  Kind kind = Kind::kNotice;
  TimePoint at{};
  /// For display; one or two sentences, in one line.
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
