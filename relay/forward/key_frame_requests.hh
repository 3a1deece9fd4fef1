#pragma once

#include "transport/base/time.hh"

namespace cress::relay {

/// Decides when a sender may be asked for a key frame on behalf of its receivers: one key frame
/// serves all, so at most one request is sent per interval. A receiver that still needs one
/// afterwards requests it again. Threads: none inside; a plain value. `now` never goes back.
class KeyFrameRequests {
 public:
  explicit KeyFrameRequests(Duration interval) : interval_(interval) {}

  bool is_due(TimePoint now) const { return now - asked_at_ >= interval_; }
  void handle_asked(TimePoint now) { asked_at_ = now; }
  /// The request was lost: the next may be sent at once.
  void handle_loss() { asked_at_ = kTimeZero - 1h; }
  /// A key frame is arriving: receivers that need one wait for it.
  void handle_key_frame(TimePoint now) { asked_at_ = now; }

 private:
  Duration interval_;
  TimePoint asked_at_ = kTimeZero - 1h;
};

}  // namespace cress::relay
