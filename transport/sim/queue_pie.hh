#pragma once

#include <deque>

#include "transport/base/rng.hh"
#include "transport/sim/queue.hh"

namespace cress::sim {

/// Proportional integral controller enhanced (RFC 8033): drops arriving datagrams with a
/// probability that a PI controller steers so that the queueing delay becomes its target. Delay is
/// measured by time stamps (§5.2), the age of the first in the queue. Threads: none inside; one
/// owner.
class PieQueue final : public Queue {
 public:
  struct Options {
    Duration target = 15ms;      ///< QDELAY_REF
    Duration update = 15ms;      ///< T_UPDATE
    double alpha = 0.125;        ///< 1/s
    double beta = 1.25;          ///< 1/s
    Duration burst_max = 150ms;  ///< MAX_BURST
    /// §5.1: ECN-capable datagrams are marked up to this probability and dropped above it.
    double mark_max = 0.1;
    /// A bound on memory (drop-tail beyond it), not part of the discipline.
    DataSize limit = DropTailQueue::kUnlimited;
  };
  explicit PieQueue(const Rng& rng) : PieQueue(rng, Options{}) {}
  PieQueue(const Rng& rng, const Options& options) : options_(options), rng_(rng) {}

  void push(TimePoint now, QueuedDatagram datagram) override;
  std::optional<QueuedDatagram> pop(TimePoint now) override;
  DataSize size() const override { return size_; }

  double drop_probability() const { return probability_; }

 private:
  void update_until(TimePoint now);
  void update(TimePoint at);
  bool may_drop() const;

  Options options_;
  Rng rng_;
  std::deque<QueuedDatagram> queue_;
  DataSize size_;
  double probability_ = 0;
  Duration delay_{};      // at the last update
  Duration delay_old_{};  // at the one before
  Duration burst_left_{};
  TimePoint next_update_ = kTimeZero;
};

}  // namespace cress::sim
