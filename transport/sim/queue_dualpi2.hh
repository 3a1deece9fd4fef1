#pragma once

#include <deque>

#include "transport/sim/queue.hh"

namespace cress::sim {

/// The coupled dual queue (RFC 9332) with its PI2 algorithm (appendix A): datagrams with ECT(1) or
/// CE wait in a queue of their own (L), all others in the classic one (C). A PI controller steers
/// the classic queue's delay to its target with a probability p: classic datagrams are dropped, or
/// marked where they may be, with p squared; L datagrams are marked with k times p, or at once
/// where their own queue is longer than a threshold. So both kinds of flow get about the same rate.
/// Under overload L datagrams are dropped like the others (§4.2.3).
/// L goes first, but a tenth of the bytes stays with C while it waits (§4.2.2).
/// Threads: none inside; one owner.
class DualPi2Queue final : public Queue {
 public:
  struct Options {
    Duration target = 15ms;         ///< of the classic queue
    Duration update = 16ms;         ///< Tupdate
    double alpha = 0.16;            ///< 1/s, integral gain
    double beta = 3.2;              ///< 1/s, proportional gain
    double coupling = 2;            ///< k
    Duration threshold = 1ms;       ///< an L datagram that waited this long is marked
    DataSize threshold_size{1500};  ///< and unless this little is left in L
    int classic_share = 10;         ///< per cent of the bytes that C gets while both wait
    /// A bound on memory (drop-tail beyond it): both queues together.
    DataSize limit = DropTailQueue::kUnlimited;
  };
  DualPi2Queue() : DualPi2Queue(Options{}) {}
  explicit DualPi2Queue(const Options& options) : options_(options) {}

  void push(TimePoint now, QueuedDatagram datagram) override;
  std::optional<QueuedDatagram> pop(TimePoint now) override;
  DataSize size() const override { return low_.size + classic_.size; }

  /// p', whose square is the classic drop probability.
  double base_probability() const { return base_; }

 private:
  struct Lane {
    std::deque<QueuedDatagram> queue;
    DataSize size;
    double recurrence = 0;  // appendix A's `count`: marks evenly instead of by chance

    bool recurs(double likelihood);
    Duration wait(TimePoint now) const;
    QueuedDatagram take();
  };

  void update_until(TimePoint now);
  bool next_is_low();
  double coupled() const { return options_.coupling * base_; }
  bool is_overloaded() const;

  Options options_;
  Lane low_;
  Lane classic_;
  double base_ = 0;
  Duration delay_old_{};
  TimePoint next_update_ = kTimeZero;
  int64_t credit_ = 0;  // of the classic lane, in hundredths of bytes
};

}  // namespace cress::sim
