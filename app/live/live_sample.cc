#include "app/live/live_sample.hh"

namespace cress::live {

const char* describe(LiveEvent::Kind kind) {
  switch (kind) {
    case LiveEvent::Kind::kConnected:
      return "connected";
    case LiveEvent::Kind::kUnreachable:
      return "unreachable";
    case LiveEvent::Kind::kReachable:
      return "reachable";
    case LiveEvent::Kind::kPathChanged:
      return "path_changed";
    case LiveEvent::Kind::kEnded:
      return "ended";
    case LiveEvent::Kind::kDeviceRefused:
      return "device_refused";
    case LiveEvent::Kind::kDeviceLost:
      return "device_lost";
    case LiveEvent::Kind::kDeviceBack:
      return "device_back";
    case LiveEvent::Kind::kNewcomerWaits:
      return "newcomer_waits";
    case LiveEvent::Kind::kNewcomerGone:
      return "newcomer_gone";
    case LiveEvent::Kind::kNotice:
      return "notice";
  }
  return "unknown";
}

}  // namespace cress::live
