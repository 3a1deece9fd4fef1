#pragma once

#include "transport/session/endpoint.hh"

namespace cress::app {

/// The share of messages recently lost in the network: over about the last two hundred, so that a
/// few per cent can be distinguished from none. Drops in our own queue do not count. Threads: none
/// inside; one owner.
class LossMeter {
 public:
  void handle_outcome(session::MessageOutcome::Kind kind) {
    if (kind != session::MessageOutcome::Kind::kDropped) {
      const double lost = kind == session::MessageOutcome::Kind::kLost ? 1 : 0;
      share_ += (lost - share_) / kMessages;
    }
  }
  /// 0..1.
  double share() const { return share_; }

 private:
  static constexpr double kMessages = 200;
  double share_ = 0;
};

}  // namespace cress::app
