#pragma once

#include "eval/schemes/tcp/tcp_congestion.hh"

namespace cress::schemes {

/// Whether the window may grow: only if new data was acknowledged outside of a recovery (RFC 5681),
/// and not while the flow is limited by something else, for example the receiver's window (RFC 5681
/// §4.1 and RFC 7661). In slow start half of the window must have been used, as in Linux, so that a
/// flow is never limited by its own window growth.
bool may_grow(const AckEvent& ack, DataSize window, bool slow_start);

/// NewReno's window (RFC 5681, with the byte counting of RFC 3465 and no limit L, as in Linux).
/// Units: a fractional number of segments inside, whole ones outside.
/// Threads: none inside; one owner.
class Reno : public CongestionControl {
 public:
  Reno() = default;

  void on_ack(const AckEvent& ack) override { grow(ack); }
  void on_loss(TimePoint now) override;
  void on_timeout(TimePoint now, bool repeated) override;
  void on_spurious_loss(TimePoint now) override;
  DataSize window() const override;
  bool in_slow_start() const { return state_.window < state_.threshold; }

 protected:
  // For derived classes that only add other reasons to grow and to shrink.
  double segments() const { return state_.window; }
  double threshold() const { return state_.threshold; }
  void set(double segments, double threshold) { state_ = {segments, threshold}; }
  /// Grows by the acknowledged amount, if the window may grow.
  void grow(const AckEvent& ack);

 private:
  struct State {
    double window = 10.0;       // segments (kTcpInitialWindow)
    double threshold = 1.0e12;  // no loss yet: slow start without a bound
  };
  State state_;
  State before_loss_;
};

}  // namespace cress::schemes
