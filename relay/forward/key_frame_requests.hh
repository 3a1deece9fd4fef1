#pragma once

#include "transport/base/time.hh"

namespace cress::relay {

/// When one sender may be asked for a key frame on behalf of its receivers: one serves them all, so
/// at most one request goes in an interval. Who still wants one then, wants it again. Threads: none
/// inside; a plain value. `now` never goes back.
class KeyFrameRequests {
 public:
  explicit KeyFrameRequests(Duration interval) : interval_(interval) {}

  bool is_due(TimePoint now) const { return now - asked_at_ >= interval_; }
  void handle_asked(TimePoint now) { asked_at_ = now; }
  /// The request did not arrive: the next may go at once.
  void handle_loss() { asked_at_ = kTimeZero - 1h; }
  /// One is coming: whoever wants one waits for it.
  void handle_key_frame(TimePoint now) { asked_at_ = now; }

 private:
  Duration interval_;
  TimePoint asked_at_ = kTimeZero - 1h;
};

}  // namespace cress::relay
